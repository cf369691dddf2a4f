package server

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

// What discovery lists is served, and what it does not list is not.
func TestDiscoveryListsTheVersionsThatAreServed(t *testing.T) {
	for _, modernOnly := range []bool{false, true} {
		sh := newShop(t, func(c *Config) { c.ModernOnly = modernOnly })
		token := sh.issuer.Token(authtest.Scope(allScopes))
		var listed []string
		if err := json.Unmarshal(resultOf(t, sh.say(t, token, newPost(modern, "server/discover", "", "")))["supportedVersions"], &listed); err != nil {
			t.Fatal(err)
		}
		want := []string{versionModern, versionHandshake, versionOldHandshake}
		if modernOnly {
			want = want[:1]
		}
		if !slices.Equal(listed, want) {
			t.Errorf("modern only %v: supportedVersions = %v, want %v", modernOnly, listed, want)
		}
		for _, version := range []string{versionModern, versionHandshake, versionOldHandshake, "2025-03-26", "2024-11-05", "2099-01-01"} {
			p := newPost(handshake, "tools/list", "", "")
			if version == versionModern {
				p = newPost(modern, "tools/list", "", "")
			}
			got := sh.say(t, token, p.set("MCP-Protocol-Version", version))
			if served := got.status == 200; served != slices.Contains(listed, version) {
				t.Errorf("modern only %v: tools/list of %s = %d %s, but discovery lists %v", modernOnly, version, got.status, got.body, listed)
			}
		}
	}
}

func TestWhatIsNotDeclaredIsNotFound(t *testing.T) {
	sh := newShop(t)
	token := sh.issuer.Token(authtest.Scope(allScopes))
	declared := map[era]string{
		modern:    string(resultOf(t, sh.say(t, token, newPost(modern, "server/discover", "", "")))["capabilities"]),
		handshake: string(resultOf(t, sh.say(t, token, opening()))["capabilities"]),
	}
	members := map[string]string{
		"prompts/list": ``, "prompts/get": `"name":"x"`, "resources/list": ``, "resources/templates/list": ``, "resources/read": `"uri":"x://y"`,
		"resources/subscribe": `"uri":"x://y"`, "logging/setLevel": `"level":"info"`, "roots/list": ``, "sampling/createMessage": ``, "tasks/list": ``,
		"completion/complete":  `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"}`,
		"subscriptions/listen": `"notifications":{"toolsListChanged":true}`,
	}
	for _, e := range bothEras {
		// Tools, and no notifications of their changes.
		if declared[e] != `{"tools":{}}` {
			t.Errorf("%v: capabilities = %s, want tools alone", e, declared[e])
		}
		for method, members := range members {
			name := map[string]string{"prompts/get": "x", "resources/read": "x://y"}[method]
			got := sh.say(t, token, newPost(e, method, name, members))
			if got.status != 404 || !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":7,"error":{"code":-32601,`) {
				t.Errorf("%v %s: %d %s, want 404 and -32601", e, method, got.status, got.body)
			}
		}
	}
}

func TestToolsListIsTheSameForTheSameScopes(t *testing.T) {
	shops := []*shop{newShop(t), newShop(t)}
	for _, e := range bothEras {
		list := func(sh *shop, user string) string {
			return sh.say(t, sh.issuer.Token(authtest.Subject(user), authtest.Scope(allScopes)), newPost(e, "tools/list", "", "")).body
		}
		want := list(shops[0], "alice")
		filledCart(t, shops[0].as(t, "alice"))
		for i, got := range []string{list(shops[0], "alice"), list(shops[0], "bob"), list(shops[1], "alice")} {
			if got != want {
				t.Errorf("%v: list %d differs:\n%s\n%s", e, i, got, want)
			}
		}
		var shown struct {
			Result struct{ Tools []struct{ Name string } }
		}
		if err := json.Unmarshal([]byte(want), &shown); err != nil {
			t.Fatal(err)
		}
		names := fmt.Sprint(shown.Result.Tools)
		if len(shown.Result.Tools) != len(shops[0].tools) || strings.Contains(want, "nextCursor") {
			t.Errorf("%v: tools/list = %s, want all %d on one page", e, names, len(shops[0].tools))
		}
	}
}

func TestCursorThatIsNotOursIsInvalid(t *testing.T) {
	sh := newShop(t)
	token := sh.issuer.Token(authtest.Scope(allScopes))
	for _, e := range bothEras {
		for _, cursor := range []string{"x", "Zm9v", "=", "é", strings.Repeat("A", 10_000)} {
			got := sh.say(t, token, newPost(e, "tools/list", "", `"cursor":"`+cursor+`"`))
			if !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":7,"error":{"code":-32602,`) || len(got.body) > 200 {
				t.Errorf("%v: tools/list from %.20q = %d %.300s, want -32602 and nothing of the cursor", e, cursor, got.status, got.body)
			}
		}
	}
}

// A handle in a header would be read by every intermediary; a reference in a
// schema would be fetched by the client.
func TestSchemasMirrorNothingAndReferToNothing(t *testing.T) {
	sh := newShop(t)
	if mirrored := sh.paramHeaders(); len(mirrored) > 0 {
		t.Errorf("arguments mirrored in headers = %v, want none", mirrored)
	}
	list := sh.say(t, sh.issuer.Token(authtest.Scope(allScopes)), newPost(modern, "tools/list", "", "")).body
	for _, keyword := range []string{`"$ref"`, `"$dynamicRef"`, `"$schema"`, `"x-mcp-header"`} {
		if strings.Contains(list, keyword) {
			t.Errorf("tools/list holds %s", keyword)
		}
	}
}
