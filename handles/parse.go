package handles

import (
	"crypto/sha256"
	"encoding/base32"
	"errors"
	"fmt"
	"strings"
	"unique"
)

const (
	maxKindChars  = 8
	secretBytes   = 16 // 128 bits: not to be guessed, not to be met twice
	bodyChars     = 26
	checksumChars = 4
	tailChars     = len("_") + bodyChars + checksumChars

	alphabet = "0123456789abcdefghjkmnpqrstvwxyz"
)

// encoding is Crockford's alphabet in lower case, without padding. It is
// immutable.
var encoding = base32.NewEncoding(alphabet).WithPadding(base32.NoPadding)

// ErrMalformed is the one answer to a text that is no handle of the kind asked
// for. The others wrap it and say why, for the log and for a helpful message.
// None of them quotes the text.
var (
	ErrMalformed = errors.New("not a well-formed handle")
	ErrKind      = fmt.Errorf("%w: it names another kind of thing", ErrMalformed)
	ErrForm      = fmt.Errorf("%w: wrong length or characters", ErrMalformed)
	ErrChecksum  = fmt.Errorf("%w: the checksum does not match", ErrMalformed)
)

// Parse returns the handle that text spells, if it is of the kind and in its
// only valid spelling. It asks no database: a parsed handle may name nothing.
func Parse(kind Kind, text string) (Handle, error) {
	if !kind.wellFormed() || len(text) > maxKindChars+tailChars {
		return Handle{}, ErrForm
	}
	prefix, _, found := strings.Cut(text, "_")
	if !found {
		return Handle{}, ErrForm
	}
	if prefix != string(kind) {
		if Kind(prefix).wellFormed() {
			return Handle{}, ErrKind
		}
		return Handle{}, ErrForm
	}
	if len(text) != len(kind)+tailChars || !oneSpelling(text[len(kind)+1:]) {
		return Handle{}, ErrForm
	}
	name, sum := text[:len(text)-checksumChars], text[len(text)-checksumChars:]
	if sum != checksum(name) {
		return Handle{}, ErrChecksum
	}
	return Handle{unique.Make(strings.Clone(text))}, nil
}

// oneSpelling reports whether body and checksum use only the alphabet and the
// body has no bits beyond its 128. 26 characters hold 130 bits: were the last
// two not required to be zero, four texts would name the same 128 bits.
func oneSpelling(tail string) bool {
	for _, c := range []byte(tail) {
		if strings.IndexByte(alphabet, c) < 0 {
			return false
		}
	}
	const unusedBits = 0b11
	return strings.IndexByte(alphabet, tail[bodyChars-1])&unusedBits == 0
}

// checksum covers the kind too, so that a handle pasted under another prefix
// does not parse. It is not a secret and proves nothing: it only tells a
// mistyped or invented handle from a real one before the database is asked.
func checksum(name string) string {
	sum := sha256.Sum256([]byte(name))
	return encoding.EncodeToString(sum[:3])[:checksumChars]
}
