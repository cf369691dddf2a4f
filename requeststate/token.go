package requeststate

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"strings"

	"golang.org/x/crypto/chacha20poly1305"
)

// MaxToken is the longest token, in bytes. It has to fit into a request that may
// have to fit into a header or a log line somewhere on its way.
const MaxToken = 4096

// prefix names the format. Another format gets another prefix.
const prefix = "rs1."

const (
	idSize    = len(keyID{})
	nonceSize = chacha20poly1305.NonceSizeX
	headSize  = idSize + nonceSize
	minSealed = headSize + chacha20poly1305.Overhead
)

var encoding64 = base64.RawURLEncoding.Strict()

// decode64 takes one spelling only. Strict leaves no freedom in the last
// character, but the decoder still skips line ends: hence the way back.
func decode64(text string) ([]byte, error) {
	raw, err := encoding64.DecodeString(text)
	if err != nil {
		return nil, err
	}
	if encoding64.EncodeToString(raw) != text {
		return nil, errors.New("not the canonical spelling")
	}
	return raw, nil
}

// seal encrypts the claims under the ring's minting key. The nonce is random: with
// 24 bytes, replicas that share a key need not agree on anything.
func seal(ring *Ring, plaintext []byte) (string, error) {
	var nonce [nonceSize]byte
	rand.Read(nonce[:])
	return sealWith(ring.mint, nonce, plaintext)
}

func sealWith(k *key, nonce [nonceSize]byte, plaintext []byte) (string, error) {
	if len(prefix)+encoding64.EncodedLen(minSealed+len(plaintext)) > MaxToken {
		return "", ErrTooLarge
	}
	raw := make([]byte, 0, minSealed+len(plaintext))
	raw = append(raw, k.id[:]...)
	raw = append(raw, nonce[:]...)
	raw = k.aead.Seal(raw, nonce[:], plaintext, additional(k.id))
	return prefix + encoding64.EncodeToString(raw), nil
}

// unseal takes a token apart and decrypts it.
func unseal(ring *Ring, token string) ([]byte, error) {
	// Before anything is done with it: what is longer cannot be ours.
	if len(token) > MaxToken {
		return nil, ErrMalformed
	}
	text, ok := strings.CutPrefix(token, prefix)
	if !ok {
		return nil, ErrMalformed
	}
	raw, err := decode64(text)
	if err != nil || len(raw) < minSealed {
		return nil, ErrMalformed
	}
	id := keyID(raw[:idSize])
	k := ring.find(id)
	if k == nil {
		return nil, ErrUnknownKey
	}
	plaintext, err := k.aead.Open(nil, raw[idSize:headSize], raw[headSize:], additional(id))
	if err != nil {
		return nil, ErrSeal
	}
	return plaintext, nil
}

// additional authenticates what stands outside the encryption, so that a token
// cannot be moved to another format or key.
func additional(id keyID) []byte { return append([]byte(prefix), id[:]...) }
