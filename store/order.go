package store

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/mcp-cart/handles"
)

// MaxOrders is the length of the longest page of orders.
const MaxOrders = 100

// Order is what was bought, as it was confirmed. Whatever happens to the
// catalogue, it stays as it is.
type Order struct {
	ID            handles.Handle
	Cart          handles.Handle // what it came from
	Lines         []Line
	Shipping      string
	ShippingMinor int64
	TotalMinor    int64 // the lines and the shipping
	Currency      string
	PlacedAt      time.Time
}

// OrderPage is one page of a user's orders, newest first.
type OrderPage struct {
	Orders []Order
	Next   handles.Handle // what the next page starts after; zero on the last page
}

const (
	orderColumns = `order_id, cart_handle, lines, shipping, shipping_minor, total_minor, currency, placed_at`

	orderSQL = `SELECT ` + orderColumns + ` FROM orders WHERE user_id = $1 AND order_id = $2`

	orderOfCartSQL = `SELECT ` + orderColumns + ` FROM orders WHERE user_id = $1 AND cart_handle = $2`

	ordersSQL = `SELECT ` + orderColumns + ` FROM orders
WHERE user_id = $1 AND ($2::text = '' OR (placed_at, order_id) <
	(SELECT placed_at, order_id FROM orders WHERE user_id = $1 AND order_id = $2::text))
ORDER BY placed_at DESC, order_id DESC
LIMIT $3`
)

// Order returns the user's order. Errors: [ErrUnknown].
func (p *Postgres) Order(ctx context.Context, key handles.Key) (Order, error) {
	order, err := p.order(ctx, handles.Order, orderSQL, key)
	return order, wrap("read order", err)
}

// OrderOfCart returns what the user's cart became. Errors: [ErrUnknown], also for
// a cart that was not ordered.
func (p *Postgres) OrderOfCart(ctx context.Context, key handles.Key) (Order, error) {
	order, err := p.order(ctx, handles.Cart, orderOfCartSQL, key)
	return order, wrap("read order of cart", err)
}

func (p *Postgres) order(ctx context.Context, kind handles.Kind, sql string, key handles.Key) (Order, error) {
	if err := checkKey(key, kind); err != nil {
		return Order{}, err
	}
	orders, err := p.orders(ctx, sql, key.Owner(), key.Handle().Reveal())
	if err != nil {
		return Order{}, err
	}
	if len(orders) == 0 {
		return Order{}, ErrUnknown
	}
	return orders[0], nil
}

// Orders returns the user's orders, newest first, starting after the given one
// or, if that is zero, with the newest. There are none after an order that the
// user does not have.
func (p *Postgres) Orders(ctx context.Context, owner [16]byte, after handles.Handle, limit int) (OrderPage, error) {
	if err := checkOwner(owner); err != nil {
		return OrderPage{}, fmt.Errorf("list orders: %w", err)
	}
	if limit < 1 || limit > MaxOrders {
		return OrderPage{}, fmt.Errorf("list orders: limit %d is not within 1 and %d", limit, MaxOrders)
	}
	// One more than asked for tells whether there is a next page.
	orders, err := p.orders(ctx, ordersSQL, owner, after.Reveal(), limit+1)
	if err != nil {
		return OrderPage{}, fmt.Errorf("list orders: %w", err)
	}
	page := OrderPage{Orders: orders}
	if len(orders) > limit {
		page.Orders = orders[:limit]
		page.Next = orders[limit-1].ID
	}
	return page, nil
}

func (p *Postgres) orders(ctx context.Context, sql string, args ...any) ([]Order, error) {
	var orders []Order
	err := p.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, sql, args...)
		var err error
		orders, err = pgx.CollectRows(rows, scanOrder)
		return err
	})
	return orders, err
}

func scanOrder(row pgx.CollectableRow) (Order, error) {
	var o Order
	var id, cart string
	var lines []orderLine
	err := row.Scan(&id, &cart, &lines, &o.Shipping, &o.ShippingMinor, &o.TotalMinor, &o.Currency, &o.PlacedAt)
	if err != nil {
		return Order{}, err
	}
	if o.ID, err = handles.Parse(handles.Order, id); err != nil {
		return Order{}, fmt.Errorf("handle of an order: %w", err)
	}
	if o.Cart, err = handles.Parse(handles.Cart, cart); err != nil {
		return Order{}, fmt.Errorf("cart of an order: %w", err)
	}
	for _, l := range lines {
		o.Lines = append(o.Lines, Line{
			SKU: l.SKU, Name: l.Name, Quantity: l.Quantity, UnitPriceMinor: l.UnitPriceMinor, Currency: o.Currency,
		})
	}
	return o, nil
}
