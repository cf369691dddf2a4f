// Package authtest is an authorization server for tests: it publishes real
// keys over real HTTP and signs real tokens with them, so that what is tested
// is the verification and not a stand-in for it. Its tokens have the shape of
// RFC 9068 and are good unless an [Edit] says otherwise.
//
//	issuer := authtest.NewIssuer(t)
//	good := issuer.Token(authtest.Subject("alice"), authtest.Scope("cart"))
//	old := issuer.Token(authtest.ExpiresIn(-time.Hour))
package authtest

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/MicahParks/jwkset"
	"github.com/go-json-experiment/json"
)

// Audience is what tokens are for unless [Issuer.SetAudience] or an edit says otherwise.
const Audience = "http://127.0.0.1:8080/mcp"

// JWKSPath is where an issuer publishes its keys, below its URL.
const JWKSPath = "/jwks"

// Issuer is one authorization server. Its first key is called key-1, as every
// other issuer's is: a verifier that looks a key up by its name alone fails.
type Issuer struct {
	// URL is the issuer identifier: the iss of its tokens.
	URL string

	mu       sync.Mutex
	keys     []Key
	audience string
	instead  http.HandlerFunc
	fetches  int
}

// NewIssuer starts an authorization server that ends with the test. It has one
// ES256 key, and metadata at both well-known paths.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{audience: Audience, keys: []Key{NewKey("key-1", "ES256")}}
	server := httptest.NewUnstartedServer(i)
	i.URL = "http://" + server.Listener.Addr().String()
	server.Start()
	t.Cleanup(server.Close)
	return i
}

// JWKSURL is where the keys are, for verifiers that are told.
func (i *Issuer) JWKSURL() string { return i.URL + JWKSPath }

// SetAudience changes what later tokens are for.
func (i *Issuer) SetAudience(audience string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.audience = audience
}

// Rotate withdraws every key and publishes one new ES256 key, which signs from now on.
func (i *Issuer) Rotate() Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	next := NewKey(fmt.Sprintf("%s-next", i.keys[0].ID), "ES256")
	i.keys = []Key{next}
	return next
}

// SetKeys publishes exactly these keys; the first one signs.
func (i *Issuer) SetKeys(keys ...Key) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.keys = slices.Clone(keys)
}

// Key is the key that signs now.
func (i *Issuer) Key() Key {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.keys[0]
}

// Down makes every connection break without an answer until [Issuer.Up].
// Tokens can still be signed.
func (i *Issuer) Down() {
	i.Answer(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) })
}

// Up ends what [Issuer.Down] or [Issuer.Answer] began.
func (i *Issuer) Up() { i.Answer(nil) }

// Answer lets the handler answer every request, in place of the issuer.
func (i *Issuer) Answer(handler http.HandlerFunc) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.instead = handler
}

// Fetches counts the requests that arrived, of every kind.
func (i *Issuer) Fetches() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.fetches
}

// ServeHTTP answers metadata and key requests.
func (i *Issuer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.fetches++
	instead, keys := i.instead, i.keys
	i.mu.Unlock()
	switch {
	case instead != nil:
		instead(w, r)
	case r.URL.Path == JWKSPath:
		writeJSON(w, JWKS(keys...))
	case strings.HasPrefix(r.URL.Path, "/.well-known/"):
		writeJSON(w, map[string]any{"issuer": i.URL, "jwks_uri": i.JWKSURL()})
	default:
		http.NotFound(w, r)
	}
}

// JWKS is the document that publishes these keys.
func JWKS(keys ...Key) any {
	set := []jwkset.JWKMarshal{}
	for _, key := range keys {
		jwk, err := jwkset.NewJWKFromKey(key.Private.Public(), jwkset.JWKOptions{
			Metadata: jwkset.JWKMetadataOptions{KID: key.ID, ALG: jwkset.ALG(key.Alg), USE: jwkset.UseSig},
		})
		if err != nil {
			panic(err)
		}
		set = append(set, jwk.Marshal())
	}
	return map[string]any{"keys": set}
}

func writeJSON(w http.ResponseWriter, document any) {
	w.Header().Set("Content-Type", "application/json")
	if err := json.MarshalWrite(w, document); err != nil {
		panic(err)
	}
}

// Client reaches the issuer without a network, whatever host is asked for:
// inside testing/synctest, waiting for a socket would stop the clock.
func (i *Issuer) Client() *http.Client { return &http.Client{Transport: direct{i}} }

type direct struct{ handler http.Handler }

func (d direct) RoundTrip(r *http.Request) (resp *http.Response, err error) {
	defer func() {
		if recover() != nil { // what Down does to a connection
			resp, err = nil, errors.New("connection broken")
		}
	}()
	recorder := httptest.NewRecorder()
	d.handler.ServeHTTP(recorder, r)
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	return recorder.Result(), nil
}
