package mcpcart_test

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// documents are the pages a reader is sent to.
func documents(t *testing.T) map[string]string {
	t.Helper()
	files, err := filepath.Glob("docs/*.md")
	if err != nil || len(files) == 0 {
		t.Fatalf("Glob = %v, %v", files, err)
	}
	docs := make(map[string]string)
	for _, file := range append(files, "README.md") {
		docs[filepath.ToSlash(file)] = readText(t, file)
	}
	return docs
}

func readText(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// table returns the rows of the tables under a heading, without their heads.
func table(t *testing.T, text, heading string) [][]string {
	t.Helper()
	_, section, found := strings.Cut(text, "# "+heading+"\n")
	if !found {
		t.Fatalf("there is no heading %q", heading)
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var rows [][]string
	for line := range strings.Lines(section) {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "|--"):
			rows = rows[:len(rows)-1] // what came before was the head
		case strings.HasPrefix(line, "|"):
			cells := strings.Split(strings.Trim(line, "|"), "|")
			for i := range cells {
				cells[i] = strings.TrimSpace(cells[i])
			}
			rows = append(rows, cells)
		}
	}
	if len(rows) == 0 {
		t.Fatalf("there is no table under %q", heading)
	}
	return rows
}

// bare is a cell without its markup.
func bare(cell string) string { return strings.ReplaceAll(cell, "`", "") }

func wantEqual(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	if len(want) == 0 {
		t.Fatalf("%s: none found in the code", what)
	}
	for _, key := range slices.Sorted(maps.Keys(want)) {
		if value, ok := got[key]; !ok || value != want[key] {
			t.Errorf("%s: the documents have %q = %q (listed: %v), want %q", what, key, value, ok, want[key])
		}
		delete(got, key)
	}
	for _, key := range slices.Sorted(maps.Keys(got)) {
		t.Errorf("%s: the documents have %q, the code has not", what, key)
	}
}

func parseFile(t *testing.T, name string) *ast.File {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// parseFolder reads the files of a package, without its tests.
func parseFolder(t *testing.T, folder string) []*ast.File {
	t.Helper()
	var files []*ast.File
	entries, err := fs.Glob(os.DirFS(folder), "*.go")
	if err != nil || len(entries) == 0 {
		t.Fatalf("Glob(%s) = %v, %v", folder, entries, err)
	}
	for _, entry := range entries {
		if !strings.HasSuffix(entry, "_test.go") {
			files = append(files, parseFile(t, path.Join(folder, entry)))
		}
	}
	return files
}

// texts are the string literals in a node.
func texts(n ast.Node) []string {
	var all []string
	if n == nil {
		return nil
	}
	ast.Inspect(n, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			if text, err := strconv.Unquote(lit.Value); err == nil {
				all = append(all, text)
			}
		}
		return true
	})
	return all
}

// member is the value of a field in a composite literal, nil if it is not set.
func member(lit *ast.CompositeLit, field string) ast.Node {
	for _, e := range lit.Elts {
		if pair, ok := e.(*ast.KeyValueExpr); ok && types.ExprString(pair.Key) == field {
			return pair.Value
		}
	}
	return nil
}

// constants are a file's own, as far as they are made of literals, of each
// other and of package time's units.
func constants(t *testing.T, name string) map[string]constant.Value {
	t.Helper()
	known := make(map[string]constant.Value)
	for _, d := range parseFile(t, name).Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		for _, spec := range group.Specs {
			spec := spec.(*ast.ValueSpec) // that is what a const declaration holds
			for i, value := range spec.Values {
				known[spec.Names[i].Name] = evaluate(value, known)
			}
		}
	}
	return known
}

// evaluate returns nil for what it does not understand.
func evaluate(e ast.Expr, known map[string]constant.Value) constant.Value {
	switch e := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(e.Value, e.Kind, 0)
	case *ast.Ident:
		return known[e.Name]
	case *ast.SelectorExpr:
		units := map[string]time.Duration{"Millisecond": time.Millisecond, "Second": time.Second, "Minute": time.Minute, "Hour": time.Hour}
		if unit, ok := units[e.Sel.Name]; ok && types.ExprString(e.X) == "time" {
			return constant.MakeInt64(int64(unit))
		}
	case *ast.BinaryExpr:
		x, y := evaluate(e.X, known), evaluate(e.Y, known)
		switch {
		case x == nil || y == nil:
		case e.Op == token.SHL:
			bits, _ := constant.Uint64Val(y)
			return constant.Shift(x, e.Op, uint(bits))
		case e.Op == token.MUL || e.Op == token.ADD:
			return constant.BinaryOp(x, e.Op, y)
		}
	}
	return nil
}
