package mcpcart_test

import (
	"bytes"
	"go/format"
	"os"
	"testing"
)

// The README has whoever builds on this rename the module by replacing its path. Whatever
// the new one is, all files are formatted as before: our imports stand in groups of
// their own, where no other path is sorted among them.
func TestModuleCanBeRenamed(t *testing.T) {
	module, sources := readSources(t)
	for file := range sources {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a.example/a", "zz.example/z"} {
			renamed := bytes.ReplaceAll(text, []byte(module), []byte(name))
			formatted, err := format.Source(renamed)
			if err != nil || !bytes.Equal(formatted, renamed) {
				t.Errorf("%s: as part of %s it is formatted otherwise (%v): put our imports in a group of their own", file, name, err)
			}
		}
	}
}
