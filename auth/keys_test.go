package auth_test

import (
	"context"
	"fmt"
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

// TestBadAnswersKeepTheLastGoodKeys has an issuer answer every wrong way for
// an hour: what could be verified before can be verified after.
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
// TestLogSaysWhichIssuerAndNothingOfTokens reads what an operator would.
