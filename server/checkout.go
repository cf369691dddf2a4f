package server

import (
	"context"
	"errors"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
)

var (
	askShipping = question{key: "shipping", schema: `{
  "type": "object", "required": ["shipping"],
  "properties": {"shipping": {"type": "string", "title": "Shipping", "enum": ["standard", "express"], "default": "standard"}}
}`}
	askConfirm = question{key: "confirm", schema: `{
  "type": "object", "required": ["confirm"],
  "properties": {"confirm": {"type": "boolean", "title": "Place this order", "default": false}}
}`}
)

func (s *Server) checkoutTools() []tool {
	return []tool{define(tool{
		name:  "checkout",
		title: "Buy a cart",
		description: "Buys what is in one of the user's carts. It asks the user twice, first for the shipping, then to confirm the lines and the total; nothing is charged before that. " +
			"If prices or the cart change meanwhile it asks again. One cart is bought once: if an answer got lost, repeat the same call, or look into order_list; never make a new cart to try again. " +
			"An answer is waited for 5 minutes, a checkout for 30 minutes.",
		scopes: []string{"cart:write", "order:place"},
		effect: commits,
		asks:   true,
		input:  `{"type": "object", "additionalProperties": false, "required": ["cart_id"], "properties": {` + cartIDProperty + `}}`,
		output: `{
  "type": "object", "additionalProperties": false, "required": ["status"],
  "properties": {
    "status": {"type": "string", "enum": ["ordered", "declined", "cancelled"]},
    "order_id": {"type": "string", "description": "only if ordered"},
    "total_minor": {"type": "integer", "description": "only if ordered: what was charged, shipping included"},
    "currency": {"type": "string"}
  }
}`,
	}, s.checkout)}
}

type checkoutView struct {
	Status     string `json:"status"`
	OrderID    string `json:"order_id,omitempty"`
	TotalMinor int64  `json:"total_minor,omitempty"`
	Currency   string `json:"currency,omitempty"`
}

// checkout makes one round. Without a state it is the first, whatever answers
// came with it: what nobody was asked, nobody has answered.
func (s *Server) checkout(ctx context.Context, who caller, a cartArgs) (any, error) {
	key, err := cartKey(who, a.CartID)
	if err != nil {
		return nil, err
	}
	binding := s.bind(who, a, askShipping, askConfirm)
	if who.call.state == nil {
		if _, err := s.buyable(ctx, key); err != nil {
			return nil, err
		}
		state, err := s.sealer.Begin(binding, askShipping.key, struct{}{})
		if err != nil {
			return nil, err
		}
		return askShipping.ask(shippingMessage, state), nil
	}
	ticket, err := s.sealer.Open(binding, *who.call.state)
	if errors.Is(err, requeststate.ErrInvalid) {
		return nil, badState(err)
	}
	if err != nil {
		return nil, err
	}
	return s.resume(ctx, who, key, ticket)
}

// resume takes the answer to the question that the ticket asked.
func (s *Server) resume(ctx context.Context, who caller, key handles.Key, ticket *requeststate.Ticket) (any, error) {
	// A state that is spent is told so before anything is asked again. What
	// decides is the redemption, later.
	if err := s.store.EarlierOutcome(ctx, key.Owner(), ticket.Flow()); err != nil {
		return nil, err
	}
	asked := askShipping
	if ticket.Question() == askConfirm.key {
		asked = askConfirm
	}
	did, content := asked.answer(who.call.answers)
	switch did {
	case declined:
		return s.decline(ctx, ticket)
	case cancelled:
		return checkoutView{Status: "cancelled"}, nil
	}
	if asked.key == askShipping.key {
		return s.chooseShipping(ctx, key, ticket, content)
	}
	return s.confirm(ctx, key, ticket, content)
}

func (s *Server) chooseShipping(ctx context.Context, key handles.Key, ticket *requeststate.Ticket, content jsontext.Value) (any, error) {
	var form struct {
		Shipping string `json:"shipping"`
	}
	if jsonv2.Unmarshal(content, &form) != nil {
		form.Shipping = ""
	}
	return s.propose(ctx, key, ticket, form.Shipping)
}

func (s *Server) confirm(ctx context.Context, key handles.Key, ticket *requeststate.Ticket, content jsontext.Value) (any, error) {
	var shown offer
	if err := ticket.Payload(&shown); err != nil {
		return nil, badState(err)
	}
	var form struct {
		Confirm *bool `json:"confirm"`
	}
	if jsonv2.Unmarshal(content, &form) != nil || form.Confirm == nil {
		return s.propose(ctx, key, ticket, shown.Shipping)
	}
	if !*form.Confirm {
		return s.decline(ctx, ticket)
	}
	order, err := s.place(ctx, key, ticket, shown)
	var moved *store.CartMovedError
	if errors.As(err, &moved) {
		return s.propose(ctx, key, ticket, shown.Shipping)
	}
	if err != nil {
		return nil, err
	}
	return checkoutView{Status: store.OutcomeOrdered, OrderID: order.ID.Reveal(), TotalMinor: order.TotalMinor, Currency: order.Currency}, nil
}

// place redeems the flow and places the order, in one transaction.
func (s *Server) place(ctx context.Context, key handles.Key, ticket *requeststate.Ticket, shown offer) (store.Order, error) {
	id := handles.Mint(handles.Order)
	var order store.Order
	err := s.store.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		redeemed, err := ticket.Redeem(ctx, tx, store.OutcomeOrdered, id.Reveal())
		if err != nil {
			return err
		}
		order, err = tx.PlaceOrder(ctx, redeemed, store.Purchase{
			Cart: key, Version: shown.Version, Lines: shown.Lines, TotalMinor: shown.TotalMinor, Currency: shown.Currency,
			Shipping: shown.Shipping, ShippingMinor: shown.ShippingMinor,
		})
		return err
	})
	return order, err
}

// decline ends the flow for good: a yes that comes later, or at the same moment,
// finds it redeemed.
func (s *Server) decline(ctx context.Context, ticket *requeststate.Ticket) (any, error) {
	err := s.store.InTx(ctx, func(ctx context.Context, tx *store.Tx) error {
		_, err := ticket.Redeem(ctx, tx, outcomeDeclined, "")
		return err
	})
	if err != nil {
		return nil, err
	}
	return checkoutView{Status: outcomeDeclined}, nil
}

func (s *Server) bind(who caller, arguments any, asks ...question) requeststate.Binding {
	b := requeststate.Binding{
		Audience: s.cfg.Resource,
		Issuer:   who.Issuer, Subject: who.Subject, ClientID: who.ClientID,
		Owner:  who.UserID(),
		Method: who.call.method, Tool: who.call.tool,
		Arguments: arguments,
	}
	for _, q := range asks {
		b.Questions = append(b.Questions, q.key)
	}
	return b
}
