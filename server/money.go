package server

import (
	"fmt"
	"strconv"
	"strings"

	"golang.org/x/text/currency"
)

// money writes an amount in minor units as people write it, with as many
// decimals as the currency has (ISO 4217). Amounts are whole minor units from
// the catalogue to the order, and only added and multiplied by whole quantities:
// nothing is ever rounded.
func money(minor int64, code string) string {
	unit, err := currency.ParseISO(code)
	if err != nil {
		return fmt.Sprintf("%d minor units of %s", minor, code)
	}
	decimals, _ := currency.Standard.Rounding(unit)
	digits := strconv.FormatInt(minor, 10)
	if pad := decimals + 1 - len(digits); pad > 0 {
		digits = strings.Repeat("0", pad) + digits
	}
	if decimals > 0 {
		digits = digits[:len(digits)-decimals] + "." + digits[len(digits)-decimals:]
	}
	return digits + " " + code
}
