package server

import (
	"net/http"
	"strings"
	"testing"
)

func TestInitializeIsOfferedAVersionOfItsEra(t *testing.T) {
	for asked, want := range map[string]string{
		"2025-06-18": "2025-06-18",
		"2025-11-25": "2025-11-25",
		"2025-03-26": "2025-11-25",
		"2024-11-05": "2025-11-25",
		"2026-07-28": "2025-11-25",
		"":           "2025-11-25",
		"x":          "2025-11-25",
	} {
		p := newPost(handshake, "initialize", "", `"protocolVersion":"`+asked+`","capabilities":{"elicitation":{}},"clientInfo":{"name":"t","version":"0"}`)
		for _, p := range []post{p, p.set("MCP-Protocol-Version")} {
			c := wantAdmitted(t, testGate(t), p)
			if c.version != want || !strings.Contains(string(c.params), `"protocolVersion":"`+want+`"`) {
				t.Errorf("version for %q = %s, params %s, want %s", asked, c.version, c.params, want)
			}
			if c.elicitationForm {
				t.Error("elicitationForm = true, want false: the answer could not be asked for in a later call")
			}
		}
	}
	p := newPost(handshake, "initialize", "", `"protocolVersion":"2025-11-25"`)
	wantRefused(t, testGate(t), p.set("MCP-Protocol-Version", versionHandshake, versionHandshake), 400, -32020)
	for _, members := range []string{
		``,
		`"protocolVersion":null`,
		`"protocolVersion":20251125`,
		`"protocolVersion":"2025-11-25","capabilities":[]`,
		`"protocolVersion":"2025-11-25","clientInfo":{"name":7,"version":"0"}`,
	} {
		refused := wantRefused(t, testGate(t), newPost(handshake, "initialize", "", members), 400, -32602)
		if !strings.Contains(refused.message, "2026-07-28, 2025-11-25, 2025-06-18") {
			t.Errorf("message = %q, want it to name the versions served", refused.message)
		}
	}
}

func TestHandshakeRequestsNameTheirVersion(t *testing.T) {
	for _, version := range []string{versionHandshake, versionOldHandshake} {
		for _, method := range []string{"ping", "tools/list"} {
			p := newPost(handshake, method, "", "").set("MCP-Protocol-Version", version)
			if c := wantAdmitted(t, testGate(t), p); c.version != version || c.era != handshake {
				t.Errorf("admit = %v %s, want handshake %s", c.era, c.version, version)
			}
		}
	}
	for name, values := range map[string][]string{
		"missing":    nil,
		"sent twice": {versionHandshake, versionHandshake},
		"two of two": {versionHandshake, versionOldHandshake},
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, testGate(t), toolCall(handshake).set("MCP-Protocol-Version", values...), 400, -32020)
		})
	}
	refused := wantRefused(t, testGate(t), toolCall(handshake).set("MCP-Protocol-Version"), 400, -32020)
	if !strings.Contains(refused.message, versionModern) {
		t.Errorf("message = %q, want it to name the versions served", refused.message)
	}
}

func TestNotificationsAreAcceptedAndDoNothing(t *testing.T) {
	plain := post{http.Header{}, `{"jsonrpc":"2.0","method":"notifications/cancelled"}`}
	for name, p := range map[string]post{
		"bare":            plain,
		"with parameters": plain.replace(t, `}`, `,"params":{"requestId":7}}`),
		"2025-11-25":      plain.set("MCP-Protocol-Version", versionHandshake),
		"2026-07-28":      plain.set("MCP-Protocol-Version", versionModern),
		"with Mcp-Method": plain.set("Mcp-Method", "notifications/cancelled").set("MCP-Protocol-Version", versionModern),
		"with _meta":      plain.replace(t, `}`, `,"params":{`+testMeta+`}}`).set("MCP-Protocol-Version", versionModern),
		"initialized":     plain.replace(t, "cancelled", "initialized"),
		"unknown":         plain.replace(t, "cancelled", "x"),
	} {
		t.Run(name, func(t *testing.T) {
			if c := wantAdmitted(t, testGate(t), p); !c.notification || c.id != nil || c.params != nil {
				t.Errorf("admit = %+v, want a notification and nothing to carry out", c)
			}
		})
	}
	for name, c := range map[string]struct {
		post
		code int
	}{
		"another version":    {plain.set("MCP-Protocol-Version", "1900-01-01"), -32022},
		"two versions":       {plain.set("MCP-Protocol-Version", versionModern, versionModern), -32020},
		"another Mcp-Method": {plain.set("Mcp-Method", "tools/call"), -32020},
		"two Mcp-Method":     {plain.set("Mcp-Method", "notifications/cancelled", "tools/call"), -32020},
		"another in _meta":   {plain.replace(t, `}`, `,"params":{`+testMeta+`}}`).set("MCP-Protocol-Version", versionHandshake), -32020},
		"version a number":   {plain.replace(t, `}`, `,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":7}}}`), -32602},
		"_meta an array":     {plain.replace(t, `}`, `,"params":{"_meta":[]}}`), -32602},
	} {
		t.Run(name, func(t *testing.T) {
			refused := wantRefused(t, testGate(t), c.post, 400, c.code)
			if strings.Contains(string(refused.body()), `"id"`) {
				t.Errorf("body = %s, want no id", refused.body())
			}
		})
	}
}

func TestCallWithoutIDIsNotCarriedOut(t *testing.T) {
	for _, e := range bothEras {
		for name, p := range map[string]post{
			"no id":      toolCall(e).replace(t, `"id":7,`, ``),
			"id null":    toolCall(e).replace(t, `"id":7`, `"id":null`),
			"initialize": newPost(e, "initialize", "", `"protocolVersion":"2025-11-25"`).replace(t, `"id":7,`, ``),
			"unknown":    newPost(e, "x", "", ``).replace(t, `"id":7,`, ``),
			"prefix":     newPost(e, "notifications", "", ``).replace(t, `"id":7,`, ``),
		} {
			t.Run(e.String()+" "+name, func(t *testing.T) {
				wantRefused(t, testGate(t), p, 400, -32600)
			})
		}
	}
}
