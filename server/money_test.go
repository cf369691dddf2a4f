package server

import "testing"

func TestMoneyHasTheDecimalsOfItsCurrency(t *testing.T) {
	for _, c := range []struct {
		minor int64
		code  string
		want  string
	}{
		{1290, "EUR", "12.90 EUR"}, {5, "EUR", "0.05 EUR"}, {0, "EUR", "0.00 EUR"},
		{1290, "JPY", "1290 JPY"}, {5, "KWD", "0.005 KWD"}, {100_000_000_000_000, "USD", "1000000000000.00 USD"},
		{7, "???", "7 minor units of ???"},
	} {
		if got := money(c.minor, c.code); got != c.want {
			t.Errorf("money(%d, %s) = %q, want %q", c.minor, c.code, got, c.want)
		}
	}
}
