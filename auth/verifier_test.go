package auth_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
)

func TestGoodTokenNamesItsPrincipal(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	verifier := authtest.Verifier(t, issuer)
	expires := time.Now().Add(5 * time.Minute).Truncate(time.Second)
	alice := auth.Principal{
		Kind: auth.User, Issuer: issuer.URL, Subject: "alice", ClientID: "client-1",
		Scopes: auth.ParseScopes("catalog:read cart order:read"), Expires: expires,
	}
	with := func(change func(*auth.Principal)) auth.Principal {
		p := alice
		change(&p)
		return p
	}
	tests := map[string]struct {
		edits []authtest.Edit
		want  auth.Principal
	}{
		"as it comes":      {nil, alice},
		"typ in capitals":  {[]authtest.Edit{authtest.Typ("AT+JWT")}, alice},
		"typ written long": {[]authtest.Edit{authtest.Typ("application/at+jwt")}, alice},
		"audience in a list": {
			[]authtest.Edit{authtest.For([]string{"https://other.example", authtest.Audience})}, alice},
		"expired within the leeway":       {[]authtest.Edit{authtest.ExpiresIn(-5 * time.Second)}, with(func(p *auth.Principal) { p.Expires = time.Now().Add(-5 * time.Second).Truncate(time.Second) })},
		"issuer's clock ahead":            {[]authtest.Edit{secondsAhead("iat", 5), secondsAhead("nbf", 5)}, alice},
		"fractional expiry":               {[]authtest.Edit{authtest.Claim("exp", float64(expires.Unix())+0.5)}, alice},
		"no scope at all":                 {[]authtest.Edit{authtest.WithoutClaim("scope")}, with(func(p *auth.Principal) { p.Scopes = auth.Scopes{} })},
		"scp as a list":                   {[]authtest.Edit{authtest.WithoutClaim("scope"), authtest.Claim("scp", []string{"cart", "stock:write"})}, with(func(p *auth.Principal) { p.Scopes = auth.ParseScopes("cart stock:write") })},
		"scp as a string":                 {[]authtest.Edit{authtest.WithoutClaim("scope"), authtest.Claim("scp", "cart stock:write")}, with(func(p *auth.Principal) { p.Scopes = auth.ParseScopes("cart stock:write") })},
		"scope before scp":                {[]authtest.Edit{authtest.Claim("scp", "stock:write")}, alice},
		"azp for client_id":               {[]authtest.Edit{authtest.WithoutClaim("client_id"), authtest.Claim("azp", "client-1")}, alice},
		"appid for client_id":             {[]authtest.Edit{authtest.WithoutClaim("client_id"), authtest.Claim("appid", "client-1")}, alice},
		"client_id and azp agree":         {[]authtest.Edit{authtest.Claim("azp", "client-1")}, alice},
		"a program":                       {[]authtest.Edit{authtest.Subject("client-1")}, with(func(p *auth.Principal) { p.Kind, p.Subject = auth.Client, "client-1" })},
		"keys brought along are not used": {[]authtest.Edit{authtest.Header("jku", "https://evil.example/jwks"), authtest.Header("x5u", "https://evil.example/x5u"), authtest.Header("jwk", map[string]string{"kty": "EC"}), authtest.Header("x5c", []string{"AAAA"})}, alice},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := verifier.Verify(t.Context(), issuer.Token(tt.edits...))
			if err != nil {
				t.Fatalf("Verify = %v, want a principal", err)
			}
			if diff := cmp.Diff(tt.want, got, cmp.Comparer(sameSecond)); diff != "" {
				t.Errorf("Verify = (-want +got)\n%s", diff)
			}
		})
	}
}

// sameSecond forgives that a second may end while a table is built.
func sameSecond(a, b time.Time) bool { return a.Sub(b).Abs() <= 2*time.Second }

func secondsAhead(claim string, seconds int64) authtest.Edit {
	return authtest.Claim(claim, time.Now().Unix()+seconds)
}

func TestEachAlgorithmVerifies(t *testing.T) {
	for _, alg := range []string{"ES256", "RS256", "PS256", "EdDSA"} {
		t.Run(alg, func(t *testing.T) {
			issuer := authtest.NewIssuer(t)
			issuer.SetKeys(authtest.NewKey("key-1", alg))
			verifier := authtest.Verifier(t, issuer)
			if _, err := verifier.Verify(t.Context(), issuer.Token()); err != nil {
				t.Errorf("Verify = %v, want a principal", err)
			}
		})
	}
}

// TestBadClaimsAreRefused signs every token with the issuer's own key: what is
// wrong is only what it says.
func TestBadClaimsAreRefused(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	verifier := authtest.Verifier(t, issuer)
	without, claim, header := authtest.WithoutClaim, authtest.Claim, authtest.Header
	tests := []struct {
		name   string
		reason string
		edit   authtest.Edit
	}{
		{"no issuer", "issuer", without("iss")},
		{"other issuer", "issuer", claim("iss", "https://issuer.example")},
		{"issuer with a slash more", "issuer", claim("iss", issuer.URL+"/")},
		{"other realm, same key", "issuer", claim("iss", issuer.URL+"/realms/other")},
		{"issuer in capitals", "issuer", claim("iss", strings.ToUpper(issuer.URL))},
		{"issuer as a list", "issuer", claim("iss", []string{issuer.URL})},

		{"no audience", "audience", without("aud")},
		{"null audience", "audience", claim("aud", nil)},
		{"empty audience", "audience", claim("aud", "")},
		{"other service", "audience", authtest.For("https://other.example/mcp")},
		{"origin only", "audience", authtest.For(strings.TrimSuffix(authtest.Audience, "/mcp"))},
		{"prefix of the audience", "audience", authtest.For(strings.TrimSuffix(authtest.Audience, "p"))},
		{"audience and more", "audience", authtest.For(authtest.Audience + "2")},
		{"audience with a slash more", "audience", authtest.For(authtest.Audience + "/")},
		{"audience in capitals", "audience", authtest.For(strings.ToUpper(authtest.Audience))},
		{"audience with another scheme", "audience", authtest.For(strings.Replace(authtest.Audience, "http:", "https:", 1))},
		{"empty list", "audience", authtest.For([]string{})},
		{"list of others", "audience", authtest.For([]string{"https://other.example"})},
		{"list with a number", "audience", authtest.For([]any{authtest.Audience, 1})},
		{"audience as an object", "audience", authtest.For(map[string]string{"a": authtest.Audience})},

		{"no expiry", "exp", without("exp")},
		{"null expiry", "exp", claim("exp", nil)},
		{"expiry 0", "expired", claim("exp", 0)},
		{"negative expiry", "expired", claim("exp", -1)},
		{"expiry as a string", "exp", claim("exp", "9999999999")},
		{"expiry as a list", "exp", claim("exp", []int64{9999999999})},
		{"expiry beyond numbers", "exp", claim("exp", 1e300)},
		{"expired", "expired", authtest.ExpiresIn(-10 * time.Minute)},
		{"expired just beyond the leeway", "expired", authtest.ExpiresIn(-31 * time.Second)},

		{"valid later", "nbf", secondsAhead("nbf", 600)},
		{"valid just beyond the leeway", "nbf", secondsAhead("nbf", 45)},
		{"nbf as a string", "nbf", claim("nbf", "0")},
		{"nbf beyond numbers", "nbf", claim("nbf", -1e300)},
		{"issued in the future", "iat", secondsAhead("iat", 600)},
		{"iat as a string", "iat", claim("iat", "0")},

		{"no subject", "subject", without("sub")},
		{"null subject", "subject", claim("sub", nil)},
		{"empty subject", "subject", claim("sub", "")},
		{"subject as a number", "subject", claim("sub", 1)},
		{"subject as a list", "subject", claim("sub", []string{"alice"})},
		{"subject with NUL", "subject", claim("sub", "ali\x00ce")},
		{"subject with a line break", "subject", claim("sub", "alice\nbob")},

		{"no client", "client_id", without("client_id")},
		{"empty client", "client_id", claim("client_id", "")},
		{"client as a number", "client_id", claim("client_id", 7)},
		{"client with NUL", "client_id", claim("client_id", "c\x00")},
		{"client_id and azp differ", "client_id", claim("azp", "client-2")},
		{"client_id and appid differ", "client_id", claim("appid", "client-2")},

		{"scope as a list", "scope", claim("scope", []string{"cart"})},
		{"scope as a number", "scope", claim("scope", 1)},
		{"scp as an object", "scope", claim("scp", map[string]bool{"cart": true})},

		{"bound to a DPoP key", "cnf", claim("cnf", map[string]string{"jkt": "x"})},
		{"bound to a certificate", "cnf", claim("cnf", map[string]string{"x5t#S256": "x"})},
		{"bound to null", "cnf", claim("cnf", nil)},

		{"no typ", "typ", authtest.WithoutHeader("typ")},
		{"typ JWT", "typ", authtest.Typ("JWT")},
		{"logout token", "typ", authtest.Typ("logout+jwt")},
		{"typ that only begins well", "typ", authtest.Typ("at+jwt2")},
		{"typ with a prefix of its own", "typ", authtest.Typ("text/at+jwt")},
		{"refresh token", "typ", claim("token_use", "refresh")},

		{"unknown critical extension", "crit", header("crit", []string{"x-policy"})},
		{"critical b64", "crit", header("crit", []string{"b64"})},
		{"empty crit", "crit", header("crit", []string{})},
		{"null crit", "crit", header("crit", nil)},

		{"no kid", "kid", authtest.WithoutHeader("kid")},
		{"empty kid", "kid", header("kid", "")},
		{"unknown kid", "kid", header("kid", "key-9")},
		{"kid as a path", "kid", header("kid", "../../../../dev/null")},
		{"kid as SQL", "kid", header("kid", "' OR '1'='1")},
		{"kid as a number", "malformed", header("kid", 1)},

		{"no alg", "alg", authtest.WithoutHeader("alg")},
		{"alg none", "alg", header("alg", "none")},
		{"alg None", "alg", header("alg", "nOnE")},
		{"alg not on the list", "alg", header("alg", "ES384")},
		{"alg of a shared secret", "alg", header("alg", "HS256")},
		{"alg of another kind of key", "alg", header("alg", "RS256")},
		{"alg of another kind of key, EdDSA", "alg", header("alg", "EdDSA")},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			mustRefuse(t, verifier, issuer.Token(tt.edit), tt.reason)
		})
	}
}

// mustRefuse also checks that the error tells nothing of the token.
func mustRefuse(t *testing.T, verifier *auth.Verifier, token, reason string) {
	t.Helper()
	p, err := verifier.Verify(t.Context(), token)
	if !errors.Is(err, auth.ErrInvalidToken) || auth.Reason(err) != reason {
		t.Errorf("Verify = %v, %v (%s), want ErrInvalidToken (%s)", p, err, auth.Reason(err), reason)
	}
	if err != nil && err.Error() != "invalid token: "+reason {
		t.Errorf("error text = %q, want nothing but the reason", err)
	}
	if diff := cmp.Diff(auth.Principal{}, p); diff != "" {
		t.Errorf("principal with the error (-want +got):\n%s", diff)
	}
}

// TestAmbiguousJSONIsRefused signs text that two readers would read in two
// ways, with the issuer's own key.
// TestTokenHasOneSpelling tries every other last character: the spare bits of
// base64 would make sixteen tokens of one.
