//go:build conformance

//lint:file-ignore SA1019 the suite asks for roots and sampling, deprecated or not

package server

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"image"
	"image/png"
	"net/http"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// suiteServer opens a shop that sells nothing: it has the tools, prompts and
// resources that the suite's scenarios of an era call for by name.
func suiteServer(e era) func(testing.TB, ...shopOption) *shop {
	return func(t testing.TB, options ...shopOption) *shop {
		return newShopWith(t, func(s *Server) error {
			asking := askingFixtures{s}
			tools := append(contentTools(), asking.fixtures()...)
			tools = append(tools, behaviourTools()...)
			tools = append(tools, midCallTools()...)
			return s.open(tools, suiteExtension(e, asking, schemaTool(t)))
		}, options...)
	}
}

// fixture is a tool without arguments.
func fixture(name, description string, run func(context.Context, caller) (any, error)) tool {
	return define(tool{
		name: name, title: name, description: description,
		scopes: []string{"catalog:read"}, effect: reads,
		input: `{"type": "object", "additionalProperties": false}`, output: `{"type": "object"}`,
	}, func(ctx context.Context, who caller, _ noArgs) (any, error) { return run(ctx, who) })
}

// show is a result with this content.
func show(content ...mcp.Content) (any, error) {
	return &toolResult{Content: content, StructuredContent: json.RawMessage(`{}`)}, nil
}

func say(text string) (any, error) { return show(&mcp.TextContent{Text: text}) }

// contentTools answer with each kind of content.
func contentTools() []tool {
	text := &mcp.TextContent{Text: "a text"}
	picture := &mcp.ImageContent{Data: onePixel(), MIMEType: "image/png"}
	resource := &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: "test://embedded", MIMEType: "text/plain", Text: "a text in a resource"}}
	showing := func(name string, content ...mcp.Content) tool {
		return fixture(name, "Shows content.", func(context.Context, caller) (any, error) { return show(content...) })
	}
	return []tool{
		showing("test_simple_text", text),
		showing("test_image_content", picture),
		showing("test_audio_content", &mcp.AudioContent{Data: noSound(), MIMEType: "audio/wav"}),
		showing("test_embedded_resource", resource),
		showing("test_multiple_content_types", text, picture, resource),
	}
}

// behaviourTools answer in each way a tool can.
func behaviourTools() []tool {
	return []tool{
		fixture("test_error_handling", "Fails.", func(context.Context, caller) (any, error) {
			return nil, toolErrorf("this tool always fails: there is nothing to try")
		}),
		fixture("test_tool_with_progress", "Tells how far it is.", tellProgress),
		fixture("test_tool_with_logging", "Logs to the client.", logThrice),
		fixture("test_logging_tool", "Logs to the client.", logThrice),
		fixture("test_streaming_elicitation", "Answers at once, and asks nothing.", func(context.Context, caller) (any, error) { return say("done") }),
		fixture("test_missing_capability", "Needs a client that can sample.", needSampling),
		regionTool(),
	}
}

func tellProgress(ctx context.Context, who caller) (any, error) {
	for _, done := range []float64{0, 50, 100} {
		if err := who.progress(ctx, done, 100); err != nil {
			return nil, err
		}
	}
	return say("done")
}

func logThrice(ctx context.Context, who caller) (any, error) {
	for _, text := range []string{"begun", "under way", "done"} {
		if err := who.session.Log(ctx, &mcp.LoggingMessageParams{Level: "info", Data: text}); err != nil {
			return nil, err
		}
	}
	return say("done")
}

func canSample(who caller) bool {
	return who.session.InitializeParams().Capabilities.Sampling != nil
}

func needSampling(_ context.Context, who caller) (any, error) {
	if canSample(who) {
		return say("this client can sample")
	}
	refused := refuse(http.StatusBadRequest, mcp.CodeMissingRequiredClientCapabilities, "capability", "this tool needs the sampling capability")
	refused.data = map[string]any{"requiredCapabilities": map[string]any{"sampling": map[string]any{}}}
	return nil, refused
}

// midCallTools are what the handshake era's scenarios ask questions with. Like
// checkout, they refuse: see errOldClient.
func midCallTools() []tool {
	var tools []tool
	for _, name := range []string{"test_sampling", "test_elicitation", "test_elicitation_sep1034_defaults", "test_elicitation_sep1330_enums"} {
		t := fixture(name, "Asks in the middle of a call.", func(context.Context, caller) (any, error) { return say("done") })
		t.asks = true
		tools = append(tools, t)
	}
	return tools
}

// schemaTool has an input schema of more kinds than this server's own tools may
// have, so it goes around the table's check of them, though not around the
// wrapper.
func schemaTool(t testing.TB) *tool {
	row := fixture("json_schema_2020_12_tool", "Has a rich input schema.", nil)
	row.input = `{
  "$schema": "https://json-schema.org/draft/2020-12/schema",
  "type": "object",
  "$defs": {"address": {
    "$anchor": "addressDef", "type": "object",
    "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
  "properties": {
    "name": {"type": "string"},
    "address": {"$ref": "#/$defs/address"},
    "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    "phone": {"type": "string"},
    "email": {"type": "string"}},
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
  "then": {"required": ["phone"]},
  "else": {"required": ["email"]},
  "additionalProperties": false
}`
	var schema jsonschema.Schema
	if err := json.Unmarshal([]byte(row.input), &schema); err != nil {
		t.Fatal(err)
	}
	rule, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	row.run = func(_ context.Context, _ caller, _ *argSchema, raw json.RawMessage) (any, error) {
		var args any
		if json.Unmarshal(raw, &args) != nil || rule.Validate(args) != nil {
			return nil, toolErrorf("the arguments do not fit the schema")
		}
		return say("the arguments fit")
	}
	return &row
}

// startLogging lets tools log to clients of the handshake era, which set a level
// once. None is kept, so every call starts with the same one.
func startLogging(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		who, _ := callerFrom(ctx)
		session, ok := req.GetSession().(*mcp.ServerSession)
		if ok && who.call.era == handshake && method == checkedCall {
			info := &mcp.ServerRequest[*mcp.SetLoggingLevelParams]{Session: session, Params: &mcp.SetLoggingLevelParams{Level: "info"}}
			if _, err := next(ctx, "logging/setLevel", info); err != nil {
				return nil, err
			}
		}
		return next(ctx, method, req)
	}
}

func onePixel() []byte {
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, 1, 1))); err != nil {
		panic(err) // a buffer takes everything
	}
	return b.Bytes()
}

// noSound is a WAV file of no samples: 8 kHz, mono, 8 bits.
func noSound() []byte {
	b := append([]byte("RIFF"), 36, 0, 0, 0)
	b = append(b, "WAVEfmt "...)
	for _, field := range []any{uint32(16), uint16(1), uint16(1), uint32(8000), uint32(8000), uint16(1), uint16(8)} {
		b, _ = binary.Append(b, binary.LittleEndian, field)
	}
	return append(append(b, "data"...), 0, 0, 0, 0)
}
