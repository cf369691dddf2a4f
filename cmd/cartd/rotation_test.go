package main

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// The steps of a rotation, as the README has them.
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

// badRings are what must not become the ring in force, and what is said then.
func badRings(a, b ringKey) map[string][2]string {
	return map[string][2]string{
		"empty":                         {"", "no key"},
		"comments only":                 {"# " + a.line("mint"), "no key"},
		"two keys that seal":            {a.line("mint") + b.line("mint"), "line 2"},
		"no key that seals":             {a.line("") + b.line(""), "mint"},
		"short key":                     {a.id + " " + a.secret[:20] + " mint\n", "line 1"},
		"key with one character less":   {a.id + " " + a.secret[:42] + " mint\n", "line 1"},
		"id twice":                      {a.line("mint") + a.id + " " + b.secret + "\n", "line 2"},
		"secret twice":                  {a.line("mint") + b.id + " " + a.secret + "\n", "line 2"},
		"broken off":                    {a.line("") + b.line("mint")[:30], "line 2"},
		"secret in the place of the id": {a.secret + " " + a.id + " mint\n", "line 1"},
		"too large":                     {a.line("mint") + strings.Repeat("#\n", 40<<10), "larger"},
	}
}

func TestBadRingFileIsRefusedAndTheRingInForceStays(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	s.sell(t, "CLOCK", 100)
	key, next := s.newKey(), s.newKey()
	r := s.openKeyed(t, key.line("mint"))
	alice := s.customer("alice")
	f := s.asked(t, r.replica, alice, line{"CLOCK", 1})
	refuses := func(t *testing.T, want string) {
		t.Helper()
		before := len(r.out.String())
		r.hup(t)
		eventually(t, "the ring is refused, and the log says why: "+want, func() bool {
			news := r.out.String()[before:]
			_, said, found := strings.Cut(news, "requestState keys refused, the ring in force stays")
			return found && strings.Contains(said, want) && strings.Contains(said, key.id)
		})
		r.wantKeys(t, key.id+" mint")
		if got := f.send(t, r.replica, ""); got.Result.RequestState == "" {
			t.Errorf("flow under the ring in force = %v, want it to go on", got)
		}
	}
	for name, bad := range badRings(key, next) {
		ok := t.Run(name, func(t *testing.T) {
			r.setRing(t, bad[0])
			refuses(t, bad[1])
		})
		if !ok {
			return // each would wait in vain
		}
	}
	t.Run("gone", func(t *testing.T) {
		if err := os.Remove(r.file); err != nil {
			t.Fatal(err)
		}
		refuses(t, "no such file")
	})
	f.send(t, r.replica, sayYes).wantPlaced(t)
	r.setRing(t, key.line("")+next.line("mint"))
	r.hangUp(t)
	r.wantKeys(t, key.id, next.id+" mint")
	s.asked(t, r.replica, alice, line{"CLOCK", 1}).send(t, r.replica, sayYes).wantPlaced(t)
	s.wantOrders(t, 2)
}

func TestReplicaWithoutAUsableRingDoesNotStart(t *testing.T) {
	t.Parallel()
	a, b := newRingKey(), newRingKey()
	refuses := func(t *testing.T, file, want string) {
		t.Helper()
		env := goodEnv()
		maps.Copy(env, map[string]string{"REQUEST_STATE_KEYS": "", "REQUEST_STATE_KEYS_FILE": file})
		p := start(t, env, "serve")
		code, printed := p.exit(t), p.out.String()
		if code != 1 || !strings.Contains(printed, "cartd: requestState keys: ") || !strings.Contains(printed, want) {
			t.Errorf("cartd serve = exit %d, want 1 and a message with %q:\n%s", code, want, printed)
		}
		for _, secret := range []string{a.secret, b.secret} {
			if strings.Contains(printed, secret[:10]) {
				t.Error("the message holds a secret")
			}
		}
	}
	for name, bad := range badRings(a, b) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			file := filepath.Join(t.TempDir(), "keys")
			if err := os.WriteFile(file, []byte(bad[0]), 0o600); err != nil {
				t.Fatal(err)
			}
			refuses(t, file, bad[1])
		})
	}
	t.Run("not there", func(t *testing.T) { refuses(t, filepath.Join(t.TempDir(), "keys"), "no such file") })
	t.Run("a directory", func(t *testing.T) { refuses(t, t.TempDir(), "not a regular file") })
	t.Run("not to be read", func(t *testing.T) {
		// Not even the superuser may read this one, if it is there at all.
		refuses(t, "/proc/self/mem", "")
	})
}
