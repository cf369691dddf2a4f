package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// MaxProducts is the length of the longest page of products.
const MaxProducts = 100

// Product is one thing of the catalogue.
type Product struct {
	SKU            string
	Name           string
	UnitPriceMinor int64 // in the currency's smallest unit
	Currency       string
	Stock          int
}

// ProductPage is one page of products, in the order of their SKUs.
type ProductPage struct {
	Products []Product
	Next     string // what the next page starts after; empty on the last page
}

// One more than asked for tells whether there is a next page. Every word of the
// query must occur in the SKU or in the name. This reads the whole catalogue: give
// a large one an index for it (pg_trgm) before anything else.
const searchProductsSQL = `
SELECT sku, name, unit_price_minor, currency, stock
FROM products p
WHERE sku > $2
  AND NOT EXISTS (SELECT FROM unnest($1::text[]) AS word
                  WHERE strpos(lower(p.sku || ' ' || p.name), lower(word)) = 0)
ORDER BY sku
LIMIT $3`

// SearchProducts returns the products that match every word of the query, or all
// of them for an empty one, starting after the given SKU. Errors: [ErrInvalidText].
func (p *Postgres) SearchProducts(ctx context.Context, query, afterSKU string, limit int) (ProductPage, error) {
	if limit < 1 || limit > MaxProducts {
		return ProductPage{}, fmt.Errorf("search products: limit %d is not within 1 and %d", limit, MaxProducts)
	}
	var products []Product
	err := p.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, searchProductsSQL, strings.Fields(query), afterSKU, limit+1)
		var err error
		products, err = pgx.CollectRows(rows, pgx.RowToStructByPos[Product])
		return err
	})
	if err != nil {
		return ProductPage{}, fmt.Errorf("search products: %w", err)
	}
	page := ProductPage{Products: products}
	if len(products) > limit {
		page.Products = products[:limit]
		page.Next = products[limit-1].SKU
	}
	return page, nil
}
