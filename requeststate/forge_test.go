package requeststate_test

import (
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"
)

// TestEffectWithoutRedemptionDoesNotCompile type-checks programs that try to do
// the effect without having redeemed, or to make what only this package makes.
func TestEffectWithoutRedemptionDoesNotCompile(t *testing.T) {
	fset := token.NewFileSet()
	imp := importer.ForCompiler(fset, "gc", exportData(t))
	for name, tt := range map[string]struct{ body, want string }{
		"redeemed":                   {`r, err := ticket.Redeem(ctx, tx, "ordered", "ord_1"); if err == nil { placeOrder(r) }`, ""},
		"the ticket itself":          {`placeOrder(ticket)`, "cannot use ticket"},
		"nothing":                    {`placeOrder(nil)`, "cannot use nil"},
		"an outcome":                 {`placeOrder("ordered")`, "cannot use"},
		"a Redeemed with an outcome": {`placeOrder(requeststate.Redeemed{outcome: "ordered"})`, "unexported field"},
		"a Redeemed in order":        {`placeOrder(requeststate.Redeemed{tx, [16]byte{}, requeststate.FlowID{}, "ordered", ""})`, "unexported field"},
		"a Redeemed converted":       {`placeOrder(requeststate.Redeemed(struct{ outcome, ref string }{"ordered", ""}))`, "cannot convert"},
		"a Redeemed changed":         {`r, _ := ticket.Redeem(ctx, tx, "declined", ""); r.outcome = "ordered"; placeOrder(r)`, "r.outcome undefined"},
		"a Ticket from nothing":      {`_ = requeststate.Ticket{claims: nil}`, "unexported field"},
		"a Ring with a key":          {`_ = requeststate.Ring{keys: nil}`, "unexported field"},
	} {
		t.Run(name, func(t *testing.T) {
			err := typeCheck(t, fset, imp, tt.body)
			if tt.want == "" && err != nil {
				t.Fatalf("type check = %v, want nil", err)
			}
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) {
				t.Fatalf("type check = %v, want an error with %q", err, tt.want)
			}
		})
	}
}

// exportData finds what the compiler wrote about this package and its imports.
func exportData(t *testing.T) importer.Lookup {
	t.Helper()
	list := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}} {{.Export}}", ".")
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list = %v", err)
	}
	files := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), " ")
		files[path] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

func typeCheck(t *testing.T, fset *token.FileSet, imp types.Importer, body string) error {
	t.Helper()
	const head = `package shop
import ("context"; "example.com/mcp-cart/requeststate")
func placeOrder(requeststate.Redeemed) {}
func confirm(ctx context.Context, ticket *requeststate.Ticket, tx requeststate.Redeemer) {
`
	file, err := parser.ParseFile(fset, "shop.go", head+body+"\n}\n", 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = (&types.Config{Importer: imp}).Check("shop", fset, []*ast.File{file}, nil)
	return err
}
