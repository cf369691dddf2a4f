package storetest

import (
	"fmt"
	"testing"

	"example.com/mcp-cart/store"
)

func (s *suite) testConcurrency(t *testing.T) {
	t.Run("100 changes at once on two replicas are 100 changes", func(t *testing.T) {
		key, replica := s.newCart(t), s.open(t, "")
		parallel(t, 100, func(i int) error {
			p := []*store.Postgres{s.store, replica}[i%2]
			_, err := p.SetItem(t.Context(), key, fmt.Sprintf("T-%03d", i), 1+i)
			return err
		})
		cart := s.cart(t, key)
		if cart.Version != 101 || len(cart.Lines) != 100 {
			t.Fatalf("version %d with %d lines, want 101 with 100", cart.Version, len(cart.Lines))
		}
		for i, line := range cart.Lines {
			if line.Quantity != 1+i {
				t.Errorf("%s: quantity %d, want %d", line.SKU, line.Quantity, 1+i)
			}
		}
	})
	t.Run("each change returns the cart as that change left it", func(t *testing.T) {
		key := s.newCart(t)
		versions := make([]int64, 30)
		parallel(t, len(versions), func(i int) error {
			cart, err := s.store.SetItem(t.Context(), key, "T-001", 1+i)
			if err == nil && cart.Lines[0].Quantity != 1+i {
				err = fmt.Errorf("set to %d, answered %d", 1+i, cart.Lines[0].Quantity)
			}
			versions[i] = cart.Version
			return err
		})
		seen := make(map[int64]bool)
		for _, version := range versions {
			seen[version] = true
		}
		if len(seen) != len(versions) {
			t.Errorf("%d changes had %d versions", len(versions), len(seen))
		}
	})
	t.Run("of a discard and a change one comes first, and the cart stays gone", func(t *testing.T) {
		for range 20 {
			key := s.newCart(t)
			parallel(t, 4, func(i int) error {
				if i == 0 {
					return s.store.DiscardCart(t.Context(), key)
				}
				_, err := s.store.SetItem(t.Context(), key, "T-001", i)
				return err
			}, is(store.ErrUnknown))
			if status := ask[string](t, s, `SELECT status || lines FROM carts WHERE user_id = $1`, key.Owner()); status != "discarded{}" {
				t.Fatalf("the cart is %s, want discarded{}", status)
			}
		}
	})
}
