package authtest

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// Key is a signing key and how it is published.
type Key struct {
	ID, Alg string
	Private crypto.Signer
}

// NewKey makes a key for ES256, EdDSA, RS256 or PS256.
func NewKey(id, alg string) Key {
	var private crypto.Signer
	var err error
	switch alg {
	case "ES256":
		private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	case "EdDSA":
		_, private, err = ed25519.GenerateKey(rand.Reader)
	case "RS256", "PS256":
		private, err = rsa.GenerateKey(rand.Reader, 2048)
	default:
		panic("authtest: no keys for algorithm " + alg)
	}
	if err != nil {
		panic(err)
	}
	return Key{ID: id, Alg: alg, Private: private}
}

// Draft is a token before it is signed. Edits change it as they like.
type Draft struct {
	Header, Claims map[string]any
	Key            Key
}

// Edit makes one token different from the good one.
type Edit func(*Draft)

// Token signs a good access token of subject alice, client "client-1", with
// scope "catalog:read cart order:read", for five minutes, after these edits.
func (i *Issuer) Token(edits ...Edit) string {
	return Sign(i.Draft(edits...))
}

// Draft is the token that [Issuer.Token] would sign.
func (i *Issuer) Draft(edits ...Edit) Draft {
	i.mu.Lock()
	key, audience := i.keys[0], i.audience
	i.mu.Unlock()
	now := time.Now().Unix()
	d := Draft{
		Key:    key,
		Header: map[string]any{"typ": "at+jwt", "alg": key.Alg, "kid": key.ID},
		Claims: map[string]any{
			"iss": i.URL, "sub": "alice", "aud": audience, "client_id": "client-1",
			"scope": "catalog:read cart order:read", "iat": now, "exp": now + 300, "jti": rand.Text(),
		},
	}
	for _, edit := range edits {
		edit(&d)
	}
	return d
}

// Sign signs the draft as it is: with its key, by the algorithm of the key.
// The header may claim another one.
func Sign(d Draft) string {
	method := jwt.GetSigningMethod(d.Key.Alg)
	token := &jwt.Token{Method: method, Header: d.Header, Claims: jwt.MapClaims(d.Claims)}
	signed, err := token.SignedString(d.Key.Private)
	if err != nil {
		panic(err)
	}
	return signed
}

// Claim sets one claim.
func Claim(name string, value any) Edit { return func(d *Draft) { d.Claims[name] = value } }

// WithoutClaim leaves one claim out.
func WithoutClaim(name string) Edit { return func(d *Draft) { delete(d.Claims, name) } }

// Header sets one header member.
func Header(name string, value any) Edit { return func(d *Draft) { d.Header[name] = value } }

// WithoutHeader leaves one header member out.
func WithoutHeader(name string) Edit { return func(d *Draft) { delete(d.Header, name) } }

// Subject says whose token it is.
func Subject(subject string) Edit { return Claim("sub", subject) }

// Client says which client got the token.
func Client(id string) Edit { return Claim("client_id", id) }

// Scope says what the token allows, space-separated.
func Scope(scope string) Edit { return Claim("scope", scope) }

// For says which resource the token is for.
func For(audience any) Edit { return Claim("aud", audience) }

// ExpiresIn sets exp so far from now; negative is past.
func ExpiresIn(d time.Duration) Edit { return Claim("exp", time.Now().Add(d).Unix()) }

// Typ sets the header's typ.
func Typ(typ string) Edit { return Header("typ", typ) }

// SignedBy signs with another key, under that key's name and algorithm.
func SignedBy(key Key) Edit {
	return func(d *Draft) { d.Key, d.Header["kid"], d.Header["alg"] = key, key.ID, key.Alg }
}

// SignText signs header and payload as they are written, for texts that no
// JSON encoder makes. The key's algorithm signs, whatever the header says.
func SignText(key Key, header, payload string) string {
	b64 := base64.RawURLEncoding.EncodeToString
	text := b64([]byte(header)) + "." + b64([]byte(payload))
	signature, err := jwt.GetSigningMethod(key.Alg).Sign(text, key.Private)
	if err != nil {
		panic(err)
	}
	return text + "." + b64(signature)
}
