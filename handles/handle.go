package handles

import (
	"crypto/rand"
	"unique"
)

// Kind says what a handle names. It is the part of the text before the
// underscore: one to eight lower-case letters.
type Kind string

// The kinds of this server.
const (
	Cart  Kind = "cart"
	Order Kind = "ord"
)

// Handle is the name of one thing. Handles are comparable with ==; the zero
// Handle names nothing.
type Handle struct {
	// The text sits behind an interned pointer. Printing a struct that holds a
	// Handle in an unexported field bypasses every method of ours and shows the
	// bare fields: this one then shows as an address. Equal texts still compare
	// equal.
	text unique.Handle[string]
}

// Mint makes a new handle of the kind. It panics if the kind is not well
// formed, which is a mistake in the program, not in its input.
func Mint(kind Kind) Handle {
	if !kind.wellFormed() {
		panic("handles: mint: a kind is one to eight lower-case letters")
	}
	// crypto/rand ends the program rather than return fewer or weaker bytes.
	var secret [secretBytes]byte
	rand.Read(secret[:])
	name := string(kind) + "_" + encoding.EncodeToString(secret[:])
	return Handle{unique.Make(name + checksum(name))}
}

// Reveal returns the full text, for the client that owns it and for the
// database. It does not belong into a log.
func (h Handle) Reveal() string {
	if h.IsZero() {
		return ""
	}
	return h.text.Value()
}

// Kind returns what the handle names, or the empty kind for the zero Handle.
func (h Handle) Kind() Kind {
	if h.IsZero() {
		return ""
	}
	text := h.text.Value()
	return Kind(text[:len(text)-tailChars])
}

// IsZero reports whether the handle names nothing.
func (h Handle) IsZero() bool { return h == Handle{} }

func (k Kind) wellFormed() bool {
	if len(k) == 0 || len(k) > maxKindChars {
		return false
	}
	for _, c := range []byte(k) {
		if c < 'a' || c > 'z' {
			return false
		}
	}
	return true
}
