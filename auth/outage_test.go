package auth_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
)

func TestIssuerDownAtStartIsWaitedFor(t *testing.T) {
	inBubble(t, (*authtest.Issuer).Down, func(t *testing.T, issuer *authtest.Issuer, v *auth.Verifier) {
		if _, err := v.Verify(t.Context(), issuer.Token()); !errors.Is(err, auth.ErrUnavailable) || errors.Is(err, auth.ErrInvalidToken) {
			t.Errorf("Verify before the first keys = %v, want ErrUnavailable", err)
		}
		if err := v.Ready(); !errors.Is(err, auth.ErrUnavailable) {
			t.Errorf("Ready before the first keys = %v, want ErrUnavailable", err)
		}
		if got := reason(v, issuer.Token(authtest.Claim("iss", "https://other.example"))); got != "issuer" {
			t.Errorf("Verify of a stranger's token = %q, want issuer: that is known without keys", got)
		}
		time.Sleep(time.Hour)
		issuer.Up()
		time.Sleep(2 * time.Minute)
		if got := reason(v, issuer.Token()); got != "ok" {
			t.Errorf("Verify two minutes after the issuer is back = %q, want ok", got)
		}
		if err := v.Ready(); err != nil {
			t.Errorf("Ready = %v, want nil", err)
		}
	})
}

func TestBadAnswersKeepTheLastGoodKeys(t *testing.T) {
	text := func(status int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(body))
		}
	}
	onlyKeys := func(h http.HandlerFunc) http.HandlerFunc { // metadata stays good
		return func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == authtest.JWKSPath {
				h(w, r)
				return
			}
			_, _ = fmt.Fprintf(w, `{"issuer":"http://%s","jwks_uri":"http://%[1]s%s"}`, r.Host, authtest.JWKSPath)
		}
	}
	set, err := json.Marshal(authtest.JWKS(authtest.NewKey("key-1", "ES256")))
	if err != nil {
		t.Fatal(err)
	}
	strangers := string(set) // good keys, were it not for how they come
	answers := map[string]http.HandlerFunc{
		"connection breaks":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"status 500":          onlyKeys(text(500, strangers)),
		"status 204":          text(204, ""),
		"a page":              text(200, "<!DOCTYPE html><p>Be right back"),
		"keys are a page":     onlyKeys(text(200, "<!DOCTYPE html>")),
		"no keys":             onlyKeys(text(200, `{"keys":[]}`)),
		"keys null":           onlyKeys(text(200, `{"keys":null}`)),
		"not a key set":       onlyKeys(text(200, `{}`)),
		"a member twice":      onlyKeys(text(200, `{"keys":[],"keys":[]}`)),
		"only keys unnamed":   onlyKeys(text(200, strings.ReplaceAll(strangers, `"kid"`, `"id"`))),
		"only a shared key":   onlyKeys(text(200, `{"keys":[{"kty":"oct","kid":"key-1","k":"c2VjcmV0"}]}`)),
		"five megabytes":      onlyKeys(text(200, `{"keys":[],"x":"`+strings.Repeat("x", 5<<20)+`"}`)),
		"keys behind a login": onlyKeys(http.RedirectHandler("/login", http.StatusFound).ServeHTTP),
		"hangs":               func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() },
		"keys hang":           onlyKeys(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }),
		"metadata of another": text(200, `{"issuer":"https://other.example","jwks_uri":"https://other.example/jwks"}`),
	}
	for name, answer := range answers {
		t.Run(name, func(t *testing.T) {
			inBubble(t, nil, func(t *testing.T, issuer *authtest.Issuer, v *auth.Verifier) {
				before := issuer.Fetches()
				issuer.Answer(answer)
				time.Sleep(time.Hour)
				if got := reason(v, issuer.Token()); got != "ok" {
					t.Errorf("Verify during the outage = %q, want ok", got)
				}
				if status := v.Status()[0]; status.Err == nil || status.Keys != 1 {
					t.Errorf("Status = %+v, want an error and the one key", status)
				}
				if strings.Contains(fmt.Sprint(v.Status()[0].Err), "127.0.0.1") {
					t.Errorf("error %q names an address", v.Status()[0].Err)
				}
				if n := issuer.Fetches() - before; n < 30 || n > 500 {
					t.Errorf("requests in an hour of outage = %d, want patient retries", n)
				}
				issuer.Up()
				issuer.Rotate()
				time.Sleep(2 * time.Minute)
				if got := reason(v, issuer.Token()); got != "ok" {
					t.Errorf("Verify with a new key after the outage = %q, want ok", got)
				}
			})
		})
	}
}

func TestOutageEndsTrustAfterADay(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, issuer *authtest.Issuer, v *auth.Verifier) {
		issuer.Down()
		time.Sleep(23 * time.Hour)
		if got := reason(v, issuer.Token()); got != "ok" {
			t.Errorf("Verify after 23 h of outage = %q, want ok", got)
		}
		time.Sleep(2 * time.Hour)
		if got := reason(v, issuer.Token()); got != "unavailable" {
			t.Errorf("Verify after 25 h of outage = %q, want unavailable", got)
		}
		if v.Ready() == nil {
			t.Error("Ready after 25 h of outage = nil, want an error")
		}
	})
}

func TestUnknownKeyDuringOutageIsNoVerdict(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, issuer *authtest.Issuer, v *auth.Verifier) {
		time.Sleep(time.Minute)
		issuer.Rotate()
		issuer.Answer(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		start := time.Now()
		results := make(chan string, 200)
		for range cap(results) {
			go func() { results <- reason(v, issuer.Token()) }()
		}
		synctest.Wait()
		if n := len(results); n != cap(results)-64 {
			t.Errorf("answered at once = %d, want all but the 64 that may wait", n)
		}
		for range cap(results) {
			if got := <-results; got != "unavailable" {
				t.Errorf("Verify with an unknown key while the issuer hangs = %q, want unavailable", got)
			}
		}
		if waited := time.Since(start); waited != 2*time.Second {
			t.Errorf("waited %v, want 2s", waited)
		}
		time.Sleep(time.Minute)
		if got := reason(v, issuer.Token()); got != "unavailable" {
			t.Errorf("Verify with an unknown key after a failed fetch = %q, want unavailable", got)
		}
		issuer.Up()
		time.Sleep(2 * time.Minute)
		issuer.Rotate()
		if got := reason(v, issuer.Token()); got != "ok" {
			t.Errorf("Verify with a new key after the outage = %q, want ok: nobody waits any more", got)
		}
	})
}

type byHost []*authtest.Issuer

func (b byHost) RoundTrip(r *http.Request) (*http.Response, error) {
	for _, issuer := range b {
		if issuer.URL == "http://"+r.URL.Host {
			return issuer.Client().Transport.RoundTrip(r)
		}
	}
	return nil, errors.New("no such host")
}

func TestOutageOfOneIssuerSparesTheOther(t *testing.T) {
	up, down := authtest.NewIssuer(t), authtest.NewIssuer(t)
	down.Down()
	synctest.Test(t, func(t *testing.T) {
		cfg := auth.Config{
			Issuers:  []auth.Issuer{{URL: up.URL}, {URL: down.URL}},
			Resource: authtest.Audience, HTTPClient: &http.Client{Transport: byHost{up, down}},
		}
		run(t, cfg, func(v *auth.Verifier) {
			if got := reason(v, up.Token()); got != "ok" {
				t.Errorf("Verify for the issuer that is up = %q, want ok", got)
			}
			if got := reason(v, down.Token()); got != "unavailable" {
				t.Errorf("Verify for the issuer that is down = %q, want unavailable", got)
			}
			if err := v.Ready(); err != nil {
				t.Errorf("Ready = %v, want nil: one issuer's users can be served", err)
			}
		})
	})
}

func TestLogSaysWhichIssuerAndNothingOfTokens(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	var text strings.Builder
	synctest.Test(t, func(t *testing.T) {
		cfg := auth.Config{
			Issuers:  []auth.Issuer{{URL: issuer.URL}},
			Resource: authtest.Audience, HTTPClient: issuer.Client(),
			Log: slog.New(slog.NewTextHandler(&text, &slog.HandlerOptions{Level: slog.LevelDebug})),
		}
		run(t, cfg, func(v *auth.Verifier) {
			time.Sleep(time.Minute)
			issuer.Down()
			reason(v, issuer.Token(authtest.Header("kid", "marker-kid"), authtest.Subject("marker-sub")))
			time.Sleep(time.Minute)
			issuer.Up()
			time.Sleep(2 * time.Minute)
		})
	})
	got := text.String()
	for _, want := range []string{issuer.URL, "not fetched", "fetched again"} {
		if !strings.Contains(got, want) {
			t.Errorf("log lacks %q:\n%s", want, got)
		}
	}
	for _, secret := range []string{"marker", "eyJ"} {
		if strings.Contains(got, secret) {
			t.Errorf("log contains %q:\n%s", secret, got)
		}
	}
}
