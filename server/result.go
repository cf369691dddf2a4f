package server

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A toolResult is a CallToolResult as the specification has it (server/tools).
// The SDK's own type would be marshalled twice over.
type toolResult struct {
	mcp.ResultBase
	Content           []mcp.Content   `json:"content"`
	StructuredContent json.RawMessage `json:"structuredContent,omitempty"`
	IsError           bool            `json:"isError,omitempty"`
	ResultType        string          `json:"resultType,omitempty"` // not known to the handshake era
}

// An inputRequired is an InputRequiredResult as the specification has it
// (basic/patterns/mrtr).
type inputRequired struct {
	mcp.ResultBase
	ResultType    string              `json:"resultType"`
	InputRequests mcp.InputRequestMap `json:"inputRequests"`
	RequestState  string              `json:"requestState,omitempty"`
}

// result is a tool's answer: what it returned as structured content, and the same
// JSON again as text for clients that read only that (specification, server/tools).
// A tool that wants it otherwise returns one of the types above.
func result(out any) (mcp.Result, error) {
	switch out := out.(type) {
	case *inputRequired:
		if out != nil {
			return out, nil
		}
	case *toolResult:
		if out != nil && out.Content != nil {
			return out, nil
		}
	case mcp.Result: // its resultType cannot be set
	default:
		text, err := json.Marshal(out)
		if err != nil {
			return nil, fmt.Errorf("marshal result: %w", err)
		}
		return &toolResult{Content: []mcp.Content{&mcp.TextContent{Text: string(text)}}, StructuredContent: text}, nil
	}
	return nil, fmt.Errorf("a tool returned a %T that is no result", out)
}

// sign says in a result of a modern call who answers (specification, basic/index,
// serverInfo), and of what kind it is.
func (s *Server) sign(res mcp.Result) {
	meta := maps.Clone(res.GetMeta())
	if meta == nil {
		meta = map[string]any{}
	}
	meta[mcp.MetaKeyServerInfo] = s.self()
	res.SetMeta(meta)
	if r, ok := res.(*toolResult); ok {
		r.ResultType = "complete"
	}
}
