package server

import (
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/rs/cors"
)

// corsMaxAge is how long a browser may remember the answer to a preflight.
const corsMaxAge = 10 * time.Minute

// frontDoor is what every request to next passes first: Origin, then Host, each
// judged by its own list. moreHeaders are headers that pages may send beside
// those of the protocol.
func frontDoor(origins originList, hosts *hostList, next http.Handler, moreHeaders ...string) http.Handler {
	return origins.checkOrigin(origins.allow(hosts.checkHost, next, moreHeaders...))
}

// allow lets pages of the listed origins call next and read every answer, errors
// included: a page that cannot read the challenge of a 401 never starts to sign
// in. check sits between, so that it sees preflights too; a preflight goes no
// further than that, for browsers send it without a token. No credentials are
// allowed: the token is in a header that a page must set itself.
//
// With no origin listed there is nothing to say to a browser.
func (l originList) allow(check func(http.Handler) http.Handler, next http.Handler, moreHeaders ...string) http.Handler {
	if len(l) == 0 {
		return check(next)
	}
	c := cors.New(cors.Options{
		AllowedOrigins: l,
		// GET and DELETE are refused, but so that a page can read it: clients of the
		// handshake era try both.
		AllowedMethods: []string{http.MethodPost, http.MethodGet, http.MethodDelete},
		AllowedHeaders: append([]string{
			"Accept", "Authorization", "Content-Type", "Last-Event-ID",
			"MCP-Protocol-Version", "Mcp-Method", "Mcp-Name", "Mcp-Session-Id",
		}, moreHeaders...),
		ExposedHeaders:     []string{"WWW-Authenticate", "Retry-After"},
		MaxAge:             int(corsMaxAge.Seconds()),
		OptionsPassthrough: true,
	})
	return sortRequestedHeaders(c.Handler(check(answerPreflight(next))))
}

// answerPreflight ends a preflight; the headers have been set by then.
func answerPreflight(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isPreflight(r) {
			w.Header().Set("Cache-Control", "no-store")
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func isPreflight(r *http.Request) bool {
	return r.Method == http.MethodOptions && r.Header.Get("Origin") != "" && r.Header.Get("Access-Control-Request-Method") != ""
}

// sortRequestedHeaders puts the header names of a preflight into the order and
// case in which browsers send them, which the library relies on; proxies and
// people with curl do not always keep it.
func sortRequestedHeaders(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		const name = "Access-Control-Request-Headers"
		if asked := r.Header.Values(name); isPreflight(r) && len(asked) > 0 {
			names := strings.Split(strings.ToLower(strings.Join(asked, ",")), ",")
			for i := range names {
				names[i] = trimOWS(names[i])
			}
			slices.Sort(names)
			r = r.Clone(r.Context())
			r.Header.Set(name, strings.Join(slices.Compact(names), ","))
		}
		next.ServeHTTP(w, r)
	})
}
