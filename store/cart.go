package store

import (
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/mcp-cart/handles"
)

// The bounds of carts. Those of time stand in the statements: a cart lives for 24
// hours from its last change, and for 7 days at most.
const (
	MaxOpenCarts = 20
	MaxLines     = 100
	MaxQuantity  = 999
)

// Status says what has become of a cart.
type Status string

// StatusOpen is the status of every cart that can be read. Other carts are
// answered by an error.
const StatusOpen Status = "open"

// Cart is one consistent state of a cart: its lines together with the
// catalogue's names and prices for them, all from one statement.
type Cart struct {
	Handle     handles.Handle
	Status     Status
	Version    int64 // grows by one with every accepted change
	Lines      []Line
	TotalMinor int64
	// Currency is empty for a cart without lines, and for one whose products have
	// come to be sold in different currencies since they were put in. The latter
	// has no total and cannot be ordered until it is put right.
	Currency  string
	CreatedAt time.Time
	ExpiresAt time.Time
}

// Line is one product of a cart. Lines are in the order of their SKUs.
type Line struct {
	SKU            string
	Name           string
	Quantity       int
	UnitPriceMinor int64
	Currency       string
	Stock          int // what is left of it to buy; 0 in an order
	// Gone says that the catalogue has no such product any more. The line has no
	// name and no price, and the cart cannot be ordered until it is removed.
	Gone bool
}

// LineTotalMinor returns quantity times price. The bounds of both, which the
// database checks, keep it and the sum of any cart far from overflowing.
func (l Line) LineTotalMinor() int64 { return int64(l.Quantity) * l.UnitPriceMinor }

// A cartRow is what every statement about carts returns: the verdict, the cart
// if the verdict is ok, and one of its lines, if it has any.
type cartRow struct {
	Verdict        string
	OrderID        *string
	Handle         *string
	Version        *int64
	CreatedAt      *time.Time
	ExpiresAt      *time.Time
	SKU            *string
	Quantity       *int
	Name           *string
	UnitPriceMinor *int64
	Currency       *string
	Stock          *int
}

// collectCarts reads the rows of one or more carts, those of each together.
func collectCarts(rows pgx.Rows) ([]Cart, error) {
	all, err := pgx.CollectRows(rows, pgx.RowToStructByPos[cartRow])
	if err != nil {
		return nil, err
	}
	var carts []Cart
	for i, row := range all {
		if err := verdict(row.Verdict, row.OrderID); err != nil {
			return nil, err
		}
		if i == 0 || *row.Handle != *all[i-1].Handle {
			cart, err := row.cart()
			if err != nil {
				return nil, err
			}
			carts = append(carts, cart)
		}
		if row.SKU != nil {
			last := &carts[len(carts)-1]
			last.Lines = append(last.Lines, row.line())
		}
	}
	for i := range carts {
		carts[i].sum()
	}
	return carts, nil
}

// collectCart reads the answer of a statement about one cart. No row at all is
// the answer for a cart that this user does not have.
func collectCart(rows pgx.Rows) (Cart, error) {
	carts, err := collectCarts(rows)
	if err != nil {
		return Cart{}, err
	}
	if len(carts) == 0 {
		return Cart{}, ErrUnknown
	}
	return carts[0], nil
}

// verdict turns what a statement decided into an error.
func verdict(v string, orderID *string) error {
	switch v {
	case "ok":
		return nil
	case "unknown":
		return ErrUnknown
	case "expired":
		return ErrExpired
	case "ordered":
		h, err := handles.Parse(handles.Order, *orderID)
		if err != nil {
			return fmt.Errorf("order of a cart: %w", err)
		}
		return &OrderedError{OrderID: h}
	case "unknown_product":
		return ErrUnknownProduct
	case "too_many_lines":
		return ErrTooManyLines
	case "mixed_currency":
		return ErrMixedCurrency
	}
	return fmt.Errorf("unexpected verdict %q", v)
}

func (r cartRow) cart() (Cart, error) {
	h, err := handles.Parse(handles.Cart, *r.Handle)
	if err != nil {
		return Cart{}, fmt.Errorf("handle of a cart: %w", err)
	}
	return Cart{Handle: h, Status: StatusOpen, Version: *r.Version, CreatedAt: *r.CreatedAt, ExpiresAt: *r.ExpiresAt}, nil
}

func (r cartRow) line() Line {
	if r.Name == nil {
		return Line{SKU: *r.SKU, Quantity: *r.Quantity, Gone: true}
	}
	return Line{SKU: *r.SKU, Name: *r.Name, Quantity: *r.Quantity, UnitPriceMinor: *r.UnitPriceMinor, Currency: *r.Currency, Stock: *r.Stock}
}

// sum sets the total and the currency from the lines.
func (c *Cart) sum() {
	c.Currency, c.TotalMinor = "", 0
	for _, line := range c.Lines {
		if line.Gone {
			continue
		}
		if c.Currency != "" && c.Currency != line.Currency {
			c.Currency, c.TotalMinor = "", 0
			return
		}
		c.Currency = line.Currency
		c.TotalMinor += line.LineTotalMinor()
	}
}
