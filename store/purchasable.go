package store

// Purchasable returns nil if the cart can be bought as it is, as far as one can
// see without its locks. Errors: [ErrEmptyCart], [*OutOfStockError],
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
