package storetest

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
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
	for i := range cart.Lines {
		cart.Lines[i].Stock = 0 // an order does not know what is left
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
