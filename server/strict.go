package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxDepth bounds how deep a message may nest. Arguments nest three levels
	// below the message; what goes deeper is there to hurt a decoder.
	maxDepth = 64
	// maxIDBytes bounds a request id, which every answer repeats.
	maxIDBytes = 256
)

// A message is one JSON-RPC request or notification, read strictly.
type message struct {
	id     jsontext.Value // as written; nil for a notification
	method string
	params messageParams
}

// wireMessage keeps every member as text, so that absent and null differ and
// nothing is rounded. Names are matched exactly: "Method" is a stranger here.
type wireMessage struct {
	Version jsontext.Value            `json:"jsonrpc"`
	ID      jsontext.Value            `json:"id"`
	Method  jsontext.Value            `json:"method"`
	Params  jsontext.Value            `json:"params"`
	Result  jsontext.Value            `json:"result"`
	Error   jsontext.Value            `json:"error"`
	Others  map[string]jsontext.Value `json:",embed"`
}

// readMessage reads a body that must be one JSON object and nothing else: UTF-8
// without a byte order mark, without lone surrogates and without a name that
// occurs twice in any object. Two readers could take different meanings from
// such a text, and one of them may be the one that decided to let it through.
func readMessage(body []byte) (*message, *refusal) {
	var w wireMessage
	if err := json.Unmarshal(body, &w); err != nil {
		return nil, unreadable(body, err)
	}
	if refused := checkID(w.ID); refused != nil {
		return nil, refused
	}
	m := &message{id: w.ID}
	refused := m.read(&w)
	if refused == nil && nesting(body) > maxDepth {
		refused = invalidRequest("depth", "nested too deeply")
	}
	if refused != nil {
		refused.id = w.ID
		return nil, refused
	}
	return m, nil
}

// unreadable tells text that is not strict JSON from JSON that is no object,
// which is what a batch is. The decoder stops at the first character that does
// not fit, so what it says of the rest is found out here.
func unreadable(text jsontext.Value, err error) *refusal {
	if text.IsValid() {
		return invalidRequest("not_one_object", "the body must be one JSON object; batches are not served")
	}
	r := refuse(http.StatusBadRequest, jsonrpc.CodeParseError, "json",
		"Parse error: the body must be one JSON object in UTF-8, without repeated names")
	// Of the error only the place: its text repeats what was sent.
	var syntactic *jsontext.SyntacticError
	if errors.As(err, &syntactic) {
		r.cause = fmt.Errorf("no strict JSON at byte %d", syntactic.ByteOffset)
	}
	return r
}

// checkID lets a string or an integer pass. It is echoed as it was written, so
// it is never converted: integers above 2^53 stay what they are.
func checkID(id jsontext.Value) *refusal {
	switch {
	case id == nil:
		return nil
	case len(id) > maxIDBytes:
		return invalidRequest("id", "the id is too long")
	case id.Kind() == '"' && !hasNUL(id), isIntegerLiteral(id):
		return nil
	default:
		return invalidRequest("id", "the id must be a string or an integer")
	}
}

func (m *message) read(w *wireMessage) *refusal {
	if text, ok := stringValue(w.Version); !ok || text != "2.0" {
		return invalidRequest("jsonrpc", `the member jsonrpc must be "2.0"`)
	}
	if w.Result != nil || w.Error != nil {
		return invalidRequest("response", "responses are not accepted")
	}
	// Any other member is ignored: it reaches nothing, and refusing it would hide
	// from a client of a later revision which versions are served.
	if lookalike(w.Others, "jsonrpc", "id", "method", "params", "result", "error") {
		return invalidRequest("member_name", "member names are case-sensitive")
	}
	var ok bool
	if m.method, ok = stringValue(w.Method); !ok || m.method == "" || strings.Contains(m.method, "\x00") {
		return invalidRequest("method", "the method must be a string")
	}
	switch {
	case w.Params == nil:
		return nil
	case w.Params.Kind() != '{':
		return invalidRequest("params", "params must be an object")
	default:
		return m.params.read(w.Params)
	}
}

// lookalike tells whether an unknown name differs from a known one only in case,
// by Unicode's folding, or holds a NUL, where readers written in C stop. Another
// reader of the same text might take it for the known one.
func lookalike(others map[string]jsontext.Value, known ...string) bool {
	for name := range others {
		if strings.Contains(name, "\x00") {
			return true
		}
		for _, k := range known {
			if strings.EqualFold(name, k) {
				return true
			}
		}
	}
	return false
}

// nesting is the depth of a JSON text that has been found well-formed.
func nesting(text []byte) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			quoted = !quoted
		case quoted && c == '\\':
			i++ // whatever is escaped, it does not end the string
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

// stringValue decodes a JSON string.
func stringValue(v jsontext.Value) (string, bool) {
	if v.Kind() != '"' {
		return "", false
	}
	text, err := jsontext.AppendUnquote(nil, v)
	return string(text), err == nil
}

func hasNUL(v jsontext.Value) bool {
	text, ok := stringValue(v)
	return !ok || strings.Contains(text, "\x00")
}

// isIntegerLiteral tells 12 from 1.5, and from 1e3, which some readers take for
// a fraction.
func isIntegerLiteral(v jsontext.Value) bool {
	digits := strings.TrimPrefix(string(v), "-")
	return digits != "" && strings.Trim(digits, "0123456789") == ""
}

func isNull(v jsontext.Value) bool { return v.Kind() == 'n' }

// isSafeInteger tells the integers that every reader of JSON keeps exactly.
func isSafeInteger(v jsontext.Value) bool {
	n, err := strconv.ParseInt(string(v), 10, 64)
	return err == nil && isIntegerLiteral(v) && n >= -maxSafeInteger && n <= maxSafeInteger
}

const maxSafeInteger = 1<<53 - 1
