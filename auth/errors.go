package auth

import (
	"errors"

	"github.com/golang-jwt/jwt/v5"
)

var (
	// ErrNoToken says that the request carries no bearer token at all: 401,
	// and a challenge without an error code (RFC 6750 section 3.1).
	ErrNoToken = errors.New("no bearer token")

	// ErrInvalidToken says that a token is there and is not good: 401 with
	// error="invalid_token". Every reason is this error to the outside.
	ErrInvalidToken = errors.New("invalid token")

	// ErrUnavailable says that the token cannot be judged now, because keys of
	// its issuer could not be fetched: 503 with Retry-After.
	ErrUnavailable = errors.New("token cannot be verified now")
)

// invalid is why a token is refused. The text is a constant of this package,
// so it is safe in any log and bounded as the label of a metric.
type invalid string

const (
	badHeader    invalid = "header"    // not exactly one bearer credential
	badSize      invalid = "size"      // longer than any honest token
	badForm      invalid = "malformed" // not three base64url parts of strict JSON
	badAlg       invalid = "alg"       // not an allowed algorithm, or not this key's
	badCrit      invalid = "crit"      // an extension that must be understood
	badType      invalid = "typ"       // not an access token
	badKID       invalid = "kid"       // names no key, or one its issuer does not publish
	badIssuer    invalid = "issuer"    // not one of ours
	badSignature invalid = "signature"
	badExpiry    invalid = "exp" // missing, or not a time
	expired      invalid = "expired"
	badNotBefore invalid = "nbf"
	badIssuedAt  invalid = "iat"
	badAudience  invalid = "audience"
	badSubject   invalid = "subject"
	badClient    invalid = "client_id"
	badScope     invalid = "scope" // neither a string nor a list; too little scope is no bad token
	badBinding   invalid = "cnf"   // bound to a key whose proof is not checked here
)

func (r invalid) Error() string { return ErrInvalidToken.Error() + ": " + string(r) }

func (r invalid) Is(target error) bool { return target == ErrInvalidToken }

// Reason is a short code for a log line or a metric: one of a closed set of
// words, none of which comes from the request.
func Reason(err error) string {
	var why invalid
	switch {
	case err == nil:
		return "ok"
	case errors.As(err, &why):
		return string(why)
	case errors.Is(err, ErrNoToken):
		return "no_token"
	case errors.Is(err, ErrUnavailable):
		return "unavailable"
	default:
		return "internal"
	}
}

// reasonOf translates what the JWT library found. Its error texts quote the
// token, so none of them is passed on.
func reasonOf(err error) error {
	var why invalid
	switch {
	case errors.As(err, &why):
		return why
	case errors.Is(err, ErrUnavailable):
		return ErrUnavailable
	case errors.Is(err, jwt.ErrTokenSignatureInvalid):
		return badSignature
	case errors.Is(err, jwt.ErrTokenRequiredClaimMissing):
		return badExpiry
	case errors.Is(err, jwt.ErrTokenExpired):
		return expired
	case errors.Is(err, jwt.ErrTokenNotValidYet):
		return badNotBefore
	case errors.Is(err, jwt.ErrTokenUsedBeforeIssued):
		return badIssuedAt
	default:
		return badForm
	}
}
