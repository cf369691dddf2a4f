package localpg

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

// query returns the one value of the one row.
func query(t *testing.T, url, sql string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	defer conn.Close(t.Context())
	var value string
	if err := conn.QueryRow(t.Context(), sql).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// startAny starts whatever this machine offers.
func startAny(t *testing.T) *Server {
	t.Helper()
	s, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatalf("Start = %v", err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Errorf("Close = %v", err)
		}
	})
	return s
}

func TestEachDatabaseIsEmptyAndItsOwn(t *testing.T) {
	s := startAny(t)
	first, dropFirst, err := s.CreateDatabase(t.Context())
	if err != nil {
		t.Fatalf("CreateDatabase = %v", err)
	}
	second, dropSecond, err := s.CreateDatabase(t.Context())
	if err != nil {
		t.Fatalf("CreateDatabase = %v", err)
	}
	t.Cleanup(func() { _ = dropSecond(t.Context()) })
	const tables = "SELECT count(*)::text FROM information_schema.tables WHERE table_schema = 'public'"
	query(t, first, "WITH t AS (SELECT 1) SELECT 'ok' FROM t")
	conn, err := pgx.Connect(t.Context(), first)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "CREATE TABLE mine (id int)"); err != nil {
		t.Fatal(err)
	}
	if got := query(t, second, tables); got != "0" {
		t.Errorf("tables in the second database = %s, want 0", got)
	}
	if got := query(t, second, "SELECT datcollate || ' ' || pg_encoding_to_char(encoding) FROM pg_database WHERE datname = current_database()"); got != "C UTF8" {
		t.Errorf("collation and encoding = %q, want C UTF8", got)
	}
	// conn is still open: dropping must not wait for it.
	if err := dropFirst(t.Context()); err != nil {
		t.Errorf("drop = %v, want nil", err)
	}
	if c, err := pgx.Connect(t.Context(), first); err == nil {
		c.Close(t.Context())
		t.Error("connect to the dropped database = ok, want refused")
	}
}

func TestNamedServerIsUsedAndNotStopped(t *testing.T) {
	s := startAny(t)
	t.Setenv("DATABASE_URL", s.URL())
	named, err := Start(t.Context(), Options{})
	if err != nil {
		t.Fatalf("Start with DATABASE_URL = %v", err)
	}
	if named.URL() != s.URL() {
		t.Errorf("URL is not the one of DATABASE_URL")
	}
	if err := named.Close(); err != nil {
		t.Errorf("Close = %v", err)
	}
	query(t, s.URL(), "SELECT 'still there'")
}

func TestNamedServerThatIsAwayIsAnError(t *testing.T) {
	t.Setenv("DATABASE_URL", "postgres://someone:hunter2@127.0.0.1:1/postgres")
	_, err := Start(t.Context(), Options{})
	if err == nil || !strings.Contains(err.Error(), "DATABASE_URL") {
		t.Fatalf("Start = %v, want an error that names DATABASE_URL", err)
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("the error shows the password: %v", err)
	}
}

func TestNothingFoundSaysWhatToInstall(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, localErr := findBinaries(t.Context(), nil)
	if !errors.Is(localErr, errAbsent) {
		t.Fatalf("findBinaries = %v, want errAbsent", localErr)
	}
	t.Setenv("DOCKER_HOST", "tcp://127.0.0.1:1")
	_, dockerErr := startDocker(t.Context())
	if !errors.Is(dockerErr, errAbsent) {
		t.Fatalf("startDocker = %v, want errAbsent", dockerErr)
	}
	got := nothingFound(localErr, dockerErr).Error()
	for _, want := range []string{"DATABASE_URL", "apt-get install postgresql", "brew install", "Docker, running"} {
		if !strings.Contains(got, want) {
			t.Errorf("message lacks %q:\n%s", want, got)
		}
	}
}

func TestNewestBinariesWin(t *testing.T) {
	root := t.TempDir()
	for dir, version := range map[string]string{
		"9.6": "postgres (PostgreSQL) 9.6.24", "14": "postgres (PostgreSQL) 14.1 (Debian 14.1-1)",
		"16": "postgres (PostgreSQL) 16.2", "100": "postgres (PostgreSQL) 100devel", "odd": "something else",
	} {
		fakeBinaries(t, filepath.Join(root, dir, "bin"), version)
	}
	tests := map[string]struct {
		path string // first in the PATH
		want string
	}{
		"no PATH":            {want: "100"},
		"good choice":        {path: "16", want: "16"},
		"choice is too old":  {path: "14", want: "100"},
		"choice is no match": {path: "odd", want: "100"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Setenv("PATH", filepath.Join(root, test.path, "bin")+":"+t.TempDir())
			if test.path == "" {
				t.Setenv("PATH", t.TempDir())
			}
			got, err := findBinaries(t.Context(), []string{filepath.Join(root, "*", "bin")})
			if want := filepath.Join(root, test.want, "bin"); err != nil || got != want {
				t.Errorf("findBinaries = %q, %v, want %q", got, err, want)
			}
		})
	}
}

func fakeBinaries(t *testing.T, dir, version string) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"initdb", "postgres"} {
		script := "#!/bin/sh\necho '" + version + "'\n"
		if err := os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755); err != nil {
			t.Fatal(err)
		}
	}
}

func TestWithDatabase(t *testing.T) {
	tests := map[string]struct{ address, want string }{
		"url":            {"postgres://u:p@h:5/old?sslmode=disable", "postgres://u:p@h:5/new?sslmode=disable"},
		"no path":        {"postgresql://u@h", "postgresql://u@h/new"},
		"name in query":  {"postgres://u@h/?dbname=old&database=old", "postgres://u@h/new"},
		"keyword values": {"host=h dbname=old", "host=h dbname=old dbname=new"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := withDatabase(test.address, "new")
			if err != nil || got != test.want {
				t.Fatalf("withDatabase = %q, %v, want %q", got, err, test.want)
			}
			config, err := pgx.ParseConfig(got)
			if err != nil || config.Database != "new" {
				t.Errorf("pgx reads %v, %v, want the database new", config, err)
			}
		})
	}
}
