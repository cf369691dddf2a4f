package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"example.com/mcp-cart/migrations"
	"example.com/mcp-cart/store"
)

func testSchema(t *testing.T, fresh func(testing.TB) string) {
	url := fresh(t)
	latest, err := migrations.Latest()
	if err != nil {
		t.Fatal(err)
	}
	p, err := store.Open(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	t.Run("an empty database does not fit", func(t *testing.T) {
		if err := p.CheckSchema(t.Context()); !errors.Is(err, store.ErrSchema) {
			t.Errorf("CheckSchema = %v, want ErrSchema", err)
		}
	})
	db, err := pgxpool.New(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	s := &suite{url: url, store: p, db: db}
	t.Run("four replicas that migrate an empty database at once all succeed", func(t *testing.T) {
		applied := make([][]int64, 4)
		// Somebody is just creating a table of the first migration. This brings all
		// four to the point where, without a lock around everything, they go on
		// together.
		tx, _ := s.hold(t, `CREATE TABLE products (id int)`)
		arrived := make(chan struct{})
		go func() {
			defer close(arrived)
			s.eventually(t, "four migrations to wait", `SELECT count(*) = $1 FROM pg_stat_activity
				WHERE datname = current_database() AND pid <> pg_backend_pid()
				  AND (wait_event_type = 'Lock' OR query LIKE '%advisory%')`, len(applied))
			_ = tx.Rollback(context.Background())
		}()
		parallel(t, len(applied), func(i int) error {
			var err error
			applied[i], err = store.Migrate(t.Context(), url)
			return err
		})
		<-arrived
		total := 0
		for _, versions := range applied {
			total += len(versions)
		}
		if total != int(latest) {
			t.Errorf("they applied %v, want each of %d migrations once", applied, latest)
		}
		if err := p.CheckSchema(t.Context()); err != nil {
			t.Errorf("CheckSchema = %v", err)
		}
	})
	t.Run("a store opened before the migration works after it", func(t *testing.T) {
		key := newKey(newUser())
		if _, err := p.CreateCart(t.Context(), key); err != nil {
			t.Errorf("CreateCart = %v", err)
		}
	})
	t.Run("a newer schema fits", func(t *testing.T) {
		s.exec(t, `INSERT INTO goose_db_version (version_id, is_applied) VALUES ($1, true)`, latest+1)
		if err := p.CheckSchema(t.Context()); err != nil {
			t.Errorf("CheckSchema = %v", err)
		}
		s.exec(t, `DELETE FROM goose_db_version WHERE version_id > $1`, latest)
	})
	t.Run("a column more disturbs nobody", func(t *testing.T) {
		key := newKey(newUser())
		if _, err := p.CreateCart(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		s.exec(t, `ALTER TABLE carts ADD COLUMN later text`)
		s.exec(t, `ALTER TABLE products ADD COLUMN later text`)
		for _, call := range cartCalls() {
			if err := call.do(t.Context(), p, key); err != nil && !errors.Is(err, store.ErrUnknownProduct) {
				t.Errorf("%s = %v", call.name, err)
			}
		}
	})
	t.Run("a changed column costs a connection one busy answer", func(t *testing.T) {
		one, err := store.Open(t.Context(), url+"&pool_max_conns=1")
		if err != nil {
			t.Fatal(err)
		}
		defer one.Close()
		search := func() error { _, err := one.SearchProducts(t.Context(), "", "", 1); return err }
		if err := search(); err != nil {
			t.Fatal(err)
		}
		s.exec(t, `ALTER TABLE products ALTER COLUMN name TYPE varchar`)
		if err := search(); !errors.Is(err, store.ErrBusy) {
			t.Errorf("the first SearchProducts = %v, want ErrBusy", err)
		}
		if err := search(); err != nil {
			t.Errorf("the second SearchProducts = %v", err)
		}
	})
	t.Run("an older schema does not fit", func(t *testing.T) {
		s.exec(t, `DELETE FROM goose_db_version WHERE version_id = $1`, latest)
		if err := p.CheckSchema(t.Context()); !errors.Is(err, store.ErrSchema) {
			t.Errorf("CheckSchema = %v, want ErrSchema", err)
		}
	})
}

func testTimeZone(t *testing.T, fresh func(testing.TB) string) {
	s := newSuite(t, fresh)
	key := s.newCart(t)
	// Where days have 23, 24 and 25 hours, and where it is tomorrow already.
	for i, zone := range []string{"America/New_York", "Pacific/Kiritimati", "UTC"} {
		t.Run(zone, func(t *testing.T) {
			s.exec(t, `ALTER DATABASE `+ask[string](t, s, `SELECT quote_ident(current_database())`)+` SET timezone = '`+zone+`'`)
			p := s.open(t, "")
			s.update(t, key, `created_at = clock_timestamp() - interval '150 hours', expires_at = clock_timestamp() + interval '1 hour'`)
			cart, err := p.SetItem(t.Context(), key, "T-001", i+1)
			if err != nil || cart.ExpiresAt.Sub(cart.CreatedAt) != 168*time.Hour {
				t.Errorf("SetItem = %v: the cart lives %v, want 168h", err, cart.ExpiresAt.Sub(cart.CreatedAt))
			}
			fresh, err := p.CreateCart(t.Context(), newKey(newUser()))
			if err != nil || fresh.ExpiresAt.Sub(fresh.CreatedAt) != 24*time.Hour {
				t.Errorf("CreateCart = %v: the cart lives %v, want 24h", err, fresh.ExpiresAt.Sub(fresh.CreatedAt))
			}
			if age := time.Since(fresh.CreatedAt); age < -time.Minute || age > time.Minute {
				t.Errorf("a new cart is %v old", age)
			}
		})
	}
}
