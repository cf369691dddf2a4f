package storetest

import (
	"context"
	"fmt"
	"testing"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
)

// A checkout is one person's yes to one cart: the flow that asked, and what was
// shown.
type checkout struct {
	ticket *requeststate.Ticket
	what   store.Purchase
}

const shippingMinor = 490

// checkout seals a question about the cart as it is and opens it again.
func (s *suite) checkout(t testing.TB, key handles.Key) checkout {
	t.Helper()
	cart := s.cart(t, key)
	return checkout{newTicket(t, key.Owner()), store.Purchase{
		Cart: key, Version: cart.Version, Lines: cart.Fingerprint(), TotalMinor: cart.TotalMinor + shippingMinor,
		Currency: cart.Currency, Shipping: "standard", ShippingMinor: shippingMinor,
	}}
}

func newTicket(t testing.TB, owner [16]byte) *requeststate.Ticket {
	t.Helper()
	ring, err := requeststate.ParseRing(requeststate.NewKeyLine())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := requeststate.NewKeys(ring)
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := requeststate.NewSealer(keys)
	if err != nil {
		t.Fatal(err)
	}
	binding := requeststate.Binding{
		Audience: "https://shop.test/mcp", Issuer: "https://issuer.test", Subject: fmt.Sprintf("%x", owner),
		ClientID: "client", Owner: owner, Method: "tools/call", Tool: "checkout",
		Arguments: struct{}{}, Questions: []string{"confirm"},
	}
	token, err := sealer.Begin(binding, "confirm", nil)
	if err != nil {
		t.Fatal(err)
	}
	ticket, err := sealer.Open(binding, token)
	if err != nil {
		t.Fatal(err)
	}
	return ticket
}

// confirm places the order, the way a tool does.
func (c checkout) confirm(ctx context.Context, p *store.Postgres) (store.Order, error) {
	var order store.Order
	id := handles.Mint(handles.Order)
	err := p.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		redeemed, err := c.ticket.Redeem(ctx, tx, store.OutcomeOrdered, id.Reveal())
		if err != nil {
			return err
		}
		order, err = tx.PlaceOrder(ctx, redeemed, c.what)
		return err
	})
	return order, err
}

// placeOrderCall confirms a cart unseen.
func placeOrderCall(t testing.TB) call {
	return call{"PlaceOrder", func(ctx context.Context, p *store.Postgres, key handles.Key) error {
		c := checkout{newTicket(t, key.Owner()), store.Purchase{Cart: key}}
		_, err := c.confirm(ctx, p)
		return err
	}}
}

// decline redeems the flow for nothing.
func (c checkout) decline(ctx context.Context, p *store.Postgres) error {
	return p.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := c.ticket.Redeem(ctx, tx, "declined", "")
		return err
	})
}

// product puts a product of the test's own into the catalogue.
func (s *suite) product(t testing.TB, stock int) string {
	t.Helper()
	sku := "P-" + handles.Mint(handles.Order).Reveal()[4:30]
	s.exec(t, `INSERT INTO products VALUES ($1, 'Product of a test', 1000, 'EUR', $2)`, sku, stock)
	return sku
}

func (s *suite) stock(t testing.TB, sku string) int {
	t.Helper()
	return ask[int](t, s, `SELECT stock FROM products WHERE sku = $1`, sku)
}

// cartOf makes a cart for a new user with one of each product.
func (s *suite) cartOf(t testing.TB, skus ...string) handles.Key {
	t.Helper()
	key := s.newCart(t)
	for _, sku := range skus {
		s.set(t, key, sku, 1)
	}
	return key
}

// wantOrders checks how many orders and redemptions the user has.
func (s *suite) wantOrders(t testing.TB, owner [16]byte, orders, redemptions int) {
	t.Helper()
	if got := ask[int](t, s, `SELECT count(*) FROM orders WHERE user_id = $1`, owner); got != orders {
		t.Errorf("the user has %d orders, want %d", got, orders)
	}
	if got := ask[int](t, s, `SELECT count(*) FROM redemptions WHERE user_id = $1`, owner); got != redemptions {
		t.Errorf("the user has %d redemptions, want %d", got, redemptions)
	}
}
