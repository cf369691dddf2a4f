package auth

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"errors"
	"slices"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// allowedAlgs are the signatures that are accepted. All are asymmetric: with a
// shared secret, or none, whoever can verify a token could also make one.
func allowedAlgs() []string { return []string{"ES256", "RS256", "PS256", "EdDSA"} }

func isAllowed(alg string) bool { return slices.Contains(allowedAlgs(), alg) }

// newKeySet keeps the usable keys of a key set. Others are passed over, as
// RFC 7517 section 5 advises: issuers also publish keys to encrypt to, and one
// odd key must not lock everybody out.
func newKeySet(published []jsontext.Value) (*keySet, error) {
	ctx, store, count := context.Background(), jwkset.NewMemoryStorage(), 0
	for _, text := range published {
		key, ok := usableKey(text)
		if !ok {
			continue
		}
		if err := store.KeyWrite(ctx, key); err != nil {
			return nil, err
		}
		count++
	}
	if count == 0 {
		return nil, errors.New("the key set has no key to verify with")
	}
	find, err := keyfunc.New(keyfunc.Options{Storage: store})
	if err != nil {
		return nil, err
	}
	return &keySet{find: find, count: count, fetched: time.Now()}, nil
}

// usableKey reads a published key. Only the key itself and what it is for is
// read; certificates, and the address of one (x5u), are not looked at.
func usableKey(text jsontext.Value) (jwkset.JWK, bool) {
	var m jwkset.JWKMarshal
	if err := json.Unmarshal(text, &m); err != nil || m.KID == "" || !forSignatures(m) {
		return jwkset.JWK{}, false
	}
	m = jwkset.JWKMarshal{
		KTY: m.KTY, CRV: m.CRV, X: m.X, Y: m.Y, N: m.N, E: m.E,
		KID: m.KID, ALG: m.ALG, USE: m.USE, KEYOPS: m.KEYOPS,
	}
	jwk, err := jwkset.NewJWKFromMarshal(m, jwkset.JWKMarshalOptions{}, jwkset.JWKValidateOptions{})
	return jwk, err == nil && fitsAllowedAlg(jwk.Key())
}

func forSignatures(m jwkset.JWKMarshal) bool {
	return (m.USE == "" || m.USE == jwkset.UseSig) &&
		(len(m.KEYOPS) == 0 || slices.Contains(m.KEYOPS, jwkset.KeyOpsVerify)) &&
		(m.ALG == "" || isAllowed(m.ALG.String()))
}

// fitsAllowedAlg knows for each allowed algorithm its kind of key. The JWT
// library tells the kinds apart, but not their sizes: it would verify ES256
// with a P-384 key.
func fitsAllowedAlg(key any) bool {
	switch key := key.(type) {
	case *ecdsa.PublicKey:
		return key.Curve == elliptic.P256()
	case *rsa.PublicKey:
		return key.N.BitLen() >= 2048 && key.N.BitLen() <= 8192
	case ed25519.PublicKey:
		return true
	default:
		return false
	}
}
