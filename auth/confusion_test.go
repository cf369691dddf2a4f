package auth_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/golang-jwt/jwt/v5"

	"example.com/mcp-cart/auth/authtest"
)

// TestPublicKeyIsNoSharedSecret signs with HMAC and everything that anybody
// can know of the public key.
func TestPublicKeyIsNoSharedSecret(t *testing.T) {
	for _, alg := range []string{"ES256", "RS256"} {
		issuer := authtest.NewIssuer(t)
		issuer.SetKeys(authtest.NewKey("key-1", alg))
		verifier := authtest.Verifier(t, issuer)
		for name, secret := range knownParts(t, issuer.Key().Private.Public()) {
			t.Run(alg+" "+name, func(t *testing.T) {
				draft := issuer.Draft(authtest.Header("alg", "HS256"))
				token := &jwt.Token{Method: jwt.SigningMethodHS256, Header: draft.Header, Claims: jwt.MapClaims(draft.Claims)}
				signed, err := token.SignedString(secret)
				if err != nil {
					t.Fatal(err)
				}
				mustRefuse(t, verifier, signed, "alg")
			})
		}
	}
}

func knownParts(t *testing.T, public crypto.PublicKey) map[string][]byte {
	t.Helper()
	der, err := x509.MarshalPKIXPublicKey(public)
	if err != nil {
		t.Fatal(err)
	}
	parts := map[string][]byte{
		"DER": der, "PEM": pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), "nothing": {},
	}
	switch key := public.(type) {
	case *rsa.PublicKey:
		parts["modulus"] = key.N.Bytes()
	case *ecdsa.PublicKey:
		if parts["point"], err = key.Bytes(); err != nil {
			t.Fatal(err)
		}
	}
	return parts
}

// TestUnfitKeysAreNotUsed publishes a key that must not verify access tokens
// beside a good one, and signs with it.
func TestUnfitKeysAreNotUsed(t *testing.T) {
	ecKey, rsaKey := authtest.NewKey("unfit", "ES256"), authtest.NewKey("unfit", "RS256")
	p384, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	with := func(key authtest.Key, member string, value any) map[string]any {
		jwk := jwkOf(t, key)
		jwk[member] = value
		return jwk
	}
	x, y := p384.X.Bytes(), p384.Y.Bytes()
	tests := map[string]struct {
		published any
		signer    authtest.Key
		reason    string
	}{
		"to encrypt to":                {with(ecKey, "use", "enc"), ecKey, "kid"},
		"use unheard of":               {with(ecKey, "use", "fun"), ecKey, "kid"},
		"for key agreement":            {with(ecKey, "key_ops", []string{"deriveKey"}), ecKey, "kid"},
		"for ES384 only":               {with(ecKey, "alg", "ES384"), ecKey, "kid"},
		"for PS256 only":               {with(rsaKey, "alg", "PS256"), rsaKey, "alg"},
		"for HMAC":                     {with(ecKey, "alg", "HS256"), ecKey, "kid"},
		"not on its curve":             {with(ecKey, "x", base64.RawURLEncoding.EncodeToString(make([]byte, 32))), ecKey, "kid"},
		"not base64":                   {with(ecKey, "x", "*"), ecKey, "kid"},
		"kty unheard of":               {with(ecKey, "kty", "ML-DSA"), ecKey, "kid"},
		"no object":                    {"unfit", ecKey, "kid"},
		"no kid":                       {with(ecKey, "kid", ""), ecKey, "kid"},
		"RSA of 1024 bits":             {jwkOf(t, authtest.Key{ID: "unfit", Alg: "RS256", Private: small}), authtest.Key{ID: "unfit", Alg: "RS256", Private: small}, "kid"},
		"P-384 that claims nothing":    {map[string]any{"kty": "EC", "crv": "P-384", "kid": "unfit", "x": b64(x), "y": b64(y)}, ecKey, "kid"},
		"P-384 coordinates as a P-256": {map[string]any{"kty": "EC", "crv": "P-256", "kid": "unfit", "x": b64(x), "y": b64(y)}, ecKey, "kid"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			issuer := authtest.NewIssuer(t)
			publish(issuer, tt.published, jwkOf(t, issuer.Key()))
			verifier := authtest.Verifier(t, issuer)
			mustRefuse(t, verifier, issuer.Token(authtest.SignedBy(tt.signer)), tt.reason)
			if _, err := verifier.Verify(t.Context(), issuer.Token()); err != nil {
				t.Errorf("Verify with the good key beside it = %v, want a principal", err)
			}
		})
	}
}

// TestKeyWithoutAlgServesItsKind: alg is optional in a JWK; the kind of key
// then says what it can verify.
func TestKeyWithoutAlgServesItsKind(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	key := authtest.NewKey("key-1", "RS256")
	issuer.SetKeys(key)
	jwk := jwkOf(t, key)
	delete(jwk, "alg")
	delete(jwk, "use")
	jwk["x5u"] = issuer.URL + "/certificate" // must not be fetched
	jwk["x5c"] = []string{"not a certificate"}
	publish(issuer, jwk)
	verifier := authtest.Verifier(t, issuer)
	before := issuer.Fetches()
	for _, alg := range []string{"RS256", "PS256"} {
		signer := key
		signer.Alg = alg
		if _, err := verifier.Verify(t.Context(), issuer.Token(authtest.SignedBy(signer))); err != nil {
			t.Errorf("Verify of %s = %v, want a principal", alg, err)
		}
	}
	mustRefuse(t, verifier, issuer.Token(authtest.Header("alg", "ES256")), "signature")
	if n := issuer.Fetches() - before; n != 0 {
		t.Errorf("further requests to the issuer = %d, want 0", n)
	}
}

// TestKeyInTheTokenIsNotBelieved signs with a key of the attacker, brought
// along in every way there is.
func TestKeyInTheTokenIsNotBelieved(t *testing.T) {
	issuer, attacker := authtest.NewIssuer(t), authtest.NewIssuer(t)
	verifier := authtest.Verifier(t, issuer)
	own := attacker.Key()
	token := issuer.Token(
		authtest.SignedBy(own), // under the kid that the issuer uses too
		authtest.Header("jwk", jwkOf(t, own)),
		authtest.Header("jku", attacker.JWKSURL()),
		authtest.Header("x5u", attacker.URL+"/certificate"),
	)
	mustRefuse(t, verifier, token, "signature")
	own.ID = "attacker-1"
	mustRefuse(t, verifier, issuer.Token(authtest.SignedBy(own), authtest.Header("jwk", jwkOf(t, own)), authtest.Header("jku", attacker.JWKSURL())), "kid")
	mustRefuse(t, verifier, attacker.Token(), "issuer")
	if n := attacker.Fetches(); n != 0 {
		t.Errorf("requests to the attacker = %d, want 0", n)
	}
}

// TestIssuersDoNotSpeakForEachOther trusts two issuers whose keys have the
// same name.
func TestIssuersDoNotSpeakForEachOther(t *testing.T) {
	one, other := authtest.NewIssuer(t), authtest.NewIssuer(t)
	if one.Key().ID != other.Key().ID {
		t.Fatalf("kids %q and %q differ, want equal ones", one.Key().ID, other.Key().ID)
	}
	verifier := authtest.Verifier(t, one, other)
	mustRefuse(t, verifier, one.Token(authtest.SignedBy(other.Key())), "signature")
	mustRefuse(t, verifier, one.Token(authtest.Claim("iss", other.URL)), "signature")

	a, errA := verifier.Verify(t.Context(), one.Token())
	b, errB := verifier.Verify(t.Context(), other.Token())
	if errA != nil || errB != nil {
		t.Fatalf("Verify = %v and %v, want principals", errA, errB)
	}
	if a.UserID() == b.UserID() {
		t.Error("the same subject of two issuers is one user, want two")
	}
}

func b64(raw []byte) string { return base64.RawURLEncoding.EncodeToString(raw) }

// jwkOf is the published form of a key, ready to be spoilt.
func jwkOf(t *testing.T, key authtest.Key) map[string]any {
	t.Helper()
	text, err := json.Marshal(authtest.JWKS(key))
	if err != nil {
		t.Fatal(err)
	}
	var set struct{ Keys []map[string]any }
	if err := json.Unmarshal(text, &set); err != nil {
		t.Fatal(err)
	}
	return set.Keys[0]
}

// publish has the issuer answer with these keys, written as they are.
func publish(issuer *authtest.Issuer, keys ...any) {
	issuer.Answer(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/.well-known/") {
			_, _ = fmt.Fprintf(w, `{"issuer":%q,"jwks_uri":%q}`, issuer.URL, issuer.JWKSURL())
			return
		}
		if err := json.NewEncoder(w).Encode(map[string]any{"keys": keys}); err != nil {
			panic(err)
		}
	})
}
