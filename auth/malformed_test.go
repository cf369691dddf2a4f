package auth_test

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/mcp-cart/auth/authtest"
)

func TestBrokenTokensAreRefused(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	verifier := authtest.Verifier(t, issuer)
	good := issuer.Token()
	parts := strings.Split(good, ".")
	head, payload, signature := parts[0], parts[1], parts[2]
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil {
		t.Fatal(err)
	}
	flipped := append([]byte{raw[0] ^ 1}, raw[1:]...)
	b64 := base64.RawURLEncoding.EncodeToString
	tests := map[string]struct{ token, reason string }{
		"empty":                   {"", "malformed"},
		"dots only":               {"..", "malformed"},
		"two parts":               {head + "." + payload, "malformed"},
		"four parts":              {good + ".x", "malformed"},
		"five parts, as a JWE":    {good + ".x.x", "malformed"},
		"sixty kilobytes of dots": {strings.Repeat(".", 60<<10), "size"},
		"longer than any token":   {good + strings.Repeat("A", 8<<10), "size"},
		"no signature":            {head + "." + payload + ".", "signature"},
		"signature cut short":     {head + "." + payload + "." + b64(raw[:63]), "signature"},
		"signature too long":      {head + "." + payload + "." + b64(append(raw[:64:64], 0)), "signature"},
		"one bit flipped":         {head + "." + payload + "." + b64(flipped), "signature"},
		"another's signature":     {head + "." + payload + "." + strings.Split(issuer.Token(authtest.Subject("bob")), ".")[2], "signature"},
		"another's payload":       {head + "." + strings.Split(issuer.Token(authtest.Subject("bob")), ".")[1] + "." + signature, "signature"},
		"padding":                 {good + "==", "malformed"},
		"line break":              {good + "\n", "malformed"},
		"line break inside":       {head + "." + payload + "." + signature[:10] + "\r\n" + signature[10:], "malformed"},
		"standard base64":         {head + "." + payload + ".+/" + signature[2:], "malformed"},
		"header not base64":       {"A." + payload + "." + signature, "malformed"},
		"header not JSON":         {b64([]byte("hello")) + "." + payload + "." + signature, "malformed"},
		"header a list":           {b64([]byte("[]")) + "." + payload + "." + signature, "malformed"},
		"header null":             {b64([]byte("null")) + "." + payload + "." + signature, "alg"},
		"payload null":            {head + "." + b64([]byte("null")) + "." + signature, "issuer"},
		"alg none, no signature":  {b64([]byte(`{"alg":"none","typ":"at+jwt","kid":"key-1"}`)) + "." + payload + ".", "alg"},
		"deep JSON":               {head + "." + b64([]byte(strings.Repeat("[", 5000))) + "." + signature, "malformed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) { mustRefuse(t, verifier, tt.token, tt.reason) })
	}
}

func TestAmbiguousJSONIsRefused(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	verifier := authtest.Verifier(t, issuer)
	now := time.Now().Unix()
	head := fmt.Sprintf(`{"alg":"ES256","typ":"at+jwt","kid":%q}`, issuer.Key().ID)
	rest := fmt.Sprintf(`"iss":%q,"client_id":"c","scope":"cart","exp":%d`, issuer.URL, now+60)
	payload := fmt.Sprintf(`{%s,"sub":"alice","aud":%q}`, rest, authtest.Audience)
	if _, err := verifier.Verify(t.Context(), authtest.SignText(issuer.Key(), head, payload)); err != nil {
		t.Fatalf("Verify of the model token = %v, want a principal", err)
	}
	tests := map[string]struct{ head, payload, reason string }{
		"subject twice":          {head, fmt.Sprintf(`{%s,"sub":"bob","aud":%q,"sub":"alice"}`, rest, authtest.Audience), "malformed"},
		"audience twice":         {head, fmt.Sprintf(`{%s,"sub":"alice","aud":"x","aud":%q}`, rest, authtest.Audience), "malformed"},
		"duplicate deep inside":  {head, fmt.Sprintf(`{%s,"sub":"alice","aud":%q,"x":{"a":1,"a":2}}`, rest, authtest.Audience), "malformed"},
		"duplicate by escape":    {head, fmt.Sprintf(`{%s,"sub":"bob","aud":%q,"\u0073ub":"alice"}`, rest, authtest.Audience), "malformed"},
		"alg twice":              {`{"alg":"none",` + head[1:], payload, "malformed"},
		"kid twice":              {`{"kid":"other",` + head[1:], payload, "malformed"},
		"names in another case":  {head, fmt.Sprintf(`{%s,"Sub":"alice","aud":%q}`, rest, authtest.Audience), "subject"},
		"header in another case": {strings.Replace(head, `"kid"`, `"KID"`, 1), payload, "kid"},
		"data after the object":  {head, payload + "{}", "malformed"},
		"data after the header":  {head + "{}", payload, "malformed"},
		"invalid UTF-8":          {head, strings.Replace(payload, "alice", "ali\xffce", 1), "malformed"},
		"lone surrogate":         {head, strings.Replace(payload, "alice", `ali\ud800ce`, 1), "malformed"},
		"number beyond floats":   {head, strings.Replace(payload, fmt.Sprint(now+60), "1e400", 1), "exp"},
		"payload a list":         {head, "[" + payload + "]", "malformed"},
		"payload a string":       {head, `"alice"`, "malformed"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			mustRefuse(t, verifier, authtest.SignText(issuer.Key(), tt.head, tt.payload), tt.reason)
		})
	}
}

func TestTokenHasOneSpelling(t *testing.T) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
	issuer := authtest.NewIssuer(t)
	verifier := authtest.Verifier(t, issuer)
	good := issuer.Token()
	accepted := 0
	for _, last := range alphabet {
		if _, err := verifier.Verify(t.Context(), good[:len(good)-1]+string(last)); err == nil {
			accepted++
		}
	}
	if accepted != 1 {
		t.Errorf("accepted spellings = %d, want 1", accepted)
	}
}

func TestManyScopesAreJustMany(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	verifier := authtest.Verifier(t, issuer)
	p, err := verifier.Verify(t.Context(), issuer.Token(authtest.Scope(strings.Repeat("a ", 2500)+"cart")))
	if err != nil || p.Scopes.String() != "a cart" {
		t.Errorf("Verify = %q, %v, want scopes \"a cart\"", p.Scopes, err)
	}
}
