//go:build e2e

package e2e_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/mcp-cart/auth/authtest"
)

// A token that is not for us is refused before anything of the request is
// looked at, and an operator finds out why from the log, which holds no token.
func TestTokenThatIsNotForUsReachesNoToolAndTheLogSaysWhy(t *testing.T) {
	t.Parallel()
	trusted, other := authtest.NewIssuer(t), authtest.NewIssuer(t)
	s := newStand(t, func(_ testing.TB, resource string) string {
		trusted.SetAudience(resource)
		other.SetAudience(resource)
		return trusted.URL
	})
	if got, body := s.callTool(t, trusted.Token(), "cart_create"); got.StatusCode != http.StatusOK || !strings.Contains(body, "cart_id") {
		t.Fatalf("cart_create with a good token = %s %s, want a cart", got.Status, body)
	}
	logged := len(s.requests(t, 1))
	for _, bad := range []struct{ name, reason, token string }{
		{"of another issuer", "token_issuer", other.Token()},
		{"in the issuer's name, signed by another", "token_signature", other.Token(authtest.Claim("iss", trusted.URL))},
		{"for another server", "token_audience", trusted.Token(authtest.For("https://elsewhere.example/mcp"))},
		{"for a server whose name begins like ours", "token_audience", trusted.Token(authtest.For(s.endpoint + "2"))},
		{"of another type", "token_typ", trusted.Token(authtest.Typ("JWT"))},
		{"without a subject", "token_subject", trusted.Token(authtest.WithoutClaim("sub"))},
		{"with an empty subject", "token_subject", trusted.Token(authtest.Subject(""))},
		{"that has expired", "token_expired", trusted.Token(authtest.ExpiresIn(-time.Hour))},
	} {
		// Whether a tool exists, nobody learns without a good token.
		resp, body := s.callTool(t, bad.token, "cart_create")
		_, twin := s.callTool(t, bad.token, "no_such_tool")
		challenge := resp.Header.Get("WWW-Authenticate")
		if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(challenge, `error="invalid_token"`) || body != twin {
			t.Errorf("a token %s = %s, %s, %s, and %s for another tool; want 401, invalid_token, and the same twice",
				bad.name, resp.Status, challenge, body, twin)
		}
		lines := s.requests(t, logged+2)[logged:]
		logged += 2
		for _, line := range lines {
			if line.Outcome != bad.reason || line.ID == "" || line.Tool != "" || line.Principal != "" {
				t.Errorf("log of a token %s = %+v, want outcome %s, an id, and neither tool nor principal", bad.name, line, bad.reason)
			}
		}
		for part := range strings.SplitSeq(bad.token, ".") {
			if strings.Contains(s.log(), part) {
				t.Errorf("the log holds a part of the token %s", bad.name)
			}
		}
	}
}

// callTool sends what a client without a library would send.
func (s *stand) callTool(t testing.TB, token, tool string) (*http.Response, string) {
	t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":{},"_meta":{` +
		`"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"none","version":"1"},` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.endpoint, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(answer)
}

// A logLine is what a replica says about one request.
type logLine struct {
	Time                         time.Time
	Msg                          string
	ID, Outcome, Tool, Principal string
}

// requests waits until so many requests are in the log, which is written after
// the answer, and returns their lines.
func (s *stand) requests(t testing.TB, count int) (lines []logLine) {
	t.Helper()
	s.replicas[0].until(t, "the requests are in the log", func() bool {
		lines = nil
		for _, r := range s.replicas {
			lines = append(lines, r.requests()...)
		}
		return len(lines) >= count
	})
	slices.SortFunc(lines, func(a, b logLine) int { return a.Time.Compare(b.Time) })
	return lines
}

func (p *process) requests() (lines []logLine) {
	for text := range bytes.Lines([]byte(p.out.String())) {
		var line logLine
		if json.Unmarshal(text, &line) == nil && line.Msg == "request" {
			lines = append(lines, line)
		}
	}
	return lines
}
