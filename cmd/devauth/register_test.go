package main

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

func (s *running) registerJSON(body string) (int, map[string]any, http.Header) {
	s.t.Helper()
	resp, text := s.do("POST", s.signer.issuer+"/register", body, "Content-Type", "application/json")
	var got map[string]any
	if err := json.Unmarshal([]byte(text), &got); err != nil {
		s.t.Fatalf("registration answer %q: %v", text, err)
	}
	return resp.StatusCode, got, resp.Header
}

func (s *running) registered(body string) string {
	s.t.Helper()
	status, got, _ := s.registerJSON(body)
	id, _ := got["client_id"].(string)
	if status != http.StatusCreated || id == "" {
		s.t.Fatalf("register = %d %v", status, got)
	}
	return id
}

// The body is what a real client sends.
const inspector = `{"client_name":"MCP Inspector","redirect_uris":["http://127.0.0.1:6276/oauth/callback"],
	"token_endpoint_auth_method":"none","grant_types":["authorization_code","refresh_token"],"response_types":["code"],
	"application_type":"native","scope":"catalog:read","client_uri":"https://github.com/modelcontextprotocol/inspector",
	"jwks":{"keys":[]},"client_secret":"mine"}`

func TestRegistrationEchoesAndMakesAPublicClient(t *testing.T) {
	s := start(t)
	status, got, header := s.registerJSON(inspector)
	if status != 201 || header.Get("Cache-Control") != "no-store" {
		t.Errorf("register = %d, Cache-Control %q, want 201 and no-store", status, header.Get("Cache-Control"))
	}
	for member, want := range map[string]any{
		"client_name": "MCP Inspector", "token_endpoint_auth_method": "none", "application_type": "native", "scope": "catalog:read",
		"client_uri": "https://github.com/modelcontextprotocol/inspector",
	} {
		if got[member] != want {
			t.Errorf("%s = %v, want %v", member, got[member], want)
		}
	}
	for _, member := range []string{"jwks", "client_secret", "logo_uri"} {
		if value, ok := got[member]; ok {
			t.Errorf("answer has %s = %v", member, value)
		}
	}
}

func TestRegisteredScopeIsNoLimit(t *testing.T) {
	s := start(t)
	id := s.registered(inspector)
	redirect := "http://127.0.0.1:6276/oauth/callback"
	code := s.code("bob", "client_id", id, "redirect_uri", redirect, "scope", "cart order:place").Get("code")
	a := s.exchangeCode(code, "client_id", id, "redirect_uri", redirect)
	if a.Scope != "cart order:place" || s.claims(a.AccessToken)["client_id"] != id {
		t.Errorf("token answer = %+v", a)
	}
	if a := s.useRefresh(a.Refresh, "client_id", id); a.Status != 200 {
		t.Errorf("refresh = %+v", a)
	}
}

func TestRegistrationOutlivesARestartAndCannotBeForged(t *testing.T) {
	s := start(t)
	id := s.registered(inspector)
	again, err := newRegistrar(s.signer.key)
	if err != nil {
		t.Fatal(err)
	}
	if c := again.lookup(id); c == nil || c.name != "MCP Inspector" || !c.allows("http://127.0.0.1:1/oauth/callback") {
		t.Errorf("lookup after a restart = %+v", c)
	}
	if second := s.registered(inspector); second == id {
		t.Error("two registrations got one id")
	}
	other := start(t)
	for _, forged := range []string{other.registered(inspector), id + "A", id[:len(id)-1], strings.Replace(id, ".", "A.", 1), "dcr_", "dcr_."} {
		if c := again.lookup(forged); c != nil {
			t.Errorf("lookup(%s) = %+v, want none", forged, c)
		}
	}
	// The last character carries unused bits: its neighbours decode alike.
	for _, last := range "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_" {
		if spelt := id[:len(id)-1] + string(last); spelt != id && again.lookup(spelt) != nil {
			t.Errorf("lookup accepts %s too: an id has one spelling", spelt)
		}
	}
}

func TestRegistrationIsRefused(t *testing.T) {
	s := start(t)
	many := `"` + strings.Repeat(`http://127.0.0.1/cb","`, 10) + `http://127.0.0.1/cb"`
	long := `"https://a.example/` + strings.Repeat("x", 490) + `"`
	for name, test := range map[string]struct{ body, want string }{
		"not JSON":         {`redirect_uris=x`, "invalid_client_metadata"},
		"no object":        {`[]`, "invalid_client_metadata"},
		"name no string":   {`{"client_name":1,"redirect_uris":["http://127.0.0.1/cb"]}`, "invalid_client_metadata"},
		"too long":         {`{"client_name":"` + strings.Repeat("x", 17<<10) + `"}`, "invalid_client_metadata"},
		"no redirect":      {`{}`, "invalid_redirect_uri"},
		"empty list":       {`{"redirect_uris":[]}`, "invalid_redirect_uri"},
		"too many":         {`{"redirect_uris":[` + many + `]}`, "invalid_redirect_uri"},
		"too long in sum":  {`{"redirect_uris":[` + long + "," + long + "," + long + `]}`, "invalid_redirect_uri"},
		"http elsewhere":   {`{"redirect_uris":["http://app.example/cb"]}`, "invalid_redirect_uri"},
		"one of two bad":   {`{"redirect_uris":["https://app.example/cb","http://app.example/cb"]}`, "invalid_redirect_uri"},
		"script":           {`{"redirect_uris":["javascript:alert(1)"]}`, "invalid_redirect_uri"},
		"private scheme":   {`{"redirect_uris":["com.example.app:/cb"]}`, "invalid_redirect_uri"},
		"fragment":         {`{"redirect_uris":["https://app.example/cb#"]}`, "invalid_redirect_uri"},
		"user":             {`{"redirect_uris":["https://u@app.example/cb"]}`, "invalid_redirect_uri"},
		"policy injection": {`{"redirect_uris":["https://a;script-src *;.example/cb"]}`, "invalid_redirect_uri"},
		"quoted host":      {`{"redirect_uris":["https://a'b,c.example/cb"]}`, "invalid_redirect_uri"},
		"loopback look":    {`{"redirect_uris":["http://127.0.0.1.evil.example/cb"]}`, "invalid_redirect_uri"},
	} {
		t.Run(name, func(t *testing.T) {
			if status, got, _ := s.registerJSON(test.body); status != 400 || got["error"] != test.want || got["client_id"] != nil {
				t.Errorf("register = %d %v, want %s", status, got, test.want)
			}
		})
	}
	resp, _ := s.do("POST", s.signer.issuer+"/register", inspector, "Content-Type", "text/plain")
	if resp.StatusCode != 400 {
		t.Errorf("register as text/plain = %s, want 400: a form of another site can send that", resp.Status)
	}
}

func TestNameOfAStrangerIsShownSafely(t *testing.T) {
	s := start(t)
	id := s.registered(`{"client_name":"<i>Bank\u202e\u0000 ` + strings.Repeat("x", 200) + `","redirect_uris":["http://127.0.0.1/cb"]}`)
	_, text := s.do("GET", s.request("client_id", id, "redirect_uri", "http://127.0.0.1/cb"), "")
	if !strings.Contains(text, "&lt;i&gt;Bank x") || strings.Contains(text, "\u202e") || strings.Contains(text, strings.Repeat("x", 100)) {
		t.Errorf("page shows the name unsafely: %s", text)
	}
	if !strings.Contains(text, "nobody has checked it") {
		t.Error("page does not say that the name is the client's own claim")
	}
}
