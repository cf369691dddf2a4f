package auth

import (
	"errors"
	"math"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/golang-jwt/jwt/v5"
)

// claims is what is read of a payload. It reads itself ([claims.UnmarshalJSON]),
// so that the JWT library cannot read it leniently. Members with other names,
// and names in another case, mean nothing.
type claims struct {
	Issuer    string         `json:"iss"`
	Subject   string         `json:"sub"`
	Audience  stringOrList   `json:"aud"`
	Expires   *float64       `json:"exp"`
	NotBefore *float64       `json:"nbf"`
	IssuedAt  *float64       `json:"iat"`
	ClientID  *string        `json:"client_id"`
	AZP       *string        `json:"azp"`
	AppID     *string        `json:"appid"`
	Scope     *string        `json:"scope"`
	SCP       stringOrList   `json:"scp"`
	Binding   jsontext.Value `json:"cnf"`

	// What only other kinds of token have; see [claims.isOtherKind].
	Nonce    jsontext.Value `json:"nonce"`
	AtHash   jsontext.Value `json:"at_hash"`
	CHash    jsontext.Value `json:"c_hash"`
	Events   jsontext.Value `json:"events"`
	TokenUse *string        `json:"token_use"`
	Typ      *string        `json:"typ"`
}

// UnmarshalJSON refuses duplicate members at any depth, invalid UTF-8 and
// wrong types, and says by which claim it failed.
func (c *claims) UnmarshalJSON(text []byte) error {
	type plain claims // without this method
	err := json.Unmarshal(text, (*plain)(c))
	var at *json.SemanticError
	if errors.As(err, &at) {
		name, _, _ := strings.Cut(strings.TrimPrefix(string(at.JSONPointer), "/"), "/")
		return reasonFor(name)
	}
	if err != nil {
		return badForm
	}
	return nil
}

func reasonFor(claim string) invalid {
	switch claim {
	case "iss":
		return badIssuer
	case "sub":
		return badSubject
	case "aud":
		return badAudience
	case "exp":
		return badExpiry
	case "nbf":
		return badNotBefore
	case "iat":
		return badIssuedAt
	case "client_id", "azp", "appid":
		return badClient
	case "scope", "scp":
		return badScope
	default:
		return badForm
	}
}

// isOtherKind recognises tokens of the same issuer, signed with the same key,
// that are not access tokens. With typ at+jwt the header has already said what
// it is; with a mere JWT these claims are all there is to go by.
func (c *claims) isOtherKind(typ string) bool {
	if c.TokenUse != nil && *c.TokenUse != "access" {
		return true
	}
	if typ == TypAccessToken {
		return false
	}
	return c.Nonce != nil || c.AtHash != nil || c.CHash != nil || // an ID token
		c.Events != nil || // a logout or security event token
		c.Typ != nil && *c.Typ != "Bearer" // Keycloak names the kind here
}

// stringOrList is a claim that is one string or a list of strings.
type stringOrList []string

// UnmarshalJSON takes the two forms and nothing else.
func (s *stringOrList) UnmarshalJSON(text []byte) error {
	if len(text) > 0 && text[0] == '"' {
		*s = make(stringOrList, 1)
		return json.Unmarshal(text, &(*s)[0])
	}
	return json.Unmarshal(text, (*[]string)(s))
}

// The six methods by which the JWT library asks for what it validates: times.
// The rest is judged in verifier.go.

// GetExpirationTime returns exp.
func (c *claims) GetExpirationTime() (*jwt.NumericDate, error) { return date(c.Expires, badExpiry) }

// GetNotBefore returns nbf.
func (c *claims) GetNotBefore() (*jwt.NumericDate, error) { return date(c.NotBefore, badNotBefore) }

// GetIssuedAt returns iat.
func (c *claims) GetIssuedAt() (*jwt.NumericDate, error) { return date(c.IssuedAt, badIssuedAt) }

// GetIssuer returns iss.
func (c *claims) GetIssuer() (string, error) { return c.Issuer, nil }

// GetSubject returns sub.
func (c *claims) GetSubject() (string, error) { return c.Subject, nil }

// GetAudience returns aud.
func (c *claims) GetAudience() (jwt.ClaimStrings, error) { return jwt.ClaimStrings(c.Audience), nil }

// maxDate is the end of the year 9999. Beyond it conversions overflow, and an
// overflow would decide whether a token has expired.
const maxDate = 253402300799

func date(seconds *float64, reason invalid) (*jwt.NumericDate, error) {
	switch {
	case seconds == nil:
		return nil, nil
	case math.Abs(*seconds) > maxDate:
		return nil, reason
	default:
		return jwt.NewNumericDate(time.Unix(int64(*seconds), 0)), nil
	}
}
