package server

import (
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

// challenge reads a WWW-Authenticate field that must hold exactly one challenge,
// by the grammar of RFC 9110, section 11, and nothing beyond it.
func challenge(t *testing.T, h http.Header) (scheme string, params map[string]string) {
	t.Helper()
	fields := h.Values("WWW-Authenticate")
	if len(fields) != 1 {
		t.Fatalf("WWW-Authenticate = %q, want one field", fields)
	}
	const token = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
	scheme, rest, _ := strings.Cut(fields[0], " ")
	if !regexp.MustCompile(`^` + token + `$`).MatchString(scheme) {
		t.Fatalf("challenge %q: no scheme", fields[0])
	}
	param := regexp.MustCompile(`^(` + token + `)=(?:(` + token + `)|"((?:[\t !#-\[\]-~]|\\[\t -~])*)")(?:[ \t]*,[ \t]*|$)`)
	params = map[string]string{}
	for rest != "" {
		m := param.FindStringSubmatch(rest)
		if m == nil {
			t.Fatalf("challenge %q: no parameter at %q", fields[0], rest)
		}
		name := strings.ToLower(m[1])
		if _, twice := params[name]; twice {
			t.Fatalf("challenge %q: %s is there twice", fields[0], name)
		}
		params[name] = m[2] + regexp.MustCompile(`\\(.)`).ReplaceAllString(m[3], "$1")
		if rest = rest[len(m[0]):]; rest == "" && strings.HasSuffix(strings.TrimRight(m[0], " \t"), ",") {
			t.Fatalf("challenge %q ends in a comma", fields[0])
		}
	}
	return scheme, params
}

// wantChallenge checks one challenge, and follows it as a client would.
func (sh *shop) wantChallenge(t *testing.T, about string, got reply, code, scope string) {
	t.Helper()
	scheme, params := challenge(t, got.header)
	metadata, err := url.Parse(params["resource_metadata"])
	if err != nil || params["resource_metadata"] == "" {
		t.Fatalf("%s: resource_metadata %q: %v", about, params["resource_metadata"], err)
	}
	delete(params, "resource_metadata")
	want := map[string]string{"realm": "mcp-cart", "scope": scope}
	if code != "" {
		want["error"] = code
	}
	if scheme != "Bearer" || fmt.Sprint(params) != fmt.Sprint(want) {
		t.Errorf("%s: challenge = %s %v, want Bearer %v", about, scheme, params, want)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, sh.url+metadata.Path, nil)
	if err != nil {
		t.Fatal(err)
	}
	resource, err := url.Parse(authtest.Audience)
	if err != nil {
		t.Fatal(err)
	}
	if doc := send(t, req); doc.status != 200 || !strings.Contains(doc.body, `"resource":"`+authtest.Audience+`"`) || metadata.Host != resource.Host {
		t.Errorf("%s: %s leads to %d %s, want the metadata of %s", about, metadata, doc.status, doc.body, authtest.Audience)
	}
}

func TestEveryChallengeIsWellFormedAndLeadsOn(t *testing.T) {
	sh := newShop(t)
	const mark = `zzz", error="x`
	hostile := "e30.e30." + strings.Repeat("z", 20)
	for name, authorization := range map[string][]string{
		"none": nil, "empty": {""}, "another scheme": {"Basic enp6"}, "a bare scheme": {"Bearer"}, "two tokens": {"Bearer a b"},
		"two fields": {"Bearer a", "Bearer b"}, "quotes": {"Bearer " + mark}, "garbage": {"Bearer " + hostile},
		"a kid with quotes":   {"Bearer " + sh.issuer.Token(authtest.Header("kid", mark))},
		"a kid with lines":    {"Bearer " + sh.issuer.Token(authtest.Header("kid", "zzz\r\nX-Injected: 1"))},
		"an issuer in quotes": {"Bearer " + sh.issuer.Token(authtest.Claim("iss", mark))},
		"another audience":    {"Bearer " + sh.issuer.Token(authtest.For(mark))},
		"no token of ours":    {"Bearer " + authtest.NewIssuer(t).Token()},
	} {
		p := newPost(modern, "tools/list", "", "")
		if authorization != nil {
			p = p.set("Authorization", authorization...)
		}
		got := sh.say(t, "", p)
		code := "invalid_token"
		if name == "none" || name == "another scheme" {
			code = "" // no credentials that this server could judge
		}
		if scheme, params := challenge(t, got.header); name == "empty" || name == "a bare scheme" {
			code = params["error"] // either reading of these is fair
			if scheme != "Bearer" {
				t.Errorf("%s: scheme = %s", name, scheme)
			}
		}
		if got.status != 401 {
			t.Errorf("%s: %d, want 401", name, got.status)
		}
		sh.wantChallenge(t, name, got, code, "catalog:read cart order:read")
		if all := fmt.Sprint(got.header, got.body); strings.Contains(all, "zzz") || strings.Contains(all, "Injected") {
			t.Errorf("%s: the answer repeats what was sent: %s", name, all)
		}
	}
	for _, e := range bothEras {
		for name, tool := range sh.tools {
			got := sh.say(t, sh.issuer.Token(authtest.Scope(`other zzz"`)), callOf(e, name, `{}`))
			if tool.asks && e == handshake {
				// It would be refused with all scopes too, so it asks for none.
				if got.status != 200 || !strings.Contains(got.body, "2026-07-28") {
					t.Errorf("%v %s: %d %s, want to be told that the client is too old", e, name, got.status, got.body)
				}
				continue
			}
			sh.wantChallenge(t, name, got, "insufficient_scope", strings.Join(tool.scopes, " "))
			if got.status != 403 || !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":7,"error"`) || strings.Contains(fmt.Sprint(got), "zzz") {
				t.Errorf("%v %s: %d %s, want 403 with the id", e, name, got.status, got.body)
			}
		}
	}
}

// allowedCodes: those of JSON-RPC and the three of this protocol. The ranges
// around them belong to the protocol, and no code of ours is needed.
func allowedCodes() []string {
	return []string{"-32700", "-32600", "-32601", "-32602", "-32603", "-32020", "-32021", "-32022"}
}

func TestNoErrorCodeIsOfOurOwn(t *testing.T) {
	seen := map[string]bool{}
	for file, text := range goldens(t) {
		for _, m := range regexp.MustCompile(`"code": ?([^,}\s]+)`).FindAllStringSubmatch(text, -1) {
			seen[m[1]] = true
			if !slices.Contains(allowedCodes(), m[1]) {
				t.Errorf("%s: error code %s, want one of %v", file, m[1], allowedCodes())
			}
		}
		for _, m := range regexp.MustCompile(`(?m)^5\d\d .*`).FindAllString(text, -1) {
			t.Errorf("%s: status %s, want no 5xx for what a client did", file, m)
		}
	}
	for _, code := range allowedCodes() {
		if !seen[code] {
			t.Errorf("no recorded exchange shows %s", code)
		}
	}
}
