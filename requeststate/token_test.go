package requeststate

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"
)

const alphabet64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"

// wantNoSpelling asserts that a changed token is refused like every other.
func wantNoSpelling(t *testing.T, s *Sealer, token string) {
	t.Helper()
	_, err := s.Open(alice(), token)
	if !errors.Is(err, ErrInvalid) || err.Error() != ErrInvalid.Error() {
		t.Fatalf("Open(%q) = %v, want %q", token, err, ErrInvalid)
	}
}

func TestEveryChangedCharacterIsRefused(t *testing.T) {
	s := newSealer(t, oldKey)
	token := begin(t, s)
	// The alphabet, its neighbours in other alphabets, and what decoders skip.
	others := alphabet64 + "+/=. \t\r\n\x00~é"
	for i := range token {
		for _, c := range others {
			if changed := token[:i] + string(c) + token[i+1:]; changed != token {
				wantNoSpelling(t, s, changed)
			}
		}
	}
	open(t, s, token)
}

func TestEveryTruncationIsRefused(t *testing.T) {
	s := newSealer(t, oldKey)
	token := begin(t, s)
	for i := range token {
		wantNoSpelling(t, s, token[:i])
		wantNoSpelling(t, s, token[i+1:])
		wantNoSpelling(t, s, token[:i]+token[i+1:])
	}
}

func TestEveryInsertionIsRefused(t *testing.T) {
	s := newSealer(t, oldKey)
	token := begin(t, s)
	for i := range len(token) + 1 {
		for _, c := range []string{"A", "_", "=", "==", "\r", "\n", "\r\n", " ", "\t", ".", "\x00"} {
			wantNoSpelling(t, s, token[:i]+c+token[i:])
		}
	}
}

// TestOneLastCharacter varies the payload's length, so that the last character
// carries six, four and two bits in turn.
func TestOneLastCharacter(t *testing.T) {
	s := newSealer(t, oldKey)
	for _, note := range []string{"", "a", "ab"} {
		token, err := s.Begin(alice(), "confirm", note)
		if err != nil {
			t.Fatal(err)
		}
		opened := 0
		for _, c := range alphabet64 {
			if _, err := s.Open(alice(), token[:len(token)-1]+string(c)); err == nil {
				opened++
			}
		}
		if opened != 1 {
			t.Errorf("%d last characters open, want 1", opened)
		}
	}
}

func TestOtherSpellingsAreMalformed(t *testing.T) {
	s := newSealer(t, oldKey)
	token := begin(t, s)
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, prefix))
	if err != nil {
		t.Fatal(err)
	}
	for name, spelling := range map[string]string{
		"empty":            "",
		"prefix alone":     prefix,
		"no prefix":        strings.TrimPrefix(token, prefix),
		"other prefix":     "rs2." + strings.TrimPrefix(token, prefix),
		"upper prefix":     "RS1." + strings.TrimPrefix(token, prefix),
		"prefix twice":     prefix + token,
		"padding":          prefix + base64.URLEncoding.EncodeToString(append(raw, 0)),
		"standard base64":  prefix + base64.RawStdEncoding.EncodeToString(append([]byte{0xff, 0xff}, raw...)),
		"line end":         token + "\n",
		"line end inside":  token[:40] + "\n" + token[40:],
		"blank before":     " " + token,
		"head alone":       prefix + base64.RawURLEncoding.EncodeToString(raw[:minSealed-1]),
		"longer than ever": prefix + strings.Repeat("A", MaxToken),
		"a megabyte":       strings.Repeat("A", 1<<20),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.Open(alice(), spelling)
			wantRefused(t, err, ErrMalformed)
		})
	}
}

func TestEveryChangedByteIsRefused(t *testing.T) {
	s := newSealer(t, oldKey, newKey)
	token := begin(t, s)
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(token, prefix))
	if err != nil {
		t.Fatal(err)
	}
	for i := range raw {
		changed := append([]byte(nil), raw...)
		changed[i] ^= 1
		want := ErrSeal
		if i < idSize {
			want = ErrUnknownKey
		}
		_, err := s.Open(alice(), prefix+base64.RawURLEncoding.EncodeToString(changed))
		wantRefused(t, err, want)
	}
}

// TestKeyIDIsAuthenticated moves a token to another key that has the very same
// bytes, which the ring refuses to hold: the id alone must break the seal.
func TestKeyIDIsAuthenticated(t *testing.T) {
	token := begin(t, newSealer(t, testKey("00000001", 0)))
	raw, err := decode64(strings.TrimPrefix(token, prefix))
	if err != nil {
		t.Fatal(err)
	}
	raw[3] = 2
	_, err = newSealer(t, testKey("00000002", 0)).Open(alice(), prefix+encoding64.EncodeToString(raw))
	wantRefused(t, err, ErrSeal)
}

func TestSplicedTokensAreRefused(t *testing.T) {
	s := newSealer(t, oldKey)
	one, two := begin(t, s), begin(t, s)
	for i := len(prefix) + 8; i < len(one); i++ {
		if spliced := one[:i] + two[i:]; spliced != one && spliced != two {
			wantNoSpelling(t, s, spliced)
		}
	}
}

func TestLargestTokenOpensAndLargerIsNotMade(t *testing.T) {
	s := newSealer(t, oldKey)
	largest := 0
	for n := 2700; n < MaxToken; n++ {
		token, err := s.Begin(alice(), "confirm", strings.Repeat("a", n))
		if errors.Is(err, ErrTooLarge) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		largest = len(token)
		open(t, s, token)
	}
	// Base64 cannot have every length: 4 bytes of text for 3.
	if largest > MaxToken || largest < MaxToken-1 {
		t.Errorf("longest token = %d, want %d or one less", largest, MaxToken)
	}
}

func TestNoNonceIsUsedTwice(t *testing.T) {
	ring := mustRing(t, ringText(oldKey))
	seen := make(map[string]bool)
	for range 1000 {
		token, err := seal(ring, []byte("the same claims"))
		if err != nil {
			t.Fatal(err)
		}
		raw, err := decode64(strings.TrimPrefix(token, prefix))
		if err != nil {
			t.Fatal(err)
		}
		nonce := string(raw[idSize:headSize])
		if seen[nonce] {
			t.Fatalf("nonce %x = one used before, want another", nonce)
		}
		seen[nonce] = true
	}
}

func TestEveryFlowHasItsOwnName(t *testing.T) {
	s := newSealer(t, oldKey)
	if one, two := open(t, s, begin(t, s)), open(t, s, begin(t, s)); one.Flow() == two.Flow() {
		t.Errorf("Begin twice = flow %s twice, want two", one.Flow())
	}
}
