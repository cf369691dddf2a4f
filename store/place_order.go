package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
)

// OutcomeOrdered is the outcome that a flow must be redeemed with to place an
// order. The redemption's ref is the revealed handle of the order.
const OutcomeOrdered = "ordered"

// Purchase is what a person was shown and said yes to.
type Purchase struct {
	Cart          handles.Key
	Version       int64  // of the cart
	Lines         string // fingerprint of what was listed, see [Cart.Fingerprint]
	TotalMinor    int64  // the lines and the shipping
	Currency      string
	Shipping      string
	ShippingMinor int64
}

const (
	takeStockSQL = `
UPDATE products p SET stock = p.stock - l.value::int
FROM jsonb_each($1::jsonb) l WHERE p.sku = l.key`

	insertOrderSQL = `
INSERT INTO orders (user_id, order_id, cart_handle, lines, shipping, shipping_minor, total_minor, currency, placed_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, clock_timestamp())
RETURNING placed_at`

	closeCartSQL = `
UPDATE carts SET status = 'ordered', order_id = $3, version = version + 1
WHERE user_id = $1 AND handle = $2`
)

// PlaceOrder buys the cart: it takes the stock, writes the order and closes the
// cart. It needs the redemption of the flow that asked, recorded in this very
// transaction with [OutcomeOrdered] and the order's id. Under the locks of the
// cart and of its products it checks that all is as it was shown.
//
// Errors: [ErrUnknown], [ErrExpired], [*OrderedError], [*CartMovedError],
// [*OutOfStockError], [ErrEmptyCart], [ErrMixedCurrency]. After any of them the
// transaction must be rolled back, redemption and all; InTx does so when do
// returns the error.
func (t *Tx) PlaceOrder(ctx context.Context, r requeststate.Redeemed, what Purchase) (Order, error) {
	order, err := t.placeOrder(ctx, r, what)
	if err != nil {
		return Order{}, fmt.Errorf("place order: %w", err)
	}
	return order, nil
}

func (t *Tx) placeOrder(ctx context.Context, r requeststate.Redeemed, what Purchase) (Order, error) {
	if err := checkKey(what.Cart, handles.Cart); err != nil {
		return Order{}, err
	}
	if !r.In(t) || r.Owner() != what.Cart.Owner() || r.Outcome() != OutcomeOrdered {
		return Order{}, ErrNotRedeemed
	}
	id, err := handles.Parse(handles.Order, r.Ref())
	if err != nil {
		return Order{}, fmt.Errorf("%w: its ref: %w", ErrNotRedeemed, err)
	}
	cart, err := t.lockCart(ctx, what.Cart)
	if err != nil {
		return Order{}, err
	}
	if err := what.check(cart); err != nil {
		return Order{}, err
	}
	return t.writeOrder(ctx, id, what, cart)
}

// check compares the cart with what was shown. What cannot be bought at all comes
// first: there is no point in asking about it again.
func (what Purchase) check(cart Cart) error {
	if err := cart.Purchasable(); err != nil {
		return err
	}
	if cart.Version != what.Version || cart.Fingerprint() != what.Lines || cart.Currency != what.Currency ||
		cart.TotalMinor+what.ShippingMinor != what.TotalMinor {
		return &CartMovedError{Cart: cart}
	}
	return nil
}

// orderLine is how a line is kept in an order. The currency is the order's.
type orderLine struct {
	SKU            string `json:"sku"`
	Name           string `json:"name"`
	Quantity       int    `json:"quantity"`
	UnitPriceMinor int64  `json:"unit_price_minor"`
}

func (t *Tx) writeOrder(ctx context.Context, id handles.Handle, what Purchase, cart Cart) (Order, error) {
	owner, handle := what.Cart.Owner(), cart.Handle.Reveal()
	quantities := make(map[string]int, len(cart.Lines))
	lines := make([]orderLine, len(cart.Lines))
	for i := range cart.Lines {
		line := &cart.Lines[i]
		line.Stock = 0 // of no interest in an order
		quantities[line.SKU] = line.Quantity
		lines[i] = orderLine{line.SKU, line.Name, line.Quantity, line.UnitPriceMinor}
	}
	order := Order{
		ID: id, Cart: cart.Handle, Lines: cart.Lines, Shipping: what.Shipping,
		ShippingMinor: what.ShippingMinor, TotalMinor: what.TotalMinor, Currency: cart.Currency,
	}
	var batch pgx.Batch
	batch.Queue(takeStockSQL, quantities)
	batch.Queue(insertOrderSQL, owner, id.Reveal(), handle, lines,
		order.Shipping, order.ShippingMinor, order.TotalMinor, order.Currency).
		QueryRow(func(row pgx.Row) error { return row.Scan(&order.PlacedAt) })
	batch.Queue(closeCartSQL, owner, handle, id.Reveal())
	if err := t.tx.SendBatch(ctx, &batch).Close(); err != nil {
		return Order{}, fmt.Errorf("write order: %w", err)
	}
	return order, nil
}
