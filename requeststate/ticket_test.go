package requeststate

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"
)

func TestTicketShowsWhatWasSealed(t *testing.T) {
	s := newSealer(t, oldKey)
	ticket := open(t, s, begin(t, s))
	var got quote
	if err := ticket.Payload(&got); err != nil {
		t.Fatalf("Payload = %v", err)
	}
	if want := (quote{Version: 3, Total: 4250}); got != want || ticket.Question() != "shipping" || ticket.Round() != 1 {
		t.Errorf("ticket = %+v %s %d, want %+v shipping 1", got, ticket.Question(), ticket.Round(), want)
	}
}

func TestPayloadOfAnotherShapeIsRefused(t *testing.T) {
	s := newSealer(t, oldKey)
	now := time.Now()
	for _, payload := range []string{
		``, `{`, `null`, `[]`, `"x"`,
		`{"version":3}`, // a member missing
		`{"version":3,"total":1,"currency":"EUR"}`, // one too many
		`{"version":3,"total":1,"total":1}`,        // one twice
		`{"Version":3,"total":1}`,                  // another case
		`{"total":1,"version":3}`,                  // another order
		`{"version":3,"total":1}x`,                 // something after it
		`{"version":3,"total":1} `,
		`{"version":3.0,"total":1}`,
	} {
		token := forge(t, s, now, func(c *claims) { c.payload = []byte(payload) })
		var got quote
		err := open(t, s, token).Payload(&got)
		wantRefused(t, err, ErrPayload)
	}
}

func TestFlowIsRedeemedOnce(t *testing.T) {
	s := newSealer(t, oldKey)
	var l ledger
	first := open(t, s, begin(t, s))
	fork, err := first.Continue("confirm", nil)
	if err != nil {
		t.Fatal(err)
	}
	r, err := open(t, s, fork).Redeem(t.Context(), &l, "ordered", "ord_1")
	if err != nil {
		t.Fatalf("Redeem = %v", err)
	}
	if r.Outcome() != "ordered" || r.Ref() != "ord_1" || r.Flow() != first.Flow() || r.Owner() != alice().Owner {
		t.Errorf("Redeemed = %s %s %s %x, want what was redeemed", r.Outcome(), r.Ref(), r.Flow(), r.Owner())
	}
	// The earlier round is the same flow, whatever is decided in it.
	_, err = first.Redeem(t.Context(), &l, "declined", "")
	var was *RedeemedError
	if !errors.As(err, &was) || *was != (RedeemedError{"ordered", "ord_1"}) {
		t.Fatalf("Redeem again = %v, want the first outcome", err)
	}
	if errors.Is(err, ErrInvalid) || Reason(err) != "redeemed" || Check(err) != "redeemed" {
		t.Errorf("Reason = %q of %v, want redeemed, no ErrInvalid", Reason(err), err)
	}
}

func TestFlowsAreRedeemedApart(t *testing.T) {
	s := newSealer(t, oldKey)
	var l ledger
	for range 3 {
		if _, err := open(t, s, begin(t, s)).Redeem(t.Context(), &l, "ordered", "ord_1"); err != nil {
			t.Errorf("Redeem of another flow = %v, want nil", err)
		}
	}
}

func TestFiftyAtOnceRedeemOnce(t *testing.T) {
	s := newSealer(t, oldKey)
	token := begin(t, s)
	var l ledger
	var wg sync.WaitGroup
	errs := make(chan error, 50)
	for range cap(errs) {
		ticket := open(t, s, token)
		wg.Go(func() {
			_, err := ticket.Redeem(context.Background(), &l, "ordered", "ord_1")
			errs <- err
		})
	}
	wg.Wait()
	close(errs)
	won := 0
	for err := range errs {
		if err == nil {
			won++
		} else if Reason(err) != "redeemed" {
			t.Errorf("Redeem = %v, want a RedeemedError", err)
		}
	}
	if won != 1 {
		t.Errorf("%d redemptions, want 1", won)
	}
}

func TestFailedRedemptionLeavesTheTicketUsable(t *testing.T) {
	s := newSealer(t, oldKey)
	ticket := open(t, s, begin(t, s))
	l := ledger{err: errors.New("connection lost")}
	r, err := ticket.Redeem(t.Context(), &l, "ordered", "ord_1")
	if !errors.Is(err, l.err) || Reason(err) != "" || r.In(&l) {
		t.Errorf("Redeem = %v (%q), want the transaction's error and no proof", err, Reason(err))
	}
	l.err = nil
	if _, err := ticket.Redeem(t.Context(), &l, "ordered", "ord_1"); err != nil {
		t.Errorf("Redeem afterwards = %v, want nil", err)
	}
}

func TestRedeemedCountsInItsTransactionOnly(t *testing.T) {
	s := newSealer(t, oldKey)
	var tx, other ledger
	r, err := open(t, s, begin(t, s)).Redeem(t.Context(), &tx, "ordered", "ord_1")
	if err != nil {
		t.Fatal(err)
	}
	if !r.In(&tx) || r.In(&other) || r.In(nil) {
		t.Errorf("In(own), In(other), In(nil) = %v %v %v, want true false false", r.In(&tx), r.In(&other), r.In(nil))
	}
	if (Redeemed{}).In(&tx) || (Redeemed{}).In(nil) {
		t.Errorf("a zero Redeemed proves something, want nothing")
	}
}

// uncomparable is a Redeemer whose values cannot be compared.
type uncomparable struct{ _ []int }

func (uncomparable) RedeemOnce(context.Context, [16]byte, FlowID, string, string, time.Time) error {
	return nil
}

func TestRedeemRefusesWhatProvesNothing(t *testing.T) {
	s := newSealer(t, oldKey)
	ticket := open(t, s, begin(t, s))
	var l ledger
	for name, redeem := range map[string]func() (Redeemed, error){
		"a ticket never opened":       func() (Redeemed, error) { return new(Ticket).Redeem(t.Context(), &l, "ordered", "") },
		"no transaction":              func() (Redeemed, error) { return ticket.Redeem(t.Context(), nil, "ordered", "") },
		"an uncomparable transaction": func() (Redeemed, error) { return ticket.Redeem(t.Context(), uncomparable{}, "ordered", "") },
		"no outcome":                  func() (Redeemed, error) { return ticket.Redeem(t.Context(), &l, "", "ord_1") },
	} {
		if r, err := redeem(); err == nil || r != (Redeemed{}) {
			t.Errorf("%s: Redeem = %v, want an error", name, err)
		}
	}
	if _, err := new(Ticket).Continue("confirm", nil); !errors.Is(err, errNoTicket) {
		t.Errorf("Continue on a ticket never opened = %v, want errNoTicket", err)
	}
	if len(l.rows) != 0 {
		t.Errorf("%d rows were recorded, want none", len(l.rows))
	}
}

func TestUnsealablePayloadIsAnError(t *testing.T) {
	s := newSealer(t, oldKey)
	if _, err := s.Begin(alice(), "confirm", func() {}); err == nil {
		t.Errorf("Begin with a function as payload = nil, want an error")
	}
}
