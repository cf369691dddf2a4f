package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
	"github.com/google/go-cmp/cmp"
)

func (s *suite) testOrders(t *testing.T) {
	t.Run("a confirmed cart becomes an order, and stock is taken", s.testOrderPlaced)
	t.Run("an order stays as it was when the catalogue changes", func(t *testing.T) {
		sku := s.product(t, 5)
		want, err := s.checkout(t, s.cartOf(t, sku)).confirm(t.Context(), s.store)
		if err != nil {
			t.Fatal(err)
		}
		s.exec(t, `DELETE FROM products WHERE sku = $1`, sku)
		owner := ask[[16]byte](t, s, `SELECT user_id FROM orders WHERE order_id = $1`, want.ID.Reveal())
		got, err := s.store.Order(t.Context(), handles.NewKey(owner, want.ID))
		if diff := cmp.Diff(want, got, equalHandles); err != nil || diff != "" {
			t.Errorf("Order = %v, differs (-want +got):\n%s", err, diff)
		}
	})
	t.Run("an ordered cart answers every call with its order, expired or not", func(t *testing.T) {
		key := s.cartOf(t, "T-001")
		again := s.checkout(t, key)
		order, err := s.checkout(t, key).confirm(t.Context(), s.store)
		if err != nil {
			t.Fatal(err)
		}
		calls := append(cartCalls(), call{"PlaceOrder", func(ctx context.Context, p *store.Postgres, key handles.Key) error {
			_, err := again.confirm(ctx, p)
			return err
		}})
		for range 2 {
			for _, call := range calls {
				var ordered *store.OrderedError
				if err := call.do(t.Context(), s.store, key); !errors.As(err, &ordered) || ordered.OrderID != order.ID {
					t.Errorf("%s = %v, want OrderedError %v", call.name, err, order.ID)
				}
			}
			s.update(t, key, expire)
		}
		for _, call := range cartCalls() {
			if err := call.do(t.Context(), s.store, foreign(key)); !errors.Is(err, store.ErrUnknown) {
				t.Errorf("somebody else's %s = %v, want ErrUnknown", call.name, err)
			}
		}
		s.wantOrders(t, key.Owner(), 1, 1)
	})
	t.Run("foreign and unknown orders are one answer", s.testForeignOrders)
	t.Run("pages of orders follow each other, newest first", s.testOrderPages)
	t.Run("a confirmation is one transaction of 6 round trips", func(t *testing.T) {
		var trips atomic.Int64
		p := s.open(t, "&pool_max_conns=1", store.CountRoundTrips(&trips))
		if err := p.Ping(t.Context()); err != nil {
			t.Fatal(err)
		}
		c := s.checkout(t, s.cartOf(t, "T-001", "T-002", "T-003"))
		before := trips.Load()
		if _, err := c.confirm(t.Context(), p); err != nil {
			t.Fatal(err)
		}
		if got := trips.Load() - before; got != 6 {
			t.Errorf("a confirmation took %d round trips, want 6", got)
		}
	})
}

func (s *suite) testOrderPlaced(t *testing.T) {
	a, b := s.product(t, 5), s.product(t, 1)
	key := s.cartOf(t, a, b)
	s.set(t, key, a, 3)
	cart := s.cart(t, key)
	order, err := s.checkout(t, key).confirm(t.Context(), s.store)
	if err != nil {
		t.Fatalf("PlaceOrder = %v", err)
	}
	want := store.Order{
		ID: order.ID, Cart: key.Handle(), Lines: cart.Lines, Shipping: "standard", ShippingMinor: shippingMinor,
		TotalMinor: 4000 + shippingMinor, Currency: "EUR", PlacedAt: order.PlacedAt,
	}
	if diff := cmp.Diff(want, order, equalHandles); diff != "" {
		t.Errorf("PlaceOrder differs (-want +got):\n%s", diff)
	}
	if age := time.Since(order.PlacedAt); age < -time.Minute || age > time.Minute {
		t.Errorf("a new order is %v old", age)
	}
	if s.stock(t, a) != 2 || s.stock(t, b) != 0 {
		t.Errorf("stock is %d and %d, want 2 and 0", s.stock(t, a), s.stock(t, b))
	}
	for name, read := range map[string]func() (store.Order, error){
		"Order":       func() (store.Order, error) { return s.store.Order(t.Context(), handles.NewKey(key.Owner(), order.ID)) },
		"OrderOfCart": func() (store.Order, error) { return s.store.OrderOfCart(t.Context(), key) },
	} {
		got, err := read()
		if diff := cmp.Diff(want, got, equalHandles); err != nil || diff != "" {
			t.Errorf("%s = %v, differs (-want +got):\n%s", name, err, diff)
		}
	}
	s.wantOrders(t, key.Owner(), 1, 1)
}

func (s *suite) testForeignOrders(t *testing.T) {
	key := s.cartOf(t, "T-001")
	order, err := s.checkout(t, key).confirm(t.Context(), s.store)
	if err != nil {
		t.Fatal(err)
	}
	open, me := s.newCart(t), newUser()
	for name, do := range map[string]func() error{
		"foreign order": func() error {
			_, err := s.store.Order(t.Context(), handles.NewKey(me, order.ID))
			return err
		},
		"unknown order": func() error {
			_, err := s.store.Order(t.Context(), handles.NewKey(key.Owner(), handles.Mint(handles.Order)))
			return err
		},
		"order of a foreign cart": func() error { _, err := s.store.OrderOfCart(t.Context(), foreign(key)); return err },
		"order of an open cart":   func() error { _, err := s.store.OrderOfCart(t.Context(), open); return err },
	} {
		if err := do(); !errors.Is(err, store.ErrUnknown) {
			t.Errorf("%s = %v, want ErrUnknown", name, err)
		}
	}
	if page, err := s.store.Orders(t.Context(), me, handles.Handle{}, 10); err != nil || len(page.Orders) != 0 {
		t.Errorf("Orders of another user = %v, %v, want none", page.Orders, err)
	}
	if page, err := s.store.Orders(t.Context(), me, order.ID, 10); err != nil || len(page.Orders) != 0 {
		t.Errorf("Orders after a foreign order = %v, %v, want none", page.Orders, err)
	}
	_, noKey := s.store.Order(t.Context(), handles.NewKey([16]byte{}, order.ID))
	_, wrongKind := s.store.Order(t.Context(), key)
	_, noOwner := s.store.Orders(t.Context(), [16]byte{}, handles.Handle{}, 1)
	for _, err := range []error{noKey, wrongKind, noOwner} {
		if !errors.Is(err, store.ErrBadKey) {
			t.Errorf("a bad key = %v, want ErrBadKey", err)
		}
	}
}

func (s *suite) testOrderPages(t *testing.T) {
	owner := newUser()
	const orders = 7
	var want []handles.Handle
	for range orders {
		key := newKey(owner)
		if _, err := s.store.CreateCart(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		s.set(t, key, "T-001", 1)
		order, err := s.checkout(t, key).confirm(t.Context(), s.store)
		if err != nil {
			t.Fatal(err)
		}
		want = append([]handles.Handle{order.ID}, want...)
	}
	var got []handles.Handle
	var after handles.Handle
	for pages := 1; ; pages++ {
		page, err := s.store.Orders(t.Context(), owner, after, 3)
		if err != nil {
			t.Fatalf("Orders = %v", err)
		}
		for _, order := range page.Orders {
			got = append(got, order.ID)
		}
		if after = page.Next; after.IsZero() {
			if pages != 3 {
				t.Errorf("%d orders made %d pages, want 3", orders, pages)
			}
			break
		}
	}
	if diff := cmp.Diff(want, got, equalHandles); diff != "" {
		t.Errorf("orders differ (-want +got):\n%s", diff)
	}
	for _, limit := range []int{-1, 0, store.MaxOrders + 1} {
		if _, err := s.store.Orders(t.Context(), owner, after, limit); err == nil {
			t.Errorf("Orders with limit %d succeeded", limit)
		}
	}
}

func (s *suite) testRefusedOrders(t *testing.T) {
	// refuse tells that confirming is refused, that nothing has changed, and that
	// the same flow still works once what was wrong has been put right.
	refuse := func(t *testing.T, c checkout, want func(error) bool) {
		t.Helper()
		before := s.row(t, c.what.Cart)
		order, err := c.confirm(t.Context(), s.store)
		if !want(err) || !order.ID.IsZero() {
			t.Errorf("PlaceOrder = %v, %v, want a refusal", order, err)
		}
		if after := s.row(t, c.what.Cart); after != before {
			t.Errorf("the cart changed from %s to %s", before, after)
		}
		s.wantOrders(t, c.what.Cart.Owner(), 0, 0)
	}
	moved := func(t *testing.T, c *checkout) {
		t.Helper()
		refuse(t, *c, func(err error) bool {
			var moved *store.CartMovedError
			if !errors.As(err, &moved) {
				return false
			}
			s.wantCart(t, c.what.Cart, moved.Cart)
			c.what.Version, c.what.TotalMinor = moved.Cart.Version, moved.Cart.TotalMinor+shippingMinor
			return true
		})
		if _, err := c.confirm(t.Context(), s.store); err != nil {
			t.Errorf("with the new numbers, the same flow = %v", err)
		}
		s.wantOrders(t, c.what.Cart.Owner(), 1, 1)
	}

	t.Run("a cart that has changed", func(t *testing.T) {
		key := s.cartOf(t, "T-001")
		c := s.checkout(t, key)
		s.set(t, key, "T-002", 1)
		moved(t, &c)
	})
	t.Run("a cart that has changed and changed back", func(t *testing.T) {
		key := s.cartOf(t, "T-001")
		c := s.checkout(t, key)
		s.set(t, key, "T-001", 2)
		s.set(t, key, "T-001", 1)
		moved(t, &c)
	})
	t.Run("a price that has changed", func(t *testing.T) {
		sku := s.product(t, 5)
		c := s.checkout(t, s.cartOf(t, sku))
		s.exec(t, `UPDATE products SET unit_price_minor = unit_price_minor + 1 WHERE sku = $1`, sku)
		moved(t, &c)
	})
	t.Run("another total than was shown", func(t *testing.T) {
		c := s.checkout(t, s.cartOf(t, "T-001"))
		c.what.ShippingMinor--
		c.what.TotalMinor -= 2
		refuse(t, c, func(err error) bool { var moved *store.CartMovedError; return errors.As(err, &moved) })
	})
	t.Run("a currency that has changed", func(t *testing.T) {
		sku := s.product(t, 5)
		c := s.checkout(t, s.cartOf(t, sku))
		s.exec(t, `UPDATE products SET currency = 'USD' WHERE sku = $1`, sku)
		refuse(t, c, func(err error) bool { var moved *store.CartMovedError; return errors.As(err, &moved) })
	})
	t.Run("two currencies", func(t *testing.T) {
		a, b := s.product(t, 5), s.product(t, 5)
		c := s.checkout(t, s.cartOf(t, a, b))
		s.exec(t, `UPDATE products SET currency = 'USD' WHERE sku = $1`, a)
		refuse(t, c, is(store.ErrMixedCurrency))
	})
	t.Run("stock that has gone", func(t *testing.T) {
		sku := s.product(t, 1)
		c := s.checkout(t, s.cartOf(t, "T-001", sku))
		s.exec(t, `UPDATE products SET stock = 0 WHERE sku = $1`, sku)
		before := s.stock(t, "T-001")
		refuse(t, c, func(err error) bool {
			var out *store.OutOfStockError
			return errors.As(err, &out) && out.SKU == sku && out.Stock == 0
		})
		if after := s.stock(t, "T-001"); after != before {
			t.Errorf("stock of another product went from %d to %d", before, after)
		}
		s.exec(t, `UPDATE products SET stock = 1 WHERE sku = $1`, sku)
		if _, err := c.confirm(t.Context(), s.store); err != nil {
			t.Errorf("with stock again, the same flow = %v", err)
		}
	})
	t.Run("a product that has gone", func(t *testing.T) {
		sku := s.product(t, 1)
		c := s.checkout(t, s.cartOf(t, "T-001", sku))
		s.exec(t, `DELETE FROM products WHERE sku = $1`, sku)
		refuse(t, c, func(err error) bool {
			var out *store.OutOfStockError
			return errors.As(err, &out) && out.SKU == sku
		})
	})
	t.Run("an empty cart", func(t *testing.T) {
		refuse(t, s.checkout(t, s.newCart(t)), is(store.ErrEmptyCart))
	})
	t.Run("an expired cart", func(t *testing.T) {
		c := s.checkout(t, s.cartOf(t, "T-001"))
		s.update(t, c.what.Cart, expire)
		refuse(t, c, is(store.ErrExpired))
	})
	t.Run("a discarded cart", func(t *testing.T) {
		c := s.checkout(t, s.cartOf(t, "T-001"))
		if err := s.store.DiscardCart(t.Context(), c.what.Cart); err != nil {
			t.Fatal(err)
		}
		refuse(t, c, is(store.ErrUnknown))
	})
	t.Run("somebody else's cart, under one's own flow", func(t *testing.T) {
		c := s.checkout(t, s.cartOf(t, "T-001"))
		me := newUser()
		theirs := c.what.Cart
		c.ticket, c.what.Cart = newTicket(t, me), handles.NewKey(me, theirs.Handle())
		refuse(t, c, is(store.ErrUnknown))
		s.wantOrders(t, theirs.Owner(), 0, 0)
	})
	t.Run("an effect without its redemption", s.testEffectNeedsRedemption)
}

func (s *suite) testEffectNeedsRedemption(t *testing.T) {
	c := s.checkout(t, s.cartOf(t, "T-001"))
	redeem := func(ticket *requeststate.Ticket, outcome, ref string) func(context.Context, *store.Tx) (requeststate.Redeemed, error) {
		return func(ctx context.Context, tx *store.Tx) (requeststate.Redeemed, error) {
			return ticket.Redeem(ctx, tx, outcome, ref)
		}
	}
	var kept requeststate.Redeemed
	undo := errors.New("undo")
	err := s.store.InTx(t.Context(), func(ctx context.Context, tx *store.Tx) (err error) {
		if kept, err = c.ticket.Redeem(ctx, tx, store.OutcomeOrdered, handles.Mint(handles.Order).Reveal()); err != nil {
			return err
		}
		return undo
	})
	if !errors.Is(err, undo) {
		t.Fatalf("InTx = %v, want the error of its function", err)
	}
	for name, redeem := range map[string]func(context.Context, *store.Tx) (requeststate.Redeemed, error){
		"none":                   func(context.Context, *store.Tx) (requeststate.Redeemed, error) { return requeststate.Redeemed{}, nil },
		"of another transaction": func(context.Context, *store.Tx) (requeststate.Redeemed, error) { return kept, nil },
		"of another user":        redeem(newTicket(t, newUser()), store.OutcomeOrdered, handles.Mint(handles.Order).Reveal()),
		"of a refusal":           redeem(c.ticket, "declined", handles.Mint(handles.Order).Reveal()),
		"without an order":       redeem(c.ticket, store.OutcomeOrdered, ""),
		"naming a cart":          redeem(c.ticket, store.OutcomeOrdered, handles.Mint(handles.Cart).Reveal()),
	} {
		t.Run(name, func(t *testing.T) {
			err := s.store.InTx(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				redeemed, err := redeem(ctx, tx)
				if err != nil {
					t.Fatal(err)
				}
				_, err = tx.PlaceOrder(ctx, redeemed, c.what)
				return err
			})
			if !errors.Is(err, store.ErrNotRedeemed) {
				t.Errorf("PlaceOrder = %v, want ErrNotRedeemed", err)
			}
			s.wantOrders(t, c.what.Cart.Owner(), 0, 0)
		})
	}
	if _, err := c.confirm(t.Context(), s.store); err != nil {
		t.Errorf("the flow afterwards = %v", err)
	}
}
