package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/server"
	"example.com/mcp-cart/store"
)

// What a confirmation may cost: a look, and one transaction.
const (
	maxLooks = 1
	maxTrips = 6
)

// A counter is a shop in this process, whose ways to the database are counted.
type counter struct {
	*shop
	here     *replica // not a process of its own
	store    *store.Postgres
	verifier *auth.Verifier
	sealer   *requeststate.Sealer
	trips    atomic.Int64 // all of them
	atBegin  atomic.Int64 // trips before the last BEGIN
}

func newCounter(t testing.TB) *counter {
	t.Helper()
	c := &counter{shop: newShop(t)}
	c.sell(t, "CLOCK", 1_000_000)
	db, err := store.Open(t.Context(), c.db+"&pool_max_conns=1", store.WithDial(c.dial), store.CountRoundTrips(&c.trips))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	parsed, err := requeststate.ParseRing(requeststate.NewKeyLine())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := requeststate.NewKeys(parsed)
	if err != nil {
		t.Fatal(err)
	}
	if c.sealer, err = requeststate.NewSealer(keys); err != nil {
		t.Fatal(err)
	}
	c.store, c.verifier = db, authtest.Verifier(t, c.issuer)
	srv, err := server.New(server.Config{
		Resource: authtest.Audience, Issuers: []auth.Issuer{{URL: c.issuer.URL}},
		Verifier: c.verifier, Store: c.store, Sealer: c.sealer, RateLimit: 1_000_000,
		Log: slog.New(slog.NewJSONHandler(io.Discard, nil)), Metrics: prometheus.NewRegistry(), Version: "test",
	})
	if err != nil {
		t.Fatal(err)
	}
	handler, err := srv.Handler()
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(handler)
	t.Cleanup(hs.Close)
	c.here = &replica{site: c.site, url: hs.URL}
	return c
}

func (c *counter) dial(ctx context.Context, network, address string) (net.Conn, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	return &beginConn{conn, c}, nil
}

// A beginConn notices where a transaction begins.
type beginConn struct {
	net.Conn
	counter *counter
}

func (b *beginConn) Write(p []byte) (int, error) {
	if bytes.Contains(p, []byte("begin\x00")) {
		b.counter.atBegin.Store(b.counter.trips.Load())
	}
	return b.Conn.Write(p)
}

// A bill is what a confirmation cost.
type bill struct {
	took        time.Duration
	looks, inTx int64 // round trips before the transaction and in it
}

// confirm sends the last yes of a flow.
func (c *counter) confirm(t testing.TB, f flow) bill {
	t.Helper()
	req := f.request(t, c.here, sayYes)
	before, begin := c.trips.Load(), time.Now()
	got := c.answer(t, req)
	n := bill{took: time.Since(begin), looks: c.atBegin.Load() - before, inTx: c.trips.Load() - c.atBegin.Load()}
	got.wantPlaced(t)
	if n.looks > maxLooks || n.inTx > maxTrips || n.inTx < 2 {
		t.Errorf("a confirmation makes %d round trips and then %d in its transaction, want at most %d and %d", n.looks, n.inTx, maxLooks, maxTrips)
	}
	return n
}

func TestConfirmationIsOneLookAndOneShortTransaction(t *testing.T) {
	t.Parallel()
	c := newCounter(t)
	for i := range 3 {
		lines := []line{{"CLOCK", i + 1}}
		if i > 0 { // it does not depend on the number of lines
			lines = append(lines, line{"MUG-BLUE", 1}, line{"MUG-WHITE", 1})
		}
		c.confirm(t, c.asked(t, c.here, c.customer(fmt.Sprint("buyer-", i)), lines...))
	}
	c.wantOrders(t, 3)
}
