//go:build e2e

package e2e_test

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
)

// startAuth starts an authorization server that gives tokens for the resource,
// and returns its issuer URL.
type startAuth func(t testing.TB, resource string) (issuer string)

// Clients that both authorization servers know beforehand. A program has two
// registrations, since oidc-provider wants each client to authenticate in one
// way only.
const (
	programBasic  = "program-basic"
	programPost   = "program-post"
	programSecret = "a-secret-of-its-own"
	application   = "application" // public
)

// applicationCallback is where the public client is answered. The port is open,
// as RFC 8252 has it for programs on one's own machine.
const applicationCallback = "http://127.0.0.1/callback"

func startDevauth(t testing.TB, resource string) string {
	t.Helper()
	addr := freeAddress(t)
	issuer := "http://" + addr
	cmd := exec.Command(filepath.Join(built, "devauth"), "serve",
		"-addr", addr, "-issuer", issuer, "-audience", resource, "-key", filepath.Join(t.TempDir(), "key.pem"),
		"-client", programBasic+":"+programSecret, "-client", programPost+":"+programSecret,
		"-public-client", application+"="+applicationCallback)
	start(t, "devauth", cmd).answers(t, issuer+"/.well-known/oauth-authorization-server")
	return issuer
}

func startOIDCProvider(t testing.TB, resource string) string {
	t.Helper()
	issuer := "http://" + freeAddress(t)
	settings, err := json.Marshal(map[string]any{
		"issuer": issuer, "resource": resource,
		"scopes": []string{"catalog:read", "cart", "cart:read", "cart:write", "order:read", "order:place"},
		"clients": []map[string]any{
			programClient(programBasic, "client_secret_basic"),
			programClient(programPost, "client_secret_post"),
			{
				"client_id": application, "application_type": "native", "token_endpoint_auth_method": "none",
				"redirect_uris": []string{applicationCallback},
				"grant_types":   []string{"authorization_code", "refresh_token"}, "response_types": []string{"code"},
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	start(t, "oidc-provider", node("oidc-provider.mjs", string(settings))).answers(t, issuer+"/.well-known/oauth-authorization-server")
	return issuer
}

func programClient(id, method string) map[string]any {
	return map[string]any{
		"client_id": id, "client_secret": programSecret, "token_endpoint_auth_method": method,
		"grant_types": []string{"client_credentials"}, "redirect_uris": []string{}, "response_types": []string{},
	}
}
