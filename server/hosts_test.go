package server

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// served answers 200 and stands for everything behind a check.
func served() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
}

func testFrontDoor(t *testing.T, origins []string) http.Handler {
	t.Helper()
	o, err := newOriginList(origins)
	if err != nil {
		t.Fatalf("newOriginList: %v", err)
	}
	h, err := newHostList([]string{"shop.example", "localhost", "127.0.0.1:8080", "[::1]"})
	if err != nil {
		t.Fatalf("newHostList: %v", err)
	}
	return frontDoor(o, h, onlyPOST(served()))
}

func ask(h http.Handler, method, host string, header map[string][]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, "/mcp", strings.NewReader("{}"))
	r.Host = host
	for name, values := range header {
		r.Header[http.CanonicalHeaderKey(name)] = values
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func wantJSONRPCError(t *testing.T, w *httptest.ResponseRecorder, status int) {
	t.Helper()
	if w.Code != status {
		t.Errorf("status = %d, want %d", w.Code, status)
	}
	if got := w.Header().Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type = %q, want application/json", got)
	}
	if got := w.Header().Get("Cache-Control"); got != "no-store" {
		t.Errorf("Cache-Control = %q, want no-store", got)
	}
	if body := w.Body.String(); !strings.HasPrefix(body, `{"jsonrpc":"2.0","error":{"code":`) {
		t.Errorf("body = %s, want a JSON-RPC error without id", body)
	}
}

func TestPagesOfOtherOriginsAreRefused(t *testing.T) {
	h := testFrontDoor(t, []string{"https://app.example", "http://localhost:6274"})
	refused := map[string][]string{
		"another":                 {"https://evil.example"},
		"null":                    {"null"},
		"empty":                   {""},
		"two":                     {"https://app.example", "https://evil.example"},
		"the same twice":          {"https://app.example", "https://app.example"},
		"two in one":              {"https://app.example https://evil.example"},
		"two joined":              {"https://app.example, https://evil.example"},
		"as a prefix":             {"https://app.example.evil.example"},
		"as a suffix":             {"https://evil-app.example"},
		"other scheme":            {"http://app.example"},
		"other port":              {"https://app.example:8443"},
		"own port written out":    {"https://app.example:443"},
		"no port":                 {"http://localhost"},
		"other case":              {"https://App.example"},
		"trailing dot":            {"https://app.example."},
		"trailing slash":          {"https://app.example/"},
		"user":                    {"https://app.example@evil.example"},
		"equal to a rebound Host": {"http://shop.example"},
	}
	for name, origin := range refused {
		for _, method := range []string{"POST", "GET", "DELETE", "OPTIONS", "PUT"} {
			t.Run(name+" "+method, func(t *testing.T) {
				w := ask(h, method, "shop.example", map[string][]string{"Origin": origin, "Access-Control-Request-Method": {"POST"}})
				wantJSONRPCError(t, w, http.StatusForbidden)
				if got := w.Header().Get("Access-Control-Allow-Origin"); got != "" {
					t.Errorf("Access-Control-Allow-Origin = %q, want none", got)
				}
			})
		}
	}
	for name, origin := range map[string][]string{"none": nil, "listed": {"https://app.example"}, "listed, with port": {"http://localhost:6274"}} {
		t.Run(name, func(t *testing.T) {
			header := map[string][]string{}
			if origin != nil {
				header["Origin"] = origin
			}
			if w := ask(h, "POST", "shop.example", header); w.Code != http.StatusOK {
				t.Errorf("status = %d, want 200", w.Code)
			}
		})
	}
}

func TestWithoutOriginsListedEveryPageIsRefused(t *testing.T) {
	h := testFrontDoor(t, nil)
	for _, origin := range []string{"https://app.example", "http://localhost", "null"} {
		wantJSONRPCError(t, ask(h, "POST", "shop.example", map[string][]string{"Origin": {origin}}), http.StatusForbidden)
	}
	w := ask(h, "POST", "shop.example", map[string][]string{"Sec-Fetch-Mode": {"cors"}})
	if w.Code != http.StatusOK {
		t.Errorf("status without Origin = %d, want 200: a program's fetch is no page", w.Code)
	}
	for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Expose-Headers", "Vary"} {
		if got := w.Header().Get(name); got != "" {
			t.Errorf("%s = %q, want none", name, got)
		}
	}
	wantJSONRPCError(t, ask(h, "OPTIONS", "shop.example", nil), http.StatusMethodNotAllowed)
}

func TestOtherHostsAreMisdirected(t *testing.T) {
	h := testFrontDoor(t, []string{"https://app.example"})
	for _, host := range []string{
		"evil.example", "", "shop.example.evil.example", "shop.example.", "evil-shop.example", "127.0.0.1", "127.0.0.1:8081",
		"127.0.0.1.:8080", "127.1:8080", "2130706433:8080", "shop.example:0", "shop.example:99999", "shop.example:", "shop.example:80:80",
		"shop.example:080", "shop.example:+80", "[::2]", "::1", "[::1", "::1]", "[::1]x", "[::1]:", "[0:0:0:0:0:0:0:1]", "[::1%25lo]", "[127.0.0.1]",
		"user@shop.example", "shop.example/", "shop.example\x00", "localhost,shop.example", " localhost",
	} {
		for _, method := range []string{"POST", "GET", "OPTIONS"} {
			t.Run(method+" "+host, func(t *testing.T) {
				wantJSONRPCError(t, ask(h, method, host, nil), http.StatusMisdirectedRequest)
			})
		}
	}
	for _, host := range []string{"shop.example", "SHOP.example", "shop.example:443", "localhost:1", "localhost", "127.0.0.1:8080", "[::1]", "[::1]:8080"} {
		if w := ask(h, "POST", host, nil); w.Code != http.StatusOK {
			t.Errorf("status for Host %q = %d, want 200", host, w.Code)
		}
	}
}

func TestOriginAndHostAreJudgedIndependently(t *testing.T) {
	h := testFrontDoor(t, []string{"https://app.example"})
	for _, c := range []struct {
		origin, host string
		status       int
	}{
		{"https://evil.example", "evil.example", 403},
		{"https://app.example", "app.example", 421},
		{"https://evil.example", "shop.example", 403},
		{"https://app.example", "shop.example", 200},
	} {
		if w := ask(h, "POST", c.host, map[string][]string{"Origin": {c.origin}}); w.Code != c.status {
			t.Errorf("status with Origin %s, Host %s = %d, want %d", c.origin, c.host, w.Code, c.status)
		}
	}
}

func TestForwardingHeadersChangeNothing(t *testing.T) {
	h := testFrontDoor(t, []string{"https://app.example"})
	for _, forwarded := range []map[string][]string{
		{"X-Forwarded-Host": {"shop.example"}, "Forwarded": {"host=shop.example;proto=https"}, "X-Original-Host": {"shop.example"}},
		{"X-Forwarded-Host": {"evil.example"}, "Forwarded": {"host=evil.example"}, "X-Forwarded-Proto": {"http"}, "X-Http-Method-Override": {"GET"}},
	} {
		wantJSONRPCError(t, ask(h, "POST", "evil.example", forwarded), http.StatusMisdirectedRequest)
		if w := ask(h, "POST", "shop.example", forwarded); w.Code != http.StatusOK {
			t.Errorf("status with %v = %d, want 200", forwarded, w.Code)
		}
		forwarded["Origin"] = []string{"https://evil.example"}
		wantJSONRPCError(t, ask(h, "POST", "shop.example", forwarded), http.StatusForbidden)
	}
}

// A request line may carry a whole URL; its host is then the one asked for.
func TestHostOfTheRequestLineCounts(t *testing.T) {
	s := httptest.NewServer(testFrontDoor(t, nil))
	t.Cleanup(s.Close)
	for _, c := range []struct {
		target, host string
		status       int
	}{
		{"http://evil.example/mcp", "shop.example", 421},
		{"http://shop.example/mcp", "evil.example", 200},
		{"/mcp", "evil.example", 421},
		{"/mcp", "shop.example", 200},
		{"//shop.example/mcp", "evil.example", 421},
	} {
		conn, err := net.Dial("tcp", s.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { conn.Close() })
		fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: 0\r\nConnection: close\r\n\r\n", c.target, c.host)
		resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
		if err != nil {
			t.Fatalf("read the answer: %v", err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		if resp.StatusCode != c.status {
			t.Errorf("status for %s with Host %s = %d, want %d", c.target, c.host, resp.StatusCode, c.status)
		}
	}
}

func TestListsRefuseWhatWouldNeverMatch(t *testing.T) {
	for _, origin := range []string{"", "*", "null", "app.example", "https://app.example/", "https://app.example/x", "https://App.example",
		"https://app.example:443", "http://app.example:80", "https://", "https://*.example", "ftp://app.example", "https://u@app.example",
		"https://app.example?x", "https://app.example:0", "https://app.example.", "HTTPS://app.example"} {
		if _, err := newOriginList([]string{origin}); err == nil {
			t.Errorf("newOriginList(%q) = nil error, want one", origin)
		}
	}
	for _, entry := range []string{"", "*", "https://shop.example", "shop.example/", "shop.example:", "shop.example:x", "::1", "*.example", "shop.example.", "[127.0.0.1]", "[x::1]", "[::1"} {
		if _, err := newHostList([]string{entry}); err == nil {
			t.Errorf("newHostList(%q) = nil error, want one", entry)
		}
	}
	if _, err := newHostList(nil); err == nil {
		t.Error("newHostList without entries = nil error, want one: nothing could be reached")
	}
}
