package auth_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
)

// metadataServer is an issuer at some path of the fake host as.example that
// has metadata at one place only, and remembers what was asked for.
type metadataServer struct {
	keys *authtest.Issuer

	at       string // path of the metadata
	issuer   string // whom it names
	jwksURI  string
	mu       sync.Mutex
	asked    []string
	redirect bool
}

func (m *metadataServer) RoundTrip(r *http.Request) (*http.Response, error) {
	m.mu.Lock()
	m.asked = append(m.asked, r.URL.String())
	m.mu.Unlock()
	recorder := httptest.NewRecorder()
	switch {
	case r.URL.Path == m.at && m.redirect:
		http.Redirect(recorder, r, "https://as.example/elsewhere", http.StatusFound)
	case r.URL.Path == m.at || m.redirect && r.URL.Path == "/elsewhere":
		_ = json.NewEncoder(recorder).Encode(map[string]string{"issuer": m.issuer, "jwks_uri": m.jwksURI})
	case strings.HasSuffix(r.URL.Path, "/jwks"):
		_ = json.NewEncoder(recorder).Encode(authtest.JWKS(m.keys.Key()))
	default:
		http.NotFound(recorder, r)
	}
	return recorder.Result(), nil
}

func TestKeysAreDiscovered(t *testing.T) {
	const as, jwks = "https://as.example", "https://keys.example/jwks"
	tests := map[string]struct {
		issuer string
		server *metadataServer
		allow  []string
		want   string
	}{
		"RFC 8414":                       {as, &metadataServer{at: "/.well-known/oauth-authorization-server", issuer: as, jwksURI: jwks}, nil, "ok"},
		"RFC 8414, path inserted":        {as + "/t/1", &metadataServer{at: "/.well-known/oauth-authorization-server/t/1", issuer: as + "/t/1", jwksURI: jwks}, nil, "ok"},
		"OpenID":                         {as, &metadataServer{at: "/.well-known/openid-configuration", issuer: as, jwksURI: jwks}, nil, "ok"},
		"OpenID, path in front":          {as + "/t/1", &metadataServer{at: "/t/1/.well-known/openid-configuration", issuer: as + "/t/1", jwksURI: jwks}, nil, "ok"},
		"OpenID, path inserted":          {as + "/t/1", &metadataServer{at: "/.well-known/openid-configuration/t/1", issuer: as + "/t/1", jwksURI: jwks}, nil, "ok"},
		"issuer with a final slash":      {as + "/", &metadataServer{at: "/.well-known/openid-configuration", issuer: as + "/", jwksURI: jwks}, nil, "ok"},
		"another issuer":                 {as, &metadataServer{at: "/.well-known/oauth-authorization-server", issuer: "https://evil.example", jwksURI: jwks}, nil, "unavailable"},
		"issuer with another slash":      {as, &metadataServer{at: "/.well-known/oauth-authorization-server", issuer: as + "/", jwksURI: jwks}, nil, "unavailable"},
		"issuer in capitals":             {as, &metadataServer{at: "/.well-known/oauth-authorization-server", issuer: "https://AS.example", jwksURI: jwks}, nil, "unavailable"},
		"path, but metadata at the root": {as + "/t/1", &metadataServer{at: "/.well-known/oauth-authorization-server", issuer: as + "/t/1", jwksURI: jwks}, nil, "unavailable"},
		"no jwks_uri":                    {as, &metadataServer{at: "/.well-known/oauth-authorization-server", issuer: as}, nil, "unavailable"},
		"jwks_uri without TLS":           {as, &metadataServer{at: "/.well-known/oauth-authorization-server", issuer: as, jwksURI: "http://keys.example/jwks"}, nil, "unavailable"},
		"jwks_uri without TLS, allowed":  {as, &metadataServer{at: "/.well-known/oauth-authorization-server", issuer: as, jwksURI: "http://keys.example/jwks"}, []string{"keys.example"}, "ok"},
		"jwks_uri a file":                {as, &metadataServer{at: "/.well-known/oauth-authorization-server", issuer: as, jwksURI: "file:///jwks"}, nil, "unavailable"},
		"redirected":                     {as, &metadataServer{at: "/.well-known/oauth-authorization-server", issuer: as, jwksURI: jwks, redirect: true}, nil, "unavailable"},
	}
	issuer := authtest.NewIssuer(t)
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				tt.server.keys = issuer
				cfg := auth.Config{
					Issuers: []auth.Issuer{{URL: tt.issuer}}, Resource: authtest.Audience,
					AllowHTTPHosts: tt.allow, HTTPClient: &http.Client{Transport: tt.server},
				}
				run(t, cfg, func(v *auth.Verifier) {
					if got := reason(v, issuer.Token(authtest.Claim("iss", tt.issuer))); got != tt.want {
						t.Errorf("Verify = %q, want %q (%v)", got, tt.want, v.Status()[0].Err)
					}
				})
				for _, asked := range tt.server.asked {
					if u, err := url.Parse(asked); err != nil || u.Host != "as.example" && u.Host != "keys.example" || u.Path == "/elsewhere" {
						t.Errorf("asked for %q", asked)
					}
				}
			})
		})
	}
}

func TestJWKSURLNeedsNoDiscovery(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	server := metadataServer{keys: issuer}
	synctest.Test(t, func(t *testing.T) {
		cfg := auth.Config{
			Issuers:  []auth.Issuer{{URL: "https://as.example", JWKSURL: "https://keys.example/jwks"}},
			Resource: authtest.Audience, HTTPClient: &http.Client{Transport: &server},
		}
		run(t, cfg, func(v *auth.Verifier) {
			if got := reason(v, issuer.Token(authtest.Claim("iss", "https://as.example"))); got != "ok" {
				t.Errorf("Verify = %q, want ok", got)
			}
		})
	})
	if want := []string{"https://keys.example/jwks"}; !slices.Equal(server.asked, want) {
		t.Errorf("asked for %q, want %q", server.asked, want)
	}
}

// endless is a body that never ends, and counts what was read of it.
type endless struct{ read atomic.Int64 }

func (e *endless) Read(p []byte) (int, error) {
	e.read.Add(int64(len(p)))
	return copy(p, bytes.Repeat([]byte(" "), len(p))), nil
}

func (e *endless) Close() error { return nil }

func (e *endless) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Body: e}, nil
}

func TestEndlessAnswerIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		body := &endless{}
		cfg := auth.Config{
			Issuers:  []auth.Issuer{{URL: "https://as.example", JWKSURL: "https://as.example/jwks"}},
			Resource: authtest.Audience, HTTPClient: &http.Client{Transport: body},
		}
		run(t, cfg, func(v *auth.Verifier) {
			if v.Ready() == nil {
				t.Error("Ready = nil, want an error")
			}
			if n := body.read.Load(); n == 0 || n > 1<<20 {
				t.Errorf("bytes read = %d, want some and less than a megabyte", n)
			}
		})
	})
}
