package auth_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
)

func TestParseIssuers(t *testing.T) {
	const one, two = "https://one.example", "https://two.example/realms/shop"
	tests := map[string]struct {
		list, jwks, typ string
		want            []auth.Issuer // nil: refused
	}{
		"one":                        {one, "", "", []auth.Issuer{{URL: one, TokenTyp: "at+jwt"}}},
		"one with typ":               {one, "", "JWT", []auth.Issuer{{URL: one, TokenTyp: "JWT"}}},
		"one with its own typ":       {one + "=jwt", "", "", []auth.Issuer{{URL: one, TokenTyp: "JWT"}}},
		"one with keys":              {one, one + "/k", "", []auth.Issuer{{URL: one, JWKSURL: one + "/k", TokenTyp: "at+jwt"}}},
		"two":                        {one + "," + two, "", "", []auth.Issuer{{URL: one, TokenTyp: "at+jwt"}, {URL: two, TokenTyp: "at+jwt"}}},
		"two, one with typ":          {one + " , " + two + "=JWT", "", "", []auth.Issuer{{URL: one, TokenTyp: "at+jwt"}, {URL: two, TokenTyp: "JWT"}}},
		"final slash stays":          {one + "/", "", "", []auth.Issuer{{URL: one + "/", TokenTyp: "at+jwt"}}},
		"nothing":                    {"", "", "", nil},
		"a comma too many":           {one + ",", "", "", nil},
		"two with keys":              {one + "," + two, one + "/k", "", nil},
		"two with a bare typ":        {one + "," + two, "", "JWT", nil},
		"typ twice":                  {one + "=JWT", "", "at+jwt", nil},
		"typ unheard of":             {one, "", "id+jwt", nil},
		"own typ unheard of":         {one + "=none", "", "", nil},
		"nothing after the =":        {one + "=", "", "", nil},
		"not a URL":                  {"one.example", "", "", nil},
		"query":                      {one + "?x", "", "", nil},
		"fragment":                   {one + "#x", "", "", nil},
		"empty fragment":             {one + "#", "", "", nil},
		"user":                       {"https://me@one.example", "", "", nil},
		"other scheme":               {"ftp://one.example", "", "", nil},
		"no host":                    {"https:///x", "", "", nil},
		"port only":                  {"https://:443", "", "", nil},
		"quote":                      {one + `/"`, "", "", nil},
		"blank inside":               {one + "/a b", "", "", nil},
		"line break":                 {one + "/a\nb", "", "", nil},
		"letters of other alphabets": {"https://оne.example", "", "", nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := auth.ParseIssuers(tt.list, tt.jwks, tt.typ)
			if (err == nil) != (tt.want != nil) {
				t.Fatalf("ParseIssuers = %v, %v, want %v", got, err, tt.want)
			}
			if diff := cmp.Diff(tt.want, got); err == nil && diff != "" {
				t.Errorf("ParseIssuers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestNewVerifierChecksItsConfiguration(t *testing.T) {
	good := auth.Config{Issuers: []auth.Issuer{{URL: "https://as.example"}}, Resource: "https://cart.example/mcp"}
	with := func(change func(*auth.Config)) auth.Config {
		c := good
		change(&c)
		return c
	}
	issuers := func(list ...auth.Issuer) auth.Config { return with(func(c *auth.Config) { c.Issuers = list }) }
	tests := map[string]struct {
		cfg auth.Config
		ok  bool
	}{
		"good":                      {good, true},
		"no issuer":                 {issuers(), false},
		"issuer twice":              {issuers(good.Issuers[0], good.Issuers[0]), false},
		"issuers differ by a slash": {issuers(auth.Issuer{URL: "https://as.example"}, auth.Issuer{URL: "https://as.example/"}), true},
		"typ unheard of":            {issuers(auth.Issuer{URL: "https://as.example", TokenTyp: "JWS"}), false},
		"no resource":               {with(func(c *auth.Config) { c.Resource = "" }), false},
		"resource with a fragment":  {with(func(c *auth.Config) { c.Resource += "#x" }), false},
		"resource with a query":     {with(func(c *auth.Config) { c.Resource += "?x" }), false},
		"http on loopback":          {issuers(auth.Issuer{URL: "http://127.0.0.1:9000"}), true},
		"http on localhost":         {issuers(auth.Issuer{URL: "http://localhost:9000"}), true},
		"http on ::1":               {issuers(auth.Issuer{URL: "http://[::1]:9000"}), true},
		"http elsewhere":            {issuers(auth.Issuer{URL: "http://as.example"}), false},
		"http like loopback":        {issuers(auth.Issuer{URL: "http://127.0.0.1.evil.example"}), false},
		"http like localhost":       {issuers(auth.Issuer{URL: "http://localhost.evil.example"}), false},
		"http by name": {with(func(c *auth.Config) {
			c.Issuers = []auth.Issuer{{URL: "http://devauth:9000"}}
			c.AllowHTTPHosts = []string{"devauth"}
		}), true},
		"http by a name that is part": {with(func(c *auth.Config) {
			c.Issuers = []auth.Issuer{{URL: "http://x.devauth"}}
			c.AllowHTTPHosts = []string{"devauth"}
		}), false},
		"keys over http":  {issuers(auth.Issuer{URL: "https://as.example", JWKSURL: "http://as.example/jwks"}), false},
		"keys over https": {issuers(auth.Issuer{URL: "https://as.example", JWKSURL: "https://as.example/jwks"}), true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			v, err := auth.NewVerifier(tt.cfg)
			if (err == nil) != tt.ok || (v != nil) != tt.ok {
				t.Errorf("NewVerifier = %v, %v, want accepted %v", v, err, tt.ok)
			}
		})
	}
}

// TestTypIsPerIssuer has one issuer that sends at+jwt and one that sends JWT.
func TestTypIsPerIssuer(t *testing.T) {
	modern, plain := authtest.NewIssuer(t), authtest.NewIssuer(t)
	verifier := authtest.Start(t, auth.Config{
		Resource: authtest.Audience,
		Issuers:  []auth.Issuer{{URL: modern.URL}, {URL: plain.URL, TokenTyp: auth.TypJWT}},
	})
	jwt := authtest.Typ("JWT")
	tests := map[string]struct{ token, want string }{
		"at+jwt where it is expected":      {modern.Token(), "ok"},
		"JWT where at+jwt is expected":     {modern.Token(jwt), "typ"},
		"at+jwt with a nonce":              {modern.Token(authtest.Claim("nonce", "n")), "ok"},
		"JWT where it is expected":         {plain.Token(jwt), "ok"},
		"jwt in lower case":                {plain.Token(authtest.Typ("jwt")), "ok"},
		"at+jwt where JWT is expected":     {plain.Token(), "typ"},
		"nothing where JWT is expected":    {plain.Token(authtest.WithoutHeader("typ")), "typ"},
		"logout+jwt where JWT is expected": {plain.Token(authtest.Typ("logout+jwt")), "typ"},
		"ID token, by nonce":               {plain.Token(jwt, authtest.Claim("nonce", "n")), "typ"},
		"ID token, by at_hash":             {plain.Token(jwt, authtest.Claim("at_hash", "h")), "typ"},
		"ID token, by c_hash":              {plain.Token(jwt, authtest.Claim("c_hash", "h")), "typ"},
		"ID token, by kind":                {plain.Token(jwt, authtest.Claim("typ", "ID")), "typ"},
		"ID token for us and its client":   {plain.Token(jwt, authtest.Claim("nonce", nil), authtest.For([]string{"client-1", authtest.Audience})), "typ"},
		"logout token":                     {plain.Token(jwt, authtest.Claim("events", map[string]any{})), "typ"},
		"refresh token, by kind":           {plain.Token(jwt, authtest.Claim("typ", "Refresh")), "typ"},
		"refresh token, by use":            {plain.Token(jwt, authtest.Claim("token_use", "refresh")), "typ"},
		"access token, by kind":            {plain.Token(jwt, authtest.Claim("typ", "Bearer"), authtest.Claim("token_use", "access")), "ok"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := reason(verifier, tt.token); got != tt.want {
				t.Errorf("Verify = %q, want %q", got, tt.want)
			}
		})
	}
}

func TestReasonsAreShortWords(t *testing.T) {
	if got := auth.Reason(nil); got != "ok" {
		t.Errorf("Reason(nil) = %q, want ok", got)
	}
	if got := auth.Reason(errSomething{}); got != "internal" {
		t.Errorf("Reason of a stranger = %q, want internal", got)
	}
}

type errSomething struct{}

func (errSomething) Error() string { return strings.Repeat("secret ", 3) }
