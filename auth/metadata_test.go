package auth_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/oauthex"

	"example.com/mcp-cart/auth"
)

func TestMetadataIsWhereClientsLook(t *testing.T) {
	tests := []struct{ resource, path, url string }{
		{"https://cart.example/mcp", "/.well-known/oauth-protected-resource/mcp", "https://cart.example/.well-known/oauth-protected-resource/mcp"},
		{"https://cart.example", "/.well-known/oauth-protected-resource", "https://cart.example/.well-known/oauth-protected-resource"},
		{"https://cart.example/", "/.well-known/oauth-protected-resource", "https://cart.example/.well-known/oauth-protected-resource"},
		{"https://cart.example/shop/mcp", "/.well-known/oauth-protected-resource/shop/mcp", "https://cart.example/.well-known/oauth-protected-resource/shop/mcp"},
		{"https://cart.example/mcp/", "/.well-known/oauth-protected-resource/mcp/", "https://cart.example/.well-known/oauth-protected-resource/mcp/"},
		{"http://127.0.0.1:8080/mcp", "/.well-known/oauth-protected-resource/mcp", "http://127.0.0.1:8080/.well-known/oauth-protected-resource/mcp"},
		{"http://[::1]:8080/mcp", "/.well-known/oauth-protected-resource/mcp", "http://[::1]:8080/.well-known/oauth-protected-resource/mcp"},
	}
	for _, tt := range tests {
		path, pathErr := auth.MetadataPath(tt.resource)
		url, urlErr := auth.MetadataURL(tt.resource)
		if path != tt.path || pathErr != nil || url != tt.url || urlErr != nil {
			t.Errorf("metadata of %s is at %q (%v), %q (%v), want %q, %q", tt.resource, path, pathErr, url, urlErr, tt.path, tt.url)
		}
	}
}

func newMetadata(t *testing.T) *auth.Metadata {
	t.Helper()
	m, err := auth.NewMetadata("https://cart.example/mcp", "mcp-cart",
		[]auth.Issuer{{URL: "https://as.example"}, {URL: "https://two.example/"}},
		[]string{"catalog:read", "cart", "order:place"})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func TestMetadataDocument(t *testing.T) {
	handler, err := auth.MetadataHandler(newMetadata(t))
	if err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequest(http.MethodGet, "/.well-known/oauth-protected-resource/mcp", nil)
	r.Host = "evil.example"
	for _, name := range []string{"X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix", "X-Original-URL", "Forwarded", "Origin"} {
		r.Header.Set(name, "host=evil.example;proto=http")
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	var got map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	want := map[string]any{
		"resource":                 "https://cart.example/mcp",
		"resource_name":            "mcp-cart",
		"authorization_servers":    []any{"https://as.example", "https://two.example/"},
		"scopes_supported":         []any{"catalog:read", "cart", "order:place"},
		"bearer_methods_supported": []any{"header"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

// TestMetadataIsForEverybody checks methods, cross-origin access and caching.
func TestMetadataIsForEverybody(t *testing.T) {
	handler, err := auth.MetadataHandler(newMetadata(t))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	tests := map[string]struct {
		status int
		header map[string]string
	}{
		"GET":     {200, map[string]string{"Content-Type": "application/json", "Cache-Control": "public, max-age=300"}},
		"HEAD":    {200, map[string]string{"Content-Type": "application/json", "Cache-Control": "public, max-age=300"}},
		"OPTIONS": {204, map[string]string{"Access-Control-Allow-Methods": "GET, HEAD, OPTIONS", "Access-Control-Allow-Headers": "*"}},
		"POST":    {405, map[string]string{"Allow": "GET, HEAD, OPTIONS"}},
		"PUT":     {405, map[string]string{"Allow": "GET, HEAD, OPTIONS"}},
		"DELETE":  {405, map[string]string{"Allow": "GET, HEAD, OPTIONS"}},
		"get":     {405, map[string]string{"Allow": "GET, HEAD, OPTIONS"}},
	}
	for method, tt := range tests {
		t.Run(method, func(t *testing.T) {
			r, err := http.NewRequestWithContext(t.Context(), method, server.URL, nil)
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Origin", "https://anywhere.example")
			resp, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = resp.Body.Close() }()
			if resp.StatusCode != tt.status {
				t.Errorf("status = %d, want %d", resp.StatusCode, tt.status)
			}
			tt.header["Access-Control-Allow-Origin"] = "*"
			tt.header["Access-Control-Allow-Credentials"] = ""
			for name, want := range tt.header {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
			if tt.status == 200 && resp.ContentLength <= 0 {
				t.Errorf("Content-Length = %s, want the size of the document", strconv.FormatInt(resp.ContentLength, 10))
			}
		})
	}
}

// TestSDKClientReadsTheMetadata asks as the clients do, through the address
// that the challenge names.
func TestSDKClientReadsTheMetadata(t *testing.T) {
	mux := http.NewServeMux()
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	resource := server.URL + "/mcp"
	m, err := auth.NewMetadata(resource, "mcp-cart", []auth.Issuer{{URL: "https://as.example"}}, []string{"cart"})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := auth.MetadataHandler(m)
	if err != nil {
		t.Fatal(err)
	}
	path, err := auth.MetadataPath(resource)
	if err != nil {
		t.Fatal(err)
	}
	mux.Handle(path, handler)
	url, err := auth.MetadataURL(resource)
	if err != nil {
		t.Fatal(err)
	}
	got, err := oauthex.GetProtectedResourceMetadata(t.Context(), url, resource, server.Client())
	if err != nil {
		t.Fatalf("GetProtectedResourceMetadata = %v", err)
	}
	if diff := cmp.Diff(m, got); diff != "" {
		t.Errorf("metadata as the client reads it (-want +got):\n%s", diff)
	}
}

func TestMetadataRefusesWhatMisleadsClients(t *testing.T) {
	as := []auth.Issuer{{URL: "https://as.example"}}
	tests := map[string]struct {
		resource string
		issuers  []auth.Issuer
		scopes   []string
	}{
		"no resource":           {"", as, nil},
		"relative resource":     {"/mcp", as, nil},
		"fragment":              {"https://cart.example/mcp#x", as, nil},
		"nobody to get a token": {"https://cart.example/mcp", nil, nil},
		"offline_access":        {"https://cart.example/mcp", as, []string{"cart", "offline_access"}},
		"two scopes in one":     {"https://cart.example/mcp", as, []string{"cart order:place"}},
		"empty scope":           {"https://cart.example/mcp", as, []string{""}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if m, err := auth.NewMetadata(tt.resource, "x", tt.issuers, tt.scopes); err == nil {
				t.Errorf("NewMetadata = %+v, want an error", m)
			}
		})
	}
}
