package server

import (
	"net/http"
	"strings"
)

// admitNotification accepts a notification of either era and has nothing to do
// for it: closing the connection is what cancels a call here. The header rules
// of 2026-07-28 do not cover notifications, so what is missing is not asked for;
// what is there must still be right.
func (g *gate) admitNotification(h http.Header, m *message, modernRules bool) (*call, *refusal) {
	if !strings.HasPrefix(m.method, "notifications/") {
		return nil, invalidRequest("no_id", "a request needs an id")
	}
	version, found, refused := oneHeader(h, headerVersion)
	if refused != nil {
		return nil, refused
	}
	if refused := m.matchPresent(h, version, found); refused != nil {
		return nil, refused
	}
	c := &call{era: handshake, version: version, method: m.method, notification: true}
	if modernRules {
		c.era = modern
		if found && version != versionModern {
			return nil, g.unsupported(version)
		}
	}
	if refused := m.shape(); refused != nil {
		return nil, refused
	}
	return c, nil
}

// matchPresent compares the headers of a notification with its body, as far as
// both are there.
func (m *message) matchPresent(h http.Header, version string, found bool) *refusal {
	inBody, ok := stringValue(m.params.meta.Version)
	switch {
	case m.params.meta.Version != nil && !ok:
		return invalidParams("meta_version", "_meta["+metaVersion+"] must be a string")
	case found && ok && inBody != version:
		return headerMismatch("version_mismatch", "MCP-Protocol-Version does not match the version in _meta")
	}
	method, found, refused := oneHeader(h, headerMethod)
	if refused != nil {
		return refused
	}
	if found && method != m.method {
		return headerMismatch("method_mismatch", "Mcp-Method does not match the method in the body")
	}
	return nil
}
