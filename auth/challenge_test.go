package auth_test

import (
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"example.com/mcp-cart/auth"
)

func TestChallenges(t *testing.T) {
	challenges, err := auth.NewChallenges("https://cart.example/mcp")
	if err != nil {
		t.Fatal(err)
	}
	const metadata = "https://cart.example/.well-known/oauth-protected-resource/mcp"
	unavailable := fmt.Errorf("wrapped: %w", auth.ErrInvalidToken)
	tests := map[string]struct {
		value string
		want  map[string]string
	}{
		"no token": {
			challenges.Unauthorized(auth.ErrNoToken),
			map[string]string{"scope": "catalog:read cart order:read"},
		},
		"bad token": {
			challenges.Unauthorized(unavailable),
			map[string]string{"scope": "catalog:read cart order:read", "error": "invalid_token"},
		},
		"one scope": {
			challenges.InsufficientScope("stock:write"),
			map[string]string{"scope": "stock:write", "error": "insufficient_scope"},
		},
		"all scopes of the operation": {
			challenges.InsufficientScope("cart:write", "order:place"),
			map[string]string{"scope": "cart:write order:place", "error": "insufficient_scope"},
		},
		"what would break the quoting": {
			challenges.InsufficientScope("cart", `x", error="y`, "a\r\nSet-Cookie: b", `\`, ""),
			map[string]string{"scope": "cart", "error": "insufficient_scope"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			tt.want["resource_metadata"], tt.want["realm"] = metadata, "mcp-cart"
			if diff := cmp.Diff(tt.want, parseStrictly(t, tt.value)); diff != "" {
				t.Errorf("challenge %s (-want +got):\n%s", tt.value, diff)
			}
			// The clients' own parser has to agree.
			parsed, err := oauthex.ParseWWWAuthenticate([]string{tt.value})
			if err != nil || len(parsed) != 1 || parsed[0].Scheme != "bearer" {
				t.Fatalf("ParseWWWAuthenticate = %v, %v, want one bearer challenge", parsed, err)
			}
			if diff := cmp.Diff(tt.want, parsed[0].Params); diff != "" {
				t.Errorf("parameters (-want +got):\n%s", diff)
			}
		})
	}
}

// parseStrictly accepts one challenge of quoted parameters without escapes,
// each once, separated by commas.
func parseStrictly(t *testing.T, value string) map[string]string {
	t.Helper()
	list, ok := strings.CutPrefix(value, "Bearer ")
	if !ok {
		t.Fatalf("challenge %q does not begin with its scheme", value)
	}
	parameter := regexp.MustCompile(`^([a-z_]+)="([^"\\\x00-\x1f\x7f-\xff]*)"$`)
	parameters := map[string]string{}
	for _, text := range strings.Split(list, ", ") {
		match := parameter.FindStringSubmatch(text)
		if match == nil {
			t.Fatalf("parameter %q of %q is not well formed", text, value)
		}
		if _, twice := parameters[match[1]]; twice {
			t.Fatalf("parameter %s is in %q twice", match[1], value)
		}
		parameters[match[1]] = match[2]
	}
	return parameters
}

// TestChallengeReflectsNothing sends what would be visible in the answer, and
// expects the same answer for all of it.
func TestChallengeReflectsNothing(t *testing.T) {
	challenges, err := auth.NewChallenges("https://cart.example/mcp")
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]bool{}
	for _, sent := range []string{`Bearer a", error="b`, "Bearer a,b", "Bearer a\r\nX: y", "Bearer <script>", "Bearer \u2028"} {
		_, err := auth.BearerToken(http.Header{"Authorization": {sent}})
		if !errors.Is(err, auth.ErrInvalidToken) {
			t.Errorf("BearerToken of %q = %v, want ErrInvalidToken", sent, err)
		}
		values[challenges.Unauthorized(err)] = true
	}
	if len(values) != 1 {
		t.Errorf("challenges = %v, want the same for all", values)
	}
}

func TestChallengesNeedAResource(t *testing.T) {
	for _, resource := range []string{"", "/mcp", "cart.example", `https://cart.example/"`, "https://cart.example/mcp#x"} {
		if _, err := auth.NewChallenges(resource); err == nil {
			t.Errorf("NewChallenges(%q) succeeded, want an error", resource)
		}
	}
}
