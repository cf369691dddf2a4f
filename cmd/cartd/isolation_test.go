package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/mcp-cart/auth/authtest"
	"example.com/mcp-cart/handles"
)

// cartCalls has a call of every tool that takes a cart_id. A tool that is not
// here fails the tests that use it: whatever takes a handle has to prove that it
// takes nobody else's.
func cartCalls(cartID string) map[string]args {
	return map[string]args{
		"cart_get":      {"cart_id": cartID},
		"cart_set_item": setItem(cartID, "MUG-BLUE", 7),
		"cart_discard":  {"cart_id": cartID},
		"checkout":      {"cart_id": cartID},
	}
}

// forEachCartTool runs f for every tool that takes a cart_id, on every replica
// that runs, with the arguments for this cart.
func forEachCartTool(t *testing.T, s *site, token, cartID string, f func(t *testing.T, r *replica, tool string)) {
	t.Helper()
	calls := cartCalls(cartID)
	for i, r := range s.replicas {
		list, err := r.with(t, token).ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		found := 0
		for _, tool := range list.Tools {
			schema, err := json.Marshal(tool.InputSchema)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(string(schema), `"cart_id"`) {
				continue
			}
			found++
			if calls[tool.Name] == nil {
				t.Errorf("%s takes a cart_id and is not in cartCalls", tool.Name)
				continue
			}
			t.Run(tool.Name+" on replica "+string(rune('1'+i)), func(t *testing.T) { f(t, r, tool.Name) })
		}
		if found == 0 {
			t.Error("tools/list shows no tool that takes a cart_id")
		}
	}
}

// sameAsNeverIssued calls the tool with this handle and with one that was never
// issued, and wants the same answer, byte for byte.
func sameAsNeverIssued(t *testing.T, r *replica, token, tool, cartID string) {
	t.Helper()
	want := r.post(t, token, tool, cartCalls(handles.Mint(handles.Cart).Reveal())[tool])
	got := r.post(t, token, tool, cartCalls(cartID)[tool])
	if got.status != want.status || got.body != want.body || !strings.Contains(got.body, `"isError":true`) {
		t.Errorf("%s = %d %s\nwant the tool error for a handle that was never issued: %d %s", tool, got.status, got.body, want.status, want.body)
	}
}

// row is a cart with everything that the database knows of it: every column,
// which version of the row this is, and whether anybody has locked it since.
func (s *site) row(t testing.TB, cartID string) string {
	t.Helper()
	return query[string](t, s, `SELECT concat_ws(' ', c::text, c.ctid, c.xmin, c.xmax) FROM carts c WHERE handle = $1`, cartID)
}

func TestForeignHandleIsUnknown(t *testing.T) {
	t.Parallel()
	s := newSite(t, 2)
	alice := s.replica(t).as(t, "alice")
	s.replica(t)
	made := must[cart](t, alice, "cart_create", nil)
	must[cart](t, alice, "cart_set_item", setItem(made.CartID, "TEAPOT-CLAY", 1))
	before := s.row(t, made.CartID)

	strangers := map[string]string{
		"another user of the same client":              s.token("bob"),
		"a user whose name differs in case":            s.token("Alice"),
		"a program with the user's name as client id":  s.token("alice", authtest.Client("alice")),
		"the same subject of another issuer":           s.issuers[1].Token(authtest.Subject("alice"), authtest.Scope(allScopes)),
		"a user whose name is issuer and subject both": s.token(s.issuer.URL + "alice"),
	}
	for name, token := range strangers {
		t.Run(name, func(t *testing.T) {
			forEachCartTool(t, s, token, made.CartID, func(t *testing.T, r *replica, tool string) {
				sameAsNeverIssued(t, r, token, tool, made.CartID)
			})
			list := must[carts](t, s.replicas[0].with(t, token), "cart_list", nil)
			if len(list.Carts) != 0 {
				t.Errorf("cart_list = %+v, want none", list.Carts)
			}
		})
	}
	if after := s.row(t, made.CartID); after != before {
		t.Errorf("row of the owner's cart = %s\nwant %s", after, before)
	}
}

func TestDiscardedCartIsUnknownToItsOwner(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	alice := s.replica(t).as(t, "alice")
	s.replica(t)
	made := must[cart](t, alice, "cart_create", nil)
	must[any](t, alice, "cart_discard", args{"cart_id": made.CartID})
	token := s.token("alice")
	forEachCartTool(t, s, token, made.CartID, func(t *testing.T, r *replica, tool string) {
		sameAsNeverIssued(t, r, token, tool, made.CartID)
	})
}

func TestCartFollowsTheUserToAnotherClient(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	web, phone := authtest.Client("web"), authtest.Client("phone")
	one, two := s.replica(t), s.replica(t)
	made := must[cart](t, one.as(t, "alice", web), "cart_create", nil)
	filled := must[cart](t, two.as(t, "alice", phone), "cart_set_item", setItem(made.CartID, "PEN-FOUNTAIN", 1))
	list := must[carts](t, two.as(t, "alice", web), "cart_list", nil)
	if diff := cmp.Diff([]cart{filled}, list.Carts); diff != "" {
		t.Errorf("cart_list from the first client (-want +got):\n%s", diff)
	}
	must[any](t, one.as(t, "alice", phone), "cart_discard", args{"cart_id": made.CartID})
}

func TestExpiredCartIsGoneBeforeAnyJanitor(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	alice := s.replica(t).as(t, "alice")
	s.replica(t)
	made := must[cart](t, alice, "cart_create", nil)
	must[cart](t, alice, "cart_set_item", setItem(made.CartID, "MUG-BLUE", 1))
	s.exec(t, "UPDATE carts SET expires_at = clock_timestamp() WHERE handle = $1", made.CartID)
	const columns = "SELECT c::text FROM carts c WHERE handle = $1"
	before := query[string](t, s, columns, made.CartID)

	forEachCartTool(t, s, s.token("alice"), made.CartID, func(t *testing.T, r *replica, tool string) {
		got := r.post(t, s.token("alice"), tool, cartCalls(made.CartID)[tool])
		if !strings.Contains(got.body, `"isError":true`) || !strings.Contains(got.body, "expired") {
			t.Errorf("%s on an expired cart = %s, want that it has expired", tool, got.body)
		}
	})
	for _, r := range s.replicas {
		if list := must[carts](t, r.as(t, "alice"), "cart_list", nil); len(list.Carts) != 0 {
			t.Errorf("cart_list = %+v, want none", list.Carts)
		}
	}
	if after := query[string](t, s, columns, made.CartID); after != before {
		t.Errorf("row of the expired cart = %s\nwant %s", after, before)
	}
}

// A write that waits for the cart while it expires was sent in time. It must not
// bring back a cart that others have been told is gone.
func TestCartThatExpiresWhileAWriteWaitsStaysGone(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	one, two := s.replica(t), s.replica(t)
	alice := one.as(t, "alice")
	made := must[cart](t, alice, "cart_create", nil)
	lock := s.holdCart(t, made.CartID)
	waiting := make(chan string, 1)
	go func() {
		_, failed := ask[cart](t, two.as(t, "alice"), "cart_set_item", setItem(made.CartID, "MUG-BLUE", 1))
		waiting <- failed
	}()
	lock.waitFor(t, 1)
	if _, err := lock.tx.Exec(t.Context(), "UPDATE carts SET expires_at = clock_timestamp() WHERE handle = $1", made.CartID); err != nil {
		t.Fatal(err)
	}
	if err := lock.tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	if failed := <-waiting; !strings.Contains(failed, "expired") {
		t.Errorf("cart_set_item that waited = %q, want that the cart has expired", failed)
	}
	if _, failed := ask[cart](t, alice, "cart_get", args{"cart_id": made.CartID}); !strings.Contains(failed, "expired") {
		t.Errorf("cart_get afterwards = %q, want that the cart has expired", failed)
	}
}
