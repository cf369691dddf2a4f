//go:build e2e

package e2e_test

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// inBrowser is a client whose person signs in with Chromium. The browser ends
// up at a page of the client's, as it does on a person's machine.
func inBrowser(t testing.TB, name string, settings args, registration auth.AuthorizationCodeHandlerConfig) auth.OAuthHandler {
	t.Helper()
	program, err := chromium()
	if err != nil {
		t.Fatal(err)
	}
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Write([]byte("Signed in. You can close this page."))
	}))
	t.Cleanup(page.Close)
	registration.RedirectURL = page.URL + "/callback"
	if r := registration.DynamicClientRegistrationConfig; r != nil {
		r.Metadata.RedirectURIs = []string{registration.RedirectURL}
	}
	registration.AuthorizationCodeFetcher = func(_ context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		given := args{"chromium": program, "url": a.URL, "name": name, "picture": picture(t)}
		for setting, value := range settings {
			given[setting] = value
		}
		var end struct{ At string }
		drive(t, "sign-in.mjs", given).hear(t, &end)
		at, err := url.Parse(end.At)
		if err != nil {
			return nil, err
		}
		q := at.Query()
		if q.Get("code") == "" {
			return nil, errors.New("signing in ended at " + end.At)
		}
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	}
	handler, err := auth.NewAuthorizationCodeHandler(&registration)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// The sign-in page is devauth's own, so the other server's is not tried here.
func TestSignInPageWorksOnEveryScreenWithAndWithoutScripts(t *testing.T) {
	t.Parallel()
	s := newStand(t, startDevauth)
	for name, settings := range map[string]args{
		"desktop":                 {},
		"desktop without scripts": {"scripts": false},
		"phone":                   {"phone": true},
		"phone without scripts":   {"phone": true, "scripts": false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			// Phones capitalize the first letter of a name.
			person := "Alice-" + strings.ReplaceAll(name, " ", "-")
			c := newGoClient(t, s, inBrowser(t, person, settings, registers()), nil)
			made := decode[cart](t, "cart_create", c.call(t, "cart_create", args{}))
			wantOwnCartAlone(t, c, made.CartID)
		})
	}
}

// Who signs in decides whose carts they are, not the client that both use.
func TestTwoPeopleWithOneClientAreTwoUsers(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		one := auth.AuthorizationCodeHandlerConfig{PreregisteredClient: &oauthex.ClientCredentials{ClientID: application}}
		alice := newGoClient(t, s, inBrowser(t, "alice", nil, one), nil)
		bob := newGoClient(t, s, inBrowser(t, "bob", nil, one), nil)
		hers := decode[cart](t, "cart_create", alice.call(t, "cart_create", args{})).CartID
		his := decode[cart](t, "cart_create", bob.call(t, "cart_create", args{})).CartID
		wantOwnCartAlone(t, alice, hers)
		wantOwnCartAlone(t, bob, his)
		for tool, more := range map[string]args{
			"cart_get": {}, "cart_set_item": {"sku": "MUG-BLUE", "quantity": 1}, "cart_discard": {},
		} {
			more["cart_id"] = hers
			if got := bob.call(t, tool, more); got.Failed == "" {
				t.Errorf("%s of another person's cart = %s, want an error", tool, got.Structured)
			}
		}
		wantOwnCartAlone(t, alice, hers)
		// The same person at another client is the same user.
		elsewhere := newGoClient(t, s, byCode(t, newPerson("alice"), registers()), nil)
		wantOwnCartAlone(t, elsewhere, hers)
	})
}

// wantOwnCartAlone checks which carts a client's user has.
func wantOwnCartAlone(t testing.TB, c client, own string) {
	t.Helper()
	listed := decode[carts](t, "cart_list", c.call(t, "cart_list", args{}))
	if len(listed.Carts) != 1 || listed.Carts[0].CartID != own {
		t.Errorf("cart_list = %+v, want the user's own cart %s alone", listed.Carts, own)
	}
}
