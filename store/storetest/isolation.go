package storetest

import (
	"errors"
	"testing"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

func (s *suite) testIsolation(t *testing.T) {
	t.Run("foreign, unknown and discarded are one answer and change nothing", func(t *testing.T) {
		theirs := s.newCart(t)
		s.set(t, theirs, "T-001", 1)
		me := newUser()
		discarded := newKey(me)
		if _, err := s.store.CreateCart(t.Context(), discarded); err != nil {
			t.Fatal(err)
		}
		if err := s.store.DiscardCart(t.Context(), discarded); err != nil {
			t.Fatal(err)
		}
		keys := map[string]handles.Key{
			"foreign": handles.NewKey(me, theirs.Handle()), "unknown": newKey(me), "discarded": discarded,
		}
		theirRow, discardedRow := s.row(t, theirs), s.row(t, discarded)
		for _, call := range cartCalls() {
			texts := make(map[string]bool)
			for name, key := range keys {
				err := call.do(t.Context(), s.store, key)
				if !errors.Is(err, store.ErrUnknown) {
					t.Errorf("%s of a cart that is %s = %v, want ErrUnknown", call.name, name, err)
					continue
				}
				texts[err.Error()] = true
			}
			if len(texts) != 1 {
				t.Errorf("%s has %d answers, want one: %v", call.name, len(texts), texts)
			}
		}
		if got := s.row(t, theirs); got != theirRow {
			t.Errorf("their cart changed from %s to %s", theirRow, got)
		}
		if got := s.row(t, discarded); got != discardedRow {
			t.Errorf("the discarded cart changed from %s to %s", discardedRow, got)
		}
	})
	t.Run("the same handle of two users is two carts", func(t *testing.T) {
		mine := s.newCart(t)
		theirs := handles.NewKey(newUser(), mine.Handle())
		if _, err := s.store.CreateCart(t.Context(), theirs); err != nil {
			t.Fatalf("CreateCart = %v", err)
		}
		s.set(t, mine, "T-001", 1)
		theirRow := s.row(t, theirs)
		if err := s.store.DiscardCart(t.Context(), mine); err != nil {
			t.Fatal(err)
		}
		if got := s.row(t, theirs); got != theirRow {
			t.Errorf("the other cart changed from %s to %s", theirRow, got)
		}
	})
	t.Run("a discarded cart keeps nothing of what was in it", func(t *testing.T) {
		key := s.newCart(t)
		s.set(t, key, "T-001", 1)
		if err := s.store.DiscardCart(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		if lines := ask[string](t, s, `SELECT lines::text FROM carts WHERE user_id = $1`, key.Owner()); lines != "{}" {
			t.Errorf("lines = %s, want none", lines)
		}
	})
	t.Run("a handle is used once", func(t *testing.T) {
		key := s.newCart(t)
		before := s.row(t, key)
		if _, err := s.store.CreateCart(t.Context(), key); !errors.Is(err, store.ErrExists) {
			t.Errorf("CreateCart of the same key = %v, want ErrExists", err)
		}
		if got := s.row(t, key); got != before {
			t.Errorf("the cart changed from %s to %s", before, got)
		}
	})
	t.Run("a key without owner, without handle or of another kind is refused", func(t *testing.T) {
		calls := append(cartCalls(), createCall())
		for name, key := range map[string]handles.Key{
			"zero":      {},
			"no owner":  handles.NewKey([16]byte{}, handles.Mint(handles.Cart)),
			"no handle": handles.NewKey(newUser(), handles.Handle{}),
			"an order":  handles.NewKey(newUser(), handles.Mint(handles.Order)),
		} {
			for _, call := range calls {
				if err := call.do(t.Context(), s.store, key); !errors.Is(err, store.ErrBadKey) {
					t.Errorf("%s with key %s = %v, want ErrBadKey", call.name, name, err)
				}
			}
		}
		if _, err := s.store.Carts(t.Context(), [16]byte{}); !errors.Is(err, store.ErrBadKey) {
			t.Errorf("Carts of no owner = %v, want ErrBadKey", err)
		}
	})
}
