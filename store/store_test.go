package store_test

import (
	"os"
	"strings"
	"testing"

	"example.com/mcp-cart/cmd/cartdev/localpg/pgtest"
	"example.com/mcp-cart/store"
	"example.com/mcp-cart/store/storetest"
)

var postgres pgtest.Server

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

func TestPostgresKeepsItsPromises(t *testing.T) {
	storetest.Run(t, postgres.Database)
}

func TestOpenNeedsNoDatabaseAndShowsNoPassword(t *testing.T) {
	p, err := store.Open(t.Context(), "postgres://user:secret-word@127.0.0.1:1/none")
	if err != nil {
		t.Fatalf("Open = %v", err)
	}
	defer p.Close()
	if err := p.Ping(t.Context()); err == nil || strings.Contains(err.Error(), "secret-word") {
		t.Errorf("Ping = %v, want an error without the password", err)
	}
	for _, url := range []string{
		"postgres://user:secret-word@127.0.0.1:port/none",
		"postgres://user:secret-word@127.0.0.1:1/none?pool_max_conns=many",
		"host=127.0.0.1 password=secret-word port=x",
		"postgres://user:secret-word@127.0.0.1:1/none?default_query_exec_mode=bogus",
	} {
		if _, err := store.Open(t.Context(), url); err == nil || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("Open(%q) = %v, want an error without the password", url, err)
		}
		if _, err := store.Migrate(t.Context(), url); err == nil || strings.Contains(err.Error(), "secret-word") {
			t.Errorf("Migrate(%q) = %v, want an error without the password", url, err)
		}
	}
}

func TestOpenRefusesModesThatGuessTypes(t *testing.T) {
	for mode, want := range map[string]bool{
		"cache_statement": true, "cache_describe": true, "describe_exec": true, "exec": false, "simple_protocol": false,
	} {
		p, err := store.Open(t.Context(), "postgres://127.0.0.1:1/none?default_query_exec_mode="+mode)
		if (err == nil) != want {
			t.Errorf("Open with %s = %v, want success %t", mode, err, want)
		}
		if err == nil {
			p.Close()
		}
	}
}
