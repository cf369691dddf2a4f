package main

import (
	"net/http"
	"slices"
	"strings"
)

// guard is what every request passes first.
func (s *server) guard(next http.Handler) http.Handler {
	// A page of another site may lead a person here, but may not post for them.
	// Comparing Origin with Host is sound because Host is checked before.
	crossOrigin := http.NewCrossOriginProtection()
	crossOrigin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "devauth, for development only: a page of another site may not post here", http.StatusForbidden)
	}))
	next = crossOrigin.Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Content-Security-Policy", pageCSP(""))
		// Not no-referrer: under that, browsers send "Origin: null" with our own
		// form, and the check above could not tell it from another site's.
		h.Set("Referrer-Policy", "same-origin")
		// A rebound name reaches this socket with the attacker's Host.
		if !slices.ContainsFunc(s.hosts, func(host string) bool { return strings.EqualFold(host, r.Host) }) {
			http.Error(w, "devauth, for development only: this is "+s.signer.issuer+", not the host you asked for", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// pageCSP allows our style sheet and our form. Chromium applies form-action to
// the redirect after a form as well, so it must name the client's origin too.
func pageCSP(clientOrigin string) string {
	return "default-src 'none'; style-src 'self'; base-uri 'none'; frame-ancestors 'none'; form-action 'self' " + clientOrigin
}
