package requeststate

import (
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// A Ring is a set of keys, one of which seals. It never changes.
type Ring struct {
	keys []*key // in the order of the text
	mint *key
	sum  digest // of the text it was read from
}

// key is a key ready for use. The secret it was derived from is not kept.
type key struct {
	id   keyID
	aead cipher.AEAD
}

type keyID [4]byte

// KeyInfo is what may be known of a key.
type KeyInfo struct {
	ID   string // 8 hex digits, as in the ring and at the head of a token
	Mint bool   // whether it seals
}

// ParseRing reads a key ring. Its errors name a line but quote nothing of it,
// since what stands in the wrong place may be a secret.
func ParseRing(text string) (*Ring, error) {
	p := ringParser{ring: &Ring{sum: sha256.Sum256([]byte(text))}, secrets: make(map[secret]bool)}
	n := 0
	for line := range strings.Lines(text) {
		n++
		if err := p.line(line); err != nil {
			return nil, fmt.Errorf("key ring: line %d: %w", n, err)
		}
	}
	switch {
	case len(p.ring.keys) == 0:
		return nil, errors.New("key ring: there is no key")
	case p.ring.mint == nil:
		return nil, errors.New("key ring: no key says mint")
	}
	return p.ring, nil
}

type ringParser struct {
	ring    *Ring
	secrets map[secret]bool
}

func (p *ringParser) line(line string) error {
	fields := splitLine(line)
	switch {
	case len(fields) == 0:
		return nil
	case len(fields) < 2, len(fields) > 3, len(fields) == 3 && fields[2] != "mint":
		return errors.New("want ID KEY or ID KEY mint")
	}
	id, err := parseKeyID(fields[0])
	if err != nil {
		return err
	}
	s, err := parseSecret(fields[1])
	if err != nil {
		return err
	}
	if p.ring.find(id) != nil {
		return errors.New("the id is there twice")
	}
	// One secret under two ids looks like a rotation and is none.
	if p.secrets[s] {
		return errors.New("the key is there twice, under two ids")
	}
	p.secrets[s] = true
	return p.add(id, s, len(fields) == 3)
}

func (p *ringParser) add(id keyID, s secret, mint bool) error {
	aead, err := deriveAEAD(s)
	if err != nil {
		return err
	}
	k := &key{id: id, aead: aead}
	p.ring.keys = append(p.ring.keys, k)
	if !mint {
		return nil
	}
	if p.ring.mint != nil {
		return errors.New("a second key says mint")
	}
	p.ring.mint = k
	return nil
}

// splitLine gives the fields of a line, without its comment. Only blanks and
// tabs separate, and a carriage return is forgiven at the end of a line only.
func splitLine(line string) []string {
	line = strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
	fields := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
	for i, f := range fields {
		if strings.HasPrefix(f, "#") {
			return fields[:i]
		}
	}
	return fields
}

func parseKeyID(text string) (keyID, error) {
	var id keyID
	// hex takes upper case as well, and an id has one spelling.
	if len(text) != 2*len(id) || strings.ToLower(text) != text {
		return id, errors.New("the id is not 8 lower-case hex digits")
	}
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return id, errors.New("the id is not 8 lower-case hex digits")
	}
	return id, nil
}

// find returns nil for a key that is not in the ring. A ring has a handful of
// keys and ids are no secrets, so it just looks.
func (r *Ring) find(id keyID) *key {
	for _, k := range r.keys {
		if k.id == id {
			return k
		}
	}
	return nil
}

// IDs lists the keys of the ring in the order of its text.
func (r *Ring) IDs() []KeyInfo {
	infos := make([]KeyInfo, len(r.keys))
	for i, k := range r.keys {
		infos[i] = KeyInfo{ID: hex.EncodeToString(k.id[:]), Mint: k == r.mint}
	}
	return infos
}

// Format prints that it is a ring, whatever the verb.
func (Ring) Format(f fmt.State, _ rune) { fmt.Fprint(f, "[key ring]") }

// secret is a key as the ring's text gives it. It prints as nothing.
type secret [32]byte

func (secret) Format(fmt.State, rune)       {}
func (secret) MarshalText() ([]byte, error) { return nil, nil }

func parseSecret(text string) (secret, error) {
	var s secret
	raw, err := decode64(text)
	switch {
	case err != nil:
		return s, errors.New("the key is not base64url without padding")
	case len(raw) != len(s):
		return s, fmt.Errorf("the key has %d bytes, want %d", len(raw), len(s))
	}
	copy(s[:], raw)
	if s == (secret{}) {
		return s, errors.New("the key is all zeros")
	}
	return s, nil
}

// deriveAEAD makes the sealing key from a ring's secret. The name in it keeps a
// secret that is used for something else too from sealing anything valid here.
func deriveAEAD(s secret) (cipher.AEAD, error) {
	subkey, err := hkdf.Key(sha256.New, s[:], nil, "mcp-cart requestState v1", chacha20poly1305.KeySize)
	if err != nil {
		return nil, fmt.Errorf("derive key: %w", err)
	}
	return chacha20poly1305.NewX(subkey)
}

// NewKeyLine draws a key and returns its line for a key ring, with mint. It is
// the one function here that shows a secret.
func NewKeyLine() string {
	var id keyID
	var s secret
	rand.Read(id[:])
	rand.Read(s[:])
	return hex.EncodeToString(id[:]) + " " + base64.RawURLEncoding.EncodeToString(s[:]) + " mint"
}
