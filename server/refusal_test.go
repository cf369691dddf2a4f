package server

import (
	"math"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

func TestRefusalIsAJSONRPCError(t *testing.T) {
	for _, c := range []struct {
		name    string
		refusal refusal
		want    string
	}{
		{"without id", refusal{code: -32700, message: "m"}, `{"jsonrpc":"2.0","error":{"code":-32700,"message":"m"}}`},
		{"number", refusal{code: -32600, message: "m", id: jsontext.Value("9007199254740993")}, `{"jsonrpc":"2.0","id":9007199254740993,"error":{"code":-32600,"message":"m"}}`},
		{"text", refusal{code: 1, message: "\"\n\xff", id: jsontext.Value(`"\u00e9"`)}, `{"jsonrpc":"2.0","id":"\u00e9","error":{"code":1,"message":"\"\n\ufffd"}}`},
		{"data", refusal{code: 1, data: map[string]string{"reason": "x"}}, `{"jsonrpc":"2.0","error":{"code":1,"message":"","data":{"reason":"x"}}}`},
		{"data that is none", refusal{code: 1, data: math.NaN()}, `{"jsonrpc":"2.0","error":{"code":1,"message":"","data":null}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := string(c.refusal.body()); got != c.want {
				t.Errorf("body = %s, want %s", got, c.want)
			}
		})
	}
}

func TestRefusalIsNeverStored(t *testing.T) {
	w := httptest.NewRecorder()
	r := refusal{status: 429, code: -32600, message: "m", header: http.Header{"Retry-After": {"3"}}}
	r.write(w)
	wantJSONRPCError(t, w, 429)
	for name, want := range map[string]string{"Retry-After": "3", "X-Content-Type-Options": "nosniff", "Content-Length": "55"} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}
