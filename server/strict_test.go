package server

import (
	"reflect"
	"strings"
	"testing"
)

func TestAmbiguousJSONIsRefused(t *testing.T) {
	cases := []struct{ name, old, new string }{
		{"method twice", `"method"`, `"method":"ping","method"`},
		{"id twice", `"id":7`, `"id":7,"id":8`},
		{"id twice, once escaped", `"id":7`, `"id":7,"\u0069d":8`},
		{"params twice", `"params"`, `"params":{},"params"`},
		{"name twice", `"name":"cart_get"`, `"name":"cart_get","name":"checkout"`},
		{"arguments twice", `"arguments"`, `"arguments":{},"arguments"`},
		{"an argument twice", `"cart_id":"x"`, `"cart_id":"x","cart_id":"y"`},
		{"an argument twice, below", `"cart_id":"x"`, `"a":[{"b":1,"b":2}]`},
		{"_meta twice", `"params":{`, `"params":{"_meta":{},"_meta":{},`},
		{"invalid UTF-8", `"x"`, "\"\xff\""},
		{"overlong UTF-8", `"x"`, "\"\xc0\xaf\""},
		{"lone high surrogate", `"x"`, `"\ud800"`},
		{"lone low surrogate", `"x"`, `"\udc00x"`},
		{"surrogates in the wrong order", `"x"`, `"\udc00\ud800"`},
		{"raw control character", `"x"`, "\"\x01\""},
		{"raw NUL", `"x"`, "\"\x00\""},
		{"NaN", `"x"`, `NaN`},
		{"leading zero", `"x"`, `01`},
		{"comment", `"x"`, `"x"/* */`},
		{"trailing comma", `"x"`, `"x",`},
		{"single quotes", `"x"`, `'x'`},
		{"unclosed", `"x"}}}`, `"x"}}`},
	}
	for _, e := range bothEras {
		for _, c := range cases {
			t.Run(e.String()+" "+c.name, func(t *testing.T) {
				p := toolCall(e)
				if c.name == "unclosed" {
					p.body = strings.TrimSuffix(p.body, "}")
				} else {
					p = p.replace(t, c.old, c.new)
				}
				if refused := wantRefused(t, testGate(t), p, 400, -32700); refused.id != nil {
					t.Errorf("id = %s, want none: the text cannot be read", refused.id)
				}
			})
		}
	}
}

func TestTextBesideTheOneObjectIsRefused(t *testing.T) {
	for _, e := range bothEras {
		whole := toolCall(e).body
		utf16 := "\xff\xfe"
		for _, r := range whole {
			utf16 += string(byte(r)) + "\x00"
		}
		for name, body := range map[string]string{
			"second object":   whole + whole,
			"garbage after":   whole + " x",
			"NUL after":       whole + "\x00",
			"comma after":     whole + ",",
			"byte order mark": "\ufeff" + whole,
			"UTF-16":          utf16,
			"nothing":         "",
			"white space":     " \n",
			"form":            "jsonrpc=2.0&method=ping",
		} {
			t.Run(e.String()+" "+name, func(t *testing.T) {
				wantRefused(t, testGate(t), post{toolCall(e).header, body}, 400, -32700)
			})
		}
		wantAdmitted(t, testGate(t), post{toolCall(e).header, " \r\n\t" + whole + "\n"})
	}
}

func TestOneRequestOrNotificationPerPost(t *testing.T) {
	for _, e := range bothEras {
		whole := toolCall(e).body
		for name, body := range map[string]string{
			"batch of one":         "[" + whole + "]",
			"batch of two":         "[" + whole + "," + whole + "]",
			"empty batch":          "[]",
			"string":               `"tools/call"`,
			"number":               "7",
			"null":                 "null",
			"empty object":         "{}",
			"result":               `{"jsonrpc":"2.0","id":7,"result":{}}`,
			"error":                `{"jsonrpc":"2.0","id":7,"error":{"code":1,"message":""}}`,
			"request and result":   strings.Replace(whole, `"id"`, `"result":{},"id"`, 1),
			"request and error":    strings.Replace(whole, `"id"`, `"error":null,"id"`, 1),
			"no version":           strings.Replace(whole, `"jsonrpc":"2.0",`, ``, 1),
			"version 1.0":          strings.Replace(whole, `"2.0"`, `"1.0"`, 1),
			"version as a number":  strings.Replace(whole, `"2.0"`, `2.0`, 1),
			"version with a space": strings.Replace(whole, `"2.0"`, `"2.0 "`, 1),
			"no method":            strings.Replace(whole, `"method":"tools/call",`, ``, 1),
			"empty method":         strings.Replace(whole, `"tools/call"`, `""`, 1),
			"method as a number":   strings.Replace(whole, `"tools/call"`, `7`, 1),
			"params as an array":   `{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}`,
			"params null":          `{"jsonrpc":"2.0","id":7,"method":"ping","params":null}`,
			"params as a string":   `{"jsonrpc":"2.0","id":7,"method":"ping","params":"{}"}`,
		} {
			t.Run(e.String()+" "+name, func(t *testing.T) {
				wantRefused(t, testGate(t), post{toolCall(e).header, body}, 400, -32600)
			})
		}
	}
}

func TestIDIsKeptByteForByte(t *testing.T) {
	ids := []string{`0`, `-1`, `7`, `9007199254740993`, `123456789012345678901234567890`, `"7"`, `""`, `"0"`, `"\u00e9"`, `"é"`, `"😀"`,
		`"\ud83d\ude00"`, `"\/"`, `"` + strings.Repeat("x", maxIDBytes-2) + `"`}
	for _, e := range bothEras {
		for _, id := range ids {
			t.Run(e.String()+" "+id, func(t *testing.T) {
				p := toolCall(e).replace(t, `"id":7`, `"id":`+id)
				if c := wantAdmitted(t, testGate(t), p); string(c.id) != id {
					t.Errorf("id = %s, want %s", c.id, id)
				}
				refused := wantRefused(t, testGate(t), p.replace(t, `{"cart_id":"x"}`, `3`), 400, -32602)
				if want := `{"jsonrpc":"2.0","id":` + id + `,"error":`; !strings.HasPrefix(string(refused.body()), want) {
					t.Errorf("body = %s, want it to begin with %s", refused.body(), want)
				}
			})
		}
	}
}

func TestOtherIDsAreRefused(t *testing.T) {
	ids := []string{`null`, `1.5`, `1.0`, `1e3`, `1E3`, `true`, `false`, `{}`, `[]`, `[7]`, `"a\u0000b"`,
		`"` + strings.Repeat("x", maxIDBytes-1) + `"`, strings.Repeat("9", maxIDBytes+1)}
	for _, e := range bothEras {
		for _, id := range ids {
			t.Run(e.String()+" "+id[:min(len(id), 20)], func(t *testing.T) {
				refused := wantRefused(t, testGate(t), toolCall(e).replace(t, `"id":7`, `"id":`+id), 400, -32600)
				if strings.Contains(string(refused.body()), `"id"`) {
					t.Errorf("body = %s, want no id", refused.body())
				}
			})
		}
	}
}

func TestMemberNamesAreMatchedExactly(t *testing.T) {
	cases := []struct{ name, old, new string }{
		{"Method", `"method"`, `"Method":"ping","method"`},
		{"method in capitals alone", `"method"`, `"METHOD"`},
		{"Params", `"params"`, `"Params":{},"params"`},
		{"long s", `"params"`, `"param\u017f":{},"params"`},
		{"Id", `"id":7`, `"id":7,"Id":8`},
		{"Result", `"id":7`, `"id":7,"Result":{}`},
		{"name with NUL", `"id":7`, `"id":7,"method\u0000":"ping"`},
		{"Name", `"name":"cart_get"`, `"name":"cart_get","Name":"checkout"`},
		{"Name alone", `"name":"cart_get"`, `"Name":"cart_get"`},
		{"Arguments", `"arguments"`, `"Arguments":{},"arguments"`},
		{"_Meta", `"params":{`, `"params":{"_Meta":{},`},
		{"RequestState", `"params":{`, `"params":{"RequestState":"x",`},
		{"inputresponses", `"params":{`, `"params":{"inputresponses":{},`},
		{"parameter with NUL", `"params":{`, `"params":{"name\u0000":"checkout",`},
	}
	for _, e := range bothEras {
		for _, c := range cases {
			t.Run(e.String()+" "+c.name, func(t *testing.T) {
				wantRefused(t, testGate(t), toolCall(e).replace(t, c.old, c.new), 400, -32600)
			})
		}
	}
	for _, name := range []string{"IO.modelcontextprotocol/protocolVersion", "io.modelcontextprotocol/ProtocolVersion",
		"io.modelcontextprotocol/clientcapabilities", "ProgressToken"} {
		p := toolCall(modern).replace(t, `"_meta":{`, `"_meta":{"`+name+`":"x",`)
		wantRefused(t, testGate(t), p, 400, -32600)
		p = newPost(handshake, "tools/list", "", `"_meta":{"`+name+`":"x"}`)
		wantRefused(t, testGate(t), p, 400, -32600)
	}
}

func TestUnknownMembersReachNothing(t *testing.T) {
	for _, e := range bothEras {
		for _, p := range []post{toolCall(e), newPost(e, "tools/list", "", `"cursor":"c"`)} {
			more := p.replace(t, `"id":7`, `"id":7,"trace":{"a":1}`).replace(t, `"params":{`, `"params":{"task":{"ttl":1e400},"x":1,`)
			got, want := wantAdmitted(t, testGate(t), more), wantAdmitted(t, testGate(t), p)
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%v: %+v, want %+v as without them", e, got, want)
			}
		}
	}
}

func TestNULIsRefusedInNamesAndLeftToToolsInArguments(t *testing.T) {
	for _, e := range bothEras {
		p := toolCall(e).replace(t, `"tools/call"`, `"tools/call\u0000"`)
		wantRefused(t, testGate(t), p, 400, -32600)
		p = toolCall(e).replace(t, `"name":"cart_get"`, `"name":"cart_get\u0000"`)
		if refused := wantRefused(t, testGate(t), p, 400, -32602); refused.reason != "name" {
			t.Errorf("%v: reason = %s, want name, whatever tools there are", e, refused.reason)
		}
		wantAdmitted(t, testGate(t), toolCall(e).replace(t, `"x"`, `"a\u0000b"`))
	}
}

func TestDeepNestingIsRefused(t *testing.T) {
	nested := func(n int, open, close string) string {
		return strings.Repeat(open, n) + "1" + strings.Repeat(close, n)
	}
	// The message, params and arguments are three levels.
	for _, e := range bothEras {
		wantAdmitted(t, testGate(t), toolCall(e).replace(t, `"x"`, nested(maxDepth-3, "[", "]")))
		wantAdmitted(t, testGate(t), toolCall(e).replace(t, `"x"`, `"`+strings.Repeat(`[{\"`, maxDepth)+`"`))
		for name, value := range map[string]string{
			"arrays":            nested(maxDepth-2, "[", "]"),
			"objects":           nested(maxDepth-2, `{"a":`, "}"),
			"a thousand arrays": nested(1000, "[", "]"),
		} {
			t.Run(e.String()+" "+name, func(t *testing.T) {
				refused := wantRefused(t, testGate(t), toolCall(e).replace(t, `"x"`, value), 400, -32600)
				if string(refused.id) != "7" {
					t.Errorf("id = %s, want 7", refused.id)
				}
			})
		}
		wantRefused(t, testGate(t), toolCall(e).replace(t, `"x"`, nested(100_000, "[", "]")), 400, -32700)
		wantRefused(t, testGate(t), toolCall(e).replace(t, `"x"`, strings.Repeat("[", 100_000)), 400, -32700)
	}
}

func TestParametersHaveTheirShape(t *testing.T) {
	cases := []struct {
		method, members string
	}{
		{"tools/call", `"arguments":{}`},
		{"tools/call", `"name":null`},
		{"tools/call", `"name":7`},
		{"tools/call", `"name":["cart_get"]`},
		{"tools/call", `"name":"cart_get","arguments":[]`},
		{"tools/call", `"name":"cart_get","arguments":"{}"`},
		{"tools/call", `"name":"cart_get","arguments":false`},
		{"tools/list", `"cursor":7`},
		{"tools/list", `"cursor":{}`},
	}
	for _, e := range bothEras {
		for _, c := range cases {
			t.Run(e.String()+" "+c.members, func(t *testing.T) {
				name := ""
				if c.method == "tools/call" {
					name = "cart_get"
				}
				wantRefused(t, testGate(t), newPost(e, c.method, name, c.members), 400, -32602)
			})
		}
		for _, token := range []string{`1.5`, `1e400`, `true`, `{}`, `9007199254740993`} {
			members := `"_meta":{"progressToken":` + token + `}`
			p := newPost(handshake, "tools/list", "", members)
			if e == modern {
				p = newPost(modern, "tools/list", "", "").replace(t, `"_meta":{`, `"_meta":{"progressToken":`+token+`,`)
			}
			wantRefused(t, testGate(t), p, 400, -32602)
		}
		for _, members := range []string{`"name":"cart_get"`, `"name":"cart_get","arguments":null`} {
			if c := wantAdmitted(t, testGate(t), newPost(e, "tools/call", "cart_get", members)); c.arguments != nil {
				t.Errorf("%v: arguments = %s, want none", e, c.arguments)
			}
		}
	}
	wantRefused(t, testGate(t), newPost(handshake, "tools/list", "", `"_meta":[]`), 400, -32602)
}

func TestRequestStateIsAStringOrAbsent(t *testing.T) {
	for _, value := range []string{`42`, `{}`, `[]`, `true`} {
		refused := wantRefused(t, testGate(t), toolCall(modern).replace(t, `"name"`, `"requestState":`+value+`,"name"`), 400, -32602)
		if refused.reason != "request_state_shape" {
			t.Errorf("requestState %s: reason = %s, want request_state_shape", value, refused.reason)
		}
	}
	for _, value := range []string{`""`, `"rs1.x"`, `"é"`} {
		c := wantAdmitted(t, testGate(t), toolCall(modern).replace(t, `"name"`, `"requestState":`+value+`,"name"`))
		if want := strings.Trim(value, `"`); c.state == nil || *c.state != want {
			t.Errorf("state = %v, want %q", c.state, want)
		}
		if c.params != nil {
			t.Errorf("params = %s, want nothing for the SDK", c.params)
		}
	}
	for _, members := range []string{``, `"requestState":null,`} {
		if c := wantAdmitted(t, testGate(t), toolCall(modern).replace(t, `"name"`, members+`"name"`)); c.state != nil {
			t.Errorf("state with %q = %q, want none", members, *c.state)
		}
	}
}

func TestMethodsThatAskNothingTakeNoAnswer(t *testing.T) {
	p := newPost(modern, "tools/list", "", `"requestState":"s","inputResponses":{}`)
	if c := wantAdmitted(t, testGate(t), p); c.state != nil || c.answers != nil {
		t.Errorf("state = %v, answers = %s, want neither", c.state, c.answers)
	}
}

func TestInputResponsesAreAnObjectOrAbsent(t *testing.T) {
	for _, value := range []string{`42`, `"x"`, `[]`, `true`} {
		refused := wantRefused(t, testGate(t), toolCall(modern).replace(t, `"name"`, `"inputResponses":`+value+`,"name"`), 400, -32602)
		if refused.reason != "input_responses_shape" {
			t.Errorf("inputResponses %s: reason = %s, want input_responses_shape", value, refused.reason)
		}
	}
	// What an answer looks like is for the tool to judge, which may ask again.
	for _, value := range []string{`{}`, `{"c":42}`, `{"c":{"foo":1}}`, `{"c":{"Action":"accept"}}`} {
		c := wantAdmitted(t, testGate(t), toolCall(modern).replace(t, `"name"`, `"inputResponses":`+value+`,"name"`))
		if string(c.answers) != value || c.params != nil {
			t.Errorf("answers = %s, params = %s, want %s in the former only", c.answers, c.params, value)
		}
	}
	if c := wantAdmitted(t, testGate(t), toolCall(modern).replace(t, `"name"`, `"inputResponses":null,"name"`)); c.answers != nil {
		t.Errorf("answers of null = %s, want none", c.answers)
	}
}

func TestWhatIsNotJSONIsAParseErrorWhateverItBeginsWith(t *testing.T) {
	for _, e := range bothEras {
		for _, body := range []string{`[{"jsonrpc":"2.0"`, `[1,`, `[}`, `[NaN]`, `7 x`, `true}`, `"a":1}`} {
			wantRefused(t, testGate(t), post{toolCall(e).header, body}, 400, -32700)
		}
	}
}
