package server

import (
	"context"
	"time"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

type lineView struct {
	SKU            string `json:"sku"`
	Name           string `json:"name"`
	Quantity       int    `json:"quantity"`
	UnitPriceMinor int64  `json:"unit_price_minor"`
	LineTotalMinor int64  `json:"line_total_minor"`
	Gone           bool   `json:"gone,omitempty"`
}

type cartView struct {
	CartID     string     `json:"cart_id"`
	Status     string     `json:"status"`
	Version    int64      `json:"version"`
	Lines      []lineView `json:"lines"`
	TotalMinor int64      `json:"total_minor"`
	Currency   string     `json:"currency,omitempty"`
	ExpiresAt  time.Time  `json:"expires_at"`
}

const cartSchema = `{
  "type": "object", "additionalProperties": false,
  "required": ["cart_id", "status", "version", "lines", "total_minor", "expires_at"],
  "properties": {
    "cart_id": {"type": "string"},
    "status": {"type": "string", "const": "open"},
    "version": {"type": "integer", "description": "grows by one with every change"},
    "lines": {"type": "array", "items": {
      "type": "object", "additionalProperties": false,
      "required": ["sku", "name", "quantity", "unit_price_minor", "line_total_minor"],
      "properties": {
        "sku": {"type": "string"}, "name": {"type": "string"}, "quantity": {"type": "integer"},
        "unit_price_minor": {"type": "integer"}, "line_total_minor": {"type": "integer"},
        "gone": {"type": "boolean", "description": "true if the product is no longer sold: set its quantity to 0"}
      }}},
    "total_minor": {"type": "integer", "description": "in the currency's minor unit, such as cents, at today's prices"},
    "currency": {"type": "string", "description": "ISO 4217; absent while the cart is empty"},
    "expires_at": {"type": "string", "format": "date-time"}
  }
}`

const cartIDProperty = `"cart_id": {"type": "string", "maxLength": 64, "description": "the cart_id exactly as cart_create or cart_list returned it"}`

// cartLifetime is said in the description of every tool that makes or extends a
// cart (SEP-2567 asks that a client can know how long its handle lives). A test
// compares it with the store's constants.
const cartLifetime = "A cart expires 24 hours after its last change and at most 7 days after it was made; reading it does not extend that."

func (s *Server) cartTools() []tool {
	const oneCart = `{"type": "object", "additionalProperties": false, "required": ["cart_id"], "properties": {` + cartIDProperty + `}}`
	return []tool{
		define(tool{
			name:  "cart_create",
			title: "Create a cart",
			description: "Makes an empty cart and returns its cart_id, which the other cart tools take. " + cartLifetime +
				" The cart belongs to the signed-in user: nobody else can use its cart_id, and cart_list finds it again. A user may have 20 open carts.",
			scopes: []string{"cart:write"},
			effect: adds,
			input:  `{"type": "object", "additionalProperties": false}`,
			output: cartSchema,
		}, s.cartCreate),
		define(tool{
			name:        "cart_get",
			title:       "Read a cart",
			description: "Returns one of the user's carts with its lines, at today's prices. " + cartLifetime,
			scopes:      []string{"cart:read"},
			effect:      reads,
			input:       oneCart,
			output:      cartSchema,
		}, s.cartGet),
		define(tool{
			name:        "cart_list",
			title:       "List carts",
			description: "Lists the user's open carts, oldest first. Use it when a cart_id was lost. " + cartLifetime,
			scopes:      []string{"cart:read"},
			effect:      reads,
			input:       `{"type": "object", "additionalProperties": false}`,
			output: `{"type": "object", "additionalProperties": false, "required": ["carts"],
  "properties": {"carts": {"type": "array", "items": ` + cartSchema + `}}}`,
		}, s.cartList),
		define(tool{
			name:  "cart_set_item",
			title: "Set a quantity in a cart",
			description: "Sets how many of a product are in the cart: the quantity replaces the earlier one, so the call can be repeated safely; 0 removes the line. " +
				"Returns the whole cart. " + cartLifetime + " A cart holds 100 lines.",
			scopes: []string{"cart:write"},
			effect: sets,
			input: `{
  "type": "object", "additionalProperties": false, "required": ["cart_id", "sku", "quantity"],
  "properties": {
    ` + cartIDProperty + `,
    "sku": {"type": "string", "maxLength": 64, "pattern": "^[A-Za-z0-9][A-Za-z0-9._-]*$", "description": "the sku exactly as product_search returned it"},
    "quantity": {"type": "integer", "minimum": 0, "maximum": 999, "description": "how many there shall be in the cart: a whole number from 0 to 999, 0 removes the line"}
  }
}`,
			output: cartSchema,
		}, s.cartSetItem),
		define(tool{
			name:        "cart_discard",
			title:       "Discard a cart",
			description: "Throws one of the user's open carts away, with its lines. It cannot be brought back. Orders are not touched.",
			scopes:      []string{"cart:write"},
			effect:      commits,
			input:       oneCart,
			output: `{"type": "object", "additionalProperties": false, "required": ["cart_id", "status"],
  "properties": {"cart_id": {"type": "string"}, "status": {"type": "string", "const": "discarded"}}}`,
		}, s.cartDiscard),
	}
}

type noArgs struct{}

type cartArgs struct {
	CartID string `json:"cart_id"`
}

type setItemArgs struct {
	CartID   string `json:"cart_id"`
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

// cartKey turns the cart_id of a call into the only thing the store takes: the
// handle together with the caller's own user id. Whose cart it is was decided by
// the token, and a handle of somebody else addresses nothing.
func cartKey(who caller, cartID string) (handles.Key, error) {
	h, err := handles.Parse(handles.Cart, cartID)
	if err != nil {
		return handles.Key{}, err
	}
	return handles.NewKey(who.UserID(), h), nil
}

func (s *Server) cartCreate(ctx context.Context, who caller, _ noArgs) (any, error) {
	cart, err := s.store.CreateCart(ctx, handles.NewKey(who.UserID(), handles.Mint(handles.Cart)))
	if err != nil {
		return nil, err
	}
	return viewCart(cart), nil
}

func (s *Server) cartGet(ctx context.Context, who caller, a cartArgs) (any, error) {
	key, err := cartKey(who, a.CartID)
	if err != nil {
		return nil, err
	}
	cart, err := s.store.Cart(ctx, key)
	if err != nil {
		return nil, err
	}
	return viewCart(cart), nil
}

func (s *Server) cartList(ctx context.Context, who caller, _ noArgs) (any, error) {
	carts, err := s.store.Carts(ctx, who.UserID())
	if err != nil {
		return nil, err
	}
	views := make([]cartView, len(carts))
	for i, c := range carts {
		views[i] = viewCart(c)
	}
	return map[string][]cartView{"carts": views}, nil
}

func (s *Server) cartSetItem(ctx context.Context, who caller, a setItemArgs) (any, error) {
	key, err := cartKey(who, a.CartID)
	if err != nil {
		return nil, err
	}
	cart, err := s.store.SetItem(ctx, key, a.SKU, a.Quantity)
	if err != nil {
		return nil, err
	}
	return viewCart(cart), nil
}

func (s *Server) cartDiscard(ctx context.Context, who caller, a cartArgs) (any, error) {
	key, err := cartKey(who, a.CartID)
	if err != nil {
		return nil, err
	}
	if err := s.store.DiscardCart(ctx, key); err != nil {
		return nil, err
	}
	return map[string]string{"cart_id": a.CartID, "status": "discarded"}, nil
}

func viewCart(c store.Cart) cartView {
	return cartView{
		CartID: c.Handle.Reveal(), Status: string(c.Status), Version: c.Version, Lines: viewLines(c.Lines),
		TotalMinor: c.TotalMinor, Currency: c.Currency, ExpiresAt: c.ExpiresAt.UTC(),
	}
}

func viewLines(lines []store.Line) []lineView {
	views := make([]lineView, len(lines))
	for i, l := range lines {
		views[i] = lineView{l.SKU, l.Name, l.Quantity, l.UnitPriceMinor, l.LineTotalMinor(), l.Gone}
	}
	return views
}
