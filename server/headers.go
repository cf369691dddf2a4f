package server

import (
	"encoding/base64"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The headers that repeat what is in the body, in the spelling of http.Header.
const (
	headerVersion     = "Mcp-Protocol-Version"
	headerMethod      = "Mcp-Method"
	headerName        = "Mcp-Name"
	headerParamPrefix = "Mcp-Param-"
)

func headerMismatch(reason, message string) *refusal {
	return refuse(http.StatusBadRequest, mcp.CodeHeaderMismatch, reason, "Header mismatch: "+message)
}

// oneHeader reads a header that may occur once. Of two lines, an intermediary
// may have read the other one.
func oneHeader(h http.Header, name string) (value string, found bool, refused *refusal) {
	values := h.Values(name)
	switch len(values) {
	case 0:
		return "", false, nil
	case 1:
	default:
		return "", true, headerMismatch("header_repeated", name+" is sent more than once")
	}
	value = trimOWS(values[0])
	if strings.ContainsFunc(value, notFieldChar) {
		return "", true, headerMismatch("header_characters", name+" contains characters that a header must not")
	}
	return value, true, nil
}

func requiredHeader(h http.Header, name string) (string, *refusal) {
	value, found, refused := oneHeader(h, name)
	if refused == nil && !found {
		refused = headerMismatch("header_missing", name+" is required")
	}
	return value, refused
}

// trimOWS takes off what HTTP calls optional whitespace.
func trimOWS(v string) string { return strings.Trim(v, " \t") }

// notFieldChar: a mirrored value is visible ASCII with spaces and tabs; anything
// else must come encoded.
func notFieldChar(r rune) bool { return (r < ' ' || r > '~') && r != '\t' }

// decodeHeaderValue undoes the encoding =?base64?…?= of a value that does not
// fit a header. The markers are case-sensitive; without both of them the value
// is literal. Only one spelling of the base64 is accepted.
func decodeHeaderValue(v string) (string, bool) {
	const prefix, suffix = "=?base64?", "?="
	if len(v) < len(prefix)+len(suffix) || !strings.HasPrefix(v, prefix) || !strings.HasSuffix(v, suffix) {
		return v, true
	}
	text, err := base64.StdEncoding.Strict().DecodeString(v[len(prefix) : len(v)-len(suffix)])
	return string(text), err == nil
}
