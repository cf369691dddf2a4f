package main

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

func TestCodeWorksOnceAndReuseRevokes(t *testing.T) {
	s := start(t)
	code := s.code("alice").Get("code")
	first := s.exchangeCode(code)
	if again := s.exchangeCode(code); again.Status != 400 || again.Error != "invalid_grant" {
		t.Errorf("second exchange = %+v, want invalid_grant", again)
	}
	if a := s.useRefresh(first.Refresh); a.Error != "invalid_grant" {
		t.Errorf("refresh after the code was used twice = %+v, want invalid_grant", a)
	}
}

func TestCodeServesOneOfManyAtOnce(t *testing.T) {
	g := newGrants()
	code, err := g.begin(grant{})
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	won := make(chan string, 20)
	for range cap(won) {
		wg.Go(func() {
			if _, refresh, err := g.redeem(code, func(*grant) error { return nil }); err == nil {
				won <- refresh
			}
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Errorf("%d of 20 redeemed one code, want 1", len(won))
	}
}

func TestRefreshReuseRevokesTheFamily(t *testing.T) {
	s := start(t)
	first := s.exchangeCode(s.code("alice").Get("code"))
	second := s.useRefresh(first.Refresh)
	if a := s.useRefresh(first.Refresh); a.Error != "invalid_grant" {
		t.Errorf("first token again = %+v, want invalid_grant", a)
	}
	if a := s.useRefresh(second.Refresh); a.Error != "invalid_grant" {
		t.Errorf("second token after reuse of the first = %+v, want invalid_grant", a)
	}
	other := s.exchangeCode(s.code("alice").Get("code"))
	if a := s.useRefresh(other.Refresh); a.Status != 200 {
		t.Errorf("another sign-in's refresh = %+v, want 200", a)
	}
}

func TestExchangeIsRefused(t *testing.T) {
	s := start(t)
	tests := []struct {
		name    string
		changes []string
		want    string
	}{
		{"wrong verifier", []string{"code_verifier", strings.Repeat("x", 43)}, "invalid_grant"},
		{"no verifier", []string{"code_verifier", ""}, "invalid_grant"},
		{"the challenge as verifier", []string{"code_verifier", challengeOf(verifier)}, "invalid_grant"},
		{"another redirect", []string{"redirect_uri", callback + "2"}, "invalid_grant"},
		{"another client", []string{"client_id", "web"}, "invalid_grant"},
		{"foreign resource", []string{"resource", "http://127.0.0.1:8080/"}, "invalid_target"},
		{"unknown grant type", []string{"grant_type", "password"}, "unsupported_grant_type"},
		{"no grant type", []string{"grant_type", ""}, "unsupported_grant_type"},
		{"unknown code", []string{"code", "x.y"}, "invalid_grant"},
		{"no code", []string{"code", ""}, "invalid_grant"},
		{"as a refresh token", []string{"grant_type", "refresh_token"}, "invalid_grant"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			changes := test.changes
			code := s.code("alice").Get("code")
			if test.name == "as a refresh token" {
				changes = append(changes, "refresh_token", code)
			}
			if a := s.exchangeCode(code, changes...); a.Status != 400 || a.Error != test.want || a.AccessToken != "" {
				t.Errorf("exchange = %+v, want %s", a, test.want)
			}
		})
	}
	t.Run("refresh token as a code", func(t *testing.T) {
		first := s.exchangeCode(s.code("alice").Get("code"))
		if a := s.exchangeCode(first.Refresh); a.Error != "invalid_grant" {
			t.Errorf("exchange = %+v, want invalid_grant", a)
		}
	})
	t.Run("refresh token of another client", func(t *testing.T) {
		first := s.exchangeCode(s.code("alice").Get("code"))
		if a := s.useRefresh(first.Refresh, "client_id", "web"); a.Error != "invalid_grant" {
			t.Errorf("refresh = %+v, want invalid_grant", a)
		}
		if a := s.useRefresh(first.Refresh); a.Error != "invalid_grant" {
			t.Errorf("the owner's refresh after a theft = %+v, want invalid_grant", a)
		}
	})
	t.Run("verifier too short to be secret", func(t *testing.T) {
		code := s.code("alice", "code_challenge", challengeOf("abc")).Get("code")
		if a := s.exchangeCode(code, "code_verifier", "abc"); a.Error != "invalid_grant" {
			t.Errorf("exchange = %+v, want invalid_grant", a)
		}
	})
	t.Run("wrong verifier spends the code", func(t *testing.T) {
		code := s.code("alice").Get("code")
		s.exchangeCode(code, "code_verifier", strings.Repeat("x", 43))
		if a := s.exchangeCode(code); a.Error != "invalid_grant" {
			t.Errorf("exchange = %+v, want invalid_grant", a)
		}
	})
}

func TestFormIsReadOneWayOnly(t *testing.T) {
	s := start(t)
	good := url.Values{"grant_type": {"client_credentials"}, "client_id": {"robot"}, "client_secret": {secret}}
	token := s.signer.issuer + "/token"
	for name, send := range map[string][3]string{ // target, content type, body
		"parameters in the URL": {token + "?" + good.Encode(), "application/x-www-form-urlencoded", ""},
		"grant type in the URL": {token + "?grant_type=client_credentials", "application/x-www-form-urlencoded", "client_id=robot&client_secret=" + url.QueryEscape(secret)},
		"JSON":                  {token, "application/json", `{"grant_type":"client_credentials"}`},
		"a parameter twice":     {token, "application/x-www-form-urlencoded", good.Encode() + "&client_id=robot"},
		"too long":              {token, "application/x-www-form-urlencoded", good.Encode() + "&x=" + strings.Repeat("x", 17<<10)},
		"bad escape":            {token, "application/x-www-form-urlencoded", good.Encode() + "&x=%zz"},
	} {
		resp, text := s.do("POST", send[0], send[2], "Content-Type", send[1])
		if resp.StatusCode/100 != 4 || strings.Contains(text, "access_token") {
			t.Errorf("%s = %s %s, want a refusal", name, resp.Status, text)
		}
		if name == "JSON" && !strings.Contains(text, "want a form") {
			t.Errorf("JSON = %s, want to be told what is wrong", text)
		}
	}
}

func TestBadRequestGoesBackToTheClient(t *testing.T) {
	s := start(t)
	tests := []struct {
		name    string
		changes []string
		want    string
	}{
		{"no PKCE", []string{"code_challenge", "", "code_challenge_method", ""}, "invalid_request"},
		{"plain PKCE", []string{"code_challenge_method", "plain"}, "invalid_request"},
		{"PKCE without method, which means plain", []string{"code_challenge_method", ""}, "invalid_request"},
		{"short challenge", []string{"code_challenge", "short"}, "invalid_request"},
		{"foreign resource", []string{"resource", "https://other.example/mcp"}, "invalid_target"},
		{"unknown scope", []string{"scope", "cart:read admin"}, "invalid_scope"},
		{"offline_access", []string{"scope", "cart:read offline_access"}, "invalid_scope"},
		{"implicit", []string{"response_type", "token"}, "unsupported_response_type"},
		{"fragment", []string{"response_mode", "fragment"}, "invalid_request"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			resp, text := s.do("GET", s.request(test.changes...), "")
			location, err := resp.Location()
			if err != nil {
				t.Fatalf("answer = %s %s, want a redirect", resp.Status, text)
			}
			q := location.Query()
			if q.Get("error") != test.want || q.Get("iss") != s.signer.issuer || q.Get("state") != "st&te" || location.Host != "127.0.0.1:7000" {
				t.Errorf("Location = %s, want error=%s with iss and state", location, test.want)
			}
		})
	}
	t.Run("second resource foreign", func(t *testing.T) {
		resp, _ := s.do("GET", s.request()+"&resource=https://other.example", "")
		if got := resp.Header.Get("Location"); !strings.Contains(got, "error=invalid_target") {
			t.Errorf("Location = %q, want invalid_target", got)
		}
	})
	t.Run("state twice", func(t *testing.T) {
		resp, _ := s.do("GET", s.request()+"&state=x", "")
		if got := resp.Header.Get("Location"); !strings.Contains(got, "error=invalid_request") {
			t.Errorf("Location = %q, want invalid_request", got)
		}
	})
}

func TestNobodyIsSentToAnAddressThatIsNotTheClients(t *testing.T) {
	s := start(t)
	for _, changes := range [][]string{
		{"client_id", "nobody"},
		{"client_id", ""},
		{"redirect_uri", ""},
		{"redirect_uri", "https://evil.example/"},
		{"redirect_uri", callback + "/more"},
		{"redirect_uri", callback + "?x=y"},
		{"redirect_uri", callback + "#x"},
		{"redirect_uri", "http://127.0.0.1:7001/callback#"},
		{"redirect_uri", "http://127.0.0.1:/callback"},
		{"redirect_uri", "https://127.0.0.1:7000/callback"},
		{"redirect_uri", "http://localhost:7000/callback"},
		{"redirect_uri", "http://127.0.0.1:7000@evil.example/callback"},
		{"redirect_uri", "http://evil.example\\@127.0.0.1:7000/callback"},
		{"client_id", "web", "redirect_uri", "https://app.example:8443/cb?a=b"},
		{"client_id", "web", "redirect_uri", "https://app.example/cb"},
		{"client_id", "robot", "redirect_uri", callback},
	} {
		resp, text := s.browser(s.request(changes...), "alice", "approve")
		if resp.StatusCode != http.StatusBadRequest || resp.Header.Get("Location") != "" || strings.Contains(text, "href=\"http") {
			t.Errorf("%q = %s to %q, want 400 and no way out", changes, resp.Status, resp.Header.Get("Location"))
		}
	}
	if resp, _ := s.do("GET", s.request()+"&redirect_uri=https://evil.example/", ""); resp.StatusCode != http.StatusBadRequest {
		t.Errorf("redirect_uri twice = %s, want 400", resp.Status)
	}
}

func TestLoopbackRedirectTakesAnyPort(t *testing.T) {
	s := start(t)
	other := "http://127.0.0.1:51999/callback"
	resp, _ := s.browser(s.request("redirect_uri", other), "alice", "approve")
	location, err := resp.Location()
	if err != nil || !strings.HasPrefix(location.String(), other+"?") {
		t.Fatalf("Location = %v, %v, want %s", location, err, other)
	}
	code := location.Query().Get("code")
	if a := s.exchangeCode(code); a.Error != "invalid_grant" {
		t.Errorf("exchange with the registered port = %+v, want invalid_grant: the code is bound to the one used", a)
	}
}

func TestGrantsExpireAndAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g, yes := newGrants(), func(*grant) error { return nil }
		late, _ := g.begin(grant{})
		code, _ := g.begin(grant{})
		_, refresh, err := g.redeem(code, yes)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(codeLife)
		if _, _, err := g.redeem(late, yes); err == nil {
			t.Error("redeem of a code at its expiry = nil, want an error")
		}
		for range maxGrants - 1 {
			if _, err := g.begin(grant{}); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := g.begin(grant{}); !errors.Is(err, errFull) {
			t.Errorf("begin when full = %v, want errFull", err)
		}
		time.Sleep(codeLife)
		if _, err := g.begin(grant{}); err != nil || len(g.open) != 2 {
			t.Errorf("begin when the codes expired = %v with %d open, want 2", err, len(g.open))
		}
		time.Sleep(refreshLife)
		if _, _, err := g.redeem(refresh, yes); err == nil || len(g.open) != 1 {
			t.Errorf("redeem of a refresh token after its life = %v, %d open", err, len(g.open))
		}
	})
}
