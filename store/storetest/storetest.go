// Package storetest states every promise of the store as a named test, and makes
// a store keep them. What depends on timing is forced, with locks and with a
// second connection that looks on, never hoped for.
//
// A store for another wire-compatible database passes the same suite:
//
//	func TestStore(t *testing.T) { storetest.Run(t, freshDatabase) }
package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

// Run runs the suite. fresh returns the connection string of a new, empty
// database, which lives at least as long as the test that asked for it.
func Run(t *testing.T, fresh func(testing.TB) string) {
	t.Run("Schema", func(t *testing.T) { testSchema(t, fresh) })
	t.Run("Janitor", func(t *testing.T) { testJanitor(t, fresh) })
	t.Run("TimeZone", func(t *testing.T) { testTimeZone(t, fresh) })
	s := newSuite(t, fresh)
	t.Run("Catalogue", s.testCatalogue)
	t.Run("Carts", s.testCarts)
	t.Run("Isolation", s.testIsolation)
	t.Run("Expiry", s.testExpiry)
	t.Run("Bounds", s.testBounds)
	t.Run("Concurrency", s.testConcurrency)
	t.Run("Model", s.testModel)
	t.Run("Text", s.testText)
	t.Run("RoundTrips", s.testRoundTrips)
	t.Run("Connections", s.testConnections)
	t.Run("Orders", s.testOrders)
	t.Run("RefusedOrders", s.testRefusedOrders)
	t.Run("Redemption", s.testRedemption)
	t.Run("Contention", s.testContention)
	t.Run("Commit", s.testCommit)
}

// suite is one migrated database, the store under test, and a way around it.
// Its tests share the database and have users of their own.
type suite struct {
	url   string
	store *store.Postgres
	// db sets up what cannot be waited for, holds locks, and looks at rows.
	db *pgxpool.Pool
}

// patientLocks: tests hold locks for as long as they need.
const patientLocks = "&lock_timeout=60s"

func newSuite(t *testing.T, fresh func(testing.TB) string) *suite {
	t.Helper()
	url := fresh(t) + patientLocks
	if _, err := store.Migrate(t.Context(), url); err != nil {
		t.Fatalf("Migrate = %v", err)
	}
	db, err := pgxpool.New(context.Background(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s := &suite{url: url, db: db}
	s.store = s.open(t, "")
	s.exec(t, `INSERT INTO products (sku, name, unit_price_minor, currency, stock)
		SELECT 'T-' || lpad(n::text, 3, '0'), 'Test thing ' || n, 100 + n, 'EUR', 1000 FROM generate_series(0, 149) n`)
	s.exec(t, `INSERT INTO products VALUES ('T-USD', 'Test thing from far away', 100, 'USD', 1000)`)
	return s
}

// open returns one more store on the same database: a replica. Its sessions
// have the name of the test. settings are more words for the url: "&name=value".
func (s *suite) open(t *testing.T, settings string, options ...store.Option) *store.Postgres {
	t.Helper()
	replica, err := store.Open(context.Background(), s.url+settings, options...)
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	t.Cleanup(replica.Close)
	return replica
}

func (s *suite) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := s.db.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// ask returns the single value that sql yields.
func ask[T any](t testing.TB, s *suite, sql string, args ...any) T {
	t.Helper()
	var v T
	if err := s.db.QueryRow(context.Background(), sql, args...).Scan(&v); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return v
}

// hold starts a transaction that runs sql and keeps its locks until the returned
// function is called.
func (s *suite) hold(t testing.TB, sql string, args ...any) (tx pgx.Tx, commit func()) {
	t.Helper()
	tx, err := s.db.Begin(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tx.Rollback(context.Background()) })
	if _, err := tx.Exec(context.Background(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return tx, func() {
		t.Helper()
		if err := tx.Commit(context.Background()); err != nil {
			t.Fatalf("commit: %v", err)
		}
	}
}

// awaitBlocked returns when n sessions of the database wait for a lock.
func (s *suite) awaitBlocked(t testing.TB, n int) {
	t.Helper()
	s.eventually(t, "blocked sessions", `SELECT count(*) >= $1 FROM pg_stat_activity
		WHERE datname = current_database() AND wait_event_type = 'Lock'`, n)
}

// eventually asks until sql, which yields a bool, yields true.
func (s *suite) eventually(t testing.TB, what, sql string, args ...any) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for !ask[bool](t, s, sql, args...) {
		if time.Now().After(deadline) {
			t.Fatalf("gave up waiting for %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// A user is somebody with an id that no other test has.
func newUser() [16]byte {
	var id [16]byte
	copy(id[:], handles.Mint(handles.Cart).Reveal()[5:])
	return id
}

func newKey(owner [16]byte) handles.Key { return handles.NewKey(owner, handles.Mint(handles.Cart)) }

// newCart makes a cart for a new user.
func (s *suite) newCart(t testing.TB) handles.Key {
	t.Helper()
	key := newKey(newUser())
	if _, err := s.store.CreateCart(context.Background(), key); err != nil {
		t.Fatalf("CreateCart = %v", err)
	}
	return key
}

// row returns everything the database holds of a cart, as text.
func (s *suite) row(t testing.TB, key handles.Key) string {
	t.Helper()
	return ask[string](t, s, `SELECT coalesce((SELECT c::text FROM carts c WHERE user_id = $1 AND handle = $2), 'none')`,
		key.Owner(), key.Handle().Reveal())
}

// update changes a cart behind the store's back.
func (s *suite) update(t testing.TB, key handles.Key, set string, args ...any) {
	t.Helper()
	s.exec(t, `UPDATE carts SET `+set+` WHERE user_id = $1 AND handle = $2`,
		append([]any{key.Owner(), key.Handle().Reveal()}, args...)...)
}

const (
	expire   = `created_at = created_at - interval '25 hours', expires_at = clock_timestamp()`
	fillWith = `lines = (SELECT jsonb_object_agg('T-' || lpad(n::text, 3, '0'), 1) FROM generate_series(1, $3::int) n)`
)

// A call is one method of the store that is about one cart.
type call struct {
	name string
	do   func(context.Context, *store.Postgres, handles.Key) error
}

func cartCalls() []call {
	return []call{
		{"Cart", func(ctx context.Context, p *store.Postgres, key handles.Key) error {
			_, err := p.Cart(ctx, key)
			return err
		}},
		{"SetItem", func(ctx context.Context, p *store.Postgres, key handles.Key) error {
			_, err := p.SetItem(ctx, key, "T-001", 2)
			return err
		}},
		{"SetItem to 0", func(ctx context.Context, p *store.Postgres, key handles.Key) error {
			_, err := p.SetItem(ctx, key, "T-001", 0)
			return err
		}},
		{"DiscardCart", func(ctx context.Context, p *store.Postgres, key handles.Key) error {
			return p.DiscardCart(ctx, key)
		}},
	}
}
