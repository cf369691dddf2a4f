package server

import (
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// messageParams holds every member of params that some method of the protocol
// gives a meaning. Others are never passed on.
type messageParams struct {
	Meta           jsontext.Value `json:"_meta"`
	Name           jsontext.Value `json:"name"`
	URI            jsontext.Value `json:"uri"`
	Arguments      jsontext.Value `json:"arguments"`
	Cursor         jsontext.Value `json:"cursor"`
	RequestState   jsontext.Value `json:"requestState"`
	InputResponses jsontext.Value `json:"inputResponses"`

	// initialize
	ProtocolVersion jsontext.Value `json:"protocolVersion"`
	Capabilities    jsontext.Value `json:"capabilities"`
	ClientInfo      jsontext.Value `json:"clientInfo"`

	// methods that a server built on this one may add
	Ref           jsontext.Value `json:"ref"`
	Argument      jsontext.Value `json:"argument"`
	Context       jsontext.Value `json:"context"`
	Notifications jsontext.Value `json:"notifications"`
	Level         jsontext.Value `json:"level"`

	Others map[string]jsontext.Value `json:",embed"`

	meta requestMeta // of Meta, if that is an object
}

type requestMeta struct {
	Version       jsontext.Value            `json:"io.modelcontextprotocol/protocolVersion"`
	ClientInfo    jsontext.Value            `json:"io.modelcontextprotocol/clientInfo"`
	Capabilities  jsontext.Value            `json:"io.modelcontextprotocol/clientCapabilities"`
	LogLevel      jsontext.Value            `json:"io.modelcontextprotocol/logLevel"`
	ProgressToken jsontext.Value            `json:"progressToken"`
	Others        map[string]jsontext.Value `json:",embed"`
}

func (p *messageParams) read(text jsontext.Value) *refusal {
	if err := json.Unmarshal(text, p); err != nil {
		return unreadable(text, err)
	}
	if lookalike(p.Others, "_meta", "name", "uri", "arguments", "cursor", "requestState", "inputResponses",
		"protocolVersion", "capabilities", "clientInfo", "ref", "argument", "context", "notifications", "level") {
		return invalidRequest("member_name", "member names of params are case-sensitive")
	}
	if p.Meta.Kind() != '{' {
		return nil // judged when the rules of the message's era are
	}
	if err := json.Unmarshal(p.Meta, &p.meta); err != nil {
		return unreadable(p.Meta, err)
	}
	if lookalike(p.meta.Others, metaVersion, metaClientInfo, metaCapabilities, metaLogLevel, metaProgressToken) {
		return invalidRequest("member_name", "member names of _meta are case-sensitive")
	}
	return nil
}

// modern tells whether params bear a sign of the modern era.
func (p *messageParams) modern() bool {
	return p.meta.Version != nil || p.meta.ClientInfo != nil || p.meta.Capabilities != nil ||
		p.RequestState != nil || p.InputResponses != nil
}

const (
	metaVersion       = mcp.MetaKeyProtocolVersion
	metaClientInfo    = mcp.MetaKeyClientInfo
	metaCapabilities  = mcp.MetaKeyClientCapabilities
	metaLogLevel      = "io.modelcontextprotocol/logLevel" // deprecated in the SDK, not yet in the field
	metaProgressToken = "progressToken"
)

// shape checks the members a method uses, so that the SDK's own decoding cannot
// fail: its error would quote what was sent, and would have no useful code. A
// null is as good as absent. What is inside arguments is the tool's to judge.
func (m *message) shape() *refusal {
	p := &m.params
	switch {
	case !absentOr(p.Meta, '{'):
		return invalidParams("meta", "_meta must be an object")
	case !absentOr(p.meta.ProgressToken, '"') && !isSafeInteger(p.meta.ProgressToken):
		return invalidParams("progress_token", "_meta.progressToken must be a string or an integer")
	case !absentOr(p.Arguments, '{'):
		return invalidParams("arguments_shape", "arguments must be an object")
	case !absentOr(p.Cursor, '"'):
		return invalidParams("cursor", "cursor must be a string")
	case !absentOr(p.RequestState, '"'):
		return invalidParams("request_state_shape", "requestState must be a string")
	case !absentOr(p.InputResponses, '{'):
		return invalidParams("input_responses_shape", "inputResponses must be an object")
	}
	return nil
}

func absentOr(v jsontext.Value, kind jsontext.Kind) bool {
	return v == nil || isNull(v) || v.Kind() == kind
}

// decodes reports whether the SDK will be able to decode the params of a method
// that is not one of our own. The types are the SDK's.
func decodes(method string, params jsontext.Value) bool {
	switch method {
	case "prompts/get":
		return decodesAs[mcp.GetPromptParams](params)
	case "resources/read":
		return decodesAs[mcp.ReadResourceParams](params)
	case "resources/subscribe", "resources/unsubscribe":
		return decodesAs[mcp.SubscribeParams](params)
	case "completion/complete":
		return decodesAs[mcp.CompleteParams](params)
	case "subscriptions/listen":
		return decodesAs[mcp.SubscriptionsListenParams](params)
	case "logging/setLevel":
		return decodesAs[struct {
			Level string `json:"level"`
		}](params)
	}
	return true
}

func decodesAs[T any](params jsontext.Value) bool {
	var p T
	return json.Unmarshal(params, &p) == nil
}
