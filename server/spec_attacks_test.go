package server

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

// An attack is a good call that was changed.
type attack func(*testing.T, post) post

func inBody(old, new string) attack {
	return func(t *testing.T, p post) post { return p.replace(t, old, new) }
}

func wholeBody(change func(string) string) attack {
	return func(_ *testing.T, p post) post { return post{p.header, change(p.body)} }
}

func inHeader(name string, values ...string) attack {
	return func(_ *testing.T, p post) post { return p.set(name, values...) }
}

// The good call is a cart_set_item of quantity 3 with id 7.
func attacks() map[string]attack {
	all := map[string]attack{
		"batch":              wholeBody(func(s string) string { return "[" + s + "]" }),
		"batch of two":       wholeBody(func(s string) string { return "[" + s + "," + s + "]" }),
		"two messages":       wholeBody(func(s string) string { return s + s }),
		"more after it":      wholeBody(func(s string) string { return s + "x" }),
		"NUL after it":       wholeBody(func(s string) string { return s + "\x00" }),
		"byte order mark":    wholeBody(func(s string) string { return "\ufeff" + s }),
		"cut off":            wholeBody(func(s string) string { return s[:len(s)-1] }),
		"a message as text":  wholeBody(func(s string) string { return strconv.Quote(s) }),
		"a million brackets": wholeBody(func(string) string { return strings.Repeat("[", maxBody) }),
		"UTF-16": wholeBody(func(s string) string {
			return "\xff\xfe" + strings.Join(append(strings.Split(s, ""), ""), "\x00")
		}),
		"too large": wholeBody(func(s string) string { return s + strings.Repeat(" ", maxBody) }),

		"unknown tool":            inBody(`"cart_set_item"`, `"cart_set_items"`),
		"tool in other case":      inBody(`"cart_set_item"`, `"Cart_Set_Item"`),
		"tool with NUL":           inBody(`"cart_set_item"`, `"cart_set_item\u0000"`),
		"unknown method":          inBody(`"tools/call"`, `"tools/run"`),
		"method of the other era": inBody(`"tools/call"`, `"roots/list"`),
		"a call as notification":  inBody(`"id":7,`, ``),
		"a response":              inBody(`"id":7`, `"id":7,"result":{}`),
	}
	for _, id := range []string{`null`, `1.5`, `1e3`, `true`, `{}`, `[7]`, `"a\u0000"`} {
		all["id "+id] = inBody(`"id":7`, `"id":`+id)
	}
	for name, repeated := range map[string][2]string{
		"method": {`"method"`, `"method":"tools/list","method"`}, "id": {`"id":7`, `"id":8,"id":7`},
		"name": {`"name":"cart_set_item"`, `"name":"cart_list","name":"cart_set_item"`}, "arguments": {`"arguments"`, `"arguments":{},"arguments"`},
		"quantity": {`"quantity":3`, `"quantity":0,"quantity":3`}, "quantity, escaped": {`"quantity":3`, `"quantit\u0079":0,"quantity":3`},
		"_meta": {`"params":{`, `"params":{"_meta":{},"_meta":{},`}, "jsonrpc": {`"jsonrpc":"2.0"`, `"jsonrpc":"2.0","jsonrpc":"2.0"`},
	} {
		all["repeated "+name] = inBody(repeated[0], repeated[1])
	}
	for name, folded := range map[string][2]string{
		"Method": {`"id":7`, `"Method":"tools/list","id":7`}, "Name": {`"name":`, `"Name":"cart_list","name":`}, "PARAMS": {`"params"`, `"PARAMS":{},"params"`},
		"Arguments": {`"arguments"`, `"Arguments":{},"arguments"`}, "param\u017f": {`"params"`, `"param\u017f":{},"params"`}, "name with NUL": {`"name":`, `"name\u0000":"x","name":`},
	} {
		all["look-alike "+name] = inBody(folded[0], folded[1])
	}
	for name, value := range map[string]string{
		"invalid UTF-8": "\"\xff\"", "lone surrogate": `"\ud800"`, "NaN": `NaN`, "comment": `3/**/`, "leading zero": `03`, "deep": strings.Repeat("[", 70) + strings.Repeat("]", 70),
	} {
		all["value "+name] = inBody(`"quantity":3`, `"quantity":`+value)
	}
	for name, value := range map[string]string{"array": `[]`, "text": `"{}"`, "number": `7`} {
		all["params "+name] = wholeBody(func(s string) string {
			return s[:strings.Index(s, `"params":`)] + `"params":` + value + `}`
		})
		all["arguments "+name] = wholeBody(func(s string) string {
			from, to := strings.Index(s, `"arguments":`), strings.Index(s, `"quantity":3}`)+len(`"quantity":3}`)
			return s[:from] + `"arguments":` + value + s[to:]
		})
		all["requestState "+name] = inBody(`"name"`, `"requestState":[`+value+`],"name"`)
		all["inputResponses "+name] = inBody(`"name"`, `"inputResponses":[`+value+`],"name"`)
	}
	for name, values := range map[string][]string{
		"MCP-Protocol-Version": {"1900-01-01"}, "Mcp-Method": {"tools/list"}, "Mcp-Name": {"cart_list"},
		"Content-Type": {"text/plain"}, "Content-Encoding": {"gzip"}, "Origin": {"https://evil.example"}, "Host": {"evil.example"},
		"Authorization": {"Bearer x"}, "Transfer-Encoding": {"chunked, identity"},
	} {
		all[name] = inHeader(name, values...)
	}
	all["two versions"] = inHeader("MCP-Protocol-Version", versionModern, versionHandshake)
	all["no version"] = inHeader("MCP-Protocol-Version")
	all["two methods"] = inHeader("Mcp-Method", "tools/call", "tools/list")
	all["two names"] = inHeader("Mcp-Name", "cart_set_item", "cart_list")
	all["an encoded name"] = inHeader("Mcp-Name", "=?base64?Y2FydF9saXN0?=")
	all["a name with controls"] = inHeader("Mcp-Name", "cart_set_item\x01")
	all["modern signs alone"] = inHeader("Mcp-Method", "tools/call\r\nMcp-Name: cart_list")
	return all
}

// Each change is made to a good call of either era, for no client may get around
// a check by opening the other way. Whatever it is, the call is not carried out,
// and the client reads why.
func TestNoChangedCallIsCarriedOut(t *testing.T) {
	sh := newShop(t)
	token := sh.issuer.Token(authtest.Scope(allScopes))
	client := sh.connect(t, token)
	cart := filledCart(t, client).CartID
	for _, e := range bothEras {
		mustCall[cartView](t, client, "cart_set_item", map[string]any{"cart_id": cart, "sku": "PLANT-FERN", "quantity": 1})
		good := callOf(e, "cart_set_item", `{"cart_id":"`+cart+`","sku":"PLANT-FERN","quantity":3}`)
		before := sh.row(t, cart)
		for name, change := range attacks() {
			t.Run(e.String()+" "+name, func(t *testing.T) {
				sh.wantHarmless(t, sh.raw(t, token, change(t, good)))
				if after := sh.row(t, cart); after != before {
					t.Fatalf("carried out:\n%s\n%s", before, after)
				}
			})
		}
		if got := sh.raw(t, token, good); got.status != 200 || sh.row(t, cart) == before {
			t.Fatalf("%v: the good call: %d %s, want it carried out", e, got.status, got.body)
		}
	}
}

// raw sends bytes that no client of net/http would, and reads one answer.
func (sh *shop) raw(t *testing.T, token string, p post) reply {
	t.Helper()
	l := sh.line(t)
	if p.header.Get("Authorization") != "" {
		token = ""
	}
	text := p.text(token)
	for _, name := range []string{"Content-Type", "Host"} {
		if values := p.header.Values(name); len(values) > 0 { // in place of the usual one
			text = strings.Replace(text, "\r\n"+name+": ", "\r\nX-Replaced: ", 1)
		}
	}
	go io.WriteString(l.conn, text) // the answer may come before all is read
	resp, err := http.ReadResponse(bufio.NewReader(l.conn), nil)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// wantHarmless checks a refusal: of the client's making, readable, and silent
// about what was sent.
func (sh *shop) wantHarmless(t *testing.T, got reply) {
	t.Helper()
	var answer struct {
		Result struct{ IsError bool }
		Error  *struct{ Code int }
	}
	err := json.Unmarshal([]byte(got.body), &answer)
	switch {
	case strings.HasPrefix(got.body, "400 Bad Request") || got.status == 501: // net/http did not even pass it on
	case err != nil:
		t.Errorf("answer = %d %.300s: %v", got.status, got.body, err)
	case got.status == 200 && answer.Result.IsError && answer.Error == nil: // a mistake in the arguments
	case got.status < 400 || got.status >= 500 || answer.Error == nil || !slices.Contains(allowedCodes(), fmt.Sprint(answer.Error.Code)):
		t.Errorf("answer = %d %.300s, want a JSON-RPC error", got.status, got.body)
	}
	for _, leak := range []string{"cart_list", "PLANT-FERN", "evil", "goroutine", ".go:", "jsontext", "mcp."} {
		if strings.Contains(got.body, leak) {
			t.Errorf("answer = %.300s, want nothing of %s in it", got.body, leak)
		}
	}
}
