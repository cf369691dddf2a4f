//go:build conformance

//lint:file-ignore SA1019 the suite asks for logging, deprecated or not

package server

import (
	"context"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// suiteExtension is everything of the suite's that is not a tool.
//
// In the handshake era it accepts a log level and subscriptions, as the suite
// asks, and forgets them, as a stateless server must. It declares no
// notifications of changes in either era, for none are sent.
func suiteExtension(e era, asking askingFixtures, rich *tool) *extension {
	methods := []string{"prompts/list", "prompts/get", "resources/list", "resources/templates/list", "resources/read", "completion/complete"}
	old := append([]string{"logging/setLevel", "resources/subscribe", "resources/unsubscribe"}, methods...)
	return &extension{
		methods: map[era][]string{modern: methods, handshake: old},
		options: func(o *mcp.ServerOptions) {
			o.Capabilities.Prompts = &mcp.PromptCapabilities{}
			o.Capabilities.Resources = &mcp.ResourceCapabilities{}
			o.CompletionHandler = complete
			if e == handshake {
				o.Capabilities.Logging = &mcp.LoggingCapabilities{}
				o.SubscribeHandler = func(context.Context, *mcp.SubscribeRequest) error { return nil }
				o.UnsubscribeHandler = func(context.Context, *mcp.UnsubscribeRequest) error { return nil }
			}
		},
		register: func(sdk *mcp.Server) {
			sdk.AddReceivingMiddleware(startLogging)
			addPrompts(sdk)
			sdk.AddPrompt(&mcp.Prompt{Name: "test_input_required_result_prompt", Description: "Asks before it is shown."}, asking.prompt)
			addResources(sdk)
			asking.tools[rich.name] = rich
			sdk.AddTool(rich.declaration(), onlyListed)
		},
	}
}

func complete(_ context.Context, req *mcp.CompleteRequest) (*mcp.CompleteResult, error) {
	values := []string{}
	for _, word := range []string{"testValue1", "testValue2"} {
		if strings.HasPrefix(word, req.Params.Argument.Value) {
			values = append(values, word)
		}
	}
	return &mcp.CompleteResult{Completion: mcp.CompletionResultDetails{Values: values, Total: len(values)}}, nil
}

func addPrompts(sdk *mcp.Server) {
	add := func(name string, arguments []string, content func(map[string]string) mcp.Content) {
		prompt := &mcp.Prompt{Name: name, Description: "A prompt of the suite."}
		for _, a := range arguments {
			prompt.Arguments = append(prompt.Arguments, &mcp.PromptArgument{Name: a, Description: "A text.", Required: true})
		}
		sdk.AddPrompt(prompt, func(_ context.Context, req *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
			for _, a := range arguments {
				if req.Params.Arguments[a] == "" {
					return nil, invalidParams("prompt_argument", "an argument of the prompt is missing")
				}
			}
			return userSays(content(req.Params.Arguments)), nil
		})
	}
	add("test_simple_prompt", nil, func(map[string]string) mcp.Content {
		return &mcp.TextContent{Text: "Say something simple."}
	})
	add("test_prompt_with_arguments", []string{"arg1", "arg2"}, func(a map[string]string) mcp.Content {
		return &mcp.TextContent{Text: "Say " + a["arg1"] + " and " + a["arg2"] + "."}
	})
	add("test_prompt_with_embedded_resource", []string{"resourceUri"}, func(a map[string]string) mcp.Content {
		return &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: a["resourceUri"], MIMEType: "text/plain", Text: "a text in a resource"}}
	})
	add("test_prompt_with_image", nil, func(map[string]string) mcp.Content {
		return &mcp.ImageContent{Data: onePixel(), MIMEType: "image/png"}
	})
}

func userSays(content mcp.Content) *mcp.GetPromptResult {
	return &mcp.GetPromptResult{Messages: []*mcp.PromptMessage{{Role: "user", Content: content}}}
}

func addResources(sdk *mcp.Server) {
	add := func(uri string, contents *mcp.ResourceContents) {
		sdk.AddResource(&mcp.Resource{URI: uri, Name: uri, MIMEType: contents.MIMEType},
			func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
				return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{contents}}, nil
			})
	}
	add("test://static-text", &mcp.ResourceContents{URI: "test://static-text", MIMEType: "text/plain", Text: "a text"})
	add("test://static-binary", &mcp.ResourceContents{URI: "test://static-binary", MIMEType: "image/png", Blob: onePixel()})
	add("test://watched-resource", &mcp.ResourceContents{URI: "test://watched-resource", MIMEType: "text/plain", Text: "nothing changes"})
	sdk.AddResourceTemplate(&mcp.ResourceTemplate{URITemplate: "test://template/{id}/data", Name: "template", MIMEType: "application/json"}, readTemplate)
}

func readTemplate(_ context.Context, req *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
	id, _, found := strings.Cut(strings.TrimPrefix(req.Params.URI, "test://template/"), "/")
	if !found {
		return nil, errors.New("the URI does not fit the template")
	}
	return &mcp.ReadResourceResult{Contents: []*mcp.ResourceContents{
		{URI: req.Params.URI, MIMEType: "application/json", Text: `{"id":"` + id + `"}`},
	}}, nil
}
