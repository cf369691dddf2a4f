package server

import (
	"context"

	"example.com/mcp-cart/store"
)

type productView struct {
	SKU            string `json:"sku"`
	Name           string `json:"name"`
	UnitPriceMinor int64  `json:"unit_price_minor"`
	Currency       string `json:"currency"`
	Stock          int    `json:"stock"`
}

type productsView struct {
	Products []productView `json:"products"`
	Next     string        `json:"next,omitempty"`
}

const productsSchema = `{
  "type": "object", "additionalProperties": false, "required": ["products"],
  "properties": {
    "products": {"type": "array", "items": {
      "type": "object", "additionalProperties": false,
      "required": ["sku", "name", "unit_price_minor", "currency", "stock"],
      "properties": {
        "sku": {"type": "string"},
        "name": {"type": "string"},
        "unit_price_minor": {"type": "integer", "description": "in the currency's minor unit, such as cents"},
        "currency": {"type": "string", "description": "ISO 4217"},
        "stock": {"type": "integer"}
      }}},
    "next": {"type": "string", "description": "if present, there are more: pass it as after"}
  }
}`

func (s *Server) catalogTools() []tool {
	return []tool{
		define(tool{
			name:  "product_search",
			title: "Search products",
			description: "Finds products whose name or sku contains the query; without a query it lists all. " +
				"Pages are ordered by sku. Put a product into a cart with cart_set_item, by its sku.",
			scopes: []string{"catalog:read"},
			effect: reads,
			input: `{
  "type": "object", "additionalProperties": false,
  "properties": {
    "query": {"type": "string", "maxLength": 80, "pattern": "^[^\\x00-\\x1f\\x7f]*$", "description": "part of a product's name or sku, at most 80 characters, no control characters"},
    "after": {"type": "string", "maxLength": 64, "pattern": "^[A-Za-z0-9._-]*$", "description": "the value of next in the page before, to read on from there"},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "how many products at most: a whole number from 1 to 50, 20 if absent"}
  }
}`,
			output: productsSchema,
		}, s.productSearch),
	}
}

type productSearchArgs struct {
	Query string `json:"query"`
	After string `json:"after"`
	Limit int    `json:"limit"`
}

func (s *Server) productSearch(ctx context.Context, _ caller, a productSearchArgs) (any, error) {
	if a.Limit == 0 {
		a.Limit = 20
	}
	page, err := s.store.SearchProducts(ctx, a.Query, a.After, a.Limit)
	if err != nil {
		return nil, err
	}
	view := productsView{Products: make([]productView, len(page.Products)), Next: page.Next}
	for i, p := range page.Products {
		view.Products[i] = viewProduct(p)
	}
	return view, nil
}

func viewProduct(p store.Product) productView {
	return productView{SKU: p.SKU, Name: p.Name, UnitPriceMinor: p.UnitPriceMinor, Currency: p.Currency, Stock: p.Stock}
}
