package auth_test

import (
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

// BenchmarkVerify is what each request pays: no cache of verified tokens
// stands in front, since it would save less than it has to be trusted with.
func BenchmarkVerify(b *testing.B) {
	for _, alg := range []string{"ES256", "RS256", "EdDSA"} {
		b.Run(alg, func(b *testing.B) {
			issuer := authtest.NewIssuer(b)
			issuer.SetKeys(authtest.NewKey("key-1", alg))
			verifier := authtest.Verifier(b, issuer)
			token := issuer.Token()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := verifier.Verify(b.Context(), token); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
