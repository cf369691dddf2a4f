//go:build e2e

package e2e_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// goClient is the Go SDK's client. It signs in, steps up and asks on its own.
type goClient struct {
	session *mcp.ClientSession
	answers []answer
	asked   []string
}

func newGoClient(t testing.TB, s *stand, handler auth.OAuthHandler, options *mcp.ClientSessionOptions) *goClient {
	t.Helper()
	c := &goClient{}
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	sdk := mcp.NewClient(&mcp.Implementation{Name: "go-sdk", Version: "1"}, &mcp.ClientOptions{ElicitationHandler: c.ask})
	session, err := sdk.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint: s.endpoint, OAuthHandler: handler, HTTPClient: &http.Client{Transport: transport, Timeout: patience},
	}, options)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { session.Close() })
	c.session = session
	return c
}

// ask is called by the SDK for each question, before the call it is part of
// has returned.
func (c *goClient) ask(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
	c.asked = append(c.asked, r.Params.Message)
	if len(c.answers) == 0 {
		return &mcp.ElicitResult{Action: "cancel"}, nil
	}
	next := c.answers[0]
	c.answers = c.answers[1:]
	return &mcp.ElicitResult{Action: next.Action, Content: next.Content}, nil
}

func (c *goClient) tools(t testing.TB) (names []string) {
	t.Helper()
	list, err := c.session.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatalf("tools/list: %v", err)
	}
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func (c *goClient) call(t testing.TB, tool string, a args, answers ...answer) outcome {
	t.Helper()
	c.answers, c.asked = answers, nil
	result, err := c.session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		return outcome{Failed: err.Error(), Asked: c.asked}
	}
	if result.IsError {
		return outcome{Failed: result.Content[0].(*mcp.TextContent).Text, Asked: c.asked}
	}
	structured, err := json.Marshal(result.StructuredContent)
	if err != nil {
		t.Fatalf("%s: structured content: %v", tool, err)
	}
	return outcome{Structured: structured, Asked: c.asked}
}

// byCode signs the person in, with this registration.
func byCode(t testing.TB, p *person, registration auth.AuthorizationCodeHandlerConfig) auth.OAuthHandler {
	t.Helper()
	registration.RedirectURL = applicationCallback
	registration.AuthorizationCodeFetcher = func(_ context.Context, a *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
		redirect, err := p.signIn(a.URL)
		if err != nil {
			return nil, err
		}
		q := redirect.Query()
		return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
	}
	handler, err := auth.NewAuthorizationCodeHandler(&registration)
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// registers is a client that nobody has registered beforehand.
func registers() auth.AuthorizationCodeHandlerConfig {
	return auth.AuthorizationCodeHandlerConfig{DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
		Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "go-sdk", RedirectURIs: []string{applicationCallback}},
	}}
}

// This client registers anew, and so has another client id, whenever it signs
// in. A checkout survives its step-up all the same, because every scope of it is
// asked for before the first question is sealed for a client.
func TestGoSDKSignsInAndBuysWithAStepUp(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		alice := newPerson("alice")
		c := newGoClient(t, s, byCode(t, alice, registers()), nil)
		id := fillCart(t, c)
		refuseToBuy(t, c, id)
		wantStepUp(t, alice.scopes())
		buy(t, c, id)
		if again := alice.scopes(); len(again) != 2 {
			t.Errorf("sign-ins after the second checkout = %d, want 2", len(again))
		}
	})
}

// A careful client begins with the least, and is asked for more call by call.
func TestGoSDKStepsUpFromReadingToChangingToBuying(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		alice := newPerson("alice")
		careful := registers()
		careful.ScopeFilter = func(discovered []string) []string {
			if strings.Join(discovered, " ") == firstScope {
				return []string{"cart:read"}
			}
			return discovered
		}
		c := newGoClient(t, s, byCode(t, alice, careful), nil)
		if got := decode[carts](t, "cart_list", c.call(t, "cart_list", args{})); len(got.Carts) != 0 {
			t.Errorf("cart_list of a new user = %+v, want none", got)
		}
		id := decode[cart](t, "cart_create", c.call(t, "cart_create", args{})).CartID
		c.call(t, "cart_set_item", args{"cart_id": id, "sku": "MUG-BLUE", "quantity": 2})
		result := c.call(t, "checkout", args{"cart_id": id}, accept("shipping", "express"), accept("confirm", true))
		if got := decode[bought](t, "checkout", result); got.Status != "ordered" {
			t.Errorf("checkout = %+v, want ordered", got)
		}
		want := []string{"cart:read", "cart:read cart:write", "cart:read cart:write order:place"}
		asked := alice.scopes()
		if len(asked) != len(want) {
			t.Fatalf("scopes asked for = %q, want %q", asked, want)
		}
		for i := range want {
			if !covers(asked[i], want[i]) || !covers(want[i], asked[i]) {
				t.Errorf("scope of sign-in %d = %q, want %q", i+1, asked[i], want[i])
			}
		}
	})
}

func TestGoSDKBuysForAProgram(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		// It prefers to send its secret in the form.
		handler, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
			Credentials: &oauthex.ClientCredentials{ClientID: programPost, ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: programSecret}},
		})
		if err != nil {
			t.Fatal(err)
		}
		c := newGoClient(t, s, handler, nil)
		id := fillCart(t, c)
		refuseToBuy(t, c, id)
		buy(t, c, id)
	})
}

// A client of the handshake era fills a cart. It is told why it cannot check
// out, and a newer client of the same person finds the cart and can.
func TestGoSDKOfTheHandshakeEraIsToldWhyItCannotCheckOut(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		alice := newPerson("alice")
		old := newGoClient(t, s, byCode(t, alice, registers()), &mcp.ClientSessionOptions{ProtocolVersion: "2025-11-25"})
		id := fillCart(t, old)
		wantToldWhy(t, old.call(t, "checkout", args{"cart_id": id}))
		buy(t, newGoClient(t, s, byCode(t, alice, registers()), nil), id)
	})
}

// wantToldWhy checks what a client of the handshake era is told.
func wantToldWhy(t testing.TB, o outcome) {
	t.Helper()
	if !strings.Contains(o.Failed, "2026-07-28") || !strings.Contains(o.Failed, "the cart is kept") || len(o.Asked) != 0 {
		t.Errorf("checkout = %+v, want no question, and an error that names the protocol version needed and says the cart is kept", o)
	}
}
