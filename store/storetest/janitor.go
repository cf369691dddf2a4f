package storetest

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"example.com/mcp-cart/store"
)

const (
	manyExpired = `INSERT INTO carts (user_id, handle, created_at, expires_at)
		SELECT gen_random_uuid(), 'cart_' || lpad(n::text, 30, '0'), now() - interval '2 hours', now() - interval '1 hour'
		FROM generate_series(1, $1::int) n`
	manyRedemptions = `INSERT INTO redemptions (user_id, flow_id, outcome, ref, redeemed_at, keep_until)
		SELECT gen_random_uuid(), decode(lpad(n::text, 32, '0'), 'hex'), 'declined', '', now() - interval '2 days',
		       now() + CASE WHEN n % 2 = 0 THEN interval '1 hour' ELSE interval '-1 hour' END
		FROM generate_series(1, $1::int) n`
)

func newJanitor(t *testing.T, p *store.Postgres) *store.Janitor {
	t.Helper()
	j, err := store.NewJanitor(p, time.Millisecond, slog.New(slog.NewTextHandler(io.Discard, nil)))
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func testJanitor(t *testing.T, fresh func(testing.TB) string) {
	s := newSuite(t, fresh)
	sweep := func(t *testing.T) store.Swept {
		t.Helper()
		swept, err := newJanitor(t, s.store).SweepOnce(t.Context())
		if err != nil {
			t.Fatalf("SweepOnce = %v", err)
		}
		return swept
	}
	t.Run("what lives stays, what has expired or was discarded goes", func(t *testing.T) {
		live, expired, discarded, ordered := s.newCart(t), s.newCart(t), s.newCart(t), s.newCart(t)
		s.update(t, expired, expire)
		s.update(t, ordered, expire+`, status = 'ordered', order_id = 'ord_' || repeat('0', 30)`)
		if err := s.store.DiscardCart(t.Context(), discarded); err != nil {
			t.Fatal(err)
		}
		liveRow, orderedRow := s.row(t, live), s.row(t, ordered)
		if got := sweep(t); got != (store.Swept{Carts: 2}) {
			t.Errorf("SweepOnce = %+v, want 2 carts", got)
		}
		if s.row(t, expired) != "none" || s.row(t, discarded) != "none" {
			t.Errorf("left: %s, %s", s.row(t, expired), s.row(t, discarded))
		}
		if s.row(t, live) != liveRow || s.row(t, ordered) != orderedRow {
			t.Errorf("changed: %s, %s", s.row(t, live), s.row(t, ordered))
		}
	})
	t.Run("a redemption is kept until its time", func(t *testing.T) {
		s.exec(t, manyRedemptions, 10)
		if got := sweep(t); got != (store.Swept{Redemptions: 5}) {
			t.Errorf("SweepOnce = %+v, want 5 redemptions", got)
		}
		if left := ask[int](t, s, `SELECT count(*) FROM redemptions WHERE keep_until > now()`); left != 5 {
			t.Errorf("%d redemptions are left, want 5", left)
		}
	})
	t.Run("a cart that is being extended is left alone", func(t *testing.T) {
		key := s.newCart(t)
		s.update(t, key, expire)
		_, commit := s.hold(t, `UPDATE carts SET expires_at = clock_timestamp() + interval '1 hour' WHERE user_id = $1`, key.Owner())
		if got := sweep(t); got != (store.Swept{}) {
			t.Errorf("SweepOnce = %+v, want nothing, without waiting for the lock", got)
		}
		commit()
		if got := sweep(t); got != (store.Swept{}) || s.row(t, key) == "none" {
			t.Errorf("SweepOnce = %+v and left %s, want the extended cart kept", got, s.row(t, key))
		}
	})
	t.Run("two at once delete everything, each row once", func(t *testing.T) {
		const rows = 2300
		s.exec(t, manyExpired, rows)
		live := s.newCart(t)
		var deleted atomic.Int64
		replica := s.open(t, "")
		parallel(t, 2, func(i int) error {
			swept, err := newJanitor(t, []*store.Postgres{s.store, replica}[i]).SweepOnce(t.Context())
			deleted.Add(swept.Carts)
			return err
		})
		// Each skips what the other holds, so the last batches may be left over.
		deleted.Add(sweep(t).Carts)
		if got := deleted.Load(); got != rows {
			t.Errorf("they deleted %d rows, want %d", got, rows)
		}
		s.cart(t, live)
	})
	t.Run("no statement deletes more than a batch", func(t *testing.T) {
		s.exec(t, manyExpired, 1200)
		s.exec(t, `CREATE TABLE batches (n bigint)`)
		s.exec(t, `CREATE FUNCTION note_batch() RETURNS trigger LANGUAGE plpgsql AS $$
			BEGIN INSERT INTO batches SELECT count(*) FROM gone; RETURN NULL; END $$`)
		s.exec(t, `CREATE TRIGGER note AFTER DELETE ON carts REFERENCING OLD TABLE AS gone
			FOR EACH STATEMENT EXECUTE FUNCTION note_batch()`)
		sweep(t)
		if largest := ask[int](t, s, `SELECT max(n) FROM batches`); largest != 500 {
			t.Errorf("the largest batch had %d rows, want 500", largest)
		}
	})
	t.Run("it runs until it is told to stop", func(t *testing.T) {
		key := s.newCart(t)
		s.update(t, key, expire)
		ctx, stop := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- newJanitor(t, s.store).Run(ctx) }()
		s.eventually(t, "the sweep", `SELECT count(*) = 0 FROM carts WHERE user_id = $1`, key.Owner())
		stop()
		if err := <-done; err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
	t.Run("it is not stopped by a database that fails", func(t *testing.T) {
		broken, err := store.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none")
		if err != nil {
			t.Fatal(err)
		}
		defer broken.Close()
		if _, err := newJanitor(t, broken).SweepOnce(t.Context()); !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("SweepOnce = %v, want ErrUnavailable", err)
		}
		ctx, stop := context.WithTimeout(t.Context(), 100*time.Millisecond)
		defer stop()
		if err := newJanitor(t, broken).Run(ctx); err != nil {
			t.Errorf("Run = %v, want nil", err)
		}
	})
	t.Run("it refuses to be made of nothing", func(t *testing.T) {
		log := slog.New(slog.DiscardHandler)
		_, a := store.NewJanitor(nil, time.Second, log)
		_, b := store.NewJanitor(s.store, time.Second, nil)
		_, c := store.NewJanitor(s.store, 0, log)
		if a == nil || b == nil || c == nil {
			t.Errorf("NewJanitor = %v, %v, %v, want errors", a, b, c)
		}
	})
}
