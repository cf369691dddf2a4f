package main

import (
	"testing"

	"github.com/jackc/pgx/v5"
)

// A lock is a transaction of the test's that others have to wait for. It makes
// happen what would otherwise depend on luck: calls that run at the same time.
type lock struct {
	site *site
	tx   pgx.Tx
}

// hold takes the lock that the statement takes.
func (s *site) hold(t testing.TB, sql string, args ...any) *lock {
	t.Helper()
	tx, err := s.connect(t).Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return &lock{s, tx}
}

// holdCart locks the row of a cart.
func (s *site) holdCart(t testing.TB, cartID string) *lock {
	t.Helper()
	return s.hold(t, "SELECT FROM carts WHERE handle = $1 FOR UPDATE", cartID)
}

// waitFor returns when this many calls wait for the lock.
func (l *lock) waitFor(t testing.TB, calls int) {
	t.Helper()
	conn := l.site.connect(t)
	eventually(t, "calls wait for the lock", func() bool {
		var waiting int
		err := conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND application_name = 'mcp-cart' AND wait_event_type = 'Lock'`).Scan(&waiting)
		if err != nil {
			t.Fatal(err)
		}
		return waiting >= calls
	})
}

func (l *lock) release(t testing.TB) {
	t.Helper()
	if err := l.tx.Rollback(t.Context()); err != nil {
		t.Fatal(err)
	}
}
