package main

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
)

// BenchmarkConfirmation measures the last round of a checkout through the whole
// server, over HTTP, against the bare transaction: the same statements, run from
// here. Between machines only the ratio can be compared. The ways to the database
// do not depend on the machine, and there it fails if they are too many.
func BenchmarkConfirmation(b *testing.B) {
	c := newCounter(b)
	token := c.customer("alice")
	bare := c.newBareBuyer(b, token)
	var whole, alone []time.Duration
	var n bill
	for b.Loop() {
		lines := []line{{"CLOCK", 1}, {"MUG-BLUE", 1}, {"MUG-WHITE", 1}}
		n = c.confirm(b, c.asked(b, c.here, token, lines...))
		whole = append(whole, n.took)
		alone = append(alone, bare.buy(b, c.fill(b, c.here, token, lines...)))
		c.do(b, "UPDATE products SET stock = 1000000")
	}
	b.ReportMetric(0, "ns/op") // with its preparations: of no interest
	b.ReportMetric(float64(middleOf(whole).Microseconds()), "µs/confirmation")
	b.ReportMetric(float64(middleOf(alone).Microseconds()), "µs/bare")
	b.ReportMetric(float64(middleOf(whole))/float64(middleOf(alone)), "of-bare")
	b.ReportMetric(float64(n.looks), "looks")
	b.ReportMetric(float64(n.inTx), "trips-in-tx")
}

func middleOf(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// A bareBuyer runs the transaction of a confirmation and nothing around it.
type bareBuyer struct {
	counter *counter
	owner   [16]byte
	binding requeststate.Binding
}

func (c *counter) newBareBuyer(b *testing.B, token string) bareBuyer {
	b.Helper()
	who, err := c.verifier.Verify(b.Context(), token)
	if err != nil {
		b.Fatal(err)
	}
	return bareBuyer{c, who.UserID(), requeststate.Binding{
		Audience: "bench", Issuer: who.Issuer, Subject: who.Subject, ClientID: who.ClientID, Owner: who.UserID(),
		Method: "tools/call", Tool: "checkout", Arguments: struct{}{}, Questions: []string{"confirm"},
	}}
}

// buy returns how long the transaction took.
func (bare bareBuyer) buy(b *testing.B, f flow) time.Duration {
	b.Helper()
	handle, err := handles.Parse(handles.Cart, f.cartID)
	if err != nil {
		b.Fatal(err)
	}
	key := handles.NewKey(bare.owner, handle)
	cart, err := bare.counter.store.Cart(b.Context(), key)
	if err != nil {
		b.Fatal(err)
	}
	ticket := bare.ticket(b)
	what := store.Purchase{Cart: key, Version: cart.Version, Lines: cart.Fingerprint(), TotalMinor: cart.TotalMinor, Currency: cart.Currency, Shipping: "standard"}
	begin := time.Now()
	err = bare.counter.store.InTx(b.Context(), func(ctx context.Context, tx *store.Tx) error {
		redeemed, err := ticket.Redeem(ctx, tx, store.OutcomeOrdered, handles.Mint(handles.Order).Reveal())
		if err != nil {
			return err
		}
		_, err = tx.PlaceOrder(ctx, redeemed, what)
		return err
	})
	took := time.Since(begin)
	if err != nil {
		b.Fatal(fmt.Errorf("bare transaction: %w", err))
	}
	return took
}

func (bare bareBuyer) ticket(b *testing.B) *requeststate.Ticket {
	b.Helper()
	state, err := bare.counter.sealer.Begin(bare.binding, "confirm", struct{}{})
	if err != nil {
		b.Fatal(err)
	}
	ticket, err := bare.counter.sealer.Open(bare.binding, state)
	if err != nil {
		b.Fatal(err)
	}
	return ticket
}
