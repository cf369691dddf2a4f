package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/modelcontextprotocol/go-sdk/auth"
	"github.com/modelcontextprotocol/go-sdk/auth/extauth"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// protectedServer is an MCP server with one tool, "place", that wants the scope
// order:place besides cart:read, and answers who calls.
func protectedServer(t *testing.T, options ...func(*config)) (*running, string) {
	t.Helper()
	resource := httptest.NewUnstartedServer(nil)
	t.Cleanup(resource.Close)
	url := "http://" + resource.Listener.Addr().String()
	s := start(t, append(options, func(c *config) { c.audience = url + "/mcp" })...)
	_, jwks := s.do("GET", s.signer.issuer+"/jwks.json", "")

	server := mcp.NewServer(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	type nothing struct{}
	mcp.AddTool(server, &mcp.Tool{Name: "place"}, func(_ context.Context, r *mcp.CallToolRequest, _ nothing) (*mcp.CallToolResult, any, error) {
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Extra.Header.Get("Test-Subject")}}}, nil, nil
	})
	tools := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return server }, &mcp.StreamableHTTPOptions{Stateless: true, JSONResponse: true})

	mux := http.NewServeMux()
	mux.Handle("/.well-known/oauth-protected-resource/mcp", auth.ProtectedResourceMetadataHandler(&oauthex.ProtectedResourceMetadata{
		Resource: url + "/mcp", AuthorizationServers: []string{s.signer.issuer},
	}))
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		r.Body = io.NopCloser(bytes.NewReader(body))
		needed := []string{"cart:read"}
		if bytes.Contains(body, []byte(`"name":"place"`)) {
			needed = append(needed, "order:place")
		}
		claims := jwt.MapClaims{}
		bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
		_, err := jwt.ParseWithClaims(bearer, claims, keyFrom(jwks), jwt.WithIssuer(s.signer.issuer), jwt.WithAudience(url+"/mcp"))
		scope, _ := claims["scope"].(string)
		missing := slices.ContainsFunc(needed, func(n string) bool { return !slices.Contains(strings.Fields(scope), n) })
		challenge := fmt.Sprintf(`Bearer resource_metadata="%s/.well-known/oauth-protected-resource/mcp", scope="%s"`, url, strings.Join(needed, " "))
		switch {
		case err != nil:
			w.Header().Set("WWW-Authenticate", challenge)
			w.WriteHeader(http.StatusUnauthorized)
		case missing:
			w.Header().Set("WWW-Authenticate", challenge+`, error="insufficient_scope"`)
			w.WriteHeader(http.StatusForbidden)
		default:
			r.Header.Set("Test-Subject", claims["sub"].(string))
			tools.ServeHTTP(w, r)
		}
	})
	resource.Config.Handler = mux
	resource.Start()
	return s, url + "/mcp"
}

// place connects with the handler and returns what the tool says.
func place(t *testing.T, endpoint string, handler auth.OAuthHandler) string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: endpoint, OAuthHandler: handler}, nil)
	if err != nil {
		t.Fatalf("Connect = %v", err)
	}
	defer session.Close()
	result, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: "place"})
	if err != nil {
		t.Fatalf("CallTool = %v", err)
	}
	return result.Content[0].(*mcp.TextContent).Text
}

func TestGoSDKSignsInAndStepsUp(t *testing.T) {
	s, endpoint := protectedServer(t, onLoopback)
	documentURL := documentHost(t, s, func(w http.ResponseWriter, r *http.Request) {
		sendJSON(w, `{"client_id":"https://`+r.Host+r.URL.Path+`","client_name":"SDK","redirect_uris":["`+callback+`"]}`)
	}) + "/client.json"
	for name, config := range map[string]auth.AuthorizationCodeHandlerConfig{
		"pre-registered": {PreregisteredClient: &oauthex.ClientCredentials{ClientID: "app"}},
		"registered": {DynamicClientRegistrationConfig: &auth.DynamicClientRegistrationConfig{
			Metadata: &oauthex.ClientRegistrationMetadata{ClientName: "SDK", RedirectURIs: []string{callback}},
		}},
		"described by a document": {ClientIDMetadataDocumentConfig: &auth.ClientIDMetadataDocumentConfig{URL: documentURL}},
	} {
		t.Run(name, func(t *testing.T) {
			signIns := 0
			config.RedirectURL = callback
			config.AuthorizationCodeFetcher = func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
				signIns++
				resp, text := s.browser(args.URL, "alice", "approve")
				location, err := resp.Location()
				if err != nil {
					return nil, fmt.Errorf("sign-in answered %s: %s", resp.Status, text)
				}
				q := location.Query()
				return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
			}
			handler, err := auth.NewAuthorizationCodeHandler(&config)
			if err != nil {
				t.Fatal(err)
			}
			if got := place(t, endpoint, handler); got != "dev|alice" || signIns != 2 {
				t.Errorf("the tool was called by %q after %d sign-ins, want dev|alice after 2", got, signIns)
			}
		})
	}
}

func TestGoSDKRefreshesItsToken(t *testing.T) {
	// oauth2 renews a token 10 seconds before it ends: this one at once.
	s, endpoint := protectedServer(t, func(c *config) { c.ttl = 5 * time.Second })
	handler, err := auth.NewAuthorizationCodeHandler(&auth.AuthorizationCodeHandlerConfig{
		PreregisteredClient: &oauthex.ClientCredentials{ClientID: "app"},
		RedirectURL:         callback,
		AuthorizationCodeFetcher: func(_ context.Context, args *auth.AuthorizationArgs) (*auth.AuthorizationResult, error) {
			resp, _ := s.browser(args.URL, "alice", "approve")
			location, err := resp.Location()
			if err != nil {
				return nil, err
			}
			q := location.Query()
			return &auth.AuthorizationResult{Code: q.Get("code"), State: q.Get("state"), Iss: q.Get("iss")}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	place(t, endpoint, handler)
	if issued := strings.Count(s.log.String(), "token issued"); issued < 4 {
		t.Errorf("%d tokens issued, want more than the 2 of the sign-ins and their step-up", issued)
	}
}

func TestGoSDKSpeaksForAProgram(t *testing.T) {
	_, endpoint := protectedServer(t)
	handler, err := extauth.NewClientCredentialsHandler(&extauth.ClientCredentialsHandlerConfig{
		Credentials: &oauthex.ClientCredentials{ClientID: "robot", ClientSecretAuth: &oauthex.ClientSecretAuth{ClientSecret: secret}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := place(t, endpoint, handler); got != "robot" {
		t.Errorf("the tool was called by %q, want robot", got)
	}
}
