package requeststate

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"
	"time"
)

// FuzzOpen looks for a text that opens and was not sealed, and for one that makes
// Open panic or answer in its own words. It starts from the known answers.
func FuzzOpen(f *testing.F) {
	text, err := os.ReadFile(vectorFile)
	if err != nil {
		f.Fatal(err)
	}
	var set vectorSet
	if err := json.Unmarshal(text, &set); err != nil {
		f.Fatal(err)
	}
	opens := make(map[string]bool)
	for _, v := range set.Vectors {
		f.Add(v.Token)
		opens[v.Token] = opens[v.Token] || v.Check == ""
	}
	s := newSealer(f, oldKey, newKey)
	f.Fuzz(func(t *testing.T, token string) {
		_, err := s.openAt(alice(), token, time.UnixMilli(vectorNow))
		if err == nil && !opens[token] {
			t.Errorf("Open(%q) = a ticket, want a refusal: nobody sealed it", token)
		}
		if err != nil && (!errors.Is(err, ErrInvalid) || err.Error() != ErrInvalid.Error() || Reason(err) == "") {
			t.Errorf("Open(%q) = %v, want %v", token, err, ErrInvalid)
		}
	})
}

// FuzzClaims looks for a second encoding of claims.
func FuzzClaims(f *testing.F) {
	c := goodClaims(f, time.UnixMilli(vectorNow))
	f.Add(c.encode())
	f.Add([]byte{})
	f.Add([]byte{version})
	f.Add([]byte{version, 255, 'a'})
	f.Fuzz(func(t *testing.T, text []byte) {
		c, err := decodeClaims(text)
		if err != nil {
			if !errors.Is(err, ErrInvalid) {
				t.Errorf("decodeClaims = %v, want a refusal", err)
			}
			return
		}
		if got := c.encode(); !bytes.Equal(got, text) {
			t.Errorf("decoded and encoded again = %x, want %x", got, text)
		}
	})
}

// FuzzParseRing looks for a ring that breaks a law of rings, and for an error
// that quotes the text.
func FuzzParseRing(f *testing.F) {
	for _, text := range []string{
		ringText(oldKey), ringText(oldKey, newKey), "# a\n\n" + ringText(newKey, oldKey) + "# b",
		oldKey, oldKey + " mint\r\n", oldKey + " mint # x", ringText(oldKey, oldKey), "", "\x00", "0a0b0c0d  mint",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		ring, err := ParseRing(text)
		if err != nil {
			for _, word := range strings.Fields(text) {
				if len(word) > 32 && strings.Contains(err.Error(), word) {
					t.Errorf("error %q quotes the ring", err)
				}
			}
			return
		}
		mints, ids := 0, make(map[string]bool)
		for _, k := range ring.IDs() {
			if ids[k.ID] || !strings.Contains(text, k.ID) {
				t.Errorf("id %s is there twice or not in the text", k.ID)
			}
			ids[k.ID] = true
			if k.Mint {
				mints++
			}
		}
		if mints != 1 {
			t.Errorf("%d keys mint, want 1", mints)
		}
	})
}
