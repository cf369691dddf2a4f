package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"
)

// A statement is one that the store really sends, and how pgbench sends it.
type statement struct {
	pgbench string
	env     []string
	dir     string
	script  string
	args    [][]string // of each user, as options
}

// recorder notes the statements that the store sends, so that what pgbench runs
// cannot be another one than what ships.
type recorder struct {
	sql  string
	args []any
}

func (r *recorder) TraceQueryStart(ctx context.Context, _ *pgx.Conn, q pgx.TraceQueryStartData) context.Context {
	r.sql, r.args = q.SQL, q.Args
	return ctx
}

func (r *recorder) TraceQueryEnd(context.Context, *pgx.Conn, pgx.TraceQueryEndData) {}

// statement makes the call once for each user, to see what it sends.
func (s *stand) statement(b *testing.B, call benchCall) *statement {
	b.Helper()
	st := &statement{pgbench: findPgbench(b), dir: b.TempDir()}
	config, err := pgx.ParseConfig(s.site.db)
	if err != nil {
		b.Fatal(err)
	}
	st.env = []string{
		"PGHOST=" + config.Host, fmt.Sprintf("PGPORT=%d", config.Port), "PGDATABASE=" + config.Database,
		"PGUSER=" + config.User, "PGPASSWORD=" + config.Password, "PATH=" + os.Getenv("PATH"),
	}
	var seen recorder
	kept := s.store
	defer func() { s.store = kept }()
	s.store = s.openStore(b, func(c *pgxpool.Config) { c.ConnConfig.Tracer = &seen })
	for _, u := range s.users {
		if _, err := call.run(b.Context(), u.key); err != nil {
			b.Fatal(err)
		}
		var options []string
		for i, arg := range seen.args {
			options = append(options, "-D", fmt.Sprintf("p%d=%s", i+1, pgbenchValue(arg)))
		}
		st.args = append(st.args, options)
	}
	st.script = filepath.Join(st.dir, "statement.sql")
	sql := regexp.MustCompile(`\$(\d+)`).ReplaceAllString(seen.sql, ":p$1")
	if err := os.WriteFile(st.script, []byte(sql+";\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	return st
}

func pgbenchValue(arg any) string {
	if id, ok := arg.([16]byte); ok {
		return ownerText(id)
	}
	return fmt.Sprint(arg)
}

// load runs one pgbench for each user: its clients cannot have different texts.
func (st *statement) load(b *testing.B) sample {
	b.Helper()
	const seconds = 1 // pgbench takes whole ones
	var group errgroup.Group
	for i, options := range st.args {
		group.Go(func() error {
			args := append([]string{"-n", "-M", "prepared", "-c", "1", "-T", strconv.Itoa(seconds), "-f", st.script,
				"-l", "--log-prefix", filepath.Join(st.dir, fmt.Sprintf("log-%d", i))}, options...)
			cmd := exec.CommandContext(b.Context(), st.pgbench, args...)
			cmd.Env = st.env
			if out, err := cmd.CombinedOutput(); err != nil {
				return fmt.Errorf("pgbench: %w\n%s", err, out)
			}
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatal(err)
	}
	return newSample(st.latencies(b), seconds*time.Second)
}

// latencies reads what the runs have logged, one line a transaction, the third
// number the microseconds it took.
func (st *statement) latencies(b *testing.B) []time.Duration {
	b.Helper()
	logs, err := filepath.Glob(filepath.Join(st.dir, "log-*"))
	if err != nil {
		b.Fatal(err)
	}
	var all []time.Duration
	for _, log := range logs {
		text, err := os.ReadFile(log)
		if err != nil {
			b.Fatal(err)
		}
		for line := range bytes.Lines(text) {
			us, err := strconv.Atoi(strings.Fields(string(line))[2])
			if err != nil {
				b.Fatal(err)
			}
			all = append(all, time.Duration(us)*time.Microsecond)
		}
		if err := os.Remove(log); err != nil {
			b.Fatal(err)
		}
	}
	return all
}

// findPgbench looks where Debian, too, puts what belongs to one version.
func findPgbench(b *testing.B) string {
	b.Helper()
	if path, err := exec.LookPath("pgbench"); err == nil {
		return path
	}
	found, err := filepath.Glob("/usr/lib/postgresql/*/bin/pgbench")
	if err != nil || len(found) == 0 {
		b.Fatal("pgbench is not installed: it comes with PostgreSQL (Debian, Ubuntu: apt-get install postgresql)")
	}
	return found[len(found)-1]
}
