package main

import (
	"io"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"

	"example.com/mcp-cart/auth/authtest"
)

// A site is what replicas share: a database and authorization servers.
type site struct {
	db       string
	issuer   *authtest.Issuer // the first of issuers
	issuers  []*authtest.Issuer
	env      map[string]string // of every replica
	http     *http.Client
	replicas []*replica // every one that was ever started
}

// newSite makes a site with a migrated database and this many issuers.
func newSite(t testing.TB, issuers int) *site {
	t.Helper()
	s := newEmptySite(t, issuers)
	s.migrate(t)
	return s
}

func newEmptySite(t testing.TB, issuers int) *site {
	t.Helper()
	transport := &http.Transport{MaxIdleConnsPerHost: 100}
	t.Cleanup(transport.CloseIdleConnections)
	s := &site{db: postgres.Database(t), http: &http.Client{Transport: transport}}
	var urls []string
	for range issuers {
		issuer := authtest.NewIssuer(t)
		// Requests of other processes read what NewIssuer wrote. Only the issuer's
		// own lock puts the two in order for the race detector.
		issuer.Up()
		s.issuers = append(s.issuers, issuer)
		urls = append(urls, issuer.URL)
	}
	s.issuer = s.issuers[0]
	s.env = map[string]string{
		"DATABASE_URL": s.db + "&lock_timeout=60s", // tests hold locks for as long as they need
		"LISTEN_ADDR":  "127.0.0.1:0",
		"RESOURCE_URL": authtest.Audience,
		"OAUTH_ISSUER": strings.Join(urls, ","),
		// The same ring everywhere, as in production.
		"REQUEST_STATE_KEYS": ring("0a1b2c3d", "mint"),
		"RATE_LIMIT":         "100000",
		// No test waits for the janitor, and none is to be disturbed by it.
		"JANITOR_INTERVAL": "24h",
		"SHUTDOWN_DELAY":   "0s",
		"LOG_LEVEL":        "DEBUG",
	}
	return s
}

func (s *site) migrate(t testing.TB) {
	t.Helper()
	p := start(t, map[string]string{"DATABASE_URL": s.db}, "migrate")
	if code := p.exit(t); code != 0 {
		t.Fatalf("cartd migrate = exit %d, want 0:\n%s", code, p.out)
	}
}

// connect opens a connection of the test's own to the database.
func (s *site) connect(t testing.TB) *pgx.Conn {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), s.db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(t.Context()) })
	return conn
}

// exec runs SQL behind the replicas' backs.
func (s *site) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	if _, err := s.connect(t).Exec(t.Context(), sql, args...); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

// query returns the one value that SQL selects.
func query[T any](t testing.TB, s *site, sql string, args ...any) T {
	t.Helper()
	var value T
	if err := s.connect(t).QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}

// A replica is one running `cartd serve`.
type replica struct {
	*process
	site *site
	url  string // without a path
}

var listening = regexp.MustCompile(`"msg":"listening","addr":"([^"]+)"`)

// launch starts a replica, with changes to the environment, and returns when it
// listens, ready or not. The kernel chooses the port, so none is ever taken.
func (s *site) launch(t testing.TB, changes map[string]string) *replica {
	t.Helper()
	env := maps.Clone(s.env)
	maps.Copy(env, changes)
	r := &replica{process: start(t, env, "serve"), site: s}
	eventually(t, "cartd listens", func() bool {
		if !r.running() {
			t.Fatalf("cartd serve ended: exit %d\n%s", r.exit(t), r.out)
		}
		return listening.MatchString(r.out.String())
	})
	r.url = "http://" + listening.FindStringSubmatch(r.out.String())[1]
	s.replicas = append(s.replicas, r)
	return r
}

// replica starts a replica and returns when it is ready.
func (s *site) replica(t testing.TB) *replica {
	t.Helper()
	r := s.launch(t, nil)
	r.waitReady(t)
	return r
}

func (r *replica) waitReady(t testing.TB) {
	t.Helper()
	eventually(t, "the replica is ready", func() bool { return r.get(t, "/readyz") == http.StatusOK })
}

// get returns the status of a GET, or 0 if nobody answers.
func (r *replica) get(t testing.TB, path string) int {
	t.Helper()
	resp, err := r.site.http.Get(r.url + path)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	return resp.StatusCode
}

// stop ends the replica as an orchestrator does, if it has not ended.
func (r *replica) stop(t testing.TB) {
	t.Helper()
	if r.running() {
		r.signal(t, syscall.SIGTERM)
	}
	if code := r.exit(t); code != 0 {
		t.Fatalf("cartd serve after SIGTERM = exit %d, want 0:\n%s", code, r.out.tail())
	}
}

// restart stops the replica and starts another.
func (r *replica) restart(t testing.TB) *replica {
	t.Helper()
	r.stop(t)
	return r.site.replica(t)
}
