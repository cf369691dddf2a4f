package auth

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/oauthex"
)

// RootMetadataPath is where metadata is for clients that do not insert the
// path of the resource.
const RootMetadataPath = "/.well-known/oauth-protected-resource"

// Metadata is the document of RFC 9728: who we are and who gives tokens for us.
type Metadata = oauthex.ProtectedResourceMetadata

// NewMetadata describes this server. Everything comes from the configuration,
// so no header of a request can make us advertise somebody else.
func NewMetadata(resource, name string, issuers []Issuer, scopes []string) (*Metadata, error) {
	if _, err := parseURL(resource); err != nil {
		return nil, fmt.Errorf("resource metadata: resource %q %w", resource, err)
	}
	if len(issuers) == 0 {
		return nil, errors.New("resource metadata: a client needs an authorization server to go to")
	}
	for _, scope := range scopes {
		// offline_access is between a client and its authorization server;
		// a resource that lists it makes every client ask for it.
		if !isScope(scope) || scope == "offline_access" {
			return nil, fmt.Errorf("resource metadata: %q is no scope of a resource", scope)
		}
	}
	m := &Metadata{
		Resource:               resource,
		ResourceName:           name,
		ScopesSupported:        slices.Clone(scopes),
		BearerMethodsSupported: []string{"header"},
	}
	for _, issuer := range issuers {
		m.AuthorizationServers = append(m.AuthorizationServers, issuer.URL)
	}
	return m, nil
}

// MetadataPath is where the metadata of a resource is on its own host: the
// well-known part stands before the path (RFC 9728 section 3.1).
func MetadataPath(resource string) (string, error) {
	u, err := parseURL(resource)
	if err != nil {
		return "", fmt.Errorf("resource %q %w", resource, err)
	}
	if u.Path == "/" {
		return RootMetadataPath, nil
	}
	return RootMetadataPath + u.EscapedPath(), nil
}

// MetadataURL is the whole address of the metadata of a resource.
func MetadataURL(resource string) (string, error) {
	path, err := MetadataPath(resource)
	if err != nil {
		return "", err
	}
	u, err := parseURL(resource)
	if err != nil {
		return "", fmt.Errorf("resource %q %w", resource, err)
	}
	return u.Scheme + "://" + u.Host + path, nil
}

// MetadataHandler serves the document to anybody, pages of any origin
// included: a client has to read it before it has a token. It is the same for
// all, so it may be cached; briefly, since it names the issuers.
func MetadataHandler(m *Metadata) (http.Handler, error) {
	body, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("resource metadata: %w", err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Access-Control-Allow-Origin", "*")
		switch r.Method {
		case http.MethodGet, http.MethodHead:
			h.Set("Content-Type", "application/json")
			h.Set("Content-Length", strconv.Itoa(len(body)))
			h.Set("Cache-Control", "public, max-age=300")
			h.Set("X-Content-Type-Options", "nosniff")
			_, _ = w.Write(body) // a client that went away is its own affair; HEAD sends no body
		case http.MethodOptions:
			h.Set("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS")
			h.Set("Access-Control-Allow-Headers", "*")
			h.Set("Access-Control-Max-Age", "3600")
			w.WriteHeader(http.StatusNoContent)
		default:
			h.Set("Allow", "GET, HEAD, OPTIONS")
			http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		}
	}), nil
}
