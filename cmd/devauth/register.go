package main

import (
	"crypto/ecdsa"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
	"strings"
	"time"
)

const registeredPrefix = "dcr_"

// registrar issues client ids that carry the registration, under a MAC. So
// registering costs no memory, needs no limit on their number, and outlives a
// restart: clients that keep their id find it still good.
type registrar struct{ mac []byte }

// registration is what a self-registered client's id says.
type registration struct {
	Name      string   `json:"n,omitempty"`
	Redirects []string `json:"r"`
	Nonce     string   `json:"j"` // two registrations never share an id
}

func newRegistrar(key *ecdsa.PrivateKey) (registrar, error) {
	secret, err := key.Bytes()
	if err != nil {
		return registrar{}, fmt.Errorf("registration key: %w", err)
	}
	mac, err := hkdf.Key(sha256.New, secret, nil, "devauth client registration", 32)
	return registrar{mac}, err
}

func (g registrar) issue(reg registration) (string, error) {
	text, err := json.Marshal(reg)
	if err != nil {
		return "", fmt.Errorf("encode registration: %w", err)
	}
	body := base64.RawURLEncoding.EncodeToString(text)
	return registeredPrefix + body + "." + g.tag(body), nil
}

func (g registrar) tag(body string) string {
	h := hmac.New(sha256.New, g.mac)
	h.Write([]byte(body))
	return base64.RawURLEncoding.EncodeToString(h.Sum(nil)[:16])
}

// lookup opens an id that issue made with the same key; nil for any other.
func (g registrar) lookup(id string) *client {
	rest, ok := strings.CutPrefix(id, registeredPrefix)
	body, tag, ok2 := strings.Cut(rest, ".")
	if !ok || !ok2 || !hmac.Equal([]byte(tag), []byte(g.tag(body))) {
		return nil
	}
	var reg registration
	text, err := base64.RawURLEncoding.DecodeString(body)
	if err != nil || json.Unmarshal(text, &reg) != nil {
		return nil
	}
	return &client{id: id, name: reg.Name, redirects: reg.Redirects}
}

// register answers RFC 7591 dynamic registration. Every client becomes a
// public one, and the scope it names is echoed but is no limit: clients
// register with the scope of their first request and ask for more later.
func (s *server) register(w http.ResponseWriter, r *http.Request) {
	echo, err := s.registerClient(w, r)
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	writeJSON(w, http.StatusCreated, echo)
}

func (s *server) registerClient(w http.ResponseWriter, r *http.Request) (map[string]any, error) {
	var asked map[string]json.RawMessage
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	body := json.NewDecoder(http.MaxBytesReader(w, r.Body, 16<<10))
	if media != "application/json" || body.Decode(&asked) != nil {
		return nil, &oauthError{"invalid_client_metadata", "want a JSON object of at most 16 KiB"}
	}
	reg := registration{Nonce: rand.Text()[:12]}
	if name := asked["client_name"]; name != nil && json.Unmarshal(name, &reg.Name) != nil {
		return nil, &oauthError{"invalid_client_metadata", "client_name is not a string"}
	}
	reg.Name = displayName(reg.Name)
	if json.Unmarshal(asked["redirect_uris"], &reg.Redirects) != nil || !validRedirects(reg.Redirects) {
		return nil, &oauthError{"invalid_redirect_uri", "want 1 to 10 redirect_uris, 1 KiB together, each https or http on a loopback host"}
	}
	id, err := s.registrar.issue(reg)
	if err != nil {
		return nil, err
	}
	// RFC 7591 lets a server replace what was asked for, if it says so.
	answer := map[string]any{
		"client_id":                  id,
		"client_id_issued_at":        time.Now().Unix(),
		"redirect_uris":              reg.Redirects,
		"token_endpoint_auth_method": "none",
		"grant_types":                []string{"authorization_code", "refresh_token"},
		"response_types":             []string{"code"},
	}
	for _, member := range []string{"client_name", "client_uri", "logo_uri", "tos_uri", "policy_uri", "contacts",
		"scope", "software_id", "software_version", "application_type"} {
		if value := asked[member]; value != nil {
			answer[member] = value
		}
	}
	return answer, nil
}

func validRedirects(uris []string) bool {
	total := 0
	for _, uri := range uris {
		total += len(uri)
		if checkRedirect(uri) != nil {
			return false
		}
	}
	return len(uris) >= 1 && len(uris) <= 10 && total <= 1<<10
}
