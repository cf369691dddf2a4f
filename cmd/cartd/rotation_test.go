package main

import (
	"strings"
	"testing"
)

// The steps of a rotation, as docs/operations.md has them.
func stepRings(old, next ringKey) (before, accept, mint, remove string) {
	return old.line("mint"),
		old.line("mint") + next.line(""),
		old.line("") + next.line("mint"),
		next.line("mint")
}

func TestRotationInOrderRefusesNobody(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.sell(t, "CLOCK", 1_000_000)
	old, next := s.newKey(), s.newKey()
	before, accept, mint, remove := stepRings(old, next)
	replicas := []*keyed{s.openKeyed(t, before), s.openKeyed(t, before), s.openKeyed(t, before)}
	alice := s.customer("alice")
	kept := s.asked(t, replicas[0].replica, alice, line{"CLOCK", 1})
	forgotten := s.asked(t, replicas[0].replica, alice, line{"CLOCK", 1})

	load := s.startLoad(t, replicas, "CLOCK")
	for _, step := range []struct {
		ring string
		want []string
	}{
		{accept, []string{old.id + " mint", next.id}},
		{mint, []string{old.id, next.id + " mint"}},
	} {
		for _, r := range replicas {
			r.setRing(t, step.ring)
			r.hangUp(t)
			r.wantKeys(t, step.want...)
			load.goesOn(t) // with one more replica that has taken the step
		}
	}
	kept.send(t, replicas[2].replica, sayYes).wantPlaced(t)
	load.endsItsFlows(t) // a flow's life passes: what was sealed with the old key is over
	for _, r := range replicas {
		r.setRing(t, remove)
		r.hangUp(t)
		r.wantKeys(t, next.id+" mint")
		load.goesOn(t)
	}
	orders := load.stop(t)
	s.wantOrders(t, orders+1)
	for i, r := range replicas {
		if refused := r.metric(t, "mcp_requests_total", "state_"); refused != 0 {
			t.Errorf("replica %d refused %v states during the rotation, want none", i, refused)
		}
	}
	// What was kept longer than a flow lives is what the removal is meant for.
	for i, r := range replicas {
		if got := forgotten.send(t, r.replica, sayYes); !got.refused() {
			t.Errorf("state under the removed key on replica %d = %v, want it refused", i, got)
		}
		if got := r.metric(t, "mcp_requests_total", `outcome="state_unknown_key",tool="checkout"`); got != 1 {
			t.Errorf("metric of replica %d counts %v states under an unknown key, want 1", i, got)
		}
	}
	s.wantOrders(t, orders+1)
}

// Whoever mints before all accept sees it, and can still put it right.
func TestMintingBeforeAllAcceptIsRefusedAndSeen(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.sell(t, "CLOCK", 10)
	old, next := s.newKey(), s.newKey()
	before, accept, mint, _ := stepRings(old, next)
	early, late, other := s.openKeyed(t, mint), s.openKeyed(t, before), s.openKeyed(t, accept)
	alice := s.customer("alice")
	f := s.asked(t, early.replica, alice, line{"CLOCK", 1})

	for range 3 {
		if got := f.send(t, late.replica, sayYes); !got.refused() {
			t.Fatalf("state under a key that is not accepted yet = %v, want it refused", got)
		}
	}
	if got := late.metric(t, "mcp_requests_total", `outcome="state_unknown_key",tool="checkout"`); got != 3 {
		t.Errorf("metric counts %v states under an unknown key, want 3", got)
	}
	eventually(t, "the log tells of the refusals", func() bool {
		return strings.Count(late.out.String(), `"outcome":"state_unknown_key"`) == 3
	})
	for _, r := range []*keyed{early, other} {
		if got := r.metric(t, "mcp_requests_total", "state_"); got != 0 {
			t.Errorf("a replica that accepts the key counts %v refusals, want none", got)
		}
	}
	s.wantOrders(t, 0)
	// What the late one seals is accepted everywhere.
	s.asked(t, late.replica, alice, line{"CLOCK", 1}).send(t, early.replica, sayYes).wantPlaced(t)

	late.setRing(t, accept)
	late.hangUp(t)
	late.wantKeys(t, old.id+" mint", next.id)
	f.send(t, late.replica, sayYes).wantPlaced(t)
	s.wantOrders(t, 2)
}

func TestRemovedKeyEndsItsFlowsAtOnce(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.sell(t, "CLOCK", 10)
	old, next := s.newKey(), s.newKey()
	_, _, mint, remove := stepRings(old, next)
	r := s.openKeyed(t, old.line("mint"))
	f := s.asked(t, r.replica, s.customer("alice"), line{"CLOCK", 1})
	r.setRing(t, remove)
	r.hangUp(t)
	r.wantKeys(t, next.id+" mint")
	for _, answers := range []string{sayYes, sayNo, ""} {
		if got := f.send(t, r.replica, answers); !got.refused() {
			t.Errorf("state under a removed key with %q = %v, want it refused", answers, got)
		}
	}
	s.wantOrders(t, 0)
	// It was not used up: a key that was removed by mistake can be put back.
	r.setRing(t, mint)
	r.hangUp(t)
	r.wantKeys(t, old.id, next.id+" mint")
	f.send(t, r.replica, sayYes).wantPlaced(t)
	s.wantOrders(t, 1)
}

func TestRingIsReadOnSIGHUPAndOnItsOwn(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	old, next := s.newKey(), s.newKey()
	_, accept, mint, _ := stepRings(old, next)
	r := s.openKeyed(t, old.line("mint"))
	r.wantKeys(t, old.id+" mint")
	r.hangUp(t) // is reported though nothing has changed, so it was this that had it read
	r.setRing(t, accept)
	r.hangUp(t)
	r.wantKeys(t, old.id+" mint", next.id)
	r.setRing(t, mint)
	r.wantKeys(t, old.id, next.id+" mint") // within patience, and nobody said so
	if !r.running() {
		t.Error("SIGHUP ended cartd")
	}
}

func TestSIGHUPDoesNotEndAReplicaWithItsRingInTheEnvironment(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	r := s.open(t, nil)
	for range 3 {
		r.hup(t)
	}
	must[carts](t, r.as(t, "alice"), "cart_list", nil)
}
