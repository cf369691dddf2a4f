package requeststate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"time"
)

// A Ticket is an opened token. It shows what was asked, leads to the next round,
// and can be redeemed. Only [Sealer.Open] makes one that works.
type Ticket struct {
	sealer  *Sealer
	binding Binding
	claims  claims
}

// Question is the key of the input request this round asked. Only an answer
// under this key is an answer.
func (t *Ticket) Question() string { return t.claims.question }

// Round is the number of the round, from 1.
func (t *Ticket) Round() int { return int(t.claims.round) }

// Flow names the flow, the same in every round.
func (t *Ticket) Flow() FlowID { return t.claims.flow }

// Payload decodes what was sealed with the question into v, a pointer to the zero
// value of the type that was sealed. A payload of another shape, such as one
// sealed by another version of the program, is refused like a bad token.
func (t *Ticket) Payload(v any) error {
	if err := json.Unmarshal(t.claims.payload, v); err != nil {
		return ErrPayload
	}
	// encoding/json drops what it does not know. What we sealed, written again,
	// gives the same text, and anything else is not what we sealed.
	again, err := json.Marshal(v)
	if err != nil || !bytes.Equal(again, t.claims.payload) {
		return ErrPayload
	}
	return nil
}

// Continue returns the token of the next round, which asks another question or
// the same one again. Flow and end of flow stay as they are. It returns
// [ErrFlowEnded] when this was the last round or the flow's time is over.
func (t *Ticket) Continue(question string, payload any) (string, error) {
	if t.sealer == nil {
		return "", errNoTicket
	}
	if t.claims.round >= maxRounds || t.claims.flowExpires <= time.Now().UnixMilli() {
		return "", ErrFlowEnded
	}
	return t.sealer.round(t.claims, &t.binding, question, payload)
}

// Format prints that it is a ticket, whatever the verb. Its payload may be personal.
func (Ticket) Format(f fmt.State, _ rune) { fmt.Fprint(f, "[ticket]") }

// errNoTicket is what a Ticket gives that no Open has made.
var errNoTicket = errors.New("request state: not a ticket from Open")

// A Redeemer records that a flow was redeemed. A transaction is one.
type Redeemer interface {
	// RedeemOnce records the flow with its outcome, to be kept at least until
	// keepUntil. If the owner's flow is recorded already it changes nothing and
	// returns a [*RedeemedError] with what stands there. It must run in the
	// transaction of the effect it guards, so that both happen or neither.
	RedeemOnce(ctx context.Context, owner [16]byte, flow FlowID, outcome, ref string, keepUntil time.Time) error
}

// keepAfter is how long a redemption outlives the last token of its flow. Until
// then no replica, however wrong its clock, opens a token whose redemption is gone.
const keepAfter = 24 * time.Hour

// Redeem records the flow in tx, with its outcome and what it led to, and returns
// what effects ask for. If the flow was redeemed before, by whatever round of it,
// the error is a [*RedeemedError]. If tx is rolled back nothing has happened, and
// the same ticket can be redeemed again.
func (t *Ticket) Redeem(ctx context.Context, tx Redeemer, outcome, ref string) (Redeemed, error) {
	switch {
	case t.sealer == nil:
		return Redeemed{}, errNoTicket
	case tx == nil, !reflect.ValueOf(tx).Comparable():
		return Redeemed{}, errors.New("redeem: no transaction, or one that [Redeemed.In] cannot compare")
	case outcome == "":
		return Redeemed{}, errors.New("redeem: no outcome")
	}
	keepUntil := time.UnixMilli(t.claims.flowExpires).Add(keepAfter)
	err := tx.RedeemOnce(ctx, t.binding.Owner, t.claims.flow, outcome, ref, keepUntil)
	if err != nil {
		return Redeemed{}, fmt.Errorf("redeem: %w", err)
	}
	return Redeemed{tx: tx, owner: t.binding.Owner, flow: t.claims.flow, outcome: outcome, ref: ref}, nil
}
