package authtest

import (
	"context"
	"testing"
	"time"

	"example.com/mcp-cart/auth"
)

// Verifier verifies tokens for [Audience] of these issuers. It runs until the
// test ends, and has their keys when it is returned.
func Verifier(t testing.TB, issuers ...*Issuer) *auth.Verifier {
	t.Helper()
	cfg := auth.Config{Resource: Audience}
	for _, issuer := range issuers {
		cfg.Issuers = append(cfg.Issuers, auth.Issuer{URL: issuer.URL})
	}
	return Start(t, cfg)
}

// Start is [Verifier] for a configuration of one's own.
func Start(t testing.TB, cfg auth.Config) *auth.Verifier {
	t.Helper()
	verifier, err := auth.NewVerifier(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- verifier.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run after its context ended = %v, want nil", err)
		}
	})
	deadline := time.Now().Add(20 * time.Second)
	for !allFetched(verifier) {
		if time.Now().After(deadline) {
			t.Fatalf("keys not fetched: %+v", verifier.Status())
		}
		time.Sleep(time.Millisecond)
	}
	return verifier
}

func allFetched(v *auth.Verifier) bool {
	for _, status := range v.Status() {
		if status.Keys == 0 {
			return false
		}
	}
	return true
}
