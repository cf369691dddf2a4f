package server

import "github.com/go-json-experiment/json/jsontext"

// complete writes the params anew and fills in what a later round carries.
func (m *message) complete(c *call, caps *capabilities) (*call, *refusal) {
	if c.method == "tools/call" || c.era == handshake && c.method != "initialize" {
		c.client = caps.client(c.version)
	}
	if c.method == "tools/call" {
		m.completeTool(c)
	} else {
		c.params = m.paramsFor(c, caps)
	}
	if !decodes(m.method, c.params) {
		return nil, invalidParams("params", "the parameters do not fit the method")
	}
	// Only the methods that name something can have asked a question before.
	if m.named() == nil {
		return c, nil
	}
	if state, ok := stringValue(m.params.RequestState); ok {
		c.state = &state
	}
	if m.params.InputResponses.Kind() == '{' {
		c.answers = m.params.InputResponses
	}
	return c, nil
}

// completeTool keeps what is for the tool. For the SDK to decode nothing is left.
func (m *message) completeTool(c *call) {
	p := &m.params
	if !isNull(p.Arguments) {
		c.arguments = p.Arguments
	}
	if c.era == modern {
		c.logLevel, _ = stringValue(p.meta.LogLevel)
	}
	if !isNull(p.meta.ProgressToken) {
		c.progressToken = p.meta.ProgressToken
	}
}

// paramsFor writes params for the SDK: from the names and values that were
// checked, each name in its one spelling. Of _meta only what the SDK needs is
// kept, so that a client's own metadata cannot make its decoding fail.
func (m *message) paramsFor(c *call, caps *capabilities) jsontext.Value {
	p := &m.params
	b := make([]byte, 0, 320+len(p.Arguments)+len(p.Name)+len(p.URI))
	b = append(b, `{"_meta":`...)
	b = p.meta.appendFor(b, c, caps)
	if c.method == "initialize" {
		b = append(b, `,"protocolVersion":"`+c.version+`","clientInfo":{"name":"","version":""},"capabilities":`...)
		b = appendJSON(b, caps)
		return append(b, '}')
	}
	for _, member := range []struct {
		name  string
		value jsontext.Value
	}{
		{"name", p.Name}, {"uri", p.URI}, {"arguments", p.Arguments}, {"cursor", p.Cursor},
		{"ref", p.Ref}, {"argument", p.Argument}, {"context", p.Context},
		{"notifications", p.Notifications}, {"level", p.Level},
	} {
		if member.value == nil || isNull(member.value) {
			continue
		}
		b = append(b, `,"`+member.name+`":`...)
		b = append(b, member.value...)
	}
	return append(b, '}')
}

func (meta *requestMeta) appendFor(b []byte, c *call, caps *capabilities) []byte {
	b = append(b, '{')
	if c.era == modern && c.client == nil {
		b = append(b, `"`+metaVersion+`":"`+versionModern+`","`+metaCapabilities+`":`...)
		b = appendJSON(b, caps)
		if meta.LogLevel != nil {
			b = append(b, `,"`+metaLogLevel+`":`...)
			b = append(b, meta.LogLevel...)
		}
	}
	if t := meta.ProgressToken; t != nil && !isNull(t) {
		if b[len(b)-1] != '{' {
			b = append(b, ',')
		}
		b = append(b, `"`+metaProgressToken+`":`...)
		b = append(b, t...)
	}
	return append(b, '}')
}
