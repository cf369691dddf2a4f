package storetest

import (
	"context"
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

// testModel compares the store with the simplest thing that could keep the same
// promises, over random sequences of calls. Two users name each other's carts as
// often as their own.
func (s *suite) testModel(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := &model{s: s, t: t, carts: make(map[handles.Key]*modelCart)}
		users := [][16]byte{newUser(), newUser()}
		names := []handles.Handle{handles.Mint(handles.Cart), handles.Mint(handles.Cart)}
		key := rapid.Custom(func(rt *rapid.T) handles.Key {
			return handles.NewKey(rapid.SampledFrom(users).Draw(rt, "user"), rapid.SampledFrom(names).Draw(rt, "name"))
		})
		rt.Repeat(map[string]func(*rapid.T){
			"create":  func(rt *rapid.T) { m.create(rt, key.Draw(rt, "key")) },
			"set":     func(rt *rapid.T) { m.set(rt, key.Draw(rt, "key")) },
			"discard": func(rt *rapid.T) { m.discard(rt, key.Draw(rt, "key")) },
			"expire":  func(rt *rapid.T) { m.expire(key.Draw(rt, "key")) },
			"":        func(rt *rapid.T) { m.compare(rt, users, names) },
		})
	})
}

type modelCart struct {
	version            int64
	lines              map[string]int
	expired, discarded bool
}

type model struct {
	s     *suite
	t     *testing.T
	carts map[handles.Key]*modelCart
}

// find returns the cart, or the error that every call about it must give.
func (m *model) find(key handles.Key) (*modelCart, error) {
	switch cart := m.carts[key]; {
	case cart == nil || cart.discarded:
		return nil, store.ErrUnknown
	case cart.expired:
		return nil, store.ErrExpired
	default:
		return cart, nil
	}
}

func (m *model) create(rt *rapid.T, key handles.Key) {
	want := error(nil)
	if m.carts[key] != nil {
		want = store.ErrExists
	} else {
		m.carts[key] = &modelCart{version: 1, lines: make(map[string]int)}
	}
	if _, err := m.s.store.CreateCart(context.Background(), key); !errors.Is(err, want) {
		rt.Fatalf("CreateCart = %v, want %v", err, want)
	}
}

func (m *model) set(rt *rapid.T, key handles.Key) {
	sku := rapid.SampledFrom([]string{"T-001", "T-002", "T-003", "T-USD", "none"}).Draw(rt, "sku")
	quantity := rapid.IntRange(0, 3).Draw(rt, "quantity")
	cart, want := m.find(key)
	if want == nil {
		want = cart.set(sku, quantity)
	}
	if _, err := m.s.store.SetItem(context.Background(), key, sku, quantity); !errors.Is(err, want) {
		rt.Fatalf("SetItem(%s, %d) = %v, want %v", sku, quantity, err, want)
	}
}

func (c *modelCart) set(sku string, quantity int) error {
	before, has := c.lines[sku]
	if sku == "none" {
		return store.ErrUnknownProduct
	}
	if quantity > 0 && !has {
		for other := range c.lines {
			if (other == "T-USD") != (sku == "T-USD") {
				return store.ErrMixedCurrency
			}
		}
	}
	if quantity != before {
		c.version++
	}
	if c.lines[sku] = quantity; quantity == 0 {
		delete(c.lines, sku)
	}
	return nil
}

func (m *model) discard(rt *rapid.T, key handles.Key) {
	cart, want := m.find(key)
	if want == nil {
		cart.discarded = true
	}
	if err := m.s.store.DiscardCart(context.Background(), key); !errors.Is(err, want) {
		rt.Fatalf("DiscardCart = %v, want %v", err, want)
	}
}

func (m *model) expire(key handles.Key) {
	if cart, err := m.find(key); err == nil {
		cart.expired = true
		m.s.update(m.t, key, expire)
	}
}

// compare reads every cart of every user, one by one and as a list.
func (m *model) compare(rt *rapid.T, users [][16]byte, names []handles.Handle) {
	for _, user := range users {
		open := 0
		for _, name := range names {
			key := handles.NewKey(user, name)
			want, wantErr := m.find(key)
			got, err := m.s.store.Cart(context.Background(), key)
			if !errors.Is(err, wantErr) {
				rt.Fatalf("Cart = %v, want %v", err, wantErr)
			}
			if wantErr != nil {
				continue
			}
			open++
			lines := make(map[string]int)
			for _, line := range got.Lines {
				lines[line.SKU] = line.Quantity
			}
			if got.Version != want.version || !maps.Equal(lines, want.lines) || !slices.IsSortedFunc(got.Lines, bySKU) {
				rt.Fatalf("Cart = version %d with %v, want version %d with %v", got.Version, got.Lines, want.version, want.lines)
			}
		}
		if carts, err := m.s.store.Carts(context.Background(), user); err != nil || len(carts) != open {
			rt.Fatalf("Carts = %d carts, %v, want %d", len(carts), err, open)
		}
	}
}

func bySKU(a, b store.Line) int { return strings.Compare(a.SKU, b.SKU) }
