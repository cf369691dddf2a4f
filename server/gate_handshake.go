package server

import (
	"net/http"
	"strings"
)

// admitHandshake judges a request of 2025-06-18 or 2025-11-25. Only the checks
// that such a client cannot meet are left out: it sends no mirrored headers and
// says nothing of itself in _meta. Nothing is kept from its initialize, so each
// later request must name its version in the header.
func (g *gate) admitHandshake(h http.Header, m *message) (*call, *refusal) {
	c := &call{id: m.id, era: handshake, method: m.method}
	if m.method == "initialize" {
		return g.admitInitialize(h, m, c)
	}
	var refused *refusal
	// showsModern has seen to it that the header is absent or one of the two.
	if c.version, refused = requiredHeader(h, headerVersion); refused != nil {
		refused.message += "; protocol versions served: " + strings.Join(g.versions(), ", ")
		return nil, refused
	}
	if source := m.named(); source != nil {
		var ok bool
		if c.tool, ok = stringValue(*source); !ok || strings.Contains(c.tool, "\x00") {
			return nil, invalidParams("name", "the name or uri must be a string")
		}
	}
	if refused := g.admitTarget(m, c); refused != nil {
		return nil, refused
	}
	return m.complete(c, new(capabilities))
}

// admitInitialize chooses the version: the one asked for, or else the newest of
// this era, which the client may take or leave.
func (g *gate) admitInitialize(h http.Header, m *message, c *call) (*call, *refusal) {
	if _, _, refused := oneHeader(h, headerVersion); refused != nil {
		return nil, refused
	}
	if refused := g.admitTarget(m, c); refused != nil {
		return nil, refused
	}
	p := &m.params
	asked, ok := stringValue(p.ProtocolVersion)
	if !ok {
		return nil, invalidParams("initialize", "protocolVersion must be a string")
	}
	c.version = versionHandshake
	if asked == versionOldHandshake {
		c.version = versionOldHandshake
	}
	caps := new(capabilities)
	if p.Capabilities != nil {
		if caps, ok = readCapabilities(p.Capabilities); !ok {
			return nil, invalidParams("initialize", "capabilities are malformed")
		}
	}
	if p.ClientInfo != nil && !wellFormedClientInfo(p.ClientInfo) {
		return nil, invalidParams("initialize", "clientInfo must be an object with the strings name and version")
	}
	return m.complete(c, caps)
}
