package store

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
)

// Purchasable returns nil if the cart can be bought as it is, as far as one can
// see. Errors: [ErrEmptyCart], [*OutOfStockError],
// [ErrMixedCurrency].
func (c Cart) Purchasable() error {
	if len(c.Lines) == 0 {
		return ErrEmptyCart
	}
	for _, line := range c.Lines {
		if line.Gone || line.Stock < line.Quantity {
			return &OutOfStockError{SKU: line.SKU, Stock: line.Stock}
		}
	}
	if c.Currency == "" {
		return ErrMixedCurrency
	}
	return nil
}

// Fingerprint stands for the lines as a person reads them: what, how many, at
// which price. The total alone does not, since prices can move both ways.
func (c Cart) Fingerprint() string {
	h := sha256.New()
	for _, l := range c.Lines {
		fmt.Fprintf(h, "%q %q %d %d %s\n", l.SKU, l.Name, l.Quantity, l.UnitPriceMinor, l.Currency)
	}
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil))
}
