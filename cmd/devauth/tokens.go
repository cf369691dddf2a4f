package main

import (
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io"
	"regexp"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// signer makes access tokens for one issuer and one audience.
type signer struct {
	key              *ecdsa.PrivateKey
	jwk              map[string]string // the public half
	issuer, audience string
	ttl              time.Duration
}

// access is what differs from one access token to the next.
type access struct {
	subject  string
	clientID string
	scopes   []string
	authTime time.Time // zero when no person signed in
}

func newSigner(key *ecdsa.PrivateKey, c config) (*signer, error) {
	point, err := key.PublicKey.Bytes() // 4, x, y
	if err != nil {
		return nil, fmt.Errorf("encode public key: %w", err)
	}
	x := base64.RawURLEncoding.EncodeToString(point[1:33])
	y := base64.RawURLEncoding.EncodeToString(point[33:])
	// The key id is the RFC 7638 thumbprint: the same after a restart, another
	// for another key.
	thumb := sha256.Sum256([]byte(`{"crv":"P-256","kty":"EC","x":"` + x + `","y":"` + y + `"}`))
	return &signer{
		key: key, issuer: c.issuer, audience: c.audience, ttl: c.ttl,
		jwk: map[string]string{
			"kty": "EC", "crv": "P-256", "x": x, "y": y, "use": "sig", "alg": "ES256",
			"kid": base64.RawURLEncoding.EncodeToString(thumb[:]),
		},
	}, nil
}

// sign returns a JWT access token as RFC 9068 wants it.
func (s *signer) sign(a access) (string, error) {
	now := time.Now()
	claims := jwt.MapClaims{
		"iss":       s.issuer,
		"sub":       a.subject,
		"aud":       s.audience,
		"client_id": a.clientID,
		"scope":     strings.Join(a.scopes, " "),
		"iat":       now.Unix(),
		"exp":       now.Add(s.ttl).Unix(),
		"jti":       rand.Text(),
	}
	if !a.authTime.IsZero() {
		claims["auth_time"] = a.authTime.Unix()
	}
	t := jwt.NewWithClaims(jwt.SigningMethodES256, claims)
	t.Header["typ"] = "at+jwt"
	t.Header["kid"] = s.jwk["kid"]
	signed, err := t.SignedString(s.key)
	if err != nil {
		return "", fmt.Errorf("sign access token: %w", err)
	}
	return signed, nil
}

var userName = regexp.MustCompile(`^[a-z0-9][a-z0-9._@-]{0,63}$`)

// userSubject turns the name a person gave into a subject, or refuses it. The
// "|" keeps people apart from programs, whose subject is their client id.
func userSubject(name string) (string, error) {
	name = strings.ToLower(strings.TrimSpace(name)) // phones capitalize
	if !userName.MatchString(name) {
		return "", errors.New("a name is 1 to 64 letters, digits and . _ @ -, beginning with a letter or digit")
	}
	return "dev|" + name, nil
}

func checkClientID(id string) error {
	bad := func(r rune) bool { return r <= ' ' || r > '~' || r == '|' }
	if id == "" || len(id) > 2048 || strings.ContainsFunc(id, bad) {
		return errors.New(`a client id is printable ASCII without spaces and without "|"`)
	}
	return nil
}

// printToken is the token command.
func printToken(args []string, getenv func(string) (string, bool), stdout io.Writer) error {
	var c config
	fs := flag.NewFlagSet("devauth token", flag.ContinueOnError)
	c.sharedFlags(fs)
	envErr := fromEnvironment(fs, getenv)
	c.tokenFlags(fs)
	if err := errors.Join(envErr, c.parse(fs, args, stdout)); err != nil {
		return err
	}
	if c.issuer == "" {
		c.issuer = "http://127.0.0.1:9000" // serve's default
	}
	subject, userErr := userSubject(c.user)
	scopes, scopeErr := parseScope(c.scope)
	if err := errors.Join(userErr, scopeErr, checkClientID(c.clientID), c.checkIssuer()); err != nil {
		return err
	}
	key, err := openKey(c.keyFile)
	if err != nil {
		return err
	}
	s, err := newSigner(key, c)
	if err != nil {
		return err
	}
	token, err := s.sign(access{subject: subject, clientID: c.clientID, scopes: scopes})
	if err != nil {
		return err
	}
	_, err = fmt.Fprintln(stdout, token)
	return err
}
