package main

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
)

const formType = "application/x-www-form-urlencoded"

func TestPageSaysWhoAsksForWhatAndThatItIsForDevelopment(t *testing.T) {
	s := start(t)
	resp, text := s.do("GET", s.request(), "")
	if resp.StatusCode != 200 {
		t.Fatalf("page = %s", resp.Status)
	}
	for _, want := range []string{
		"For development only", "width=device-width", `<span class="accent">app</span>`, "<strong>127.0.0.1:7000</strong>",
		"See your carts", "Place orders for you", audience, `value="alice"`, `value="bob"`, "a program on this device",
		`name="decision" value="approve"`, `name="decision" value="deny"`,
	} {
		if !strings.Contains(text, want) {
			t.Errorf("page lacks %q", want)
		}
	}
	if strings.Contains(text, "<script") || strings.Contains(text, "style=") || strings.Contains(text, "Change the shop") {
		t.Error("page has a script, an inline style or a scope that was not asked for")
	}
	if _, text := s.do("GET", s.request("client_id", "nobody"), ""); !strings.Contains(text, "For development only") {
		t.Errorf("error page does not say that it is for development: %s", text)
	}
	if resp, _ := s.do("GET", s.signer.issuer+"/style.css", ""); resp.StatusCode != 200 || resp.Header.Get("Content-Type") != "text/css; charset=utf-8" {
		t.Errorf("style sheet = %s %s", resp.Status, resp.Header.Get("Content-Type"))
	}
}

func TestPagesCannotBeFramedOrKept(t *testing.T) {
	s := start(t)
	for target, formAction := range map[string]string{
		s.request(): "http://127.0.0.1:7000",
		s.request("client_id", "web", "redirect_uri", "https://app.example/cb?a=b"): "https://app.example",
		s.request("client_id", "nobody"):                                            "",
		s.signer.issuer + "/nothing":                                                "",
	} {
		resp, _ := s.do("GET", target, "")
		want := http.Header{
			"X-Frame-Options":        {"DENY"},
			"X-Content-Type-Options": {"nosniff"},
			"Referrer-Policy":        {"same-origin"},
			"Cache-Control":          {"no-store"},
			"Content-Security-Policy": {strings.TrimSpace(
				"default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' " + formAction)},
		}
		for name := range want {
			if got := strings.TrimSpace(resp.Header.Get(name)); got != want.Get(name) {
				t.Errorf("%s: %s = %q, want %q", target, name, got, want.Get(name))
			}
		}
	}
	// CSP cannot name an IPv6 address.
	if got := originOf("http://[::1]:7000/cb"); got != "http:" {
		t.Errorf("originOf(IPv6) = %q, want http:", got)
	}
}

func TestAnotherSiteCannotApproveForThePerson(t *testing.T) {
	s := start(t)
	form := url.Values{"user": {"alice"}, "decision": {"approve"}}.Encode()
	tests := []struct {
		name    string
		headers []string
		want    int
	}{
		{"our page", []string{"Origin", s.signer.issuer, "Sec-Fetch-Site", "same-origin"}, 303},
		{"our page, browser without Sec-Fetch", []string{"Origin", s.signer.issuer}, 303},
		{"a script without either", nil, 303},
		{"cross-site", []string{"Origin", "https://evil.example", "Sec-Fetch-Site", "cross-site"}, 403},
		{"same site, other port", []string{"Sec-Fetch-Site", "same-site"}, 403},
		{"foreign origin only", []string{"Origin", "https://evil.example"}, 403},
		{"other port only", []string{"Origin", "http://127.0.0.1:1"}, 403},
		{"null origin", []string{"Origin", "null"}, 403},
		{"rebound name", []string{"Host", "evil.example", "Origin", "http://evil.example"}, 421},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resp, _ := s.do("POST", s.request(), form, append([]string{"Content-Type", formType}, test.headers...)...)
			if resp.StatusCode != test.want {
				t.Errorf("POST = %s, want %d", resp.Status, test.want)
			}
		})
	}
	for _, path := range []string{"/token", "/register"} {
		resp, _ := s.do("POST", s.signer.issuer+path, "{}", "Sec-Fetch-Site", "cross-site")
		if resp.StatusCode != http.StatusForbidden {
			t.Errorf("cross-site POST %s = %s, want 403", path, resp.Status)
		}
	}
}

func TestOnlyItsOwnNameIsAnswered(t *testing.T) {
	s := start(t, func(c *config) { c.allowHosts = list{"devauth:9000"} })
	for host, want := range map[string]int{
		"": 200, "devauth:9000": 200, "DEVAUTH:9000": 200,
		"evil.example": 421, "devauth": 421, "localhost": 421, "127.0.0.1": 421, "devauth:9000.evil.example": 421,
	} {
		for _, target := range []string{s.request(), s.signer.issuer + "/jwks.json"} {
			var headers []string
			if host != "" {
				headers = []string{"Host", host}
			}
			if resp, _ := s.do("GET", target, "", headers...); resp.StatusCode != want {
				t.Errorf("Host %q = %s, want %d", host, resp.Status, want)
			}
		}
	}
}

func TestFormIsShownAgainUntilItIsAnswered(t *testing.T) {
	s := start(t)
	tests := []struct{ name, user, decision, want string }{
		{"no name", "", "approve", "pick another name"},
		{"markup for a name", "<b>", "approve", "pick another name"},
		{"a bar in the name", "dev|alice", "approve", "pick another name"},
		{"no decision", "alice", "", "Approve or deny"},
		{"a name without end", strings.Repeat("x", 5<<10), "approve", "could not be read"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resp, text := s.browser(s.request(), test.user, test.decision)
			if resp.StatusCode != 400 || !strings.Contains(text, test.want) || strings.Contains(text, "<b>") {
				t.Errorf("answer = %s %s, want %q", resp.Status, text, test.want)
			}
		})
	}
}

func TestLinkIsNoWayToAStrangersSite(t *testing.T) {
	s := start(t)
	id := s.registered(`{"client_name":"Evil","redirect_uris":["https://evil.example/cb"]}`)
	resp, text := s.do("GET", s.request("client_id", id, "redirect_uri", "https://evil.example/cb", "scope", "nonsense"), "")
	if resp.StatusCode != 400 || resp.Header.Get("Location") != "" {
		t.Errorf("bad request of a self-registered client = %s to %q, want it shown", resp.Status, resp.Header.Get("Location"))
	}
	if !strings.Contains(text, `href="https://evil.example/cb?error=invalid_scope`) || !strings.Contains(text, "Go back to evil.example") {
		t.Errorf("page lacks the link back that says where it leads: %s", text)
	}
}
