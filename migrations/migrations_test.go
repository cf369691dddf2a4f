package migrations_test

import (
	"io/fs"
	"regexp"
	"testing"

	"example.com/mcp-cart/migrations"
)

func TestEveryMigrationSaysWhyAndIsNumberedInOrder(t *testing.T) {
	files, err := fs.Glob(migrations.FS, "*")
	if err != nil || len(files) == 0 {
		t.Fatalf("Glob = %v, %v, want the migrations", files, err)
	}
	name := regexp.MustCompile(`^\d{4}_[a-z_]+\.sql$`)
	for i, file := range files {
		text, err := fs.ReadFile(migrations.FS, file)
		if err != nil {
			t.Fatal(err)
		}
		if want := string([]byte{'0', '0', '0' + byte((i+1)/10), '0' + byte((i+1)%10)}); !name.MatchString(file) || file[:4] != want {
			t.Errorf("migration %q, want a name that starts with %s_", file, want)
		}
		if !regexp.MustCompile(`^-- Why: .+\n(--.*\n|\n)*-- \+goose Up\n`).Match(text) {
			t.Errorf("%s does not open with the reason it exists", file)
		}
		if regexp.MustCompile(`(?i)interval '[^']*(day|week|month)`).Match(text) {
			t.Errorf("%s measures time in days, which have no fixed length", file)
		}
	}
	if latest, err := migrations.Latest(); err != nil || latest != int64(len(files)) {
		t.Errorf("Latest = %d, %v, want %d", latest, err, len(files))
	}
}
