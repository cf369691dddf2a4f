package handles

import (
	"fmt"
	"log/slog"
)

// String returns the redacted form, such as cart_…7f3k: enough to find a line
// in a log again, not enough to name the cart. What remains is the checksum.
func (h Handle) String() string {
	if h.IsZero() {
		return "none"
	}
	text := h.text.Value()
	return string(h.Kind()) + "_…" + text[len(text)-checksumChars:]
}

// Format prints the redacted form whatever the verb is: %d and %#v, for two, do
// not ask String.
func (h Handle) Format(f fmt.State, _ rune) { fmt.Fprint(f, h.String()) }

// LogValue returns the redacted form.
func (h Handle) LogValue() slog.Value { return slog.StringValue(h.String()) }

// MarshalText returns the redacted form, which JSON and other text formats use
// too. There is no way back: a handle that arrives as text goes through [Parse].
func (h Handle) MarshalText() ([]byte, error) { return []byte(h.String()), nil }
