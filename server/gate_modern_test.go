package server

import (
	"reflect"
	"strings"
	"testing"
)

func TestMetaFieldsAreNeededAndWellFormed(t *testing.T) {
	const (
		version = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
		client  = `"io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"}`
		caps    = `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}`
	)
	for name, c := range map[string]struct{ old, new string }{
		"no _meta":                    {testMeta, `"x":1`},
		"_meta null":                  {testMeta, `"_meta":null`},
		"_meta an array":              {testMeta, `"_meta":[]`},
		"no version":                  {version + ",", ``},
		"version null":                {version, strings.Replace(version, `"2026-07-28"`, `null`, 1)},
		"version a number":            {version, strings.Replace(version, `"2026-07-28"`, `20260728`, 1)},
		"version empty":               {version, strings.Replace(version, `2026-07-28`, ``, 1)},
		"no capabilities":             {"," + caps, ``},
		"capabilities null":           {`{"elicitation":{"form":{}}}`, `null`},
		"capabilities a string":       {`{"elicitation":{"form":{}}}`, `"elicitation"`},
		"capabilities an array":       {`{"elicitation":{"form":{}}}`, `["elicitation"]`},
		"elicitation true":            {`{"elicitation":{"form":{}}}`, `{"elicitation":true}`},
		"form a string":               {`{"elicitation":{"form":{}}}`, `{"elicitation":{"form":"yes"}}`},
		"sampling an array":           {`{"elicitation":{"form":{}}}`, `{"sampling":[]}`},
		"roots.listChanged a string":  {`{"elicitation":{"form":{}}}`, `{"roots":{"listChanged":"yes"}}`},
		"client info null":            {client, strings.Replace(client, `{"name":"t","version":"0"}`, `null`, 1)},
		"client info a string":        {client, strings.Replace(client, `{"name":"t","version":"0"}`, `"t"`, 1)},
		"client info without version": {client, strings.Replace(client, `,"version":"0"`, ``, 1)},
		"client info with number":     {client, strings.Replace(client, `"t"`, `7`, 1)},
		"log level a number":          {client, client + `,"io.modelcontextprotocol/logLevel":7`},
		"unknown log level":           {client, client + `,"io.modelcontextprotocol/logLevel":"loud"`},
	} {
		t.Run(name, func(t *testing.T) {
			refused := wantRefused(t, testGate(t), toolCall(modern).replace(t, c.old, c.new), 400, -32602)
			if string(refused.id) != "7" {
				t.Errorf("id = %s, want 7", refused.id)
			}
		})
	}
	if refused := wantRefused(t, testGate(t), toolCall(modern).replace(t, testMeta, `"_meta":null`), 400, -32602); refused.reason != "meta" {
		t.Errorf("reason without _meta = %s, want meta", refused.reason)
	}
	wantAdmitted(t, testGate(t), toolCall(modern).replace(t, client+",", ``))
	wantAdmitted(t, testGate(t), toolCall(modern).replace(t, client, client+`,"io.modelcontextprotocol/logLevel":"info"`))
}

func TestFormsAreOnlyShownToClientsThatDeclareThem(t *testing.T) {
	for caps, want := range map[string]bool{
		`{}`:                                     false,
		`{"sampling":{}}`:                        false,
		`{"elicitation":null}`:                   false,
		`{"elicitation":{}}`:                     true,
		`{"elicitation":{"form":{}}}`:            true,
		`{"elicitation":{"url":{}}}`:             false,
		`{"elicitation":{"form":null,"url":{}}}`: false,
		`{"elicitation":{"form":{},"url":{}}}`:   true,
		`{"Elicitation":{}}`:                     false,
		`{"extensions":{"elicitation":{}}}`:      false,
	} {
		c := wantAdmitted(t, testGate(t), toolCall(modern).replace(t, `{"elicitation":{"form":{}}}`, caps))
		if c.elicitationForm != want {
			t.Errorf("elicitationForm with capabilities %s = %v, want %v", caps, c.elicitationForm, want)
		}
	}
	if c := wantAdmitted(t, testGate(t), toolCall(handshake)); c.elicitationForm {
		t.Error("elicitationForm in the handshake era = true, want false: nobody can answer there")
	}
}

func TestWhatAClientSaysOfItselfGoesNoFurther(t *testing.T) {
	a := wantAdmitted(t, testGate(t), toolCall(modern))
	b := wantAdmitted(t, testGate(t), toolCall(modern).
		replace(t, `{"name":"t","version":"0"}`, `{"name":"admin","version":"9","icons":1e400}`).
		replace(t, `"_meta":{`, `"_meta":{"traceparent":7,"com.example/x":[1e400],`))
	if !reflect.DeepEqual(a, b) {
		t.Errorf("admit = %+v with another client, want %+v", b, a)
	}
}

func TestProgressTokenAndLogLevelReachTheSDK(t *testing.T) {
	p := toolCall(modern).replace(t, `"_meta":{`, `"_meta":{"progressToken":"p-1","io.modelcontextprotocol/logLevel":"info",`)
	c := wantAdmitted(t, testGate(t), p)
	if told := sessionOptions(c).State; string(c.progressToken) != `"p-1"` || told.LogLevel != "info" || told.InitializeParams.Capabilities.Elicitation == nil {
		t.Errorf("progress token = %s, state = %+v, want the log level and the capabilities in it", c.progressToken, told)
	}
	p = newPost(handshake, "tools/call", "cart_get", `"name":"cart_get","_meta":{"io.modelcontextprotocol/logLevel":"info"}`)
	told := sessionOptions(wantAdmitted(t, testGate(t), p)).State
	if told.LogLevel != "" || told.InitializeParams.ProtocolVersion != versionHandshake || told.NegotiatedProtocolVersion != versionHandshake {
		t.Errorf("state of a handshake call = %+v, want its version, and no log level: that era has another way to set one", told)
	}
	p = newPost(modern, "tools/list", "", "").replace(t, `"_meta":{`, `"_meta":{"progressToken":"p-1","io.modelcontextprotocol/logLevel":"info",`)
	want := `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}},"io.modelcontextprotocol/logLevel":"info","progressToken":"p-1"}`
	if c := wantAdmitted(t, testGate(t), p); !strings.Contains(string(c.params), want) {
		t.Errorf("params = %s, want %s in them", c.params, want)
	}
	p = newPost(handshake, "tools/list", "", `"_meta":{"progressToken":7}`)
	if c := wantAdmitted(t, testGate(t), p); string(c.params) != `{"_meta":{"progressToken":7}}` {
		t.Errorf("params = %s, want the progress token alone", c.params)
	}
}
