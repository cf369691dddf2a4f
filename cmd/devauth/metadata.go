package main

import (
	"encoding/json"
	"net/http"
)

// metadata answers RFC 8414 discovery. There is no openid-configuration: this
// is no OpenID provider, it has no ID tokens.
func (s *server) metadata(w http.ResponseWriter, _ *http.Request) {
	iss := s.signer.issuer
	publish(w, map[string]any{
		"issuer":                                         iss,
		"authorization_endpoint":                         iss + "/authorize",
		"token_endpoint":                                 iss + "/token",
		"registration_endpoint":                          iss + "/register",
		"jwks_uri":                                       iss + "/jwks.json",
		"scopes_supported":                               scopeNames(), // no offline_access: refresh tokens come unasked
		"response_types_supported":                       []string{"code"},
		"response_modes_supported":                       []string{"query"},
		"grant_types_supported":                          []string{"authorization_code", "refresh_token", "client_credentials"},
		"token_endpoint_auth_methods_supported":          []string{"none", "client_secret_post", "client_secret_basic"},
		"code_challenge_methods_supported":               []string{"S256"},
		"client_id_metadata_document_supported":          true,
		"authorization_response_iss_parameter_supported": true,
		"protected_resources":                            []string{s.signer.audience},
	})
}

func (s *server) jwks(w http.ResponseWriter, _ *http.Request) {
	publish(w, map[string]any{"keys": []any{s.signer.jwk}})
}

// publish answers with what anyone may read, from any web page too.
func publish(w http.ResponseWriter, body any) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Cache-Control", "public, max-age=60")
	writeJSON(w, http.StatusOK, body)
}

func writeJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a client that hung up needs no answer
}
