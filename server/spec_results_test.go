package server

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

// resultOf reads the result of an answer, member by member.
func resultOf(t testing.TB, got reply) map[string]json.RawMessage {
	t.Helper()
	var answer struct {
		Result map[string]json.RawMessage
		Error  json.RawMessage
	}
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil || answer.Result == nil || answer.Error != nil {
		t.Fatalf("%d %s (%v), want a result", got.status, got.body, err)
	}
	return answer.Result
}

// say sends a message with a token, and any header it carries.
func (sh *shop) say(t testing.TB, token string, p post) reply {
	t.Helper()
	return send(t, messageTo(t, sh, token, p))
}

func callOf(e era, tool, args string) post {
	return newPost(e, "tools/call", tool, `"name":"`+tool+`","arguments":`+args)
}

// everyResult has one result of each kind: of every method and every tool, and
// of every way that a call can end.
func everyResult(t *testing.T, sh *shop) map[string]reply {
	b := sh.buyer()
	cart, other, bought, left := b.newCart(t), b.newCart(t), b.newCart(t), b.newCart(t)
	ask := b.checkout(t, cartJSON(bought.CartID), "", "")
	confirm := b.checkout(t, cartJSON(bought.CartID), ask.Result.RequestState, pickStandard)
	done := b.confirm(t, bought.CartID, confirm.Result.RequestState)
	results := map[string]reply{
		"server/discover": sh.say(t, b.token, newPost(modern, "server/discover", "", "")),
		"tools/list":      sh.say(t, b.token, newPost(modern, "tools/list", "", "")),
		"first question":  ask.reply,
		"second question": confirm.reply,
		"checkout":        done.reply,
		"cancelled":       b.checkout(t, cartJSON(left.CartID), b.toConfirm(t, left.CartID).Result.RequestState, `{"confirm":{"action":"cancel"}}`).reply,
		"declined":        b.checkout(t, cartJSON(left.CartID), b.toConfirm(t, left.CartID).Result.RequestState, `{"confirm":{"action":"decline"}}`).reply,
	}
	for tool, args := range map[string]string{
		"product_search": `{}`, "cart_create": `{}`, "cart_list": `{}`, "order_list": `{}`,
		"cart_get":      cartJSON(cart.CartID),
		"cart_discard":  cartJSON(other.CartID),
		"cart_set_item": `{"cart_id":"` + cart.CartID + `","sku":"MUG-BLUE","quantity":1}`,
		"order_get":     `{"order_id":"` + done.ordered(t) + `"}`,
	} {
		results[tool] = sh.say(t, b.token, callOf(modern, tool, args))
	}
	for tool := range sh.tools {
		if _, ok := results[tool]; !ok {
			t.Fatalf("no result of %s: add one", tool)
		}
	}
	results["tool error"] = sh.say(t, b.token, callOf(modern, "cart_get", `{}`))
	return results
}

func TestEveryResultSaysItsTypeAndWhoAnswered(t *testing.T) {
	for name, got := range everyResult(t, newShop(t)) {
		result := resultOf(t, got)
		want := `"complete"`
		if strings.HasSuffix(name, "question") {
			want = `"input_required"`
		}
		if string(result["resultType"]) != want {
			t.Errorf("%s: resultType = %s, want %s", name, result["resultType"], want)
		}
		// Nothing else is in _meta, and nothing of it at the top.
		const who = `{"io.modelcontextprotocol/serverInfo":{"name":"mcp-cart","title":"mcp-cart","version":"test"}}`
		if string(result["_meta"]) != who || result["serverInfo"] != nil {
			t.Errorf("%s: _meta = %s, want %s", name, result["_meta"], who)
		}
		if isError := string(result["isError"]) == "true"; isError != (name == "tool error") {
			t.Errorf("%s: isError = %v: %s", name, isError, got.body)
		}
		if got.status != 200 || got.header.Get("Content-Type") != "application/json" || got.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s: %d %v, want 200 and JSON that no HTTP cache keeps", name, got.status, got.header)
		}
	}
}

func TestOnlyDiscoveryAndListsSayHowLongTheyKeep(t *testing.T) {
	cacheable := []string{"server/discover", "tools/list"}
	for name, got := range everyResult(t, newShop(t)) {
		result := resultOf(t, got)
		ttl, scope := string(result["ttlMs"]), string(result["cacheScope"])
		if slices.Contains(cacheable, name) {
			// The list is made for the token, so no cache may share it.
			if ttl != "300000" || scope != `"private"` {
				t.Errorf("%s: ttlMs %s, cacheScope %s, want 300000 and private", name, ttl, scope)
			}
		} else if ttl != "" || scope != "" {
			t.Errorf("%s: ttlMs %s, cacheScope %s, want neither", name, ttl, scope)
		}
	}
}

func TestQuestionCarriesNoContentAndAnAnswerNoQuestion(t *testing.T) {
	for name, got := range everyResult(t, newShop(t)) {
		members := slices.Sorted(maps.Keys(resultOf(t, got)))
		question := strings.HasSuffix(name, "question")
		if slices.Contains(members, "requestState") != question || slices.Contains(members, "inputRequests") != question ||
			question && (slices.Contains(members, "content") || slices.Contains(members, "structuredContent")) {
			t.Errorf("%s: members = %v", name, members)
		}
	}
}

// What earlier revisions put into headers changes no answer, and no answer
// begins a session.
func TestThereAreNoSessions(t *testing.T) {
	sh := newShop(t)
	token := sh.issuer.Token(authtest.Scope(allScopes))
	for _, e := range bothEras {
		for _, p := range []post{callOf(e, "cart_list", `{}`), newPost(e, "tools/list", "", ""), callOf(e, "no_such_tool", `{}`), opening()} {
			plain := sh.say(t, token, p)
			for _, header := range []string{"Mcp-Session-Id", "Last-Event-ID"} {
				got := sh.say(t, token, p.set(header, "a_1", "b_2"))
				if got.status != plain.status || got.body != plain.body || len(got.header) != len(plain.header) {
					t.Errorf("%v with %s: %d %v %s, want the same as without: %d %v %s", e, header, got.status, got.header, got.body, plain.status, plain.header, plain.body)
				}
				if got.header.Get("Mcp-Session-Id") != "" {
					t.Errorf("%v: the answer begins a session: %v", e, got.header)
				}
			}
		}
	}
	for file, text := range goldens(t) {
		if strings.Contains(strings.ToLower(text), "session-id") {
			t.Errorf("%s names a session", file)
		}
	}
}
