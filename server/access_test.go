package server

import (
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
	"example.com/mcp-cart/store"
)

// Whatever else is wrong with a request, without a good token that is all it is
// told: nobody learns whether a tool exists or whether a text parses.
func TestTokenComesFirst(t *testing.T) {
	sh := newShop(t)
	tokens := map[string]string{
		"none":           "",
		"garbage":        "garbage",
		"expired":        sh.issuer.Token(authtest.ExpiresIn(-time.Hour)),
		"other audience": sh.issuer.Token(authtest.For("https://other.example/mcp")),
		"stranger's":     authtest.NewIssuer(t).Token(),
	}
	bodies := map[string]string{
		"good call":      callBody("cart_list", "{}"),
		"unknown tool":   callBody("no_such_tool", "{}"),
		"unknown method": strings.Replace(callBody("cart_list", "{}"), "tools/call", "no/such", 1),
		"not JSON":       "{",
		"empty":          "",
		"too large":      strings.Repeat("x", maxBody+1),
		"initialize":     `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"t","version":"0"}}}`,
		"notification":   `{"jsonrpc":"2.0","method":"notifications/cancelled"}`,
	}
	for tokenName, token := range tokens {
		var first string
		for bodyName, body := range bodies {
			got := sh.post(t, token, "cart_list", body)
			challenge := got.header.Get("WWW-Authenticate")
			if got.status != 401 || strings.Contains(challenge, "error=") != (token != "") {
				t.Errorf("%s token, %s: %d %s, want 401 and an error only for a token", tokenName, bodyName, got.status, challenge)
			}
			if answer := got.body + challenge; first == "" {
				first = answer
			} else if answer != first {
				t.Errorf("%s token, %s: %s, want the same answer for every body: %s", tokenName, bodyName, answer, first)
			}
		}
	}
}

func TestTokenIsCheckedOnEveryRequestOfAConnection(t *testing.T) {
	sh := newShop(t)
	good := sh.issuer.Token(authtest.Scope(allScopes))
	body := callBody("cart_list", "{}")
	for i, step := range []struct {
		token string
		want  int
	}{{good, 200}, {"", 401}, {good, 200}, {good + "x", 401}, {sh.issuer.Token(authtest.Subject("bob"), authtest.Scope("catalog:read")), 403}, {good, 200}} {
		if got := sh.post(t, step.token, "cart_list", body); got.status != step.want {
			t.Errorf("request %d = %d, want %d", i, got.status, step.want)
		}
	}
}

func TestTokenInQueryOrBodyIsNoToken(t *testing.T) {
	sh := newShop(t)
	token := sh.issuer.Token(authtest.Scope(allScopes))
	req, err := http.NewRequest(http.MethodPost, sh.url+"/mcp?access_token="+token, strings.NewReader(callBody("cart_list", "{}")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	if got := send(t, req); got.status != 401 {
		t.Errorf("token in the query = %d, want 401", got.status)
	}
}

func TestUnreachableIssuerIsNotTheClientsFault(t *testing.T) {
	issuer := authtest.NewIssuer(t)
	sh := newShop(t, trusting(t, issuer))
	issuer.Down()
	// This one is asked for keys for the first time when it is down.
	cold := authtest.NewIssuer(t)
	cold.Down()
	sh2 := newShop(t, func(cfg *Config) { cfg.Verifier = coldVerifier(t, cold) })
	if got := sh.post(t, issuer.Token(authtest.Scope(allScopes)), "cart_list", callBody("cart_list", "{}")); got.status != 200 {
		t.Errorf("issuer down after its keys are known = %d %s, want 200", got.status, got.body)
	}
	got := sh2.post(t, cold.Token(authtest.Scope(allScopes)), "cart_list", callBody("cart_list", "{}"))
	if got.status != 503 || got.header.Get("Retry-After") == "" || got.header.Get("WWW-Authenticate") != "" || strings.Contains(got.body, "127.0.0.1") {
		t.Errorf("issuer down from the start = %d %v %s, want 503 with Retry-After and no address", got.status, got.header, got.body)
	}
}

func TestRateLimitIsPerUser(t *testing.T) {
	sh := newShop(t, func(cfg *Config) { cfg.RateLimit = 1 })
	body := callBody("cart_list", "{}")
	alice := sh.issuer.Token(authtest.Scope(allScopes))
	bob := sh.issuer.Token(authtest.Subject("bob"), authtest.Scope(allScopes))
	var last reply
	for range 11 {
		last = sh.post(t, alice, "cart_list", body)
	}
	if last.status != 429 || last.header.Get("Retry-After") == "" || !strings.Contains(last.body, "jsonrpc") {
		t.Errorf("11th call within 10 s = %d %v %s, want 429 with Retry-After", last.status, last.header, last.body)
	}
	if got := sh.post(t, sh.issuer.Token(authtest.Client("client-2"), authtest.Scope(allScopes)), "cart_list", body); got.status != 429 {
		t.Errorf("the same user through another client = %d, want 429", got.status)
	}
	if got := sh.post(t, bob, "cart_list", body); got.status != 200 {
		t.Errorf("another user = %d, want 200", got.status)
	}
}

func TestLogsHoldNoTokenAndNoHandle(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice", authtest.Claim("jti", "marker-in-token"))
	cart := filledCart(t, alice)
	secrets := []string{cart.CartID, cart.CartID[5:31], "marker-in-token", "alice"}
	for _, token := range []string{sh.issuer.Token(), sh.issuer.Token(authtest.ExpiresIn(-time.Hour)), "e30.e30.c2ln"} {
		sh.post(t, token, "cart_get", callBody("cart_get", `{"cart_id":"`+cart.CartID+`"}`))
		sh.post(t, token, "cart_get", callBody("cart_get", `{"cart_id":"`+cart.CartID+`x"}`))
		secrets = append(secrets, token, token[strings.LastIndex(token, ".")+1:])
	}
	for _, wanted := range []string{`"outcome":"ok"`, `"outcome":"token_expired"`, `"outcome":"token_alg"`, `"outcome":"handle_form"`, `"principal":"user:`} {
		sh.logs(t, wanted)
	}
	for _, secret := range secrets {
		if strings.Contains(sh.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

func TestMetadataIsReadableByEverybodyAtBothPaths(t *testing.T) {
	sh := newShop(t)
	for _, path := range []string{"/.well-known/oauth-protected-resource/mcp", "/.well-known/oauth-protected-resource"} {
		req, err := http.NewRequest(http.MethodGet, sh.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Origin", "https://anywhere.example")
		req.Header.Set("X-Forwarded-Host", "evil.example")
		got := send(t, req)
		if got.status != 200 || got.header.Get("Access-Control-Allow-Origin") != "*" ||
			!strings.Contains(got.body, `"resource":"`+authtest.Audience+`"`) || !strings.Contains(got.body, sh.issuer.URL) || strings.Contains(got.body, "evil") {
			t.Errorf("%s = %d %v %s", path, got.status, got.header, got.body)
		}
		req.Host = "evil.example"
		if got := send(t, req); got.status != 421 {
			t.Errorf("%s for another host = %d, want 421", path, got.status)
		}
	}
}

func TestHealthAsksNobodyAndReadinessAsksEverything(t *testing.T) {
	sh := newShop(t)
	get := func(path string) int {
		req, err := http.NewRequest(http.MethodGet, sh.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Host = "whatever.example"
		return send(t, req).status
	}
	if h, r := get("/healthz"), get("/readyz"); h != 200 || r != 200 {
		t.Errorf("healthz, readyz = %d, %d, want 200", h, r)
	}
	sh.Drain()
	if h, r := get("/healthz"), get("/readyz"); h != 200 || r != 503 {
		t.Errorf("draining: healthz, readyz = %d, %d, want 200, 503", h, r)
	}
	sh.readiness = readiness{}
	var err error
	if sh.store, err = store.Open(t.Context(), "postgres://nobody@127.0.0.1:1/none"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(sh.store.Close)
	if h, r := get("/healthz"), get("/readyz"); h != 200 || r != 503 {
		t.Errorf("without a database: healthz, readyz = %d, %d, want 200, 503", h, r)
	}
}

// Metric labels live as long as the process, so a client must not be able to
// invent them.
func TestNotificationsHaveOneMetric(t *testing.T) {
	registry := prometheus.NewRegistry()
	sh := newShop(t, func(cfg *Config) { cfg.Metrics = registry })
	token := sh.issuer.Token(authtest.Scope(allScopes))
	for n := range 50 {
		req, err := http.NewRequest(http.MethodPost, sh.url+"/mcp", strings.NewReader(fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/n%d"}`, n)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header = http.Header{"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"}}
		if got := send(t, req); got.status != 202 {
			t.Fatalf("notification = %d %s, want 202", got.status, got.body)
		}
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if len(f.GetMetric()) != 1 {
			t.Errorf("%s has %d series, want 1", f.GetName(), len(f.GetMetric()))
		}
	}
}

func TestLogSaysWhichCheckRefusedAState(t *testing.T) {
	sh := newShop(t)
	alice := sh.buyer()
	cart, other := alice.newCart(t), alice.newCart(t)
	alice.confirm(t, other.CartID, alice.toConfirm(t, cart.CartID).Result.RequestState)
	sh.logs(t, `"err":"request state is not valid: arguments"`)
}

// What could not be parsed may hold anything, a handle or a token too.
func TestLogHoldsNothingOfATextThatIsNoStrictJSON(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	long := strings.Repeat("y", 10_000)
	sh.post(t, b.token, "cart_get", callBody("cart_get", `{"`+cart.CartID+`":1,"`+cart.CartID+`":1}`))
	sh.post(t, b.token, "cart_get", callBody("cart_get", `{"`+long+`":1,"`+long+`":1}`))
	sh.logs(t, "no strict JSON at byte")
	for _, secret := range []string{cart.CartID, "yyyy"} {
		if strings.Contains(sh.log.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}

func TestResourceNeedsAPlainPathOfItsOwn(t *testing.T) {
	for _, resource := range []string{
		"https://shop.example", "https://shop.example/", "https://shop.example/a*b", "https://shop.example/m%20cp",
		"https://shop.example/{x}", "https://shop.example/readyz", "https://shop.example/.well-known/x", "https://shop.example/mcp/",
	} {
		cfg := Config{
			Resource: resource, Verifier: new(auth.Verifier), RateLimit: 1,
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		}
		if _, err := newServer(cfg); err == nil {
			t.Errorf("resource %s: accepted", resource)
		}
	}
}

// One locked row keeps as many connections as there are calls that want it. A
// load balancer that took the replica away for it would take away all of them.
func TestBusyPoolIsStillReady(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	locks := sh.block(t, `SELECT FROM carts FOR UPDATE`)
	args := `{"cart_id":"` + cart.CartID + `","sku":"` + cart.Lines[0].SKU + `","quantity":1}`
	var wg sync.WaitGroup
	for range 12 {
		wg.Go(func() { sh.post(t, b.token, "cart_set_item", callBody("cart_set_item", args)) })
	}
	eventually(t, "the pool is taken", func() bool { return locks.waiting() >= 4 })
	if err := sh.Ready(t.Context()); err != nil {
		t.Errorf("Ready with a busy pool = %v, want nil", err)
	}
	locks.lift()
	wg.Wait()
}
