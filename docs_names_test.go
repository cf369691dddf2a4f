package mcpcart_test

import (
	"go/ast"
	"go/types"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestLinksLeadSomewhere(t *testing.T) {
	docs := documents(t)
	link := regexp.MustCompile(`\]\(([^)\s]+)\)`)
	for file, text := range docs {
		for _, m := range link.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			if target == "" {
				target = path.Base(file)
			}
			target = path.Join(path.Dir(file), target)
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: link to %s: %v", file, m[1], err)
			} else if anchor != "" && !slices.Contains(anchors(readText(t, target)), anchor) {
				t.Errorf("%s: link to %s: there is no such heading", file, m[1])
			}
		}
	}
}

// anchors are the names by which the headings of a page are linked to.
func anchors(text string) []string {
	var names []string
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(text, -1) {
		name := regexp.MustCompile(`[^\w\- ]`).ReplaceAllString(strings.ToLower(heading[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

func TestNamedFilesAndSymbolsExist(t *testing.T) {
	named := regexp.MustCompile("`([\\w.-]+(?:/[\\w.-]+)*(?:/|\\.(?:go|sql|sh|md|conf|yml|json)))(?::([\\w.]+))?`")
	for file, text := range documents(t) {
		for _, m := range named.FindAllStringSubmatch(text, -1) {
			if _, err := os.Stat(m[1]); err != nil {
				t.Errorf("%s: %s: %v", file, m[0], err)
			} else if m[2] != "" && !declares(parseFile(t, m[1]), m[2]) {
				t.Errorf("%s: %s does not declare %s", file, m[1], m[2])
			}
		}
	}
	for _, row := range table(t, readText(t, "README.md"), "Layout") {
		if info, err := os.Stat(bare(row[0])); err != nil || !info.IsDir() {
			t.Errorf("README.md: %s is no folder: %v", row[0], err)
		}
	}
}

func declares(file *ast.File, symbol string) bool {
	var names []string
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			names = append(names, receiver(d)+d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return slices.Contains(names, symbol)
}

// receiver is the type of a method with a dot after it, or nothing.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return ""
	}
	return strings.TrimLeft(types.ExprString(f.Recv.List[0].Type), "*") + "."
}

func TestNamedTestsExist(t *testing.T) {
	declared, parts := declaredTests(t)
	named := regexp.MustCompile(`\b(?:Test|Fuzz|Benchmark)[A-Z0-9]\w*(?:/\w+)?`)
	for file, text := range documents(t) {
		for _, name := range named.FindAllString(text, -1) {
			test, part, _ := strings.Cut(name, "/")
			if !declared[test] || part != "" && !parts[part] {
				t.Errorf("%s: there is no test %s", file, name)
			}
		}
	}
}

// declaredTests are the tests of the whole repository, and the names of their
// parts as far as those are written out.
func declaredTests(t *testing.T) (tests, parts map[string]bool) {
	tests, parts = make(map[string]bool), make(map[string]bool)
	_, sources := readSources(t)
	for name := range sources {
		file := parseFile(t, name)
		for _, d := range file.Decls {
			if f, ok := d.(*ast.FuncDecl); ok && strings.HasSuffix(name, "_test.go") {
				tests[f.Name.Name] = true
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok && types.ExprString(call.Fun) == "t.Run" {
				for _, part := range texts(call.Args[0]) {
					parts[part] = true
				}
			}
			return true
		})
	}
	return tests, parts
}

// An excerpt names its file in its first line, as a comment. … stands for lines
// that are left out.
func TestExcerptsAreTheCode(t *testing.T) {
	block := regexp.MustCompile("(?s)```(?:go|sql)\n(?://|--) (\\S+\\.go)\n(.*?)```")
	for file, text := range documents(t) {
		for _, m := range block.FindAllStringSubmatch(text, -1) {
			source := strings.Split(readText(t, m[1]), "\n")
			for i := range source {
				source[i] = strings.TrimSpace(source[i])
			}
			for line := range strings.Lines(m[2]) {
				if line = strings.TrimSpace(line); line != "…" && !slices.Contains(source, line) {
					t.Errorf("%s: %s has no line %q", file, m[1], line)
				}
			}
		}
	}
}

func TestMetricsHaveTheirNames(t *testing.T) {
	var known []string
	for _, folder := range []string{"server", "cmd/cartd"} {
		for _, file := range parseFolder(t, folder) {
			known = append(known, texts(file)...)
		}
	}
	for file, text := range documents(t) {
		for _, name := range regexp.MustCompile(`\b(?:mcp_request|requeststate_)\w+`).FindAllString(text, -1) {
			if !slices.Contains(known, name) {
				t.Errorf("%s: there is no metric %s", file, name)
			}
		}
	}
}

func TestDocumentsSpeakOfTheProductOnly(t *testing.T) {
	forbidden := []string{
		`(?i)\b(todo|fixme|tbd|lorem ipsum)\b`, `(?i)\bissue #?\d`, `/(work|root|home)/`, // notes to ourselves
		`(?i)\b(blazing|seamless|robust|world-class|battle-tested|enterprise-grade|cutting-edge|state-of-the-art|effortless|powerful|revolutionary)`,
		`(?i)\b(simply|obviously|of course)\b`, // not to whoever has to read it twice
		`MAKE-TEST-OUTPUT`,
	}
	for file, text := range documents(t) {
		for _, pattern := range forbidden {
			if found := regexp.MustCompile(pattern).FindString(text); found != "" {
				t.Errorf("%s says %q", file, found)
			}
		}
	}
}
