package storetest

import (
	"errors"
	"testing"

	"example.com/mcp-cart/store"
)

func (s *suite) testText(t *testing.T) {
	key := s.newCart(t)
	s.set(t, key, "T-001", 1)
	before := s.row(t, key)
	for name, text := range map[string]string{
		"NUL":            "T-\x00001",
		"only NUL":       "\x00",
		"a stray byte":   "T-001\xff",
		"cut off":        "T-\xe2\x82",
		"lone surrogate": "T-\xed\xa0\x80",
		"overlong":       "T-\xc0\x80",
		"beyond Unicode": "T-\xf4\x90\x80\x80",
	} {
		t.Run(name+" is refused and nothing is stored", func(t *testing.T) {
			calls := map[string]func() error{
				"SetItem":              func() error { _, err := s.store.SetItem(t.Context(), key, text, 1); return err },
				"SetItem to 0":         func() error { _, err := s.store.SetItem(t.Context(), key, text, 0); return err },
				"SearchProducts":       func() error { _, err := s.store.SearchProducts(t.Context(), text, "", 1); return err },
				"SearchProducts after": func() error { _, err := s.store.SearchProducts(t.Context(), "", text, 1); return err },
			}
			for call, do := range calls {
				if err := do(); !errors.Is(err, store.ErrInvalidText) {
					t.Errorf("%s = %v, want ErrInvalidText", call, err)
				}
			}
		})
	}
	if after := s.row(t, key); after != before {
		t.Errorf("the cart changed from %s to %s", before, after)
	}
}
