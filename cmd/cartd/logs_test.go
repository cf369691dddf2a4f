package main

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"example.com/mcp-cart/auth/authtest"
	"example.com/mcp-cart/handles"
)

// What happens here is everything that could bring a secret into a log: calls
// that work, that are refused at every stage, and that fail inside, where the
// database's own error quotes the row.
func TestNoLogHoldsATokenOrAHandle(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	one, two := s.replica(t), s.replica(t)
	alice := s.token("alice")
	made := must[cart](t, one.with(t, alice), "cart_create", nil)
	id := made.CartID
	foreign := handles.Mint(handles.Cart).Reveal()
	secrets := map[string]string{"the handle": id, "a handle that is not issued": foreign}
	tokens := map[string]string{
		"a good token":                    alice,
		"a token of another audience":     s.token("alice", authtest.For("https://elsewhere.example/mcp")),
		"an expired token":                s.token("alice", authtest.ExpiresIn(-time.Hour)),
		"a token signed by somebody else": s.token("alice", authtest.SignedBy(authtest.NewKey("key-1", "ES256"))),
		"a token under an unknown key":    s.token("alice", authtest.SignedBy(authtest.NewKey("key-9", "ES256"))),
		"a token without the scope":       s.token("alice", authtest.Scope("catalog:read")),
	}
	for name, token := range tokens {
		parts := strings.Split(token, ".")
		secrets[name], secrets["the signature of "+name] = token, parts[2]
		secrets["the claims of "+name] = parts[1]
	}

	for _, r := range []*replica{one, two} {
		for _, token := range tokens {
			r.post(t, token, "cart_set_item", setItem(id, "MUG-BLUE", 1))
		}
		for _, call := range []args{
			setItem(foreign, "MUG-BLUE", 1), setItem(id+"0", "MUG-BLUE", 1), setItem(id, id, 1),
			setItem(id, "NOT-A-PRODUCT", 1), setItem(id, "MUG-BLUE", -1), {"cart_id": id, id: id}, {"cart_id": []string{id}},
		} {
			r.post(t, alice, "cart_set_item", call)
		}
		for _, change := range []func(*http.Request){
			func(q *http.Request) { q.URL.RawQuery = "access_token=" + alice + "&cart=" + id },
			func(q *http.Request) { q.Header.Set("Authorization", alice) },
			func(q *http.Request) { q.Header.Add("Authorization", "Bearer "+alice) },
			func(q *http.Request) { q.Header.Set("Mcp-Name", id) },
			func(q *http.Request) { q.Header.Set("Mcp-Method", alice) },
			func(q *http.Request) { q.Header.Set("Origin", "https://"+id+".example") },
			func(q *http.Request) { q.Header.Set("X-Long", strings.Repeat(alice, 100)) },
			func(q *http.Request) { q.Host = alice },
			func(q *http.Request) { q.URL.Path += "/" + id },
			func(q *http.Request) { q.Method = http.MethodGet },
			func(q *http.Request) { q.Body = http.NoBody },
		} {
			req := r.request(t, alice, "cart_get", args{"cart_id": id})
			change(req)
			s.send(req)
		}
	}
	s.exec(t, "ALTER TABLE carts ADD CONSTRAINT broken CHECK (version < 2) NOT VALID")
	if got := two.post(t, alice, "cart_set_item", setItem(id, "MUG-BLUE", 2)); !strings.Contains(got.body, "internal error") || strings.Contains(got.body, "broken") {
		t.Errorf("cart_set_item that the database refuses = %s, want an internal error and nothing else", got.body)
	}
	two.restart(t).post(t, alice, "cart_list", nil)
	for _, r := range s.replicas {
		r.stop(t) // A request's line is written after its answer.
	}

	for i, r := range s.replicas {
		log := r.out.String()
		if !strings.Contains(log, `"tool":"cart_`) {
			t.Errorf("log of replica %d tells of no call:\n%s", i, log)
		}
		for name, secret := range secrets {
			if strings.Contains(log, secret) || strings.Contains(log, strings.TrimPrefix(secret, "cart_")) {
				t.Errorf("log of replica %d holds %s", i, name)
			}
		}
	}
	if !strings.Contains(two.out.String(), "broken") {
		t.Error("the log does not say what the internal error was")
	}
}
