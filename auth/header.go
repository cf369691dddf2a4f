package auth

import (
	"encoding/base64"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// header is what is read of the JOSE header. jku, x5u, jwk and x5c are not in
// it: a key or an address that a token brings along is nobody's word but its own.
type header struct {
	Alg  string         `json:"alg"`
	Typ  string         `json:"typ"`
	KID  string         `json:"kid"`
	Crit jsontext.Value `json:"crit"`
}

// parseHeader reads the header strictly, before anything else looks at the
// token: base64 with one spelling, JSON without duplicate members or invalid
// UTF-8. The lenient second reading by the JWT library then sees the same.
func parseHeader(token string) (header, error) {
	first, rest, _ := strings.Cut(token, ".")
	if strings.Count(rest, ".") != 1 || !isTokenText(token) {
		return header{}, badForm
	}
	text, err := base64.RawURLEncoding.Strict().DecodeString(first)
	if err != nil {
		return header{}, badForm
	}
	var h header
	if err := json.Unmarshal(text, &h); err != nil {
		return header{}, badForm
	}
	return h, h.check()
}

func (h header) check() error {
	switch {
	case h.Crit != nil:
		// RFC 7515 section 4.1.11: what must be understood and is not makes
		// the token invalid. Nothing is understood here, so presence decides.
		return badCrit
	case !isAllowed(h.Alg):
		return badAlg
	case h.KID == "":
		return badKID
	default:
		return nil
	}
}

// hasTyp compares as RFC 9068 section 4 and RFC 7515 section 4.1.9 say: the
// case does not count, and application/ may stand in front.
func (h header) hasTyp(want string) bool {
	got := strings.ToLower(h.Typ)
	return strings.TrimPrefix(got, "application/") == strings.ToLower(want)
}

// isTokenText refuses line breaks above all: base64 decoders skip them, strict
// ones too, so they would give one signature many spellings.
func isTokenText(token string) bool {
	for _, c := range []byte(token) {
		if !isAlphanumeric(c) && c != '-' && c != '_' && c != '.' {
			return false
		}
	}
	return true
}
