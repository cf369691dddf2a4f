package server

import (
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What each promise of the gate is tested through: both eras, for no client may
// get around a check by opening the other way.
var bothEras = []era{modern, handshake}

const testMeta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},` +
	`"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

// A post is what admit judges.
type post struct {
	header http.Header
	body   string
}

// toolCall is a call of cart_get that passes the gate in its era.
func toolCall(e era) post {
	return newPost(e, "tools/call", "cart_get", `"name":"cart_get","arguments":{"cart_id":"x"}`)
}

func newPost(e era, method, name, members string) post {
	p := post{header: http.Header{}}
	if e == modern {
		members = join(members, testMeta)
		p.header.Set("MCP-Protocol-Version", versionModern)
		p.header.Set("Mcp-Method", method)
		if name != "" {
			p.header.Set("Mcp-Name", name)
		}
	} else {
		p.header.Set("MCP-Protocol-Version", versionHandshake)
	}
	p.body = `{"jsonrpc":"2.0","id":7,"method":"` + method + `","params":{` + members + `}}`
	return p
}

func join(a, b string) string {
	if a == "" {
		return b
	}
	return a + "," + b
}

func (p post) replace(t *testing.T, old, new string) post {
	t.Helper()
	if !strings.Contains(p.body, old) {
		t.Fatalf("the body %s does not contain %s", p.body, old)
	}
	return post{p.header.Clone(), strings.Replace(p.body, old, new, 1)}
}

func (p post) set(name string, values ...string) post {
	h := p.header.Clone()
	h.Del(name)
	for _, v := range values {
		h.Add(name, v)
	}
	return post{h, p.body}
}

func testGate(t testing.TB, change ...func(*gateConfig)) *gate {
	t.Helper()
	c := gateConfig{
		knownTool: func(name string) bool {
			return slices.Contains([]string{"cart_get", "cart_set_item", "checkout", "café"}, name)
		},
	}
	for _, f := range change {
		f(&c)
	}
	g, err := newGate(c)
	if err != nil {
		t.Fatalf("newGate: %v", err)
	}
	return g
}

func wantAdmitted(t *testing.T, g *gate, p post) *call {
	t.Helper()
	c, refused := g.admit(p.header, []byte(p.body))
	if refused != nil {
		t.Fatalf("admit(%v, %s) = %v, want it admitted", p.header, p.body, refused)
	}
	return c
}

func wantRefused(t *testing.T, g *gate, p post, status, code int) *refusal {
	t.Helper()
	c, refused := g.admit(p.header, []byte(p.body))
	if refused == nil {
		t.Fatalf("admit(%v, %s) = %+v, want status %d, code %d", p.header, p.body, c, status, code)
	}
	if c != nil {
		t.Errorf("admit(%s) refuses and returns a call", p.body)
	}
	if refused.status != status || refused.code != code {
		t.Errorf("admit(%v, %s) = status %d, code %d (%s), want %d, %d",
			p.header, p.body, refused.status, refused.code, refused.message, status, code)
	}
	return refused
}

func TestWhatIsAskedForIsHandedOn(t *testing.T) {
	for _, e := range bothEras {
		t.Run(e.String(), func(t *testing.T) {
			c := wantAdmitted(t, testGate(t), toolCall(e))
			if string(c.id) != "7" || c.method != "tools/call" || c.tool != "cart_get" || c.era != e || c.notification {
				t.Errorf("admit = %+v, want the call of cart_get with id 7", c)
			}
			if string(c.arguments) != `{"cart_id":"x"}` || c.params != nil {
				t.Errorf("arguments = %s, params = %s, want the arguments for the tool and nothing for the SDK", c.arguments, c.params)
			}
		})
	}
}

func TestEraIsDecidedByAnySignOfTheModernOne(t *testing.T) {
	plain := newPost(handshake, "tools/list", "", "")
	for name, p := range map[string]post{
		"another version":       plain.set("MCP-Protocol-Version", "2025-03-26"),
		"an empty version":      plain.set("MCP-Protocol-Version", ""),
		"one of two versions":   plain.set("MCP-Protocol-Version", versionHandshake, versionModern),
		"Mcp-Method":            plain.set("Mcp-Method", "tools/list"),
		"Mcp-Name":              plain.set("Mcp-Name", "x"),
		"version in _meta":      plain.replace(t, `{}`, `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-11-25"}}`),
		"client in _meta":       plain.replace(t, `{}`, `{"_meta":{"io.modelcontextprotocol/clientInfo":null}}`),
		"capabilities in _meta": plain.replace(t, `{}`, `{"_meta":{"io.modelcontextprotocol/clientCapabilities":{}}}`),
		"requestState":          plain.replace(t, `{}`, `{"requestState":null}`),
		"inputResponses":        plain.replace(t, `{}`, `{"inputResponses":null}`),
	} {
		t.Run(name, func(t *testing.T) {
			c, refused := testGate(t).admit(p.header, []byte(p.body))
			if refused == nil {
				t.Errorf("admit = %+v, want it judged, and refused, by the modern rules", c)
			}
		})
	}
	if c := wantAdmitted(t, testGate(t), plain); c.era != handshake || c.version != versionHandshake {
		t.Errorf("admit without any sign = era %v, version %s, want handshake, %s", c.era, c.version, versionHandshake)
	}
}

func TestOnlyTheModernEraIsServedWhereToldSo(t *testing.T) {
	g := testGate(t, func(c *gateConfig) { c.modernOnly = true })
	wantRefused(t, g, toolCall(handshake), 400, -32602)
	wantRefused(t, g, toolCall(handshake).set("MCP-Protocol-Version"), 400, -32020)
	wantAdmitted(t, g, toolCall(modern))

	opening := newPost(handshake, "initialize", "", `"protocolVersion":"2025-11-25"`).set("MCP-Protocol-Version")
	envelope := newPost(modern, "initialize", "", `"protocolVersion":"2025-11-25"`)
	for _, refused := range []*refusal{
		wantRefused(t, g, opening, 400, -32020),
		wantRefused(t, g, envelope, 404, -32601),
	} {
		if !strings.Contains(refused.message, "protocol versions served: 2026-07-28") || strings.Contains(refused.message, versionHandshake) {
			t.Errorf("message = %q, want it to name the one version served", refused.message)
		}
	}
}

func TestUnsupportedVersionIsToldWhatIsServed(t *testing.T) {
	for _, requested := range []string{"1900-01-01", "2026-07-29", "2099-01-01", "DRAFT", "v999.0.0", "2025-03-26", "2025-11-25"} {
		p := toolCall(modern).replace(t, versionModern, requested).set("MCP-Protocol-Version", requested)
		refused := wantRefused(t, testGate(t), p, 400, -32022)
		want := `{"jsonrpc":"2.0","id":7,"error":{"code":-32022,"message":"Unsupported protocol version",` +
			`"data":{"supported":["2026-07-28","2025-11-25","2025-06-18"],"requested":"` + requested + `"}}}`
		if diff := cmp.Diff(want, string(refused.body())); diff != "" {
			t.Errorf("body (-want +got):\n%s", diff)
		}
	}
}

func TestUnknownMethodIsNotFound(t *testing.T) {
	unknown := map[era][]string{
		modern: {"initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/list", "prompts/list",
			"completion/complete", "subscriptions/listen", "tasks/get", "unknown/method", "tools/call ", checkedCall, "notifications/cancelled"},
		handshake: {"server/discover", "logging/setLevel", "resources/list", "prompts/list", "unknown/method", checkedCall,
			"notifications/initialized"},
	}
	for _, e := range bothEras {
		for _, method := range unknown[e] {
			t.Run(e.String()+" "+method, func(t *testing.T) {
				p := newPost(e, method, "", "")
				if e == modern && strings.HasSuffix(method, " ") {
					wantRefused(t, testGate(t), p, 400, -32020) // a header cannot end in a space
					return
				}
				refused := wantRefused(t, testGate(t), p, 404, -32601)
				if string(refused.id) != "7" {
					t.Errorf("id = %s, want 7", refused.id)
				}
			})
		}
	}
}

func TestAddedMethodsAreServedInTheirEra(t *testing.T) {
	g := testGate(t, func(c *gateConfig) { c.extraMethods = map[era][]string{modern: {"prompts/get"}} })
	c := wantAdmitted(t, g, newPost(modern, "prompts/get", "p", `"name":"p"`))
	if c.tool != "p" {
		t.Errorf("tool = %q, want p", c.tool)
	}
	wantRefused(t, g, newPost(handshake, "prompts/get", "", `"name":"p"`), 404, -32601)
	wantRefused(t, testGate(t), newPost(modern, "prompts/get", "p", `"name":"p"`), 404, -32601)
}

func TestParametersOfAddedMethodsFitWhatTheSDKDecodes(t *testing.T) {
	misfits := map[string]string{
		"prompts/get":          `"name":"x","arguments":{"a":1}`,
		"resources/subscribe":  `"uri":7`,
		"completion/complete":  `"ref":{"type":"ref/other"},"argument":{"name":"a","value":"b"}`,
		"subscriptions/listen": `"notifications":{"toolsListChanged":"yes"}`,
		"logging/setLevel":     `"level":{}`,
	}
	g := testGate(t, func(c *gateConfig) {
		c.extraMethods = map[era][]string{modern: slices.Collect(maps.Keys(misfits)), handshake: slices.Collect(maps.Keys(misfits))}
	})
	for _, e := range bothEras {
		for method, members := range misfits {
			t.Run(e.String()+" "+method, func(t *testing.T) {
				wantRefused(t, g, newPost(e, method, "x", members), 400, -32602)
			})
		}
	}
}

func TestUnknownToolIsInvalidParams(t *testing.T) {
	for _, e := range bothEras {
		p := newPost(e, "tools/call", "cart_steal", `"name":"cart_steal"`)
		refused := wantRefused(t, testGate(t), p, 400, -32602)
		if refused.reason != "tool" || strings.Contains(refused.message, "cart_steal") {
			t.Errorf("%v: refusal = %v, want reason tool and nothing echoed", e, refused)
		}
	}
}

// Each fault comes with all those that are looked for after it; the first one is
// the answer.
func TestChecksRunInTheDocumentedOrder(t *testing.T) {
	p := newPost(modern, "tools/call", "cart_get", `"name":"cart_get","arguments":[]`)
	p = p.replace(t, `"id":7`, `"id":null`).replace(t, `{"form":{}}`, `3`).replace(t, `2026-07-28`, `1900-01-01`).
		replace(t, `"name":"cart_get"`, `"name":"nothing"`).replace(t, "tools/call", "tools/run").replace(t, `}}`, `}`)
	p = p.set("MCP-Protocol-Version").set("Mcp-Method", "tools/list").set("Mcp-Name", "other")
	for _, step := range []struct {
		reason       string
		status, code int
		mend         func(post) post
	}{
		{"json", 400, -32700, func(p post) post { return p.replace(t, `3}`, `3}}`) }},
		{"id", 400, -32600, func(p post) post { return p.replace(t, `"id":null`, `"id":7`) }},
		{"header_missing", 400, -32020, func(p post) post { return p.set("MCP-Protocol-Version", versionModern) }},
		{"meta_capabilities", 400, -32602, func(p post) post { return p.replace(t, `"elicitation":3`, `"elicitation":{}`) }},
		{"version_mismatch", 400, -32020, func(p post) post { return p.set("MCP-Protocol-Version", "1900-01-01") }},
		{"version", 400, -32022, func(p post) post {
			return p.set("MCP-Protocol-Version", versionModern).replace(t, "1900-01-01", versionModern)
		}},
		{"method_mismatch", 400, -32020, func(p post) post { return p.set("Mcp-Method", "tools/run") }},
		{"method", 404, -32601, func(p post) post { return p.replace(t, "tools/run", "tools/call").set("Mcp-Method", "tools/call") }},
		{"name_mismatch", 400, -32020, func(p post) post { return p.set("Mcp-Name", "nothing") }},
		{"arguments_shape", 400, -32602, func(p post) post { return p.replace(t, "[]", "{}") }},
		{"tool", 400, -32602, func(p post) post { return p.replace(t, `"nothing"`, `"cart_get"`).set("Mcp-Name", "cart_get") }},
	} {
		refused := wantRefused(t, testGate(t), p, step.status, step.code)
		if refused.reason != step.reason {
			t.Fatalf("admit(%s) = %v, want reason %s", p.body, refused, step.reason)
		}
		p = step.mend(p)
	}
	wantAdmitted(t, testGate(t), p)
}

func TestNothingIsRememberedBetweenMessages(t *testing.T) {
	g := testGate(t)
	for range 2 {
		wantAdmitted(t, g, toolCall(modern))
		wantAdmitted(t, g, newPost(handshake, "initialize", "", `"protocolVersion":"2025-11-25"`))
		wantRefused(t, g, toolCall(handshake).set("MCP-Protocol-Version"), 400, -32020)
		wantRefused(t, g, toolCall(modern).replace(t, ","+testMeta, ``), 400, -32602)
	}
}

func TestNewGateRefusesWhatItCannotJudge(t *testing.T) {
	if _, err := newGate(gateConfig{}); err == nil {
		t.Error("newGate without a way to tell tools = nil error, want one")
	}
	_, err := newGate(gateConfig{
		knownTool:    func(string) bool { return false },
		paramHeaders: map[string][]paramHeader{"x": nil},
	})
	if err == nil {
		t.Error("newGate with parameter headers of an unknown tool = nil error, want one")
	}
}
