//go:build e2e

package e2e_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// A stand is everything that an MCP client needs around it.
type stand struct {
	endpoint string // of the MCP server
	issuer   string // the authorization server
	replicas []*process
}

// withEach runs a test with each of the authorization servers.
func withEach(t *testing.T, test func(t *testing.T, s *stand)) {
	for _, with := range []struct {
		name  string
		start startAuth
	}{
		{"devauth", startDevauth},
		{"oidc-provider", startOIDCProvider},
	} {
		t.Run(with.name, func(t *testing.T) {
			t.Parallel()
			test(t, newStand(t, with.start))
		})
	}
}

// newStand starts two replicas of the server with an empty shop; env is added to
// their environment.
func newStand(t testing.TB, auth startAuth, env ...string) *stand {
	t.Helper()
	front := newFront(t)
	s := &stand{endpoint: front.URL + "/mcp"}
	s.issuer = auth(t, s.endpoint)
	env = append([]string{
		"DATABASE_URL=" + postgres.Database(t), "RESOURCE_URL=" + s.endpoint, "OAUTH_ISSUER=" + s.issuer,
		"REQUEST_STATE_KEYS=" + newKeyRing(t), "RATE_LIMIT=1000",
	}, env...)
	migrate := exec.Command(filepath.Join(built, "cartd"), "migrate")
	migrate.Env = append(environment(), env...)
	if out, err := migrate.CombinedOutput(); err != nil {
		t.Fatalf("cartd migrate: %v\n%s", err, out)
	}
	for i := range front.replicas {
		addr := freeAddress(t)
		cartd := exec.Command(filepath.Join(built, "cartd"), "serve")
		replica := start(t, fmt.Sprint("cartd ", i+1), cartd, append(env, "LISTEN_ADDR="+addr)...)
		front.replicas[i].Host = addr
		s.replicas = append(s.replicas, replica)
	}
	for i, replica := range s.replicas {
		replica.answers(t, front.replicas[i].JoinPath("readyz").String())
	}
	return s
}

func newKeyRing(t testing.TB) string {
	t.Helper()
	line, err := exec.Command(filepath.Join(built, "cartd"), "keygen").Output()
	if err != nil {
		t.Fatalf("cartd keygen: %v", err)
	}
	return string(line)
}

// log is what all replicas have logged.
func (s *stand) log() string {
	var all strings.Builder
	for _, r := range s.replicas {
		all.WriteString(r.out.String())
	}
	return all.String()
}

// A front gives every request to another replica than the request before, so
// that whatever a replica kept of a client to itself would be missed at once.
type front struct {
	*httptest.Server
	replicas [2]*url.URL
	requests atomic.Uint64
}

func newFront(t testing.TB) *front {
	t.Helper()
	f := &front{}
	for i := range f.replicas {
		f.replicas[i] = &url.URL{Scheme: "http"}
	}
	// Not the transport of all: closing one test's server closes connections
	// of that.
	transport := &http.Transport{}
	f.Server = httptest.NewServer(&httputil.ReverseProxy{Transport: transport, Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(f.replicas[f.requests.Add(1)%uint64(len(f.replicas))])
		r.Out.Host = r.In.Host
		// The body is read first, as proxies do that buffer. Otherwise an answer
		// may come before the proxy has read the end of the body, which net/http
		// then closes under its hands, and the answer breaks off.
		body, err := io.ReadAll(r.In.Body)
		if err != nil {
			panic(http.ErrAbortHandler) // the client is gone
		}
		r.Out.Body = io.NopCloser(bytes.NewReader(body))
	}})
	t.Cleanup(func() {
		f.Close()
		transport.CloseIdleConnections()
	})
	return f
}
