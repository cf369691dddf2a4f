package auth

import (
	"errors"
	"fmt"
	"strings"
)

// The two kinds of typ header that access tokens come with.
const (
	// TypAccessToken is RFC 9068's, which nothing but an access token has.
	TypAccessToken = "at+jwt"
	// TypJWT is for an issuer that sends no better one. ID tokens have it as
	// well, so more is looked at to tell them apart.
	TypJWT = "JWT"
)

// Issuer is one authorization server that is trusted to say who somebody is.
type Issuer struct {
	URL      string // the iss of its tokens, exactly
	JWKSURL  string // where its keys are; if empty, its metadata says
	TokenTyp string // TypAccessToken or TypJWT; if empty, TypAccessToken
}

// ParseIssuers reads the configuration: oauthIssuer is a comma-separated list
// of issuers, each "URL" or "URL=typ"; jwksURL and typ may be empty and are
// for a single issuer only, since with several nobody could say whose they are.
// What the URLs may be is judged by [NewVerifier].
func ParseIssuers(oauthIssuer, jwksURL, typ string) ([]Issuer, error) {
	entries := strings.Split(oauthIssuer, ",")
	if len(entries) > 1 && (jwksURL != "" || typ != "") {
		return nil, errors.New("with several issuers there is no JWKS URL, and the token typ is written as ISSUER=typ")
	}
	var issuers []Issuer
	for _, entry := range entries {
		issuer, err := parseIssuer(strings.TrimSpace(entry), typ)
		if err != nil {
			return nil, err
		}
		issuer.JWKSURL = jwksURL
		issuers = append(issuers, issuer)
	}
	return issuers, nil
}

func parseIssuer(entry, typ string) (Issuer, error) {
	where, own, found := strings.Cut(entry, "=")
	if found && typ != "" {
		return Issuer{}, fmt.Errorf("issuer %q: the token typ is given twice", where)
	}
	if found {
		typ = own
	}
	if found && own == "" {
		return Issuer{}, fmt.Errorf("issuer %q: nothing after the =", where)
	}
	typ, err := parseTyp(typ)
	if err != nil {
		return Issuer{}, fmt.Errorf("issuer %q: %w", where, err)
	}
	if _, err := parseURL(where); err != nil {
		return Issuer{}, fmt.Errorf("issuer %q: %w", where, err)
	}
	return Issuer{URL: where, TokenTyp: typ}, nil
}

func parseTyp(typ string) (string, error) {
	switch {
	case typ == "" || strings.EqualFold(typ, TypAccessToken):
		return TypAccessToken, nil
	case strings.EqualFold(typ, TypJWT):
		return TypJWT, nil
	default:
		return "", fmt.Errorf("token typ must be %s or %s", TypAccessToken, TypJWT)
	}
}
