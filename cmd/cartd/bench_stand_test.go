package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/server"
	"example.com/mcp-cart/store"
)

// A stand is where calls are measured: the server that ships and the bare
// handler, on the same store and with the same verifier, both listening.
type stand struct {
	site     *site
	verifier *auth.Verifier
	store    *store.Postgres
	trips    atomic.Int64 // of the store
	users    []benchUser
	handler  http.Handler // the server, without a network
	ours     string       // address of the server
	bare     string       // address of the bare handler
}

type benchUser struct {
	token string
	key   handles.Key
}

// A benchCall is one of the calls that are measured.
type benchCall struct {
	tool      string
	arguments string // with %s for the cart_id
	target    float64
	run       func(context.Context, handles.Key) (store.Cart, error)
}

func (s *stand) setItem(ctx context.Context, key handles.Key) (store.Cart, error) {
	return s.store.SetItem(ctx, key, "MUG-BLUE", 2)
}

func (s *stand) get(ctx context.Context, key handles.Key) (store.Cart, error) {
	return s.store.Cart(ctx, key)
}

func newStand(b *testing.B) *stand {
	b.Helper()
	s := &stand{site: newSite(b, 1)}
	s.verifier = authtest.Verifier(b, s.site.issuer)
	s.store = s.openStore(b, store.CountRoundTrips(&s.trips))
	for i := range benchClients {
		s.users = append(s.users, s.newUser(b, fmt.Sprintf("user-%d", i)))
	}
	srv, err := server.New(server.Config{
		Resource: authtest.Audience, Issuers: []auth.Issuer{{URL: s.site.issuer.URL}},
		Verifier: s.verifier, Store: s.store, Sealer: newSealer(b), RateLimit: 1_000_000,
		// What goes to standard error in production is written out here, too.
		Log: slog.New(slog.NewJSONHandler(nowhere{}, nil)), Metrics: prometheus.NewRegistry(), Version: "bench",
	})
	if err != nil {
		b.Fatal(err)
	}
	if s.handler, err = srv.Handler(); err != nil {
		b.Fatal(err)
	}
	s.ours = listenOn(b, s.handler)
	s.bare = listenOn(b, bareHandler{s})
	return s
}

func newSealer(b *testing.B) *requeststate.Sealer {
	b.Helper()
	parsed, err := requeststate.ParseRing(ring("0a1b2c3d", "mint"))
	if err != nil {
		b.Fatal(err)
	}
	keys, err := requeststate.NewKeys(parsed)
	if err != nil {
		b.Fatal(err)
	}
	sealer, err := requeststate.NewSealer(keys)
	if err != nil {
		b.Fatal(err)
	}
	return sealer
}

// nowhere is not [io.Discard], for which slog would not format anything.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }

func listenOn(b *testing.B, h http.Handler) string {
	hs := httptest.NewServer(h)
	b.Cleanup(hs.Close)
	return hs.Listener.Addr().String()
}

// openStore opens the store with a connection for each client.
func (s *stand) openStore(b *testing.B, options ...store.Option) *store.Postgres {
	b.Helper()
	db, err := store.Open(b.Context(), s.site.db, append(options, func(c *pgxpool.Config) { c.MaxConns = benchClients })...)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(db.Close)
	return db
}

// newUser makes a user with a cart of three lines.
func (s *stand) newUser(b *testing.B, name string) benchUser {
	b.Helper()
	token := s.site.token(name)
	principal, err := s.verifier.Verify(b.Context(), token)
	if err != nil {
		b.Fatal(err)
	}
	u := benchUser{token, handles.NewKey(principal.UserID(), handles.Mint(handles.Cart))}
	if _, err := s.store.CreateCart(b.Context(), u.key); err != nil {
		b.Fatal(err)
	}
	for _, sku := range []string{"KETTLE-GOOSE", "MUG-BLUE", "TEAPOT-CLAY"} {
		if _, err := s.store.SetItem(b.Context(), u.key, sku, 2); err != nil {
			b.Fatal(err)
		}
	}
	return u
}

func (c benchCall) body(u benchUser) string {
	arguments := fmt.Sprintf(c.arguments, u.key.Handle().Reveal())
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + c.tool + `","arguments":` + arguments + `,` + meta + `}}`
}

func (c benchCall) headers(u benchUser) http.Header {
	return http.Header{
		"Authorization": {"Bearer " + u.token}, "Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {c.tool},
	}
}

// sameAnswer makes sure that the bare handler does the same work.
func (s *stand) sameAnswer(b *testing.B, call benchCall) {
	b.Helper()
	var answers [2]any
	for i, address := range []string{s.ours, s.bare} {
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://"+address+"/mcp", strings.NewReader(call.body(s.users[0])))
		if err != nil {
			b.Fatal(err)
		}
		req.Header = call.headers(s.users[0])
		got := s.site.send(req)
		if !got.ok() || json.Unmarshal([]byte(volatile.ReplaceAllString(got.body, "")), &answers[i]) != nil {
			b.Fatalf("%s at %s = %+v, want its result", call.tool, address, got)
		}
	}
	if diff := cmp.Diff(answers[0], answers[1]); diff != "" {
		b.Fatalf("the bare handler answers something else (-server +bare):\n%s", diff)
	}
}

// A cost is what one call takes that does not depend on the machine.
type cost struct{ bytes, allocs, trips float64 }

// cost counts over calls made one by one, without a network.
func (s *stand) cost(b *testing.B, call benchCall) cost {
	b.Helper()
	w := newNullWriter()
	r, body := call.direct(b, s.users[0])
	serve := func(times int) {
		for range times {
			w.reset()
			body.Reset(call.body(s.users[0]))
			s.handler.ServeHTTP(w, r)
			if w.status != http.StatusOK || w.isError {
				b.Fatalf("%s = %d, isError %v, want its result", call.tool, w.status, w.isError)
			}
		}
	}
	serve(100) // what is made once is made
	var before, after runtime.MemStats
	trips := s.trips.Load()
	runtime.ReadMemStats(&before)
	serve(benchCalls)
	runtime.ReadMemStats(&after)
	return cost{
		float64(after.TotalAlloc-before.TotalAlloc) / benchCalls,
		float64(after.Mallocs-before.Mallocs) / benchCalls,
		float64(s.trips.Load()-trips) / benchCalls,
	}
}

// database says what is behind the store.
func (s *stand) database(b *testing.B) string {
	version := query[string](b, s.site, "SELECT current_setting('server_version')")
	fsync := query[string](b, s.site, "SELECT current_setting('fsync')")
	return "PostgreSQL " + strings.Fields(version)[0] + " with fsync " + fsync
}

// ownerText is a user id as Postgres writes a uuid, which reads it without hyphens.
func ownerText(id [16]byte) string { return hex.EncodeToString(id[:]) }
