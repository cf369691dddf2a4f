package server

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// FuzzGate proves, for whatever is sent: no panic; a refusal is a client error
// with a well-formed body; and what passes means the same to the gate, to the
// SDK, and to a reader that knows nothing of our strictness.
func FuzzGate(f *testing.F) {
	for _, e := range bothEras {
		p := toolCall(e)
		f.Add(p.header.Get("MCP-Protocol-Version"), p.header.Get("Mcp-Method"), p.header.Get("Mcp-Name"), []byte(p.body))
		for _, body := range fuzzBodies(p.body) {
			f.Add(p.header.Get("MCP-Protocol-Version"), p.header.Get("Mcp-Method"), p.header.Get("Mcp-Name"), []byte(body))
		}
	}
	for method, members := range fuzzMethods() {
		p := newPost(modern, method, "", members)
		f.Add(versionModern, method, "x", []byte(p.body))
		p = newPost(handshake, method, "", members)
		f.Add(versionHandshake, "", "", []byte(p.body))
	}
	f.Add(versionModern, "tools/call", "=?base64?Y2FydF9nZXQ=?=", []byte(toolCall(modern).body))
	f.Add("", "", "", []byte(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`))
	f.Add("", "", "", []byte(`[{"jsonrpc":"2.0","id":1,"method":"ping"}]`))

	extra := []string{"prompts/list", "prompts/get", "resources/read", "completion/complete"}
	g := testGate(f, func(c *gateConfig) {
		c.extraMethods = map[era][]string{modern: append(extra, "subscriptions/listen"), handshake: extra}
	})
	strict := testGate(f, func(c *gateConfig) { c.modernOnly = true })
	sdk := newSDKReader(f)
	f.Fuzz(func(t *testing.T, version, method, name string, body []byte) {
		h := http.Header{}
		for key, value := range map[string]string{headerVersion: version, headerMethod: method, headerName: name} {
			if value != "" {
				h.Set(key, value)
			}
		}
		if c, refused := strict.admit(h, body); refused != nil {
			checkRefusal(t, refused)
		} else if c.era != modern {
			t.Errorf("admitted in the era %v, which is not served", c.era)
		}
		c, refused := g.admit(h, body)
		if refused != nil {
			checkRefusal(t, refused)
			return
		}
		checkPlainReader(t, c, body)
		if !c.notification {
			sdk.check(t, c)
		}
	})
}

func fuzzMethods() map[string]string {
	return map[string]string{
		"prompts/list":         `"cursor":"x"`,
		"prompts/get":          `"name":"x","arguments":{"a":"b"}`,
		"resources/read":       `"uri":"x","requestState":"s","inputResponses":{"a":{"action":"accept"}}`,
		"completion/complete":  `"ref":{"type":"ref/prompt","name":"x"},"argument":{"name":"a","value":"b"},"context":{"arguments":{"a":"b"}}`,
		"subscriptions/listen": `"notifications":{"toolsListChanged":true,"resourceSubscriptions":["x"]}`,
		"initialize":           `"protocolVersion":"2025-06-18","capabilities":{"roots":{"listChanged":true}},"clientInfo":{"name":"a","version":"b"}`,
		"ping":                 `"_meta":{"progressToken":7}`,
		"server/discover":      ``,
	}
}

func fuzzBodies(body string) []string {
	var bodies []string
	for _, r := range [][2]string{
		{`"id":7`, `"id":"é\u0000"`}, {`"id":7`, `"id":9007199254740993`}, {`"id":7`, `"id":1e3`}, {`"id":7,`, ``},
		{`"name"`, `"Name"`}, {`"name"`, `"n\u0061me"`}, {`"name"`, `"name":"checkout","name"`},
		{`cart_get`, `cart_g\u0065t`}, {`cart_get`, `caf\u00e9`},
		{`{"cart_id":"x"}`, `null`}, {`{"cart_id":"x"}`, `{"q":1e400,"Q":{"a":[null,"\ud83d\ude00"]}}`},
		{`"name"`, `"requestState":null,"inputResponses":{"c":42},"name"`}, {`"name"`, `"requestState":7,"name"`},
		{`{"elicitation":{"form":{}}}`, `{"Elicitation":{},"sampling":{"tools":{}},"experimental":{"a":1e400}}`},
		{`"_meta":{`, `"_meta":{"progressToken":"p","traceparent":[1e400],`},
	} {
		if strings.Contains(body, r[0]) {
			bodies = append(bodies, strings.Replace(body, r[0], r[1], 1))
		}
	}
	return bodies
}

func checkRefusal(t *testing.T, r *refusal) {
	t.Helper()
	codes := []int{-32700, -32600, -32601, -32602, -32020, -32022}
	if r.status != 400 && r.status != 404 || !slices.Contains(codes, r.code) || r.reason == "" {
		t.Errorf("refusal %d %d %q, want 400 or 404, a code of the protocol and a reason", r.status, r.code, r.reason)
	}
	if body := jsontext.Value(r.body()); !body.IsValid() {
		t.Errorf("body = %s, want strict JSON", body)
	}
}

// checkPlainReader compares a call with what encoding/json and the SDK's decoder
// make of the body itself.
func checkPlainReader(t *testing.T, c *call, body []byte) {
	t.Helper()
	m, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		t.Fatalf("the SDK cannot decode what passed: %v", err)
	}
	r, ok := m.(*jsonrpc.Request)
	if !ok || r.Method != c.method || r.IsCall() == c.notification {
		t.Fatalf("the SDK reads %+v, the gate %+v", m, c)
	}
	var id any
	if !c.notification {
		if err := json.Unmarshal(c.id, &id); err != nil {
			t.Fatalf("id %s: %v", c.id, err)
		}
	}
	if text, ok := id.(string); ok && text != r.ID.Raw() {
		t.Errorf("the SDK reads the id %v, the gate %s", r.ID.Raw(), c.id)
	}
	var params map[string]json.RawMessage
	if len(r.Params) > 0 {
		if err := json.Unmarshal(r.Params, &params); err != nil {
			t.Fatalf("params %s: %v", r.Params, err)
		}
	}
	source := map[string]string{"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}[c.method]
	if source == "" || c.notification {
		return
	}
	var name string
	if err := json.Unmarshal(params[source], &name); err != nil || name != c.tool {
		t.Errorf("another reader takes the name %q (%v), the gate %q", name, err, c.tool)
	}
	passed := map[string]json.RawMessage{"arguments": json.RawMessage(c.arguments)}
	if c.method != "tools/call" {
		if err := json.Unmarshal(c.params, &passed); err != nil {
			t.Fatalf("params for the SDK %s: %v", c.params, err)
		}
	}
	if sent := params["arguments"]; string(sent) != string(passed["arguments"]) && string(sent) != "null" {
		t.Errorf("arguments passed on = %s, want %s", passed["arguments"], sent)
	}
}

// An sdkReader has the SDK decode calls, and stops each before its handler.
type sdkReader struct {
	server *mcp.Server
	mu     sync.Mutex
	method string
	params mcp.Params
}

var errRead = errors.New("read, and that is all")

func newSDKReader(f *testing.F) *sdkReader {
	s := &sdkReader{server: mcp.NewServer(&mcp.Implementation{Name: "t", Version: "0"}, nil)}
	err := mcp.AddReceivingCustomMethod(s.server, checkedCall, func(context.Context, *mcp.ServerSession, *mcp.ParamsBase) (mcp.Result, error) { return nil, errRead })
	if err != nil {
		f.Fatal(err)
	}
	s.server.AddReceivingMiddleware(func(mcp.MethodHandler) mcp.MethodHandler {
		return func(_ context.Context, method string, r mcp.Request) (mcp.Result, error) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.method, s.params = method, r.GetParams()
			return nil, errRead
		}
	})
	return s
}

func (s *sdkReader) check(t *testing.T, c *call) {
	t.Helper()
	s.mu.Lock()
	s.method, s.params = "", nil
	s.mu.Unlock()
	once, err := newExchange(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	session, err := s.server.Connect(context.Background(), once, sessionOptions(c))
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	answer := <-once.out
	session.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	want := c.method
	if want == "tools/call" {
		want = checkedCall
	}
	if s.method != want {
		t.Fatalf("the SDK refuses what passed: %+v; %s %s", answer, c.method, c.params)
	}
	switch p := s.params.(type) {
	case *mcp.ParamsBase:
		if p != nil {
			t.Errorf("the SDK reads %v of %s, want nothing", p.Meta, c.params)
		}
	case *mcp.InitializeParams:
		if p.ProtocolVersion != c.version {
			t.Errorf("the SDK reads the version %q, the gate offers %q", p.ProtocolVersion, c.version)
		}
	}
}

func BenchmarkGate(b *testing.B) {
	for _, e := range bothEras {
		b.Run(e.String(), func(b *testing.B) {
			g := testGate(b)
			p := newPost(e, "tools/call", "cart_set_item",
				`"name":"cart_set_item","arguments":{"cart_id":"cart_0123456789abcdefghjkmnpqrs7f3k","sku":"tea-earl-grey-100g","quantity":3}`)
			body := []byte(p.body)
			b.ReportAllocs()
			for b.Loop() {
				if _, refused := g.admit(p.header, body); refused != nil {
					b.Fatal(refused)
				}
			}
		})
	}
}
