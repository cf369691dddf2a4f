package server

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

// regionTool has an argument that clients repeat in a header.
func regionTool() tool {
	type args struct {
		Region string `json:"region"`
	}
	return define(tool{
		name: "test_x_mcp_header", description: "Says where.", scopes: []string{"catalog:read"}, effect: reads, output: `{"type": "object"}`,
		input: `{"type": "object", "additionalProperties": false, "properties": {
			"region": {"type": "string", "maxLength": 64, "description": "where", "x-mcp-header": "Region"}}}`,
	}, func(_ context.Context, _ caller, a args) (any, error) { return a, nil })
}

// A tool's schema is the one place where an argument is marked: the gate and the
// answers to preflights follow from it.
func TestMarkedArgumentMustEqualItsHeader(t *testing.T) {
	const page = "https://page.example"
	sh := newShopWith(t, func(s *Server) error { return s.open([]tool{regionTool()}, nil) },
		func(cfg *Config) { cfg.AllowedOrigins = []string{page} })
	token := sh.issuer.Token(authtest.Scope(allScopes))
	for header, status := range map[string]int{"north": 200, "south": 400, "=?base64?bm9ydGg=?=": 200, "": 400} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, sh.url+"/mcp", strings.NewReader(callBody("test_x_mcp_header", `{"region":"north"}`)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{
			"Content-Type": {"application/json"}, "Authorization": {"Bearer " + token},
			headerVersion: {versionModern}, headerMethod: {"tools/call"}, headerName: {"test_x_mcp_header"},
		}
		if header != "" {
			req.Header.Set("Mcp-Param-Region", header)
		}
		if got := send(t, req); got.status != status {
			t.Errorf("call with Mcp-Param-Region %q = %d %s, want %d", header, got.status, got.body, status)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodOptions, sh.url+"/mcp", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Origin":                         {page},
		"Access-Control-Request-Method":  {"POST"},
		"Access-Control-Request-Headers": {"mcp-param-region"},
	}
	if got := send(t, req).header.Get("Access-Control-Allow-Headers"); got != "mcp-param-region" {
		t.Errorf("allowed headers = %q, want mcp-param-region", got)
	}
}
