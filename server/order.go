package server

import (
	"context"
	"time"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

type orderView struct {
	OrderID       string     `json:"order_id"`
	CartID        string     `json:"cart_id"`
	Lines         []lineView `json:"lines"`
	Shipping      string     `json:"shipping"`
	ShippingMinor int64      `json:"shipping_minor"`
	TotalMinor    int64      `json:"total_minor"`
	Currency      string     `json:"currency"`
	PlacedAt      time.Time  `json:"placed_at"`
}

type ordersView struct {
	Orders []orderView `json:"orders"`
	Next   string      `json:"next,omitempty"`
}

const orderSchema = `{
  "type": "object", "additionalProperties": false,
  "required": ["order_id", "cart_id", "lines", "shipping", "shipping_minor", "total_minor", "currency", "placed_at"],
  "properties": {
    "order_id": {"type": "string"}, "cart_id": {"type": "string"},
    "lines": {"type": "array", "items": {
      "type": "object", "additionalProperties": false,
      "required": ["sku", "name", "quantity", "unit_price_minor", "line_total_minor"],
      "properties": {
        "sku": {"type": "string"}, "name": {"type": "string"}, "quantity": {"type": "integer"},
        "unit_price_minor": {"type": "integer"}, "line_total_minor": {"type": "integer"}
      }}},
    "shipping": {"type": "string"}, "shipping_minor": {"type": "integer"},
    "total_minor": {"type": "integer", "description": "what was charged, shipping included, in the currency's minor unit"},
    "currency": {"type": "string", "description": "ISO 4217"},
    "placed_at": {"type": "string", "format": "date-time"}
  }
}`

func (s *Server) orderTools() []tool {
	return []tool{
		define(tool{
			name:        "order_get",
			title:       "Read an order",
			description: "Returns one of the user's orders as it was confirmed. Orders do not expire.",
			scopes:      []string{"order:read"},
			effect:      reads,
			input: `{"type": "object", "additionalProperties": false, "required": ["order_id"], "properties": {
  "order_id": {"type": "string", "maxLength": 64, "description": "the order_id exactly as checkout or order_list returned it"}}}`,
			output: orderSchema,
		}, s.orderGet),
		define(tool{
			name:        "order_list",
			title:       "List orders",
			description: "Lists the user's orders, newest first. Use it to see whether a checkout whose answer got lost has bought the cart.",
			scopes:      []string{"order:read"},
			effect:      reads,
			input: `{"type": "object", "additionalProperties": false, "properties": {
  "after": {"type": "string", "maxLength": 64, "description": "the value of next in the page before, to read on from there"},
  "limit": {"type": "integer", "minimum": 1, "maximum": 50, "description": "how many orders at most: a whole number from 1 to 50, 10 if absent"}}}`,
			output: `{"type": "object", "additionalProperties": false, "required": ["orders"],
  "properties": {
    "orders": {"type": "array", "items": ` + orderSchema + `},
    "next": {"type": "string", "description": "if present, there are more: pass it as after"}
  }}`,
		}, s.orderList),
	}
}

type orderArgs struct {
	OrderID string `json:"order_id"`
}

type orderListArgs struct {
	After string `json:"after"`
	Limit int    `json:"limit"`
}

func (s *Server) orderGet(ctx context.Context, who caller, a orderArgs) (any, error) {
	h, err := handles.Parse(handles.Order, a.OrderID)
	if err != nil {
		return nil, err
	}
	order, err := s.store.Order(ctx, handles.NewKey(who.UserID(), h))
	if err != nil {
		return nil, err
	}
	return viewOrder(order), nil
}

func (s *Server) orderList(ctx context.Context, who caller, a orderListArgs) (any, error) {
	var after handles.Handle
	if a.After != "" {
		var err error
		if after, err = handles.Parse(handles.Order, a.After); err != nil {
			return nil, err
		}
	}
	if a.Limit == 0 {
		a.Limit = 10
	}
	page, err := s.store.Orders(ctx, who.UserID(), after, a.Limit)
	if err != nil {
		return nil, err
	}
	view := ordersView{Orders: make([]orderView, len(page.Orders)), Next: page.Next.Reveal()}
	for i, o := range page.Orders {
		view.Orders[i] = viewOrder(o)
	}
	return view, nil
}

func viewOrder(o store.Order) orderView {
	return orderView{
		OrderID: o.ID.Reveal(), CartID: o.Cart.Reveal(), Lines: viewLines(o.Lines),
		Shipping: o.Shipping, ShippingMinor: o.ShippingMinor,
		TotalMinor: o.TotalMinor, Currency: o.Currency, PlacedAt: o.PlacedAt.UTC(),
	}
}
