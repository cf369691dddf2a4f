package mcpcart_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/types"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// What the documents say of the code is compared with it here, so that it stays
// true without anybody remembering to.

func TestREADMEListsTheConfiguration(t *testing.T) {
	want := make(map[string]string)
	ast.Inspect(parseFile(t, "cmd/cartd/config.go"), func(n ast.Node) bool {
		field, ok := n.(*ast.Field)
		if !ok || field.Tag == nil {
			return true
		}
		text, err := strconv.Unquote(field.Tag.Value)
		if err != nil {
			t.Fatal(err)
		}
		tag := reflect.StructTag(text)
		name, options, _ := strings.Cut(tag.Get("env"), ",")
		want[name] = tag.Get("envDefault")
		if strings.Contains(options, "required") {
			want[name] = "required"
		}
		return true
	})
	got := make(map[string]string)
	for _, row := range table(t, readText(t, "README.md"), "Configuration") {
		got[bare(row[0])] = bare(row[1])
	}
	wantEqual(t, "variables and defaults", got, want)
}

func TestREADMEListsToolsAndScopes(t *testing.T) {
	tools, scopes := declaredTools(t)
	readme := readText(t, "README.md")
	listed := make(map[string]string)
	for _, row := range table(t, readme, "Tools") {
		listed[bare(row[0])] = bare(row[1])
	}
	wantEqual(t, "tools and their scopes", listed, tools)
	listed = make(map[string]string)
	for _, row := range table(t, readme, "Scopes") {
		listed[bare(row[0])] = ""
	}
	wantEqual(t, "scopes", listed, scopes)
}

// declaredTools reads the rows of the tool table, and the scopes the server
// advertises: those of the tools and the broader ones that Server.scopes adds.
func declaredTools(t *testing.T) (tools, scopes map[string]string) {
	tools, scopes = make(map[string]string), make(map[string]string)
	for _, file := range parseFolder(t, "server") {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Name.Name == "scopes" {
					for _, scope := range texts(n.Body) {
						scopes[scope] = ""
					}
				}
			case *ast.CompositeLit:
				if kind, ok := n.Type.(*ast.Ident); ok && kind.Name == "tool" && len(n.Elts) > 0 {
					needs := texts(member(n, "scopes"))
					for _, name := range texts(member(n, "name")) {
						tools[name] = strings.Join(needs, " ")
					}
					for _, scope := range needs {
						scopes[scope] = ""
					}
				}
			}
			return true
		})
	}
	return tools, scopes
}

func TestREADMEListsWhatMakeDoes(t *testing.T) {
	want, got := make(map[string]string), make(map[string]string)
	for _, target := range regexp.MustCompile(`(?m)^([a-z0-9-]+):.*## `).FindAllStringSubmatch(readText(t, "Makefile"), -1) {
		want["make "+target[1]] = ""
	}
	for _, row := range table(t, readText(t, "README.md"), "Tests") {
		got[bare(row[0])] = ""
	}
	wantEqual(t, "targets of make", got, want)
}

func TestREADMEShowsTheCallThatIsPrinted(t *testing.T) {
	readme := readText(t, "README.md")
	for name, quote := range map[string]string{"scopes": `"`, "call": `'`} {
		value := constants(t, "cmd/cartdev/greeting.go")[name]
		if value == nil || !strings.Contains(readme, quote+constant.StringVal(value)+quote) {
			t.Errorf("README.md does not show the %s that make run prints: %v", name, value)
		}
	}
}

func TestEveryDependencyHasItsReason(t *testing.T) {
	want, got := make(map[string]string), make(map[string]string)
	mod := readText(t, "go.mod")
	for _, line := range regexp.MustCompile(`(?m)^(?:require )?\s*(\S+\.\S+/\S+) v\S+$`).FindAllStringSubmatch(mod, -1) {
		want[line[1]] = ""
	}
	_, toolBlock, _ := strings.Cut(mod, "\ntool (")
	for _, program := range strings.Fields(toolBlock) {
		if module, _, ok := strings.Cut(program, "/cmd/"); ok {
			want[module] = ""
		}
	}
	for _, row := range table(t, readText(t, "docs/architecture.md"), "Dependencies") {
		got[bare(row[0])] = ""
		if len(row[1]) < 5 {
			t.Errorf("%s has no reason", row[0])
		}
	}
	wantEqual(t, "dependencies", got, want)
}

// A table whose last column names constants has their values in the first.
func TestBoundsAreThoseInTheCode(t *testing.T) {
	rows := table(t, readText(t, "docs/operations.md"), "Bounds")
	for _, row := range rows {
		file, name, found := strings.Cut(bare(row[len(row)-1]), ":")
		if !found {
			t.Errorf("%v names no constant", row)
			continue
		}
		if got := amount(constants(t, file)[name]); got != row[0] {
			t.Errorf("%s:%s is %s, the documents say %s", file, name, got, row[0])
		}
	}
}

// amount writes a constant as the documents do. A number is a duration or a
// size in bytes: no size is as large as a second has nanoseconds.
func amount(v constant.Value) string {
	if v == nil {
		return "not there"
	}
	if v.Kind() == constant.String {
		return regexp.MustCompile(`^(\d+)(\w+)$`).ReplaceAllString(constant.StringVal(v), "$1 $2")
	}
	n, _ := constant.Int64Val(v)
	for _, unit := range []struct {
		name string
		size int64
	}{{"h", int64(time.Hour)}, {"min", int64(time.Minute)}, {"s", int64(time.Second)}, {"KB", 1 << 10}} {
		if n%unit.size == 0 {
			return fmt.Sprint(n/unit.size, " ", unit.name)
		}
	}
	return v.ExactString()
}

// What the conformance suite is known to find is listed in its tests by because.
func TestKnownFindingsAreExplained(t *testing.T) {
	architecture := readText(t, "docs/architecture.md")
	found := 0
	files, _ := filepath.Glob("server/conformance*_test.go") // the pattern is well formed
	for _, name := range files {
		ast.Inspect(parseFile(t, name), func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || types.ExprString(call.Fun) != "because" {
				return true
			}
			for _, finding := range call.Args[1:] {
				found++
				if !strings.Contains(architecture, "`"+texts(finding)[0]+"`") {
					t.Errorf("docs/architecture.md does not say why %s does not pass", texts(finding)[0])
				}
			}
			return true
		})
	}
	if found == 0 {
		t.Error("no finding was found: is this test looking in the right place?")
	}
}
