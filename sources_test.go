package mcpcart_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// A source is one Go file's imports.
type source struct {
	pkg     string // its folder: "" is the root
	test    bool
	imports []string
}

// readSources reads the imports of every Go file, whatever system it is for.
// It does so itself, rather than ask `go list`, so that Go's test cache knows
// which files the result depends on.
func readSources(t *testing.T) (module string, sources map[string]source) {
	t.Helper()
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(mod), "\n")
	module = strings.TrimPrefix(line, "module ")
	sources = make(map[string]source)
	err = filepath.WalkDir(".", func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := entry.Name()
		if entry.IsDir() && file != "." && (strings.HasPrefix(name, ".") || name == "testdata" || name == "node_modules") {
			return fs.SkipDir
		}
		if entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return nil
		}
		sources[file], err = readSource(filepath.ToSlash(file))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return module, sources
}

func readSource(file string) (source, error) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ImportsOnly)
	if err != nil {
		return source{}, err
	}
	s := source{pkg: strings.TrimPrefix(path.Dir(file), "."), test: strings.HasSuffix(file, "_test.go")}
	for _, spec := range parsed.Imports {
		imported, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			return source{}, err
		}
		s.imports = append(s.imports, imported)
	}
	return s, nil
}

// foldersOfTests are the folders without a file that is not a test.
func foldersOfTests(sources map[string]source) map[string]bool {
	only := make(map[string]bool)
	for _, s := range sources {
		only[s.pkg] = true
	}
	for _, s := range sources {
		if !s.test {
			only[s.pkg] = false
		}
	}
	return only
}
