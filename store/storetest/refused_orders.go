package storetest

import (
	"context"
	"errors"
	"testing"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
)

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
			c.what.Version, c.what.Lines, c.what.TotalMinor = moved.Cart.Version, moved.Cart.Fingerprint(), moved.Cart.TotalMinor+shippingMinor
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
	t.Run("prices that have changed and leave the total as it was", func(t *testing.T) {
		a, b := s.product(t, 5), s.product(t, 5)
		c := s.checkout(t, s.cartOf(t, a, b))
		s.exec(t, `UPDATE products SET unit_price_minor = unit_price_minor + CASE sku WHEN $1 THEN 7 ELSE -7 END WHERE sku IN ($1, $2)`, a, b)
		moved(t, &c)
	})
	t.Run("a product that has another name", func(t *testing.T) {
		sku := s.product(t, 5)
		c := s.checkout(t, s.cartOf(t, sku))
		s.exec(t, `UPDATE products SET name = name || ' (used)' WHERE sku = $1`, sku)
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
