package auth

import (
	"net/http"
	"strings"
)

// maxToken bounds a token in bytes. Real ones have 300 to 2 500.
const maxToken = 8 << 10

// BearerToken takes the token out of the Authorization header, which is the
// only place it may be: never the query, where it would end in logs, nor the body.
//
// Another scheme than Bearer counts as no token, so that the client is told how to
// authenticate here. Anything else than exactly one credential is
// [ErrInvalidToken]: with two headers, a proxy in front and this server might each
// believe another one.
func BearerToken(header http.Header) (string, error) {
	values := header.Values("Authorization")
	if len(values) == 0 || len(values) == 1 && values[0] == "" {
		return "", ErrNoToken
	}
	if len(values) > 1 {
		return "", badHeader
	}
	scheme, token, _ := strings.Cut(values[0], " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return "", ErrNoToken
	}
	token = strings.TrimLeft(token, " ")
	if len(token) > maxToken {
		return "", badSize
	}
	if !isB64Token(token) {
		return "", badHeader
	}
	return token, nil
}

// isB64Token knows the b64token of RFC 6750 section 2.1.
func isB64Token(s string) bool {
	body := strings.TrimRight(s, "=")
	if body == "" {
		return false
	}
	for _, c := range []byte(body) {
		if !isAlphanumeric(c) && strings.IndexByte("-._~+/", c) < 0 {
			return false
		}
	}
	return true
}

func isAlphanumeric(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
}
