package store

import (
	"errors"

	"example.com/mcp-cart/handles"
)

// What a caller can be told. Anything else that a method returns is a fault of
// the program or of its set-up.
var (
	// ErrUnknown says that the user has no such thing. It is the same for a handle
	// that never existed, for another user's, and for one that was discarded.
	ErrUnknown = errors.New("unknown to this user")
	// ErrExpired says that the user's cart has outlived its time.
	ErrExpired = errors.New("expired")
	// ErrQuota says that the user has [MaxOpenCarts] open carts.
	ErrQuota = errors.New("too many open carts")
	// ErrTooManyLines says that the cart has [MaxLines] lines.
	ErrTooManyLines = errors.New("too many lines in the cart")
	// ErrUnknownProduct says that the catalogue has no such SKU.
	ErrUnknownProduct = errors.New("unknown product")
	// ErrMixedCurrency says that the product, or the cart, mixes currencies.
	ErrMixedCurrency = errors.New("more than one currency in a cart")
	// ErrEmptyCart says that there is nothing in the cart to buy.
	ErrEmptyCart = errors.New("empty cart")
	// ErrQuantity says that a quantity is not within 0 and [MaxQuantity].
	ErrQuantity = errors.New("quantity out of bounds")
	// ErrInvalidText says that a text holds something that no text may: a NUL, or
	// bytes that are not UTF-8.
	ErrInvalidText = errors.New("text with invalid characters")
	// ErrBusy says that it took too long or lost against others too often. Nothing
	// is half done, and to try again is right.
	ErrBusy = errors.New("busy")
	// ErrUnavailable says that the database cannot be reached or does not accept
	// work. To try again later is right; a write may or may not have happened.
	ErrUnavailable = errors.New("database unavailable")
)

// Faults of the program or of its set-up.
var (
	// ErrBadKey refuses a key without owner or handle, or with a handle of another
	// kind than the method is about: somebody forgot to authenticate or to parse.
	ErrBadKey = errors.New("key without owner or handle, or of the wrong kind")
	// ErrNotRedeemed refuses an effect whose redemption was not recorded in this
	// transaction, or not for this effect.
	ErrNotRedeemed = errors.New("effect without its redemption")
	// ErrExists says that the key names something already.
	ErrExists = errors.New("exists already")
	// ErrSchema says that the database does not have the schema of this program.
	ErrSchema = errors.New("database schema does not fit")
)

// OrderedError says that the cart became an order. Only its owner is told.
type OrderedError struct {
	OrderID handles.Handle
}

// Error names the order redacted: errors end up in logs.
func (e *OrderedError) Error() string { return "already ordered as " + e.OrderID.String() }

// CartMovedError says that the cart, or a price in it, is not as it was shown.
// Nothing was bought.
type CartMovedError struct {
	Cart Cart // as it is now
}

// Error says so.
func (e *CartMovedError) Error() string { return "cart or prices moved since they were shown" }

// OutOfStockError says that there is not enough of a product left, or that it is
// not sold any more. Nothing was bought.
type OutOfStockError struct {
	SKU   string
	Stock int // what is left
}

// Error says so.
func (e *OutOfStockError) Error() string { return "out of stock: " + e.SKU }

func checkKey(key handles.Key, kind handles.Kind) error {
	if key.IsZero() || key.Handle().Kind() != kind {
		return ErrBadKey
	}
	return nil
}

func checkOwner(owner [16]byte) error {
	if owner == [16]byte{} {
		return ErrBadKey
	}
	return nil
}
