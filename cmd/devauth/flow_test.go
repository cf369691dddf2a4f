package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"github.com/google/go-cmp/cmp"
)

// keyFrom reads a key set with the library the MCP server uses, so that ours
// is judged by another's eyes.
func keyFrom(jwks string) jwt.Keyfunc {
	return func(t *jwt.Token) (any, error) {
		if t.Header["typ"] != "at+jwt" {
			return nil, fmt.Errorf("typ %v", t.Header["typ"])
		}
		keys, err := keyfunc.NewJWKSetJSON(json.RawMessage(jwks))
		if err != nil {
			return nil, err
		}
		return keys.Keyfunc(t)
	}
}

func TestMetadataTellsClientsWhatTheyNeed(t *testing.T) {
	s := start(t)
	resp, text := s.do("GET", s.signer.issuer+"/.well-known/oauth-authorization-server", "")
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil || resp.Header.Get("Content-Type") != "application/json" {
		t.Fatalf("metadata = %q, %v", text, err)
	}
	iss := s.signer.issuer
	want := map[string]any{
		"issuer": iss, "authorization_endpoint": iss + "/authorize", "token_endpoint": iss + "/token",
		"registration_endpoint": iss + "/register", "jwks_uri": iss + "/jwks.json",
		"scopes_supported":                               []any{"catalog:read", "cart", "cart:read", "cart:write", "order:read", "order:place"},
		"response_types_supported":                       []any{"code"},
		"response_modes_supported":                       []any{"query"},
		"grant_types_supported":                          []any{"authorization_code", "refresh_token", "client_credentials"},
		"token_endpoint_auth_methods_supported":          []any{"none", "client_secret_post", "client_secret_basic"},
		"code_challenge_methods_supported":               []any{"S256"},
		"client_id_metadata_document_supported":          true,
		"authorization_response_iss_parameter_supported": true,
		"protected_resources":                            []any{audience},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata differs (-want +got):\n%s", diff)
	}
	if resp, _ := s.do("GET", iss+"/.well-known/openid-configuration", ""); resp.StatusCode != http.StatusNotFound {
		t.Errorf("openid-configuration = %s, want 404: there are no ID tokens", resp.Status)
	}
}

func TestSignInGivesATokenThatSaysWhoAndWhat(t *testing.T) {
	s := start(t)
	got := s.code(" Alice ")
	if got.Get("state") != "st&te" || got.Get("iss") != s.signer.issuer {
		t.Errorf("answer = %v, want the state and iss", got)
	}
	a := s.exchangeCode(got.Get("code"))
	if a.Status != 200 || a.TokenType != "Bearer" || a.ExpiresIn != 900 || a.Scope != "cart:read order:place" || a.Refresh == "" {
		t.Errorf("token answer = %+v", a)
	}
	if cc := a.Header.Get("Cache-Control"); cc != "no-store" {
		t.Errorf("Cache-Control = %q, want no-store", cc)
	}
	claims := s.claims(a.AccessToken)
	iat, exp := claims["iat"].(float64), claims["exp"].(float64)
	if exp-iat != 900 || claims["jti"] == "" || claims["auth_time"].(float64) > iat {
		t.Errorf("times = %v", claims)
	}
	for _, name := range []string{"iat", "exp", "jti", "auth_time"} {
		delete(claims, name)
	}
	want := jwt.MapClaims{"iss": s.signer.issuer, "sub": "dev|alice", "aud": audience, "client_id": "app", "scope": "cart:read order:place"}
	if diff := cmp.Diff(want, claims); diff != "" {
		t.Errorf("claims differ (-want +got):\n%s", diff)
	}
	if log := s.log.String(); strings.Contains(log, a.AccessToken) || strings.Contains(log, a.Refresh) {
		t.Error("a token is in the log")
	}
}

func TestScopeAndResourceHaveDefaults(t *testing.T) {
	s := start(t)
	code := s.code("alice", "scope", "", "resource", "").Get("code")
	a := s.exchangeCode(code, "resource", "", "redirect_uri", "")
	if a.Scope != defaultScope {
		t.Errorf("scope = %q, want %q", a.Scope, defaultScope)
	}
	s.claims(a.AccessToken) // checks the audience
}

func TestDenyIsTheClientsToKnow(t *testing.T) {
	s := start(t)
	resp, _ := s.browser(s.request(), "alice", "deny")
	want := callback + "?" + url.Values{"error": {"access_denied"}, "iss": {s.signer.issuer}, "state": {"st&te"}}.Encode()
	if got := resp.Header.Get("Location"); got != want {
		t.Errorf("Location = %q, want %q", got, want)
	}
}

func TestRedirectKeepsItsOwnQuery(t *testing.T) {
	s := start(t)
	resp, _ := s.browser(s.request("client_id", "web", "redirect_uri", "https://app.example/cb?a=b"), "alice", "approve")
	if got := resp.Header.Get("Location"); !strings.HasPrefix(got, "https://app.example/cb?a=b&code=") {
		t.Errorf("Location = %q", got)
	}
}

func TestRefreshRotatesAndMayNarrow(t *testing.T) {
	s := start(t)
	first := s.exchangeCode(s.code("alice").Get("code"))
	second := s.useRefresh(first.Refresh, "scope", "cart:read")
	if second.Status != 200 || second.Refresh == first.Refresh || second.Scope != "cart:read" {
		t.Fatalf("refresh = %+v", second)
	}
	if a := s.useRefresh(second.Refresh, "scope", "cart:write"); a.Error != "invalid_scope" {
		t.Errorf("refresh for more than was granted = %+v, want invalid_scope", a)
	}
	third := s.useRefresh(second.Refresh)
	if third.Scope != "cart:read order:place" {
		t.Errorf("scope after narrowing once = %q, want the granted one", third.Scope)
	}
	was, is := s.claims(first.AccessToken), s.claims(third.AccessToken)
	if was["auth_time"] != is["auth_time"] || was["sub"] != is["sub"] || was["jti"] == is["jti"] {
		t.Errorf("claims after refresh = %v, before %v", is, was)
	}
}

func TestProgramAuthenticatesEitherWay(t *testing.T) {
	s := start(t)
	basic := func(id, secret string) []string {
		r := &http.Request{Header: http.Header{}}
		r.SetBasicAuth(url.QueryEscape(id), url.QueryEscape(secret))
		return []string{"Authorization", r.Header.Get("Authorization")}
	}
	form := func(extra ...string) url.Values {
		return changed(url.Values{"grant_type": {"client_credentials"}, "scope": {"cart order:place"}}, extra)
	}
	tests := []struct {
		name    string
		form    url.Values
		headers []string
		status  int
		err     string
	}{
		{"post", form("client_id", "robot", "client_secret", secret), nil, 200, ""},
		{"basic", form(), basic("robot", secret), 200, ""},
		{"basic with an id that is escaped", form(), basic("r+b%t", secret), 200, ""},
		{"basic and the same id in the form", form("client_id", "robot"), basic("robot", secret), 200, ""},
		{"wrong secret by post", form("client_id", "robot", "client_secret", secret+"x"), nil, 401, "invalid_client"},
		{"wrong secret by basic", form(), basic("robot", "x"), 401, "invalid_client"},
		{"no secret", form("client_id", "robot"), nil, 401, "invalid_client"},
		{"unknown", form("client_id", "nobody", "client_secret", secret), nil, 401, "invalid_client"},
		{"no client at all", form(), nil, 401, "invalid_client"},
		{"both ways", form("client_secret", secret), basic("robot", secret), 400, "invalid_request"},
		{"two ids", form("client_id", "app"), basic("robot", secret), 400, "invalid_request"},
		{"bearer", form("client_id", "app"), []string{"Authorization", "Bearer x"}, 401, "invalid_client"},
		{"public client", form("client_id", "app"), nil, 400, "unauthorized_client"},
		{"public client with a secret", form("client_id", "app", "client_secret", "x"), nil, 401, "invalid_client"},
		{"unknown scope", form("client_id", "robot", "client_secret", secret, "scope", "cart admin"), nil, 400, "invalid_scope"},
		{"foreign resource", form("client_id", "robot", "client_secret", secret, "resource", audience+"2"), nil, 400, "invalid_target"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			a := s.post(test.form, test.headers...)
			if a.Status != test.status || a.Error != test.err || a.Refresh != "" {
				t.Fatalf("answer = %+v, want %d %s", a, test.status, test.err)
			}
			if challenge := a.Header.Get("WWW-Authenticate"); (challenge != "") != (a.Status == 401) {
				t.Errorf("WWW-Authenticate = %q with %d", challenge, a.Status)
			}
			if a.Status != 200 {
				return
			}
			claims := s.claims(a.AccessToken)
			if claims["sub"] != claims["client_id"] || claims["sub"] == "" || claims["auth_time"] != nil {
				t.Errorf("claims = %v, want sub = client_id and no auth_time", claims)
			}
		})
	}
}

func TestScopesHaveWords(t *testing.T) {
	for _, name := range scopeNames() {
		if words := scopeWords([]string{name}); len(words) != 1 || words[0] == "" {
			t.Errorf("scopeWords(%s) = %q", name, words)
		}
	}
	if scopes, err := parseScope(" cart  cart:read cart"); err != nil || !slices.Equal(scopes, []string{"cart", "cart:read"}) {
		t.Errorf("parseScope = %q, %v, want each scope once", scopes, err)
	}
}
