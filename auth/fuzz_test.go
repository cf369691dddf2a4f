package auth_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
)

const (
	fixedIssuer  = "https://as.example"
	fixedHeader  = `{"alg":"ES256","kid":"key-1","typ":"at+jwt"}`
	fixedPayload = `{"iss":"https://as.example","sub":"alice","aud":"http://127.0.0.1:8080/mcp","client_id":"c","scope":"cart","exp":9999999999}`

	// signedToken is written down because ECDSA signs differently each time,
	// and every process that fuzzes must know the one good text.
	signedToken = "eyJhbGciOiJFUzI1NiIsImtpZCI6ImtleS0xIiwidHlwIjoiYXQrand0In0.eyJpc3MiOiJodHRwczovL2FzLmV4YW1wbGUiLCJzdWIiOiJhbGljZSIsImF1ZCI6Imh0dHA6Ly8xMjcuMC4wLjE6ODA4MC9tY3AiLCJjbGllbnRfaWQiOiJjIiwic2NvcGUiOiJjYXJ0IiwiZXhwIjo5OTk5OTk5OTk5fQ.P5KpiEPXkEM9sKjER5MY1Bl7rJnjVTq6uhQYWHho7UdH-A7uS_SOJKf5TiR_pctyk8sPlt3kvd6BOLEa3ZQcsg"
)

// fixedKey is the same in every run, so that a token that was found once stays signed.
func fixedKey(t testing.TB) authtest.Key {
	t.Helper()
	private, err := ecdsa.ParseRawPrivateKey(elliptic.P256(), []byte("32 bytes that are no secret here"))
	if err != nil {
		t.Fatal(err)
	}
	return authtest.Key{ID: "key-1", Alg: "ES256", Private: private}
}

func fixedVerifier(t testing.TB) *auth.Verifier {
	t.Helper()
	issuer := authtest.NewIssuer(t)
	issuer.SetKeys(fixedKey(t))
	return authtest.Start(t, auth.Config{
		Issuers:  []auth.Issuer{{URL: fixedIssuer, JWKSURL: "https://keys.example" + authtest.JWKSPath}},
		Resource: authtest.Audience, HTTPClient: issuer.Client(),
	})
}

// FuzzVerifyAcceptsOnlyWhatWasSigned starts from one signed token: no text but
// that very text is ever accepted.
func FuzzVerifyAcceptsOnlyWhatWasSigned(f *testing.F) {
	verifier := fixedVerifier(f)
	if _, err := verifier.Verify(f.Context(), signedToken); err != nil {
		f.Fatalf("Verify of the signed token = %v, want a principal", err)
	}
	f.Add(signedToken)
	f.Add(signedToken + "=")
	f.Add("..")
	f.Fuzz(func(t *testing.T, token string) {
		p, err := verifier.Verify(t.Context(), token)
		if err == nil && token != signedToken {
			t.Errorf("Verify(%q) = %v, want an error: nobody signed it", token, p)
		}
		if err != nil && auth.Reason(err) == "internal" {
			t.Errorf("Verify(%q) = %v, an error without a reason", token, err)
		}
	})
}

// FuzzVerifyReadsAsOthersDo signs any payload: what is accepted must say the
// same to a plain JSON reader.
func FuzzVerifyReadsAsOthersDo(f *testing.F) {
	verifier, key := fixedVerifier(f), fixedKey(f)
	f.Add(fixedPayload)
	f.Add(strings.Replace(fixedPayload, `"alice"`, `"bob","sub":"alice"`, 1))
	f.Add(strings.Replace(fixedPayload, `"http://127.0.0.1:8080/mcp"`, `["x","http://127.0.0.1:8080/mcp"]`, 1))
	f.Add(strings.Replace(fixedPayload, `"scope"`, `"azp":"c","scp"`, 1))
	f.Fuzz(func(t *testing.T, payload string) {
		p, err := verifier.Verify(t.Context(), authtest.SignText(key, fixedHeader, payload))
		if err != nil {
			return
		}
		var said map[string]any
		if err := json.Unmarshal([]byte(payload), &said); err != nil {
			t.Fatalf("accepted %q, which is not JSON: %v", payload, err)
		}
		audience, _ := said["aud"].([]any)
		exp, _ := said["exp"].(float64)
		clients := []any{said["client_id"], said["azp"], said["appid"]}
		_, bound := said["cnf"]
		switch {
		case said["iss"] != fixedIssuer || p.Issuer != fixedIssuer,
			said["sub"] != p.Subject || p.Subject == "" || strings.Contains(p.Subject, "\x00"),
			said["aud"] != authtest.Audience && !slices.Contains(audience, any(authtest.Audience)),
			!slices.Contains(clients, any(p.ClientID)) || p.ClientID == "",
			exp < float64(time.Now().Add(-time.Minute).Unix()),
			(p.Subject == p.ClientID) != (p.Kind == auth.Client),
			bound:
			t.Errorf("accepted %q as %#v of client %q", payload, p, p.ClientID)
		}
	})
}

// FuzzBearerToken: what comes out is one clean word that came in.
func FuzzBearerToken(f *testing.F) {
	for _, value := range []string{"Bearer abc", "bearer  a.b.c==", "Basic YTpi", "Bearer a b", "Bearer\tx", ""} {
		f.Add(value, false)
	}
	f.Add("Bearer abc", true)
	f.Fuzz(func(t *testing.T, value string, twice bool) {
		header := http.Header{"Authorization": {value}}
		if twice {
			header.Add("Authorization", value)
		}
		token, err := auth.BearerToken(header)
		if err != nil {
			if token != "" || auth.Reason(err) == "internal" {
				t.Errorf("BearerToken(%q) = %q, %v", value, token, err)
			}
			return
		}
		scheme, rest, _ := strings.Cut(value, " ")
		if twice || !strings.EqualFold(scheme, "bearer") || strings.Trim(rest, " ") != token || token == "" ||
			len(token) > 8<<10 || strings.ContainsAny(token, " ,;\"\\\r\n\t\x00") {
			t.Errorf("BearerToken(%q, twice %v) = %q", value, twice, token)
		}
	})
}
