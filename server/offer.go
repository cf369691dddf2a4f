package server

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
)

const shippingMessage = "How shall it be sent?"

// shippingPrices are in the minor unit of the cart's currency.
var shippingPrices = map[string]int64{"standard": 490, "express": 1490}

// An offer is what the person is shown before the last question, and what is
// sealed with it: the order that is placed is this one, or none.
type offer struct {
	Shipping      string `json:"shipping"`
	ShippingMinor int64  `json:"shipping_minor"`
	Version       int64  `json:"version"` // of the cart
	Lines         string `json:"lines"`   // fingerprint of the cart's lines, names and prices
	TotalMinor    int64  `json:"total_minor"`
	Currency      string `json:"currency"`
}

// propose shows what would be bought and asks for the yes. A shipping that is
// not offered, or not any more, is asked for again.
func (s *Server) propose(ctx context.Context, key handles.Key, ticket *requeststate.Ticket, shipping string) (any, error) {
	price, offered := shippingPrices[shipping]
	if !offered {
		state, err := ticket.Continue(askShipping.key, struct{}{})
		if err != nil {
			return nil, err
		}
		return askShipping.ask(shippingMessage, state), nil
	}
	cart, err := s.buyable(ctx, key)
	if err != nil {
		return nil, err
	}
	shown := offer{
		Shipping: shipping, ShippingMinor: price, Version: cart.Version, Lines: cart.Fingerprint(),
		TotalMinor: cart.TotalMinor + price, Currency: cart.Currency,
	}
	state, err := ticket.Continue(askConfirm.key, shown)
	if err != nil {
		return nil, err
	}
	return askConfirm.ask(describeOffer(cart, shown), state), nil
}

// buyable reads a cart that can be bought as far as one can see.
func (s *Server) buyable(ctx context.Context, key handles.Key) (store.Cart, error) {
	cart, err := s.store.Cart(ctx, key)
	if err != nil {
		return store.Cart{}, err
	}
	return cart, cart.Purchasable()
}

// describeOffer lists everything that will be charged, complete and in the words
// of the catalogue: it is what the person says yes to. Some clients show it as one
// line, so a line end alone separates nothing.
func describeOffer(cart store.Cart, shown offer) string {
	var b strings.Builder
	b.WriteString("Please confirm this order:\n")
	for _, l := range cart.Lines {
		fmt.Fprintf(&b, "%d × %s (%s) at %s: %s;\n", l.Quantity, oneLine(l.Name), l.SKU, money(l.UnitPriceMinor, l.Currency), money(l.LineTotalMinor(), l.Currency))
	}
	fmt.Fprintf(&b, "Shipping, %s: %s;\n", shown.Shipping, money(shown.ShippingMinor, shown.Currency))
	fmt.Fprintf(&b, "Total: %s", money(shown.TotalMinor, shown.Currency))
	return b.String()
}

// oneLine shows a name as one line of visible characters: whoever wrote it into
// the catalogue must not be able to add lines, or turn the text around.
func oneLine(name string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, name)
}
