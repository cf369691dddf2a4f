package main

import (
	"net/http"
	"strings"
	"testing"
)

func TestReplicaRidesOutADatabaseOutage(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	cable, db := s.throughCable(t)
	r := s.launch(t, map[string]string{"DATABASE_URL": db})
	r.waitReady(t)
	alice := s.token("alice")
	session := r.with(t, alice)
	made := must[cart](t, session, "cart_create", nil)

	for range 2 {
		cable.Cut()
		eventually(t, "the replica is not ready", func() bool { return r.get(t, "/readyz") == http.StatusServiceUnavailable })
		if got := r.get(t, "/healthz"); got != http.StatusOK {
			t.Errorf("/healthz during the outage = %d, want 200: a restart would not help", got)
		}
		for tool, a := range map[string]args{
			"product_search": {}, "cart_create": {}, "cart_list": {}, "cart_get": {"cart_id": made.CartID}, "checkout": {"cart_id": made.CartID},
			"cart_set_item": setItem(made.CartID, "MUG-BLUE", 1), "cart_discard": {"cart_id": made.CartID},
		} {
			got := r.post(t, alice, tool, a)
			if !strings.Contains(got.body, `"isError":true`) || !strings.Contains(got.body, "make the same call again") {
				t.Errorf("%s during the outage = %s, want a tool error that says to try again", tool, got.body)
			}
		}
		if got := r.post(t, "", "cart_get", args{"cart_id": made.CartID}).status; got != http.StatusUnauthorized {
			t.Errorf("call without a token during the outage = %d, want 401", got)
		}
		cable.Mend()
		r.waitReady(t)
		list := must[carts](t, session, "cart_list", nil)
		if len(list.Carts) != 1 || list.Carts[0].Version != made.Version {
			t.Errorf("cart_list after the outage = %+v, want the cart as it was", list.Carts)
		}
	}
}

func TestCallsSurviveADatabaseThatDropsItsConnections(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	session := s.replica(t).as(t, "alice")
	made := must[cart](t, session, "cart_create", nil)
	s.exec(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'mcp-cart'`)
	eventually(t, "calls work again", func() bool {
		after, failed := ask[cart](t, session, "cart_set_item", setItem(made.CartID, "MUG-BLUE", 1))
		if failed != "" && !strings.Contains(failed, "make the same call again") {
			t.Fatalf("cart_set_item = %q, want a tool error that says to try again", failed)
		}
		return failed == "" && len(after.Lines) == 1
	})
}

func TestReplicaWaitsForItsIssuer(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	s.issuer.Down()
	r := s.launch(t, nil)
	alice := s.token("alice")
	got := r.post(t, alice, "cart_list", nil)
	if got.status != http.StatusServiceUnavailable || got.header.Get("Retry-After") == "" || got.header.Get("WWW-Authenticate") != "" {
		t.Errorf("call before the first keys = %d, %v, want 503 with Retry-After and no challenge", got.status, got.header)
	}
	if strings.Contains(got.body, s.issuer.URL) || !strings.Contains(got.body, `"jsonrpc"`) {
		t.Errorf("call before the first keys = %s, want a JSON-RPC error that names no address", got.body)
	}
	if ready, alive := r.get(t, "/readyz"), r.get(t, "/healthz"); ready != http.StatusServiceUnavailable || alive != http.StatusOK {
		t.Errorf("/readyz, /healthz before the first keys = %d, %d, want 503, 200", ready, alive)
	}
	s.issuer.Up()
	r.waitReady(t)
	if got := r.post(t, alice, "cart_list", nil); !got.ok() {
		t.Errorf("call after the issuer came up = %+v, want its result", got)
	}
}

func TestLastKeysGoOnWhileTheIssuerIsDown(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	r := s.replica(t)
	s.issuer.Down()
	if got := r.post(t, s.token("alice"), "cart_list", nil); !got.ok() {
		t.Errorf("call under a key that is known = %+v, want its result", got)
	}
	if got := r.get(t, "/readyz"); got != http.StatusOK {
		t.Errorf("/readyz = %d, want 200", got)
	}
}

func TestReplicaWaitsForTheMigration(t *testing.T) {
	t.Parallel()
	s := newEmptySite(t, 1)
	s.launch(t, nil)
	s.launch(t, nil)
	for _, r := range s.replicas {
		eventually(t, "the replica sees the empty database", func() bool { return strings.Contains(r.out.String(), "run cartd migrate") || r.get(t, "/readyz") == 0 })
		if ready, alive := r.get(t, "/readyz"), r.get(t, "/healthz"); ready != http.StatusServiceUnavailable || alive != http.StatusOK {
			t.Errorf("/readyz, /healthz before the migration = %d, %d, want 503, 200", ready, alive)
		}
	}
	s.migrate(t)
	for _, r := range s.replicas {
		r.waitReady(t)
		made := must[cart](t, r.as(t, "alice"), "cart_create", nil)
		must[cart](t, r.as(t, "alice"), "cart_set_item", setItem(made.CartID, "MUG-BLUE", 1))
	}
}
