package server

//lint:file-ignore SA1019 Sampling, roots and logging are deprecated, not gone: clients still declare them or ask for them, and the SDK is still to know.

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// capabilities are the ones of the client that somebody here may ask for. The
// rest, extensions included, is not looked at and not passed on.
type capabilities struct {
	Elicitation *mcp.ElicitationCapabilities `json:"elicitation,omitzero"`
	Sampling    *mcp.SamplingCapabilities    `json:"sampling,omitzero"`
	Roots       *mcp.RootCapabilities        `json:"roots,omitzero"`
}

// client is what the SDK is to know of the client.
func (c *capabilities) client(version string) *mcp.InitializeParams {
	return &mcp.InitializeParams{
		ProtocolVersion: version,
		Capabilities:    &mcp.ClientCapabilities{Elicitation: c.Elicitation, Sampling: c.Sampling, RootsV2: c.Roots},
	}
}

func readCapabilities(text jsontext.Value) (*capabilities, bool) {
	caps := new(capabilities)
	return caps, json.Unmarshal(text, caps) == nil
}

// showsForms: an empty elicitation capability means forms; one that lists modes
// means those.
func (c *capabilities) showsForms() bool {
	return c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

// sessionOptions presents a call to the SDK as part of a session that has been
// initialized, where params do not say who calls: nothing of an earlier request is
// kept.
func sessionOptions(c *call) *mcp.ServerSessionOptions {
	if c.client == nil {
		return nil
	}
	return &mcp.ServerSessionOptions{State: &mcp.ServerSessionState{
		InitializeParams:          c.client,
		InitializedParams:         &mcp.InitializedParams{},
		NegotiatedProtocolVersion: c.version,
		LogLevel:                  mcp.LoggingLevel(c.logLevel),
	}}
}
