package requeststate_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"example.com/mcp-cart/requeststate"
)

// tx stands for a database transaction.
type tx map[requeststate.FlowID]*requeststate.RedeemedError

// RedeemOnce would insert a row, and read the one that is in the way.
func (t *tx) RedeemOnce(_ context.Context, _ [16]byte, flow requeststate.FlowID, outcome, ref string, _ time.Time) error {
	if was, ok := (*t)[flow]; ok {
		return was
	}
	(*t)[flow] = &requeststate.RedeemedError{Outcome: outcome, Ref: ref}
	return nil
}

// placeOrder is an effect: it cannot be called without a redemption.
func (t *tx) placeOrder(r requeststate.Redeemed) error {
	if !r.In(t) {
		return errors.New("place order: not redeemed in this transaction")
	}
	fmt.Println("placed", r.Ref())
	return nil
}

// A call that asks one question and then does something once.
func Example() {
	ring, err := requeststate.ParseRing(requeststate.NewKeyLine())
	if err != nil {
		panic(err)
	}
	keys, err := requeststate.NewKeys(ring)
	if err != nil {
		panic(err)
	}
	sealer, err := requeststate.NewSealer(keys)
	if err != nil {
		panic(err)
	}
	call := requeststate.Binding{
		Audience: "https://shop.example/mcp",
		Issuer:   "https://id.example", Subject: "alice", ClientID: "desktop", Owner: [16]byte{1},
		Method: "tools/call", Tool: "checkout",
		Arguments: struct{ CartID string }{"cart_1"},
		Questions: []string{"confirm"},
	}

	// The first request: ask, and remember the total that was shown.
	state, err := sealer.Begin(call, "confirm", 4250)
	if err != nil {
		panic(err)
	}

	// The same request again, with the answer, perhaps on another replica. And
	// once more, because the client did not hear.
	db := make(tx)
	for range 2 {
		ticket, err := sealer.Open(call, state)
		if err != nil {
			panic(err)
		}
		var total int
		if err := ticket.Payload(&total); err != nil {
			panic(err)
		}
		redeemed, err := ticket.Redeem(context.Background(), &db, "ordered", "ord_1")
		if was, ok := errors.AsType[*requeststate.RedeemedError](err); ok {
			fmt.Println("already", was.Outcome, was.Ref)
			continue
		}
		if err := db.placeOrder(redeemed); err != nil {
			panic(err)
		}
	}

	// Somebody else.
	call.Subject, call.Owner = "bob", [16]byte{2}
	_, err = sealer.Open(call, state)
	fmt.Println(err, "/", requeststate.Reason(err))
	// Output:
	// placed ord_1
	// already ordered ord_1
	// request state is not valid / principal
}
