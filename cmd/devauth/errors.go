package main

import (
	"errors"
	"net/http"
)

// oauthError is an error as RFC 6749 names it. Descriptions are constants of
// this program: what a client sent is never repeated.
type oauthError struct{ code, description string }

func (e *oauthError) Error() string { return e.code + ": " + e.description }

// writeError answers a program. Anything that is not an oauthError stays in
// the log.
func (s *server) writeError(w http.ResponseWriter, r *http.Request, err error) {
	s.log.InfoContext(r.Context(), "refused", "path", r.URL.Path, "err", err)
	var oe *oauthError
	status := http.StatusBadRequest
	switch {
	case !errors.As(err, &oe):
		oe, status = &oauthError{"server_error", "see the log of devauth"}, http.StatusInternalServerError
	case oe.code == "invalid_client":
		w.Header().Set("WWW-Authenticate", `Basic realm="devauth"`)
		status = http.StatusUnauthorized
	}
	writeJSON(w, status, map[string]string{"error": oe.code, "error_description": oe.description})
}
