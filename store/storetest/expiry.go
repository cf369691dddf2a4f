package storetest

import (
	"errors"
	"testing"
	"time"

	"example.com/mcp-cart/store"
)

func (s *suite) testExpiry(t *testing.T) {
	for _, call := range cartCalls() {
		t.Run(call.name+" finds an expired cart expired, with no janitor", func(t *testing.T) {
			key := s.newCart(t)
			s.set(t, key, "T-001", 1)
			s.update(t, key, expire)
			before := s.row(t, key)
			if err := call.do(t.Context(), s.store, key); !errors.Is(err, store.ErrExpired) {
				t.Errorf("%s = %v, want ErrExpired", call.name, err)
			}
			if after := s.row(t, key); after != before {
				t.Errorf("the cart changed from %s to %s", before, after)
			}
		})
	}
	t.Run("an expired cart of somebody else is unknown", func(t *testing.T) {
		theirs := s.newCart(t)
		s.update(t, theirs, expire)
		for _, call := range cartCalls() {
			if err := call.do(t.Context(), s.store, foreign(theirs)); !errors.Is(err, store.ErrUnknown) {
				t.Errorf("%s = %v, want ErrUnknown", call.name, err)
			}
		}
	})
	t.Run("an expired cart does not count against the quota", func(t *testing.T) {
		owner := newUser()
		for range store.MaxOpenCarts {
			key := newKey(owner)
			if _, err := s.store.CreateCart(t.Context(), key); err != nil {
				t.Fatal(err)
			}
			s.update(t, key, expire)
		}
		if _, err := s.store.CreateCart(t.Context(), newKey(owner)); err != nil {
			t.Errorf("CreateCart = %v", err)
		}
	})
	t.Run("reading does not extend a cart", func(t *testing.T) {
		key := s.newCart(t)
		before := s.row(t, key)
		s.cart(t, key)
		if _, err := s.store.Carts(t.Context(), key.Owner()); err != nil {
			t.Fatal(err)
		}
		if after := s.row(t, key); after != before {
			t.Errorf("the cart changed from %s to %s", before, after)
		}
	})
	t.Run("a change extends a cart to 24 hours from now", func(t *testing.T) {
		key := s.newCart(t)
		s.update(t, key, `created_at = created_at - interval '20 hours', expires_at = expires_at - interval '20 hours'`)
		earliest := ask[time.Time](t, s, `SELECT clock_timestamp()`).Add(24 * time.Hour)
		cart := s.set(t, key, "T-001", 1)
		latest := ask[time.Time](t, s, `SELECT clock_timestamp()`).Add(24 * time.Hour)
		if cart.ExpiresAt.Before(earliest) || cart.ExpiresAt.After(latest) {
			t.Errorf("expires at %v, want between %v and %v", cart.ExpiresAt, earliest, latest)
		}
	})
	t.Run("no change extends a cart beyond 7 days", func(t *testing.T) {
		key := s.newCart(t)
		s.update(t, key, `created_at = created_at - interval '160 hours', expires_at = expires_at - interval '20 hours'`)
		cart := s.set(t, key, "T-001", 1)
		if got := cart.ExpiresAt.Sub(cart.CreatedAt); got != 7*24*time.Hour {
			t.Errorf("it lives %v, want 168h", got)
		}
	})
	for _, race := range []struct{ name, meanwhile string }{
		{"only holds it", `SELECT FROM carts WHERE user_id = $1 AND handle = $2 FOR UPDATE`},
		{"changes it", `UPDATE carts SET version = version + 1 WHERE user_id = $1 AND handle = $2`},
	} {
		for _, call := range append(cartCalls()[1:], placeOrderCall(t)) {
			t.Run(call.name+" never revives a cart that expired while another "+race.name, func(t *testing.T) {
				s.testExpiryRace(t, call, race.meanwhile)
			})
		}
	}
}

// testExpiryRace has a call wait for a lock past the cart's expiry.
func (s *suite) testExpiryRace(t *testing.T, call call, meanwhile string) {
	key := s.newCart(t)
	s.update(t, key, `expires_at = clock_timestamp() + interval '300 milliseconds'`)
	_, commit := s.hold(t, meanwhile, key.Owner(), key.Handle().Reveal())
	result := make(chan error, 1)
	go func() { result <- call.do(t.Context(), s.store, key) }()
	s.awaitBlocked(t, 1)
	// It is waiting, and began to while the cart was alive: otherwise this test
	// would show nothing.
	if !ask[bool](t, s, `SELECT xact_start < (SELECT expires_at FROM carts WHERE user_id = $1 AND handle = $2)
		FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
		key.Owner(), key.Handle().Reveal()) {
		t.Fatal("the call began after the expiry: the machine is too slow for this test")
	}
	s.eventually(t, "the expiry", `SELECT expires_at < clock_timestamp() FROM carts WHERE user_id = $1 AND handle = $2`,
		key.Owner(), key.Handle().Reveal())
	commit()
	if err := <-result; !errors.Is(err, store.ErrExpired) {
		t.Errorf("%s = %v, want ErrExpired", call.name, err)
	}
	if _, err := s.store.Cart(t.Context(), key); !errors.Is(err, store.ErrExpired) {
		t.Errorf("afterwards Cart = %v, want ErrExpired", err)
	}
}
