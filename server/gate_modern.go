package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// admitModern judges a request by the rules of 2026-07-28. The order of the
// checks is the order in which a client can make use of the answer: first
// whether we speak the same language, then whether headers and body agree, then
// whether what it asks for exists.
func (g *gate) admitModern(h http.Header, m *message) (*call, *refusal) {
	c := &call{id: m.id, era: modern, method: m.method}
	version, refused := requiredHeader(h, headerVersion)
	if refused != nil {
		return nil, refused
	}
	caps, refused := m.readMeta(c)
	if refused != nil {
		return nil, refused
	}
	if version != c.version {
		return nil, headerMismatch("version_mismatch", "MCP-Protocol-Version does not match the version in _meta")
	}
	if version != versionModern {
		return nil, g.unsupported(version)
	}
	if refused := m.matchHeaders(h, c); refused != nil {
		return nil, refused
	}
	if refused := g.admitTarget(m, c); refused != nil {
		return nil, refused
	}
	if refused := g.matchParamHeaders(h, m, c); refused != nil {
		return nil, refused
	}
	c.elicitationForm = caps.showsForms()
	return m.complete(c, caps)
}

// readMeta checks the fields of _meta that make a request self-contained.
func (m *message) readMeta(c *call) (*capabilities, *refusal) {
	meta := &m.params.meta
	if m.params.Meta.Kind() != '{' {
		return nil, invalidParams("meta", "params._meta is required and must be an object")
	}
	var ok bool
	if c.version, ok = stringValue(meta.Version); !ok || c.version == "" {
		return nil, invalidParams("meta_version", "_meta["+metaVersion+"] is required and must be a string")
	}
	if meta.Capabilities.Kind() != '{' {
		return nil, invalidParams("meta_capabilities", "_meta["+metaCapabilities+"] is required and must be an object")
	}
	caps, ok := readCapabilities(meta.Capabilities)
	if !ok {
		return nil, invalidParams("meta_capabilities", "_meta["+metaCapabilities+"] is malformed")
	}
	if meta.ClientInfo != nil && !wellFormedClientInfo(meta.ClientInfo) {
		return nil, invalidParams("meta_client_info", "_meta["+metaClientInfo+"] must be an object with the strings name and version")
	}
	if level, ok := stringValue(meta.LogLevel); meta.LogLevel != nil && (!ok || !slices.Contains(logLevels(), level)) {
		return nil, invalidParams("meta_log_level", "_meta["+metaLogLevel+"] is not a log level")
	}
	return caps, nil
}

// matchHeaders compares the mirrored headers with the body, which is what is
// carried out. An intermediary may have decided by the headers.
func (m *message) matchHeaders(h http.Header, c *call) *refusal {
	method, refused := requiredHeader(h, headerMethod)
	if refused != nil {
		return refused
	}
	if method != m.method {
		return headerMismatch("method_mismatch", "Mcp-Method does not match the method in the body")
	}
	source := m.named()
	if source == nil {
		return nil // an Mcp-Name sent all the same repeats nothing that is carried out
	}
	name, refused := requiredHeader(h, headerName)
	if refused != nil {
		return refused
	}
	name, ok := decodeHeaderValue(name)
	if !ok {
		return headerMismatch("name_encoding", "Mcp-Name is not well-formed base64")
	}
	if c.tool, ok = stringValue(*source); !ok || strings.Contains(c.tool, "\x00") {
		return invalidParams("name", "the name or uri must be a string")
	}
	if name != c.tool {
		return headerMismatch("name_mismatch", "Mcp-Name does not match the name in the body")
	}
	return nil
}

// named is the member of params that Mcp-Name mirrors, nil for a method that has
// none.
func (m *message) named() *jsontext.Value {
	switch m.method {
	case "tools/call", "prompts/get":
		return &m.params.Name
	case "resources/read":
		return &m.params.URI
	}
	return nil
}

// admitTarget checks that what is asked for exists and that its parameters have
// their shape.
func (g *gate) admitTarget(m *message, c *call) *refusal {
	if refused := g.knownMethod(c.era, m.method); refused != nil {
		return refused
	}
	if refused := m.shape(); refused != nil {
		return refused
	}
	if m.method == "tools/call" && !g.knownTool(c.tool) {
		return invalidParams("tool", "unknown tool; tools/list shows what there is")
	}
	return nil
}

// wellFormedClientInfo checks what a client says of itself, and that is all that
// is done with it: it is unverified, so nothing may depend on it.
func wellFormedClientInfo(text jsontext.Value) bool {
	var info struct {
		Name    jsontext.Value `json:"name"`
		Version jsontext.Value `json:"version"`
	}
	return json.Unmarshal(text, &info) == nil && info.Name.Kind() == '"' && info.Version.Kind() == '"'
}

func logLevels() []string {
	return []string{"debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"}
}
