package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"example.com/mcp-cart/handles"
)

// A read takes no lock and changes nothing, the expiry included.
const cartSQL = `
WITH c AS MATERIALIZED (
	SELECT handle, order_id, version, lines, created_at, expires_at, CASE
		WHEN status = 'ordered' THEN 'ordered'
		WHEN status <> 'open' THEN 'unknown'
		WHEN expires_at <= clock_timestamp() THEN 'expired'
		ELSE 'ok' END AS verdict
	FROM carts WHERE user_id = $1 AND handle = $2
)
SELECT c.verdict, c.order_id, c.handle, c.version, c.created_at, c.expires_at,
       i.key, i.value::int, p.name, p.unit_price_minor, p.currency, p.stock
FROM c
LEFT JOIN LATERAL jsonb_each(c.lines) i ON c.verdict = 'ok'
LEFT JOIN products p ON p.sku = i.key
ORDER BY i.key COLLATE "C"`

// Cart returns the user's cart. Errors: [ErrUnknown], [ErrExpired],
// [*OrderedError].
func (p *Postgres) Cart(ctx context.Context, key handles.Key) (Cart, error) {
	if err := checkKey(key, handles.Cart); err != nil {
		return Cart{}, fmt.Errorf("read cart: %w", err)
	}
	var cart Cart
	err := p.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, cartSQL, key.Owner(), key.Handle().Reveal())
		var err error
		cart, err = collectCart(rows)
		return err
	})
	return cart, wrap("read cart", err)
}

const cartsSQL = `
SELECT 'ok', NULL::text, c.handle, c.version, c.created_at, c.expires_at,
       i.key, i.value::int, p.name, p.unit_price_minor, p.currency, p.stock
FROM carts c
LEFT JOIN LATERAL jsonb_each(c.lines) i ON true
LEFT JOIN products p ON p.sku = i.key
WHERE c.user_id = $1 AND c.status = 'open' AND c.expires_at > clock_timestamp()
ORDER BY c.created_at, c.handle, i.key COLLATE "C"`

// Carts returns the user's open carts, oldest first. The quota bounds them.
func (p *Postgres) Carts(ctx context.Context, owner [16]byte) ([]Cart, error) {
	if err := checkOwner(owner); err != nil {
		return nil, fmt.Errorf("list carts: %w", err)
	}
	var carts []Cart
	err := p.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, cartsSQL, owner)
		var err error
		carts, err = collectCarts(rows)
		return err
	})
	return carts, wrap("list carts", err)
}
