package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

func (s *suite) testContention(t *testing.T) {
	t.Run("20 buyers of the last one are one order, and the losers keep their carts", func(t *testing.T) {
		sku := s.product(t, 1)
		buyers := make([]checkout, 20)
		for i := range buyers {
			buyers[i] = s.checkout(t, s.cartOf(t, sku))
		}
		replicas := []*store.Postgres{s.store, s.open(t, ""), s.open(t, "")}
		won := make([]bool, len(buyers))
		got := parallel(t, len(buyers), func(i int) error {
			_, err := buyers[i].confirm(t.Context(), replicas[i%3])
			won[i] = err == nil
			return err
		}, outOfStock)
		if got[0] != 1 || got[1] != 19 || s.stock(t, sku) != 0 {
			t.Errorf("%d bought, %d met an empty shelf, %d are left, want 1, 19, 0", got[0], got[1], s.stock(t, sku))
		}
		for i, buyer := range buyers {
			if won[i] {
				continue
			}
			s.wantOrders(t, buyer.what.Cart.Owner(), 0, 0)
			if cart := s.cart(t, buyer.what.Cart); len(cart.Lines) != 1 || cart.Version != buyer.what.Version {
				t.Errorf("the cart of a loser changed: %+v", cart)
			}
		}
	})
	t.Run("carts that want the same products crosswise do not meet in a deadlock", func(t *testing.T) {
		a, b := s.product(t, 100), s.product(t, 100)
		buyers := make([]checkout, 100)
		for i := range buyers {
			skus := []string{a, b}
			buyers[i] = s.checkout(t, s.cartOf(t, skus[i%2], skus[1-i%2]))
		}
		replica := s.open(t, "")
		before := ask[int](t, s, deadlocks)
		parallel(t, len(buyers), func(i int) error {
			_, err := buyers[i].confirm(t.Context(), []*store.Postgres{s.store, replica}[i/50])
			return err
		})
		if s.stock(t, a) != 0 || s.stock(t, b) != 0 {
			t.Errorf("stock = %d and %d, want none left", s.stock(t, a), s.stock(t, b))
		}
		if after := ask[int](t, s, deadlocks); after != before {
			t.Errorf("the database broke %d deadlocks, want none", after-before)
		}
	})
	t.Run("changes and a confirmation at once: the order is what was shown, or nothing is ordered", func(t *testing.T) {
		for range 20 {
			key := s.cartOf(t, "T-001")
			c := s.checkout(t, key)
			parallel(t, 4, func(i int) error {
				if i == 0 {
					order, err := c.confirm(t.Context(), s.store)
					if err == nil && order.TotalMinor != c.what.TotalMinor {
						err = errors.New("another total than was shown")
					}
					return err
				}
				_, err := s.store.SetItem(t.Context(), key, "T-001", 1+i)
				return err
			}, ordered, func(err error) bool {
				_, moved := errors.AsType[*store.CartMovedError](err)
				return moved
			})
		}
		if wrong := ask[int](t, s, `SELECT count(*) FROM orders WHERE total_minor <> shipping_minor +
			(SELECT sum((l->>'quantity')::int * (l->>'unit_price_minor')::bigint) FROM jsonb_array_elements(lines) l)`); wrong != 0 {
			t.Errorf("%d orders have a total that is not the sum of their lines", wrong)
		}
	})
	t.Run("a deadlock that somebody else causes is tried again", s.testDeadlock)
	t.Run("one that loses every time is busy in the end", func(t *testing.T) {
		for _, state := range []string{"40001", "40P01"} {
			attempts := 0
			err := s.store.InTx(t.Context(), func(context.Context, *store.Tx) error {
				attempts++
				return &pgconn.PgError{Code: state}
			})
			if !errors.Is(err, store.ErrBusy) || attempts != 6 {
				t.Errorf("InTx = %v after %d attempts, want ErrBusy after 6", err, attempts)
			}
		}
	})
	t.Run("a caller that leaves is not waited for between two attempts", func(t *testing.T) {
		ctx, hangUp := context.WithCancel(t.Context())
		attempts := 0
		err := s.store.InTx(ctx, func(context.Context, *store.Tx) error {
			attempts++
			hangUp()
			return &pgconn.PgError{Code: "40001"}
		})
		if err == nil || attempts != 1 {
			t.Errorf("InTx = %v after %d attempts, want an error after 1", err, attempts)
		}
	})
	t.Run("other errors are not tried again", func(t *testing.T) {
		attempts := 0
		_ = s.store.InTx(t.Context(), func(context.Context, *store.Tx) error {
			attempts++
			return &pgconn.PgError{Code: "23514"}
		})
		if attempts != 1 {
			t.Errorf("it was attempted %d times, want once", attempts)
		}
	})
	t.Run("a refused effect keeps its connection", func(t *testing.T) {
		p, c := s.single(t, "refused"), s.checkout(t, s.newCart(t))
		backend := p.backend(t)
		if _, err := c.confirm(t.Context(), p.Postgres); !errors.Is(err, store.ErrEmptyCart) {
			t.Errorf("PlaceOrder = %v, want ErrEmptyCart", err)
		}
		if err := p.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := p.backend(t); got != backend {
			t.Errorf("the connection was replaced: server process %d, then %d", backend, got)
		}
	})
	t.Run("a panic leaves nothing behind", func(t *testing.T) {
		p, c := s.single(t, "panics"), s.checkout(t, s.cartOf(t, "T-001"))
		func() {
			defer func() { _ = recover() }()
			_ = p.InTx(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				if _, err := c.ticket.Redeem(ctx, tx, store.OutcomeOrdered, handles.Mint(handles.Order).Reveal()); err != nil {
					t.Fatal(err)
				}
				panic("in the middle")
			})
		}()
		s.wantOrders(t, c.what.Cart.Owner(), 0, 0)
		if _, err := c.confirm(t.Context(), p.Postgres); err != nil {
			t.Errorf("the same flow afterwards = %v", err)
		}
	})
}

const deadlocks = `SELECT deadlocks::int FROM pg_stat_database WHERE datname = current_database()`

// testDeadlock makes deadlocks until it is the store that the database ends.
func (s *suite) testDeadlock(t *testing.T) {
	for range 10 {
		if s.deadlock(t) {
			return
		}
	}
	t.Fatal("the other transaction lost every time")
}

// deadlock has somebody else lock two products in the wrong order. The database
// ends whoever finds the deadlock after a second of waiting. That is the store,
// which waits first, unless the machine is so slow that the other one comes a
// second later.
func (s *suite) deadlock(t *testing.T) (storeLost bool) {
	a, b := s.product(t, 1), s.product(t, 1)
	if a > b {
		a, b = b, a
	}
	p, c := s.single(t, "deadlock"), s.checkout(t, s.cartOf(t, a, b))
	defer p.Close()
	const lock = `UPDATE products SET stock = stock + 1 WHERE sku = $1`
	tx, commit := s.hold(t, lock, b)
	result := make(chan error, 1)
	go func() { _, err := c.confirm(context.Background(), p.Postgres); result <- err }()
	s.eventually(t, "the store to have a head start", `SELECT count(*) = 1 `+backends+`
		AND wait_event_type = 'Lock' AND clock_timestamp() - query_start > interval '200 milliseconds'`, p.name)
	_, err := tx.Exec(t.Context(), lock, a)
	if err != nil {
		_ = tx.Rollback(t.Context())
	} else {
		commit()
	}
	if err := <-result; err != nil {
		t.Errorf("PlaceOrder = %v, want success at the second attempt", err)
	}
	s.wantOrders(t, c.what.Cart.Owner(), 1, 1)
	return err == nil
}
