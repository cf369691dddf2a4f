package server

import (
	"slices"
	"strings"
	"testing"
)

func TestVersionHeaderIsNeededOnceAndEqual(t *testing.T) {
	for name, values := range map[string][]string{
		"missing":           nil,
		"empty":             {""},
		"other version":     {versionHandshake},
		"sent twice":        {versionModern, versionModern},
		"joined":            {versionModern + ", " + versionModern},
		"other case":        {"2026-07-28Z"},
		"control character": {versionModern + "\x01"},
		"not ASCII":         {"2026\u201107\u201128"},
		"obs-text":          {versionModern + "\x80"},
	} {
		t.Run(name, func(t *testing.T) {
			refused := wantRefused(t, testGate(t), toolCall(modern).set("MCP-Protocol-Version", values...), 400, -32020)
			if string(refused.id) != "7" {
				t.Errorf("id = %s, want 7", refused.id)
			}
		})
	}
	wantAdmitted(t, testGate(t), toolCall(modern).set("MCP-Protocol-Version", " "+versionModern+"\t"))
}

func TestMirroredHeadersMustMatchTheBody(t *testing.T) {
	for name, p := range map[string]post{
		"method missing":         toolCall(modern).set("Mcp-Method"),
		"method empty":           toolCall(modern).set("Mcp-Method", ""),
		"other method":           toolCall(modern).set("Mcp-Method", "tools/list"),
		"method in other case":   toolCall(modern).set("Mcp-Method", "TOOLS/CALL"),
		"method twice":           toolCall(modern).set("Mcp-Method", "tools/call", "tools/call"),
		"methods joined":         toolCall(modern).set("Mcp-Method", "tools/call, tools/call"),
		"method encoded":         toolCall(modern).set("Mcp-Method", "=?base64?dG9vbHMvY2FsbA==?="),
		"name missing":           toolCall(modern).set("Mcp-Name"),
		"name empty":             toolCall(modern).set("Mcp-Name", ""),
		"other name":             toolCall(modern).set("Mcp-Name", "checkout"),
		"name in other case":     toolCall(modern).set("Mcp-Name", "Cart_Get"),
		"two names":              toolCall(modern).set("Mcp-Name", "cart_get", "checkout"),
		"the same name twice":    toolCall(modern).set("Mcp-Name", "cart_get", "cart_get"),
		"names joined":           toolCall(modern).set("Mcp-Name", "cart_get,checkout"),
		"name with control":      toolCall(modern).set("Mcp-Name", "cart_get\x01"),
		"name not ASCII":         toolCall(modern).set("Mcp-Name", "cart_g\u00e9t"),
		"method and name swaped": toolCall(modern).set("Mcp-Method", "cart_get").set("Mcp-Name", "tools/call"),
		"_meta version differs":  toolCall(modern).replace(t, versionModern, versionHandshake),
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, testGate(t), p, 400, -32020)
		})
	}
	wantAdmitted(t, testGate(t), toolCall(modern).set("Mcp-Name", "  cart_get "))
}

// A handshake-era client sends none of these headers; one that does is judged by
// the rules they belong to.
func TestMirroredHeadersCannotBeUsedInTheHandshakeEra(t *testing.T) {
	for _, h := range []string{"Mcp-Method", "Mcp-Name"} {
		p := toolCall(handshake).set(h, "checkout")
		c, refused := testGate(t).admit(p.header, []byte(p.body))
		if refused == nil {
			t.Errorf("admit with %s = %+v, want a refusal", h, c)
		}
	}
}

func TestEncodedNameIsDecodedBeforeItIsCompared(t *testing.T) {
	for name, header := range map[string]string{
		"ASCII":  "=?base64?Y2FydF9nZXQ=?=",
		"padded": " =?base64?Y2FydF9nZXQ=?= ",
	} {
		t.Run(name, func(t *testing.T) {
			if c := wantAdmitted(t, testGate(t), toolCall(modern).set("Mcp-Name", header)); c.tool != "cart_get" {
				t.Errorf("tool = %q, want cart_get", c.tool)
			}
		})
	}
	for name, header := range map[string]string{
		"another tool":       "=?base64?Y2hlY2tvdXQ=?=",
		"markers in capital": "=?BASE64?Y2FydF9nZXQ=?=",
		"no padding":         "=?base64?Y2FydF9nZXQ?=",
		"too much padding":   "=?base64?Y2FydF9nZXQ==?=",
		"more after padding": "=?base64?Y2FydF9nZXQ=Y2Fy?=",
		"trailing bits":      "=?base64?Y2FydF9nZXR=?=",
		"bad alphabet":       "=?base64?Y2FydF9!ZXQ=?=",
		"url alphabet":       "=?base64?Y2FydF9nZX-_?=",
		"white space inside": "=?base64?Y2Fy dF9nZXQ=?=",
		"no prefix":          "Y2FydF9nZXQ=?=",
		"no suffix":          "=?base64?Y2FydF9nZXQ=",
		"overlapping marks":  "=?base64?=",
		"nothing inside":     "=?base64??=",
		"twice encoded":      "=?base64?PT9iYXNlNjQ/WTJGeWRGOW5aWFE9Pz0=?=",
		"trailing NUL":       "=?base64?Y2FydF9nZXQA?=",
	} {
		t.Run(name, func(t *testing.T) {
			wantRefused(t, testGate(t), toolCall(modern).set("Mcp-Name", header), 400, -32020)
		})
	}
	p := newPost(modern, "tools/call", "=?base64?Y2Fmw6k=?=", `"name":"café"`)
	if c := wantAdmitted(t, testGate(t), p); c.tool != "café" {
		t.Errorf("tool = %q, want café", c.tool)
	}
	wantAdmitted(t, testGate(t), p.replace(t, "café", `caf\u00e9`))
	wantRefused(t, testGate(t), p.replace(t, "café", `cafe\u0301`), 400, -32020)
	wantRefused(t, testGate(t), p.set("Mcp-Name", "café"), 400, -32020) // equal, but no header may hold it
}

func TestNameHeaderMirrorsTheURIOfAResource(t *testing.T) {
	g := testGate(t, func(c *gateConfig) { c.extraMethods = map[era][]string{modern: {"resources/read"}} })
	p := newPost(modern, "resources/read", "test://a/b", `"uri":"test:\/\/a\/b"`)
	if c := wantAdmitted(t, g, p); c.tool != "test://a/b" {
		t.Errorf("tool = %q, want the URI", c.tool)
	}
	wantRefused(t, g, p.set("Mcp-Name", "test://a"), 400, -32020)
	wantRefused(t, g, p.set("Mcp-Name"), 400, -32020)
}

func TestHeadersOfEarlierRevisionsAreIgnored(t *testing.T) {
	for _, e := range bothEras {
		p := toolCall(e).set("Mcp-Session-Id", "x", "y").set("Last-Event-Id", "a_1").set("X-Unknown", "\x01")
		wantAdmitted(t, testGate(t), p)
	}
}

const testParamSchema = `{"type":"object","properties":{
	"region":{"type":"string","x-mcp-header":"Region"},
	"count":{"type":"integer","x-mcp-header":"Count"},
	"dry":{"type":"boolean","x-mcp-header":"Dry"},
	"at":{"type":"object","properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}},
	"other":{"type":"string","default":{"x-mcp-header":"no mark"}}}}`

func paramGate(t *testing.T) *gate {
	t.Helper()
	params, err := readParamHeaders([]byte(testParamSchema))
	if err != nil {
		t.Fatalf("readParamHeaders: %v", err)
	}
	return testGate(t, func(c *gateConfig) { c.paramHeaders = map[string][]paramHeader{"cart_get": params} })
}

func TestRepeatedArgumentsMustMatchTheirHeaders(t *testing.T) {
	type header = map[string][]string
	for _, c := range []struct {
		name      string
		arguments string
		headers   header
		ok        bool
	}{
		{"string", `"region":"us-west1"`, header{"Region": {"us-west1"}}, true},
		{"string, padded header", `"region":"us-west1"`, header{"Region": {" us-west1 "}}, true},
		{"string encoded", `"region":"Hello"`, header{"Region": {"=?base64?SGVsbG8=?="}}, true},
		{"not ASCII", `"region":"Hello, 世界"`, header{"Region": {"=?base64?SGVsbG8sIOS4lueVjA==?="}}, true},
		{"a value that looks encoded", `"region":"=?base64?literal?="`, header{"Region": {"=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?="}}, true},
		{"half a marker is literal", `"region":"=?base64?SGVsbG8="`, header{"Region": {"=?base64?SGVsbG8="}}, true},
		{"another string", `"region":"us-west1"`, header{"Region": {"us-west2"}}, false},
		{"other case", `"region":"us-west1"`, header{"Region": {"US-WEST1"}}, false},
		{"bad padding", `"region":"Hello"`, header{"Region": {"=?base64?SGVsbG8?="}}, false},
		{"bad alphabet", `"region":"Hello"`, header{"Region": {"=?base64?SGVs!G8=?="}}, false},
		{"more after the padding", `"region":"Hello"`, header{"Region": {"=?base64?SGVsbG8=SGVs?="}}, false},
		{"control character", `"region":"a"`, header{"Region": {"a\x01"}}, false},
		{"obs-text", `"region":"a"`, header{"Region": {"a\x80"}}, false},
		{"twice", `"region":"a"`, header{"Region": {"a", "a"}}, false},
		{"header missing", `"region":"a"`, nil, false},
		{"empty string, header missing", `"region":""`, nil, false},
		{"empty string", `"region":""`, header{"Region": {""}}, true},
		{"null", `"region":null`, nil, true},
		{"null with a header", `"region":null`, header{"Region": {"null"}}, false},
		{"absent", ``, nil, true},
		{"absent with a header", ``, header{"Region": {"a"}}, false},
		{"integer", `"count":42`, header{"Count": {"42"}}, true},
		{"integer, as a fraction", `"count":42`, header{"Count": {"42.0"}}, true},
		{"fraction in the body", `"count":42.0`, header{"Count": {"42"}}, true},
		{"negative", `"count":-7`, header{"Count": {"-7"}}, true},
		{"another integer", `"count":42`, header{"Count": {"43"}}, false},
		{"almost an integer", `"count":42`, header{"Count": {"42.5"}}, false},
		{"hexadecimal", `"count":16`, header{"Count": {"0x10"}}, false},
		{"plus sign", `"count":5`, header{"Count": {"+5"}}, false},
		{"integer that readers round", `"count":9007199254740993`, header{"Count": {"9007199254740993"}}, false},
		{"huge exponent", `"count":1e999999999`, header{"Count": {"1e999999999"}}, false},
		{"boolean", `"dry":true`, header{"Dry": {"true"}}, true},
		{"boolean in capitals", `"dry":true`, header{"Dry": {"True"}}, false},
		{"object", `"region":{}`, header{"Region": {"{}"}}, false},
		{"nested", `"at":{"zone":"b"}`, header{"Zone": {"b"}}, true},
		{"nested, header missing", `"at":{"zone":"b"}`, nil, false},
		{"nested in no object", `"at":"b"`, nil, true},
		{"unmarked argument", `"other":"b"`, header{"Other": {"c"}}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPost(modern, "tools/call", "cart_get", `"name":"cart_get","arguments":{`+c.arguments+`}`)
			for name, values := range c.headers {
				p = p.set("mcp-param-"+name, values...)
			}
			if c.ok {
				wantAdmitted(t, paramGate(t), p)
			} else {
				wantRefused(t, paramGate(t), p, 400, -32020)
			}
		})
	}
	wantAdmitted(t, paramGate(t), newPost(modern, "tools/call", "checkout", `"name":"checkout"`).set("Mcp-Param-Region", "x"))
	wantAdmitted(t, paramGate(t), newPost(modern, "tools/call", "cart_get", `"name":"cart_get"`))
}

func TestMarksThatClientsWouldRejectAreErrors(t *testing.T) {
	property := func(s string) string { return `{"type":"object","properties":{"p":` + s + `}}` }
	for name, schema := range map[string]string{
		"no JSON":               `{`,
		"empty":                 property(`{"type":"string","x-mcp-header":""}`),
		"no string":             property(`{"type":"string","x-mcp-header":7}`),
		"space":                 property(`{"type":"string","x-mcp-header":"My Region"}`),
		"line feed":             property(`{"type":"string","x-mcp-header":"a\nb"}`),
		"colon":                 property(`{"type":"string","x-mcp-header":"a:b"}`),
		"not ASCII":             property(`{"type":"string","x-mcp-header":"é"}`),
		"number":                property(`{"type":"number","x-mcp-header":"A"}`),
		"object":                property(`{"type":"object","x-mcp-header":"A"}`),
		"array":                 property(`{"type":"array","x-mcp-header":"A"}`),
		"untyped":               property(`{"x-mcp-header":"A"}`),
		"two types":             property(`{"type":["string","null"],"x-mcp-header":"A"}`),
		"root":                  `{"type":"string","x-mcp-header":"A"}`,
		"items":                 property(`{"type":"array","items":{"type":"string","x-mcp-header":"A"}}`),
		"properties of items":   property(`{"type":"array","items":{"properties":{"q":{"type":"string","x-mcp-header":"A"}}}}`),
		"anyOf":                 property(`{"anyOf":[{"type":"string","x-mcp-header":"A"}]}`),
		"then":                  `{"then":{"properties":{"p":{"type":"string","x-mcp-header":"A"}}}}`,
		"$defs":                 `{"$defs":{"d":{"type":"string","x-mcp-header":"A"}}}`,
		"named twice":           `{"properties":{"p":{"type":"string","x-mcp-header":"A"},"q":{"type":"string","x-mcp-header":"a"}}}`,
		"named twice at depths": `{"properties":{"p":{"type":"string","x-mcp-header":"A"},"q":{"properties":{"r":{"type":"string","x-mcp-header":"A"}}}}}`,
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := readParamHeaders([]byte(schema)); err == nil {
				t.Errorf("readParamHeaders(%s) = %v, want an error", schema, got)
			}
		})
	}
	for _, schema := range []string{`{}`, `{"properties":{"x-mcp-header":{"type":"string"}}}`, `{"properties":{"p":{"const":{"x-mcp-header":""}}}}`} {
		if got, err := readParamHeaders([]byte(schema)); err != nil || len(got) != 0 {
			t.Errorf("readParamHeaders(%s) = %v, %v, want none", schema, got, err)
		}
	}
	got, err := readParamHeaders([]byte(testParamSchema))
	var names []string
	for _, p := range got {
		names = append(names, p.header+"="+strings.Join(p.path, "."))
	}
	want := []string{"Mcp-Param-Count=count", "Mcp-Param-Dry=dry", "Mcp-Param-Region=region", "Mcp-Param-Zone=at.zone"}
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("readParamHeaders = %v, %v, want %v", names, err, want)
	}
}
