package server

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The protocol revisions this server speaks. The first is what it is written
// for; the others still open with an initialize handshake.
const (
	versionModern       = "2026-07-28"
	versionHandshake    = "2025-11-25" // offered to a client that asks for one we do not speak
	versionOldHandshake = "2025-06-18"
)

// An era is the set of rules a request is judged by.
type era uint8

const (
	modern    era = iota + 1 // version and capabilities in every request
	handshake                // opened with initialize; no answers in the middle of a call
)

func (e era) String() string {
	if e == handshake {
		return "handshake"
	}
	return "modern"
}

// A call is one message that has passed the gate.
type call struct {
	id      jsontext.Value // as the client wrote it; nil for a notification
	era     era
	version string // spoken in this call; for initialize, the one to be offered
	method  string
	tool    string // what Mcp-Name mirrors: the name of a tool or prompt, the URI of a resource

	arguments jsontext.Value // of a tool, an object; nil if absent or null

	// client is what the SDK is told of the client beside params, as if that had
	// been said in an initialize; nil if params say it.
	client *mcp.InitializeParams

	// What a tools/call may ask for beside its answer.
	progressToken jsontext.Value // nil if the client does not want to hear of progress
	logLevel      string

	// params is written anew from what was checked, for the SDK to decode: known
	// members only, so that what the gate read and what the SDK reads cannot
	// differ. requestState and inputResponses are not in it. nil for a tools/call.
	params jsontext.Value

	notification    bool           // to be answered 202 and to do nothing
	elicitationForm bool           // the client declared that it can show a form
	state           *string        // requestState; nil if absent or null
	answers         jsontext.Value // inputResponses, an object; nil if absent or null
}

// gateConfig is what the gate must know of the server behind it.
type gateConfig struct {
	modernOnly bool // do not serve clients of the handshake era

	// extraMethods are served beside the ones every server of ours has.
	extraMethods map[era][]string

	// knownTool tells whether a tool exists, whoever may call it.
	knownTool func(name string) bool

	// paramHeaders lists by tool the arguments that are mirrored in Mcp-Param-*
	// headers; see readParamHeaders.
	paramHeaders map[string][]paramHeader
}

// The gate decides, before anything else looks at a message, that it means one
// thing only: to an intermediary that reads headers, to the SDK underneath and
// to the tool. It keeps nothing between two messages.
type gate struct {
	modernOnly   bool
	methods      map[era][]string
	knownTool    func(string) bool
	paramHeaders map[string][]paramHeader
}

func newGate(c gateConfig) (*gate, error) {
	if c.knownTool == nil {
		return nil, errors.New("gate: no way to tell a known tool")
	}
	for tool := range c.paramHeaders {
		if !c.knownTool(tool) {
			return nil, fmt.Errorf("gate: parameter headers of an unknown tool %q", tool)
		}
	}
	methods := map[era][]string{
		modern:    {"server/discover", "tools/list", "tools/call"},
		handshake: {"initialize", "ping", "tools/list", "tools/call"},
	}
	for e := range methods {
		methods[e] = append(methods[e], c.extraMethods[e]...)
	}
	return &gate{c.modernOnly, methods, c.knownTool, c.paramHeaders}, nil
}

// servedVersions lists what is served, newest first, as discovery and errors tell
// it.
func servedVersions(modernOnly bool) []string {
	if modernOnly {
		return []string{versionModern}
	}
	return []string{versionModern, versionHandshake, versionOldHandshake}
}

func (g *gate) versions() []string { return servedVersions(g.modernOnly) }

// admit judges one message from its headers and body. Once the body has been
// read as a request, every refusal carries its id.
func (g *gate) admit(h http.Header, body []byte) (*call, *refusal) {
	m, refused := readMessage(body)
	if refused != nil {
		return nil, refused
	}
	c, refused := g.judge(h, m)
	if refused == nil {
		return c, nil
	}
	refused.id = m.id
	if m.method == "initialize" {
		// A client of the handshake era shows its user this text and nothing else.
		refused.message += "; protocol versions served: " + strings.Join(g.versions(), ", ")
	}
	return nil, refused
}

func (g *gate) judge(h http.Header, m *message) (*call, *refusal) {
	switch modernRules := g.modernOnly || showsModern(h, m); {
	case m.id == nil:
		return g.admitNotification(h, m, modernRules)
	case modernRules:
		return g.admitModern(h, m)
	default:
		return g.admitHandshake(h, m)
	}
}

// showsModern tells whether a message bears any sign of the modern era. One sign
// is enough: a request that carries some of what the modern rules compare must
// not get around the comparison by leaving out the rest.
func showsModern(h http.Header, m *message) bool {
	for _, v := range h.Values(headerVersion) {
		if v := trimOWS(v); v != versionHandshake && v != versionOldHandshake {
			return true
		}
	}
	return len(h.Values(headerMethod)) > 0 || len(h.Values(headerName)) > 0 || m.params.modern()
}

func (g *gate) knownMethod(e era, method string) *refusal {
	if !slices.Contains(g.methods[e], method) {
		return refuse(http.StatusNotFound, jsonrpc.CodeMethodNotFound, "method", "Method not found")
	}
	return nil
}

func (g *gate) unsupported(requested string) *refusal {
	r := refuse(http.StatusBadRequest, mcp.CodeUnsupportedProtocolVersion, "version", "Unsupported protocol version")
	r.data = mcp.UnsupportedProtocolVersionData{Supported: g.versions(), Requested: requested}
	return r
}

// refuse makes a refusal of the gate's.
func refuse(status, code int, reason, message string) *refusal {
	return &refusal{status: status, code: code, reason: reason, message: message}
}

func invalidRequest(reason, message string) *refusal {
	return refuse(http.StatusBadRequest, jsonrpc.CodeInvalidRequest, reason, "Invalid Request: "+message)
}

func invalidParams(reason, message string) *refusal {
	return refuse(http.StatusBadRequest, jsonrpc.CodeInvalidParams, reason, "Invalid params: "+message)
}
