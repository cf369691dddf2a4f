package store

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"example.com/mcp-cart/handles"
)

const (
	lockCartSQL = `
WITH l AS MATERIALIZED (
	SELECT status, order_id, version, lines, created_at, expires_at
	FROM carts WHERE user_id = $1 AND handle = $2 FOR UPDATE
)
SELECT CASE
	WHEN status = 'ordered' THEN 'ordered'
	WHEN status <> 'open' THEN 'unknown'
	WHEN expires_at <= clock_timestamp() THEN 'expired'
	ELSE 'ok' END,
	order_id, version, lines, created_at, expires_at
FROM l`

	// In the order of the SKUs, whatever is in the carts: two purchases that want
	// the same products meet at the first of them and not across.
	lockProductsSQL = `
SELECT sku, name, unit_price_minor, currency, stock
FROM products WHERE sku = ANY ($1::text[]) ORDER BY sku FOR NO KEY UPDATE`
)

// lockCart reads the cart and its products, which stay as they are until the end
// of the transaction.
func (t *Tx) lockCart(ctx context.Context, key handles.Key) (Cart, error) {
	cart := Cart{Handle: key.Handle(), Status: StatusOpen}
	var decided string
	var orderID *string
	var quantities map[string]int
	err := t.tx.QueryRow(ctx, lockCartSQL, key.Owner(), key.Handle().Reveal()).
		Scan(&decided, &orderID, &cart.Version, &quantities, &cart.CreatedAt, &cart.ExpiresAt)
	if errors.Is(err, pgx.ErrNoRows) {
		return cart, ErrUnknown
	}
	if err != nil {
		return cart, fmt.Errorf("lock cart: %w", err)
	}
	if err := verdict(decided, orderID); err != nil {
		return cart, err
	}
	skus := slices.Sorted(maps.Keys(quantities))
	rows, _ := t.tx.Query(ctx, lockProductsSQL, skus)
	products, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Product])
	if err != nil {
		return cart, fmt.Errorf("lock products: %w", err)
	}
	cart.fill(skus, quantities, products)
	return cart, nil
}

func (c *Cart) fill(skus []string, quantities map[string]int, products []Product) {
	bySKU := make(map[string]Product, len(products))
	for _, p := range products {
		bySKU[p.SKU] = p
	}
	for _, sku := range skus {
		p, found := bySKU[sku]
		c.Lines = append(c.Lines, Line{
			SKU: sku, Name: p.Name, Quantity: quantities[sku],
			UnitPriceMinor: p.UnitPriceMinor, Currency: p.Currency, Stock: p.Stock, Gone: !found,
		})
	}
	c.sum()
}
