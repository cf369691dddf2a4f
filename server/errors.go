package server

import (
	"context"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
)

// A toolError is an error for the model to read: a tool result with isError. It
// says what to do next and never repeats what was sent.
type toolError struct {
	reason string // for the log and the metrics
	text   string
}

func (e *toolError) Error() string { return e.text }

func toolErrorf(format string, args ...any) error {
	return &toolError{reason: "arguments", text: fmt.Sprintf(format, args...)}
}

// shown, with the two errors that describe adds because they carry something, is
// the closed list of what a tool may tell about an error. Whatever is not on it is
// an internal error: its text goes to the log and nowhere else.
// A cart that never existed, one of somebody else and a discarded one are one
// error in the store already, so they cannot be told apart here.
var shown = []struct {
	err    error
	reason string
	text   string
}{
	{handles.ErrMalformed, "handle_form", "that is not a handle of this kind: it was mistyped or made up. Copy it exactly as a tool returned it; cart_list and order_list show yours"},
	{store.ErrUnknown, "unknown", "there is nothing of yours under this handle: cart_list shows your carts, order_list your orders, cart_create makes a new cart"},
	{store.ErrExpired, "expired", "this cart has expired: make a new one with cart_create"},
	{store.ErrUnknownProduct, "unknown_product", "there is no such product: product_search shows what can be bought, use its sku exactly"},
	{store.ErrQuota, "quota", "you have as many open carts as one user may have: use one of cart_list, or free one with cart_discard"},
	{store.ErrTooManyLines, "lines", "this cart has as many lines as a cart may have: remove one with quantity 0, or use another cart"},
	{store.ErrMixedCurrency, "currency", "a cart holds products of one currency: put those of another into a cart of their own"},
	{store.ErrEmptyCart, "empty", "the cart is empty: fill it with cart_set_item first"},
	{requeststate.ErrFlowEnded, "flow_ended", "this checkout has taken too long or too many rounds: start checkout again, without requestState. Nothing was charged"},
	{store.ErrInvalidText, "text", "an argument contains a character that cannot be stored: send plain text"},
	{store.ErrBusy, "busy", "the server is busy: wait a moment and make the same call again"},
	{store.ErrUnavailable, "unavailable", "the server cannot reach its data right now: wait a moment and make the same call again. It may have happened already: cart_list and order_list show"},
}

// present turns a tool's error into what the client sees, and notes it for the
// log. What it does not know goes on as it is, to become an internal error.
func (s *Server) present(ctx context.Context, t *tool, err error) (mcp.Result, error) {
	var refused *refusal
	if errors.As(err, &refused) {
		return nil, refused
	}
	var spent *requeststate.RedeemedError
	if errors.As(err, &spent) {
		return nil, spentState(spent)
	}
	te := describe(err)
	if te == nil {
		return nil, fmt.Errorf("tool %s: %w", t.name, err)
	}
	note(ctx, te.reason, err)
	return &toolResult{
		Content: []mcp.Content{&mcp.TextContent{Text: te.text}},
		IsError: true,
	}, nil
}

func describe(err error) *toolError {
	var own *toolError
	if errors.As(err, &own) {
		return own
	}
	var ordered *store.OrderedError
	if errors.As(err, &ordered) {
		return &toolError{"ordered", "this cart was already ordered, as " + ordered.OrderID.Reveal() + ": order_get shows the order. Do not order it again"}
	}
	var sold *store.OutOfStockError
	if errors.As(err, &sold) {
		if sold.Stock == 0 {
			return &toolError{"out_of_stock", fmt.Sprintf("%s is sold out. Nothing was charged and the cart is kept: remove it with cart_set_item and quantity 0, then call checkout again", sold.SKU)}
		}
		return &toolError{"out_of_stock", fmt.Sprintf("there are not enough of %s: %d left. Nothing was charged and the cart is kept: set a smaller quantity with cart_set_item, then call checkout again", sold.SKU, sold.Stock)}
	}
	for _, s := range shown {
		if errors.Is(err, s.err) {
			return &toolError{s.reason, s.text}
		}
	}
	return nil
}
