package main

import (
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

func TestSIGTERMLetsARunningCallFinish(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	one, two := s.replica(t), s.replica(t)
	alice := s.token("alice")
	made := must[cart](t, two.with(t, alice), "cart_create", nil)

	lock := s.holdCart(t, made.CartID)
	answer := one.postLater(t, alice, "cart_set_item", setItem(made.CartID, "MUG-BLUE", 3))
	lock.waitFor(t, 1)
	one.signal(t, syscall.SIGTERM)
	eventually(t, "the replica says that it takes no more calls", func() bool { return one.get(t, "/readyz") != http.StatusOK })
	select {
	case got := <-answer:
		t.Fatalf("the call was answered before it could have ended: %+v", got)
	case <-one.done:
		t.Fatal("cartd ended while a call was running")
	default:
	}
	lock.release(t)

	if got := <-answer; !got.ok() {
		t.Errorf("the call that ran during SIGTERM = %+v, want its result", got)
	}
	if code := one.exit(t); code != 0 {
		t.Errorf("cartd serve after SIGTERM = exit %d, want 0:\n%s", code, one.out.tail())
	}
	after := must[cart](t, two.with(t, alice), "cart_get", args{"cart_id": made.CartID})
	if !slices.Equal(after.Lines, []line{{"MUG-BLUE", 3}}) {
		t.Errorf("cart after the shutdown = %+v, want the 3 MUG-BLUE of the last call", after)
	}
}

func TestReplicaSaysNotReadyBeforeItCloses(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	// So long that only the end of the test ends it.
	r := s.launch(t, map[string]string{"SHUTDOWN_DELAY": "1h"})
	r.waitReady(t)
	r.signal(t, syscall.SIGTERM)
	eventually(t, "the replica says that it is not ready", func() bool {
		got := r.get(t, "/readyz")
		if got == 0 {
			t.Fatal("the replica closed its port before it said that it is not ready")
		}
		return got == http.StatusServiceUnavailable
	})
	// Whoever has not heard of it yet is still served.
	if got := r.post(t, s.token("alice"), "cart_create", nil); !got.ok() {
		t.Errorf("call while the replica is not ready any more = %+v, want its result", got)
	}
	if got := r.get(t, "/healthz"); got != http.StatusOK {
		t.Errorf("/healthz = %d, want 200", got)
	}
}

func TestSIGTERMEndsAnIdleReplica(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	one := s.replica(t)
	must[carts](t, one.as(t, "alice"), "cart_list", nil) // It has a connection that is kept open.
	one.signal(t, syscall.SIGTERM)
	if code := one.exit(t); code != 0 {
		t.Errorf("cartd serve after SIGTERM = exit %d, want 0:\n%s", code, one.out.tail())
	}
}

func TestKilledReplicaLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	one, two := s.replica(t), s.replica(t)
	alice := s.token("alice")
	made := must[cart](t, one.with(t, alice), "cart_create", nil)

	lock := s.holdCart(t, made.CartID)
	answer := one.postLater(t, alice, "cart_set_item", setItem(made.CartID, "MUG-BLUE", 3))
	lock.waitFor(t, 1)
	one.kill(t)
	if got := <-answer; got.err == nil {
		t.Errorf("call to a replica that was killed = %+v, want a broken connection", got)
	}
	// The others go on at once, whatever the dead one's connection still holds.
	session := two.with(t, alice)
	other := must[cart](t, session, "cart_create", nil)
	must[cart](t, session, "cart_set_item", setItem(other.CartID, "MUG-WHITE", 1))
	repeated := two.postLater(t, alice, "cart_set_item", setItem(made.CartID, "MUG-BLUE", 3))
	lock.release(t)

	if got := <-repeated; !got.ok() {
		t.Errorf("the same call to another replica = %+v, want its result", got)
	}
	after := must[cart](t, session, "cart_get", args{"cart_id": made.CartID})
	// The dead replica's write happened as a whole or not at all.
	happened := after.Version == made.Version+1 || after.Version == made.Version+2
	if !slices.Equal(after.Lines, []line{{"MUG-BLUE", 3}}) || after.TotalMinor != 3*1490 || !happened {
		t.Errorf("cart = %+v, want 3 MUG-BLUE after one or two writes", after)
	}
	if waiting := query[int](t, s, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND state LIKE 'idle in transaction%'`); waiting != 0 {
		t.Errorf("transactions left open = %d, want none", waiting)
	}
}

// A caller that hangs up does not stop a write that was sent. Nothing outside
// shows when cartd notices, so this goes on until it did before the write ended.
func TestCallerThatHangsUpLosesTheAnswerOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	one := s.replica(t)
	alice := s.token("alice")
	session := one.with(t, alice)
	before := must[cart](t, session, "cart_create", nil)

	eventually(t, "cartd notices that the caller hung up", func() bool {
		lock := s.holdCart(t, before.CartID)
		req, hangUp := cancellable(one.request(t, alice, "cart_set_item", setItem(before.CartID, "MUG-BLUE", before.Version)))
		answer := make(chan reply, 1)
		go func() { answer <- s.send(req) }()
		lock.waitFor(t, 1)
		hangUp()
		if got := <-answer; got.err == nil {
			t.Fatalf("call that was hung up = %+v, want no answer", got)
		}
		// Time for a wrong server to take the write back. A right one passes with any.
		time.Sleep(300 * time.Millisecond)
		lock.waitFor(t, 1)
		lock.release(t)
		after := before
		eventually(t, "the write is done", func() bool {
			after = must[cart](t, session, "cart_get", args{"cart_id": before.CartID})
			return after.Version > before.Version
		})
		if !slices.Equal(after.Lines, []line{{"MUG-BLUE", before.Version}}) || after.Version != before.Version+1 {
			t.Fatalf("cart after the call = %+v, want %d MUG-BLUE, version %d", after, before.Version, before.Version+1)
		}
		before = after
		return strings.Contains(one.out.String(), `"outcome":"cancelled"`)
	})
}
