package server

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPreflightOfAListedOriginNeedsNoToken(t *testing.T) {
	origins, err := newOriginList([]string{"https://app.example"})
	if err != nil {
		t.Fatal(err)
	}
	hosts, err := newHostList([]string{"shop.example"})
	if err != nil {
		t.Fatal(err)
	}
	// Whoever gets past the front door without a token is refused.
	h := frontDoor(origins, hosts, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}), "Mcp-Param-Region")
	for _, asked := range []string{
		"authorization,content-type,mcp-method,mcp-name,mcp-protocol-version",
		"authorization,content-type,mcp-protocol-version,mcp-method,mcp-name",
		"Authorization, Content-Type, MCP-Protocol-Version",
		"last-event-id,mcp-session-id",
		"mcp-param-region",
		"",
	} {
		w := ask(h, "OPTIONS", "shop.example", map[string][]string{
			"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {asked},
		})
		if w.Code != http.StatusNoContent || w.Body.Len() > 0 {
			t.Errorf("preflight for %q = %d, %q, want 204 without a body", asked, w.Code, w.Body)
		}
		for name, want := range map[string]string{"Access-Control-Allow-Origin": "https://app.example", "Access-Control-Allow-Methods": "POST", "Access-Control-Allow-Credentials": ""} {
			if got := w.Header().Get(name); got != want {
				t.Errorf("preflight for %q: %s = %q, want %q", asked, name, got, want)
			}
		}
		allowed := w.Header().Get("Access-Control-Allow-Headers")
		for name := range strings.SplitSeq(strings.ToLower(asked), ",") {
			if !strings.Contains(allowed, trimOWS(name)) {
				t.Errorf("Access-Control-Allow-Headers = %q, want %q in it", allowed, name)
			}
		}
		wantVaryOrigin(t, w)
	}
	w := ask(h, "OPTIONS", "shop.example", map[string][]string{
		"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"}, "Access-Control-Request-Headers": {"authorization,x-other"},
	})
	if got := w.Header().Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("Access-Control-Allow-Origin for a header that is not allowed = %q, want none", got)
	}
	w = ask(h, "OPTIONS", "evil.example", map[string][]string{"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"}})
	if w.Code != http.StatusMisdirectedRequest {
		t.Errorf("preflight for another host = %d, want 421", w.Code)
	}
}

// A browser shows a page nothing of an answer that does not say it may.
func TestPagesOfListedOriginsCanReadEveryAnswer(t *testing.T) {
	h := testFrontDoor(t, []string{"https://app.example"})
	for _, c := range []struct {
		method, host string
		status       int
	}{
		{"POST", "shop.example", 200},
		{"POST", "evil.example", 421},
		{"OPTIONS", "shop.example", 405}, // no preflight: nothing is asked
		{"GET", "shop.example", 405},
		{"DELETE", "shop.example", 405},
	} {
		w := ask(h, c.method, c.host, map[string][]string{"Origin": {"https://app.example"}})
		if w.Code != c.status {
			t.Errorf("%s: status = %d, want %d", c.method, w.Code, c.status)
		}
		if got := w.Header().Get("Access-Control-Allow-Origin"); got != "https://app.example" {
			t.Errorf("%s %d: Access-Control-Allow-Origin = %q, want the origin", c.method, c.status, got)
		}
		exposed := strings.ToLower(w.Header().Get("Access-Control-Expose-Headers"))
		if !strings.Contains(exposed, "www-authenticate") || !strings.Contains(exposed, "retry-after") {
			t.Errorf("%s %d: Access-Control-Expose-Headers = %q, want WWW-Authenticate and Retry-After", c.method, c.status, exposed)
		}
		wantVaryOrigin(t, w)
	}
}

func TestOnlyAPreflightEndsAtTheFrontDoor(t *testing.T) {
	h := testFrontDoor(t, []string{"https://app.example"})
	w := ask(h, "POST", "shop.example", map[string][]string{"Origin": {"https://app.example"}, "Access-Control-Request-Method": {"POST"}})
	if w.Code != http.StatusOK {
		t.Errorf("status of a POST with a preflight's header = %d, want 200", w.Code)
	}
}

func wantVaryOrigin(t *testing.T, w *httptest.ResponseRecorder) {
	t.Helper()
	if vary := strings.Join(w.Header().Values("Vary"), ","); !strings.Contains(vary, "Origin") {
		t.Errorf("Vary = %q, want Origin in it", vary)
	}
}
