package storetest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"testing"

	"golang.org/x/sync/errgroup"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

func createCall() call {
	return call{"CreateCart", func(ctx context.Context, p *store.Postgres, key handles.Key) error {
		_, err := p.CreateCart(ctx, key)
		return err
	}}
}

func foreign(key handles.Key) handles.Key { return handles.NewKey(newUser(), key.Handle()) }

// is returns the test for one error.
func is(want error) func(error) bool { return func(err error) bool { return errors.Is(err, want) } }

// parallel runs n calls at once and returns how many ended each of the
// expected errors; index 0 counts those that succeeded. Any other error fails the test.
func parallel(t *testing.T, n int, do func(i int) error, expected ...func(error) bool) []int {
	t.Helper()
	results := make([]error, n)
	var g errgroup.Group
	for i := range n {
		g.Go(func() error { results[i] = do(i); return nil })
	}
	_ = g.Wait()
	counts := make([]int, 1+len(expected))
next:
	for _, err := range results {
		if err == nil {
			counts[0]++
			continue
		}
		for i, expected := range expected {
			if expected(err) {
				counts[i+1]++
				continue next
			}
		}
		t.Errorf("unexpected error: %v", err)
	}
	return counts
}

func (s *suite) testBounds(t *testing.T) {
	t.Run("a user has 20 open carts, counted while others are being made", func(t *testing.T) {
		owner := newUser()
		for range store.MaxOpenCarts - 1 {
			if _, err := s.store.CreateCart(t.Context(), newKey(owner)); err != nil {
				t.Fatal(err)
			}
		}
		// Another replica is about to commit the user's 20th cart.
		last := newKey(owner)
		tx, commit := s.hold(t, `SELECT pg_advisory_xact_lock(hashtextextended($1::uuid::text, 0))`, owner)
		if _, err := tx.Exec(t.Context(), `INSERT INTO carts (user_id, handle, created_at, expires_at)
			VALUES ($1, $2, clock_timestamp(), clock_timestamp() + interval '1 hour')`, owner, last.Handle().Reveal()); err != nil {
			t.Fatal(err)
		}
		result := make(chan error, 1)
		go func() { result <- createCall().do(t.Context(), s.store, newKey(owner)) }()
		s.awaitBlocked(t, 1)
		// Somebody else does not wait for this user's lock.
		s.newCart(t)
		commit()
		if err := <-result; !errors.Is(err, store.ErrQuota) {
			t.Errorf("CreateCart = %v, want ErrQuota", err)
		}
		if carts, err := s.store.Carts(t.Context(), owner); err != nil || len(carts) != store.MaxOpenCarts {
			t.Errorf("the user has %d carts, %v, want %d", len(carts), err, store.MaxOpenCarts)
		}
		if err := s.store.DiscardCart(t.Context(), last); err != nil {
			t.Fatal(err)
		}
		if _, err := s.store.CreateCart(t.Context(), newKey(owner)); err != nil {
			t.Errorf("after discarding one CreateCart = %v", err)
		}
	})
	t.Run("40 carts made at once are 20", func(t *testing.T) {
		owner, replica := newUser(), s.open(t, "")
		got := parallel(t, 40, func(i int) error {
			return createCall().do(t.Context(), []*store.Postgres{s.store, replica}[i%2], newKey(owner))
		}, is(store.ErrQuota))
		if got[0] != 20 || got[1] != 20 {
			t.Errorf("%d succeeded and %d met the quota, want 20 and 20", got[0], got[1])
		}
	})
	t.Run("a cart has 100 lines, however many are added at once", func(t *testing.T) {
		key := s.newCart(t)
		s.update(t, key, fillWith, store.MaxLines-2)
		got := parallel(t, 10, func(i int) error {
			_, err := s.store.SetItem(t.Context(), key, fmt.Sprintf("T-%03d", 110+i), 1)
			return err
		}, is(store.ErrTooManyLines))
		if got[0] != 2 || got[1] != 8 {
			t.Errorf("%d succeeded and %d were refused, want 2 and 8", got[0], got[1])
		}
		if cart := s.cart(t, key); len(cart.Lines) != store.MaxLines {
			t.Errorf("the cart has %d lines, want %d", len(cart.Lines), store.MaxLines)
		}
		s.set(t, key, "T-001", 7)
		s.set(t, key, "T-002", 0)
		s.set(t, key, "T-149", 1)
	})
	t.Run("a quantity is within 0 and 999", func(t *testing.T) {
		key := s.newCart(t)
		before := s.row(t, key)
		for _, quantity := range []int{-1, 1000, math.MinInt64, math.MaxInt32, math.MaxInt32 + 1, math.MaxInt64, 1<<32 + 1} {
			if _, err := s.store.SetItem(t.Context(), key, "T-001", quantity); !errors.Is(err, store.ErrQuantity) {
				t.Errorf("SetItem(%d) = %v, want ErrQuantity", quantity, err)
			}
		}
		if after := s.row(t, key); after != before {
			t.Errorf("the cart changed to %s", after)
		}
		if cart := s.set(t, key, "T-001", store.MaxQuantity); cart.Lines[0].Quantity != store.MaxQuantity {
			t.Errorf("quantity = %d, want %d", cart.Lines[0].Quantity, store.MaxQuantity)
		}
	})
	t.Run("the dearest cart has an exact total", func(t *testing.T) {
		key := s.newCart(t)
		s.exec(t, `INSERT INTO products SELECT 'DEAR-' || n, 'Dear', 1000000000, 'EUR', 1 FROM generate_series(1, 100) n`)
		s.update(t, key, `lines = (SELECT jsonb_object_agg('DEAR-' || n, 999) FROM generate_series(1, 100) n)`)
		if cart := s.cart(t, key); cart.TotalMinor != 99_900_000_000_000 {
			t.Errorf("total = %d, want 99900000000000", cart.TotalMinor)
		}
	})
}
