package auth

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// ChallengeScope is what a client without a good token is told to ask for:
// enough for everything but buying and changing stock, which are asked for by
// the challenge of the call that needs them. It never depends on the request.
const ChallengeScope = "catalog:read cart order:read"

// Challenges makes the values of the WWW-Authenticate header (RFC 6750
// section 3, RFC 9728 section 5.1): always one challenge, made from the
// configuration, with nothing in it of what was sent.
type Challenges struct{ metadataURL string }

// NewChallenges needs this server's canonical URL.
func NewChallenges(resource string) (Challenges, error) {
	metadataURL, err := MetadataURL(resource)
	if err != nil {
		return Challenges{}, fmt.Errorf("challenges: %w", err)
	}
	return Challenges{metadataURL: metadataURL}, nil
}

// Unauthorized is the challenge of a 401, for the error of [BearerToken] or
// [Verifier.Verify]. A client that sent no token did nothing wrong, so it is
// told of no error.
func (c Challenges) Unauthorized(err error) string {
	if errors.Is(err, ErrNoToken) {
		return c.challenge("", ChallengeScope)
	}
	return c.challenge("invalid_token", ChallengeScope)
}

// InsufficientScope is the challenge of a 403. It takes every scope that the
// call needs, those granted included: a client that asked for the missing ones
// alone could lose the others.
func (c Challenges) InsufficientScope(required ...string) string {
	// A word that is no scope cannot come from the table of tools; it would
	// break the quoting, so it is left out whatever it is.
	required = slices.DeleteFunc(slices.Clone(required), func(s string) bool { return !isScope(s) })
	return c.challenge("insufficient_scope", strings.Join(required, " "))
}

func (c Challenges) challenge(code, scope string) string {
	parameters := `realm="mcp-cart"`
	if code != "" {
		parameters += `, error="` + code + `"`
	}
	return fmt.Sprintf(`Bearer %s, resource_metadata="%s", scope="%s"`, parameters, c.metadataURL, scope)
}
