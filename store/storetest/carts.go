package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

func (s *suite) testCatalogue(t *testing.T) {
	search := func(t *testing.T, query, after string, limit int) store.ProductPage {
		t.Helper()
		page, err := s.store.SearchProducts(t.Context(), query, after, limit)
		if err != nil {
			t.Fatalf("SearchProducts(%q, %q, %d) = %v", query, after, limit, err)
		}
		return page
	}
	t.Run("every word must match name or SKU, in any case", func(t *testing.T) {
		for query, want := range map[string]int{
			"THING far": 1, "t-usd": 1, "far  t-": 1, "thing 14": 12, "%": 0, "_": 0, `\`: 0, "far nowhere": 0,
		} {
			if got := search(t, query, "", 100); len(got.Products) != want {
				t.Errorf("SearchProducts(%q) found %d products, want %d", query, len(got.Products), want)
			}
		}
	})
	t.Run("pages follow each other without gap or repetition", func(t *testing.T) {
		var seen []string
		after := ""
		for {
			page := search(t, "test thing", after, 7)
			for _, product := range page.Products {
				seen = append(seen, product.SKU)
			}
			if page.Next == "" {
				break
			}
			after = page.Next
		}
		if len(seen) != 151 || seen[0] != "T-000" || seen[149] != "T-149" || seen[150] != "T-USD" {
			t.Errorf("pages showed %d products, from %s", len(seen), seen[0])
		}
	})
	t.Run("the last page says so, when it is full too", func(t *testing.T) {
		if page := search(t, "thing 149", "", 1); len(page.Products) != 1 || page.Next != "" {
			t.Errorf("SearchProducts = %+v, want one product and no next page", page)
		}
	})
	t.Run("a limit out of bounds is refused", func(t *testing.T) {
		for _, limit := range []int{-1, 0, store.MaxProducts + 1} {
			if _, err := s.store.SearchProducts(t.Context(), "", "", limit); err == nil {
				t.Errorf("SearchProducts with limit %d succeeded", limit)
			}
		}
	})
}

func (s *suite) testCarts(t *testing.T) {
	t.Run("a new cart is empty and lives 24 hours", func(t *testing.T) {
		key := newKey(newUser())
		cart, err := s.store.CreateCart(t.Context(), key)
		if err != nil {
			t.Fatalf("CreateCart = %v", err)
		}
		want := store.Cart{Handle: key.Handle(), Status: store.StatusOpen, Version: 1,
			CreatedAt: cart.CreatedAt, ExpiresAt: cart.CreatedAt.Add(24 * time.Hour)}
		if diff := cmp.Diff(want, cart, equalHandles); diff != "" {
			t.Errorf("CreateCart differs (-want +got):\n%s", diff)
		}
		s.wantCart(t, key, cart)
	})
	t.Run("a change shows at once, priced and in the order of the SKUs", func(t *testing.T) {
		key := s.newCart(t)
		s.set(t, key, "T-010", 2)
		cart := s.set(t, key, "T-002", 5)
		if cart.TotalMinor != 2*110+5*102 || cart.Currency != "EUR" || cart.Version != 3 {
			t.Errorf("SetItem = total %d %s, version %d", cart.TotalMinor, cart.Currency, cart.Version)
		}
		want := []store.Line{
			{SKU: "T-002", Name: "Test thing 2", Quantity: 5, UnitPriceMinor: 102, Currency: "EUR", Stock: 1000},
			{SKU: "T-010", Name: "Test thing 10", Quantity: 2, UnitPriceMinor: 110, Currency: "EUR", Stock: 1000},
		}
		if diff := cmp.Diff(want, cart.Lines); diff != "" {
			t.Errorf("lines differ (-want +got):\n%s", diff)
		}
		s.wantCart(t, key, cart)
	})
	t.Run("quantities are absolute and zero removes", func(t *testing.T) {
		key := s.newCart(t)
		s.set(t, key, "T-001", 3)
		if cart := s.set(t, key, "T-001", 2); len(cart.Lines) != 1 || cart.Lines[0].Quantity != 2 || cart.Version != 3 {
			t.Errorf("set to less = %+v, want one line of 2 and version 3", cart)
		}
		if cart := s.set(t, key, "T-001", 0); len(cart.Lines) != 0 || cart.Currency != "" || cart.TotalMinor != 0 || cart.Version != 4 {
			t.Errorf("removed = %+v, want an empty cart of version 4", cart)
		}
	})
	t.Run("what is so already is no change", func(t *testing.T) {
		key := s.newCart(t)
		for _, quantity := range []int{2, 0} {
			changed := s.set(t, key, "T-001", quantity)
			if diff := cmp.Diff(changed, s.set(t, key, "T-001", quantity), equalHandles); diff != "" {
				t.Errorf("%d again differs (-first +again):\n%s", quantity, diff)
			}
		}
	})
	t.Run("unknown products are refused", func(t *testing.T) {
		key := s.newCart(t)
		before := s.row(t, key)
		for _, sku := range []string{"", "T-1", "t-001", "T-001 ", " T-001", "T-\u200d001", "T-0\uff101", "café", "cafe\u0301", strings.Repeat("x", 10000)} {
			for _, quantity := range []int{0, 1} {
				if _, err := s.store.SetItem(t.Context(), key, sku, quantity); !errors.Is(err, store.ErrUnknownProduct) {
					t.Errorf("SetItem(%.20q, %d) = %v, want ErrUnknownProduct", sku, quantity, err)
				}
			}
		}
		if after := s.row(t, key); after != before {
			t.Errorf("the cart changed: %s", after)
		}
	})
	t.Run("one cart has one currency", func(t *testing.T) {
		key := s.newCart(t)
		s.set(t, key, "T-001", 1)
		if _, err := s.store.SetItem(t.Context(), key, "T-USD", 1); !errors.Is(err, store.ErrMixedCurrency) {
			t.Errorf("SetItem = %v, want ErrMixedCurrency", err)
		}
		s.set(t, key, "T-001", 0)
		if cart := s.set(t, key, "T-USD", 1); cart.Currency != "USD" {
			t.Errorf("currency = %q, want USD", cart.Currency)
		}
	})
	t.Run("a catalogue that changes under a cart", s.testCatalogueMoves)
	t.Run("the list shows open carts only, oldest first", s.testList)
}

func (s *suite) testCatalogueMoves(t *testing.T) {
	key := s.newCart(t)
	s.exec(t, `INSERT INTO products VALUES ('M-1', 'One', 5, 'EUR', 1), ('M-2', 'Two', 7, 'EUR', 1)`)
	s.set(t, key, "M-1", 1)
	s.set(t, key, "M-2", 1)

	s.exec(t, `UPDATE products SET unit_price_minor = 6 WHERE sku = 'M-1'`)
	if cart := s.cart(t, key); cart.TotalMinor != 13 {
		t.Errorf("total = %d, want 13, at the new price", cart.TotalMinor)
	}
	s.exec(t, `UPDATE products SET currency = 'USD' WHERE sku = 'M-1'`)
	if cart := s.cart(t, key); cart.TotalMinor != 0 || cart.Currency != "" {
		t.Errorf("total of two currencies = %d %q, want none", cart.TotalMinor, cart.Currency)
	}
	s.exec(t, `DELETE FROM products WHERE sku = 'M-1'`)
	cart := s.cart(t, key)
	if cart.TotalMinor != 7 || !cart.Lines[0].Gone || cart.Lines[1].Gone {
		t.Errorf("with a product gone: %+v", cart)
	}
	if cart := s.set(t, key, "M-1", 0); len(cart.Lines) != 1 {
		t.Errorf("a line whose product is gone cannot be removed: %+v", cart)
	}
}

func (s *suite) testList(t *testing.T) {
	owner := newUser()
	var want []store.Cart
	for n := range 5 {
		key := newKey(owner)
		if _, err := s.store.CreateCart(t.Context(), key); err != nil {
			t.Fatal(err)
		}
		for line := range n {
			s.set(t, key, fmt.Sprintf("T-%03d", line), n)
		}
		switch n {
		case 1:
			s.update(t, key, expire)
		case 3:
			if err := s.store.DiscardCart(t.Context(), key); err != nil {
				t.Fatal(err)
			}
		default:
			want = append(want, s.cart(t, key))
		}
	}
	got, err := s.store.Carts(t.Context(), owner)
	if diff := cmp.Diff(want, got, equalHandles); err != nil || diff != "" {
		t.Errorf("Carts = %v, differs (-want +got):\n%s", err, diff)
	}
	if none, err := s.store.Carts(t.Context(), newUser()); err != nil || len(none) != 0 {
		t.Errorf("Carts of a new user = %v, %v, want none", none, err)
	}
}

var equalHandles = cmp.Comparer(func(a, b handles.Handle) bool { return a == b })

func (s *suite) set(t testing.TB, key handles.Key, sku string, quantity int) store.Cart {
	t.Helper()
	cart, err := s.store.SetItem(t.Context(), key, sku, quantity)
	if err != nil {
		t.Fatalf("SetItem(%s, %d) = %v", sku, quantity, err)
	}
	return cart
}

func (s *suite) cart(t testing.TB, key handles.Key) store.Cart {
	t.Helper()
	cart, err := s.store.Cart(t.Context(), key)
	if err != nil {
		t.Fatalf("Cart = %v", err)
	}
	return cart
}

func (s *suite) wantCart(t testing.TB, key handles.Key, want store.Cart) {
	t.Helper()
	if diff := cmp.Diff(want, s.cart(t, key), equalHandles); diff != "" {
		t.Errorf("Cart differs (-want +got):\n%s", diff)
	}
}
