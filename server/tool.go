package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp-cart/auth"
)

// A tool is one row of the table that everything reads: the gate (is it known,
// which scopes does it need), tools/list, the wrapper around each call, and the
// test that compares the README with the code.
type tool struct {
	name        string
	title       string
	description string
	scopes      []string // all of them are needed
	input       string   // JSON Schema: closed, and each property bounded and described
	output      string   // JSON Schema of the structured result
	effect      effect
	asks        bool // it puts questions to the user in the middle of a call

	args    *argSchema
	headers []paramHeader // of the arguments that input marks with x-mcp-header
	run     func(context.Context, caller, *argSchema, json.RawMessage) (any, error)
}

// An effect is what a tool does to the world, as its annotations tell the
// client. Every tool works on this server's own data alone, so openWorldHint is
// always false.
type effect struct {
	readOnly, destructive, idempotent bool
}

var (
	reads   = effect{readOnly: true, idempotent: true}
	adds    = effect{}                                    // something new with every call
	sets    = effect{idempotent: true, destructive: true} // overwrites; repeating changes nothing more
	commits = effect{destructive: true}
)

// A caller is who makes a call, and the call as it passed the gate. Identity
// comes from the verified token alone.
type caller struct {
	auth.Principal
	call    *call
	session *mcp.ServerSession // of this call alone; nil before the SDK has it
}

// progress tells a client that wants to hear of it how far its call is
// (specification, basic/utilities/progress).
func (who caller) progress(ctx context.Context, done, total float64) error {
	if who.call.progressToken == nil {
		return nil
	}
	return who.session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{
		ProgressToken: json.RawMessage(who.call.progressToken), Progress: done, Total: total,
	})
}

// define completes a row with the function that runs it. A is the type of its
// arguments; the result is marshalled as the structured content.
func define[A any](t tool, run func(context.Context, caller, A) (any, error)) tool {
	t.run = func(ctx context.Context, who caller, schema *argSchema, raw json.RawMessage) (any, error) {
		var args A
		if err := schema.decode(raw, &args); err != nil {
			return nil, err
		}
		if t.asks {
			if err := canAsk(who.call); err != nil {
				return nil, err
			}
		}
		return run(ctx, who, args)
	}
	return t
}

// register adds the tools to the SDK's server and returns them by name.
func (s *Server) register(tools []tool) error {
	for i := range tools {
		t := &tools[i]
		if len(t.scopes) == 0 {
			return fmt.Errorf("tool %s: no scope, so nobody may call it", t.name)
		}
		if s.tools[t.name] != nil {
			return fmt.Errorf("tool %s: registered twice", t.name)
		}
		args, err := parseArgSchema(t.input)
		if err != nil {
			return fmt.Errorf("tool %s: %w", t.name, err)
		}
		t.args = args
		if t.headers, err = readParamHeaders([]byte(t.input)); err != nil {
			return fmt.Errorf("tool %s: %w", t.name, err)
		}
		s.tools[t.name] = t
		s.sdk.AddTool(t.declaration(), onlyListed)
	}
	return nil
}

// paramHeaders is what the gate compares: the arguments that clients repeat in
// headers, by tool.
func (s *Server) paramHeaders() map[string][]paramHeader {
	all := map[string][]paramHeader{}
	for name, t := range s.tools {
		if len(t.headers) > 0 {
			all[name] = t.headers
		}
	}
	return all
}

// paramHeaderNames is what pages may send because of it.
func (s *Server) paramHeaderNames() []string {
	var names []string
	for _, headers := range s.paramHeaders() {
		for _, h := range headers {
			names = append(names, h.header)
		}
	}
	return names
}

func (t *tool) declaration() *mcp.Tool {
	no := false
	return &mcp.Tool{
		Name:         t.name,
		Title:        t.title,
		Description:  t.description,
		InputSchema:  json.RawMessage(t.input),
		OutputSchema: json.RawMessage(t.output),
		Annotations: &mcp.ToolAnnotations{
			ReadOnlyHint:    t.effect.readOnly,
			DestructiveHint: &t.effect.destructive,
			IdempotentHint:  t.effect.idempotent,
			OpenWorldHint:   &no,
		},
	}
}

// onlyListed stands where the SDK would run a tool by itself: it is told of tools
// for tools/list, and calls come by checkedCall.
func onlyListed(context.Context, *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
	return nil, errors.New("a tool is called past callTool")
}

// callTool is the way to every tool.
func (s *Server) callTool(ctx context.Context, session *mcp.ServerSession, _ *mcp.ParamsBase) (mcp.Result, error) {
	who, ok := callerFrom(ctx)
	if !ok {
		return nil, errors.New("a tool is called without a caller")
	}
	who.session = session
	t := s.tools[who.call.tool]
	if t == nil {
		return nil, errors.New("a tool is called that does not exist")
	}
	res, err := t.answer(ctx, who)
	if err != nil {
		res, err = s.present(ctx, t, err)
	}
	if err == nil && who.call.era == modern {
		s.sign(res)
	}
	return res, err
}

// answer runs the tool. The gate has already compared the token's scopes with the
// tool named in the body; they are compared again here, where the effect is, so
// that no other way to this tool can forget it.
func (t *tool) answer(ctx context.Context, who caller) (mcp.Result, error) {
	if t.asks && who.call.era == handshake {
		return nil, errOldClient
	}
	if missing := who.Scopes.Missing(t.scopes...); len(missing) > 0 {
		return nil, errors.New("reached without its scopes")
	}
	out, err := t.run(ctx, who, t.args, json.RawMessage(who.call.arguments))
	if err != nil {
		return nil, err
	}
	return result(out)
}
