package auth_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
)

// inBubble runs a test on a fake clock with a verifier that has been started
// and, unless the issuer is down, has its keys. The issuer is reached without sockets.
func inBubble(t *testing.T, prepare func(*authtest.Issuer), test func(*testing.T, *authtest.Issuer, *auth.Verifier)) {
	t.Helper()
	issuer := authtest.NewIssuer(t)
	if prepare != nil {
		prepare(issuer)
	}
	synctest.Test(t, func(t *testing.T) {
		cfg := auth.Config{
			Issuers:  []auth.Issuer{{URL: issuer.URL}},
			Resource: authtest.Audience, HTTPClient: issuer.Client(),
		}
		run(t, cfg, func(v *auth.Verifier) { test(t, issuer, v) })
	})
}

// run starts a verifier, lets it fetch what it can without waiting, and stops
// it after the test. It is for bubbles.
func run(t *testing.T, cfg auth.Config, test func(*auth.Verifier)) {
	t.Helper()
	verifier, err := auth.NewVerifier(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- verifier.Run(ctx) }()
	synctest.Wait()
	test(verifier)
	cancel()
	if err := <-done; err != nil {
		t.Errorf("Run = %v, want nil when its context ends", err)
	}
}

func reason(v *auth.Verifier, token string) string {
	_, err := v.Verify(context.Background(), token)
	return auth.Reason(err)
}

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

// TestBadAnswersKeepTheLastGoodKeys has an issuer answer every wrong way for
// an hour: what could be verified before can be verified after.
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
	answers := map[string]http.HandlerFunc{
		"connection breaks":   func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) },
		"status 500":          text(500, `{"keys":[]}`),
		"a page":              text(200, "<!DOCTYPE html><p>Be right back"),
		"keys are a page":     onlyKeys(text(200, "<!DOCTYPE html>")),
		"no keys":             onlyKeys(text(200, `{"keys":[]}`)),
		"keys null":           onlyKeys(text(200, `{"keys":null}`)),
		"not a key set":       onlyKeys(text(200, `{}`)),
		"a member twice":      onlyKeys(text(200, `{"keys":[],"keys":[]}`)),
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

func TestNewKeyWorksAtItsFirstUse(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, issuer *authtest.Issuer, v *auth.Verifier) {
		time.Sleep(time.Minute)
		old := issuer.Token()
		issuer.Rotate()
		before := issuer.Fetches()
		start, results := time.Now(), make(chan string, 40)
		for range cap(results) {
			go func() { results <- reason(v, issuer.Token()) }()
		}
		for range cap(results) {
			if got := <-results; got != "ok" {
				t.Errorf("Verify with the new key = %q, want ok", got)
			}
		}
		if waited := time.Since(start); waited > 0 { // the fake issuer takes no time
			t.Errorf("waited %v for the new key, want no wait", waited)
		}
		if n := issuer.Fetches() - before; n > 2 {
			t.Errorf("requests to the issuer = %d, want one fetch of two", n)
		}
		if got := reason(v, old); got != "kid" {
			t.Errorf("Verify with the withdrawn key = %q, want kid", got)
		}
	})
}

func TestWithdrawnKeyIsForgotten(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, issuer *authtest.Issuer, v *auth.Verifier) {
		stolen := issuer.Key()
		issuer.Rotate()
		time.Sleep(5*time.Minute + time.Second)
		if got := reason(v, issuer.Token(authtest.SignedBy(stolen))); got != "kid" {
			t.Errorf("Verify with a key withdrawn five minutes ago = %q, want kid", got)
		}
	})
}

// TestFloodOfUnknownKeys has strangers send a made-up key name every 10 ms for
// a minute: the issuer is left in peace, no answer is late, and a rotation is
// noticed all the same.
func TestFloodOfUnknownKeys(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, issuer *authtest.Issuer, v *auth.Verifier) {
		ctx, stop := context.WithCancel(t.Context())
		var flood sync.WaitGroup
		flood.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				token := issuer.Token(authtest.Header("kid", fmt.Sprint("made-up-", n)))
				// Half of them hang up at once: a fetch must not depend on who asked for it.
				ctx, hangUp := context.WithCancel(ctx)
				if n%2 == 0 {
					hangUp()
				}
				start := time.Now()
				if _, err := v.Verify(ctx, token); err == nil {
					t.Error("a made-up key was accepted")
				}
				if waited := time.Since(start); waited > 2*time.Second {
					t.Errorf("a made-up key had to wait %v, want at most 2s", waited)
				}
				hangUp()
				time.Sleep(10 * time.Millisecond)
			}
		})
		before := issuer.Fetches()
		time.Sleep(time.Minute)
		if n := issuer.Fetches() - before; n > 2*13 {
			t.Errorf("requests to the issuer in a minute = %d, want at most 13 fetches of two", n)
		}
		issuer.Rotate()
		time.Sleep(5*time.Second + 10*time.Millisecond)
		if got := reason(v, issuer.Token()); got != "ok" {
			t.Errorf("Verify with the new key 5 s after the rotation = %q, want ok", got)
		}
		stop()
		flood.Wait()
	})
}

// TestUnknownKeyDuringOutageIsNoVerdict: the name may be a new key's, which
// only the issuer could tell. Sending people to sign in again would be wrong.
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
	})
}

func TestKnownKeysNeedNoNetwork(t *testing.T) {
	inBubble(t, nil, func(t *testing.T, issuer *authtest.Issuer, v *auth.Verifier) {
		before := issuer.Fetches()
		for range 100 {
			if got := reason(v, issuer.Token()); got != "ok" {
				t.Fatalf("Verify = %q, want ok", got)
			}
		}
		if n := issuer.Fetches() - before; n != 0 {
			t.Errorf("requests to the issuer for 100 tokens = %d, want 0", n)
		}
	})
}

// byHost sends each request to the issuer of its host.
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

// TestLogSaysWhichIssuerAndNothingOfTokens reads what an operator would.
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
