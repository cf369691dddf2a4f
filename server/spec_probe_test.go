package server

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// bareTool is a tool without arguments that needs no scope but cart:read.
func bareTool(name string, run func(context.Context, caller) (any, error)) tool {
	return define(tool{
		name: name, title: name, description: "x", scopes: []string{"cart:read"},
		input: `{"type": "object", "additionalProperties": false}`, output: `{"type": "object"}`,
	}, func(ctx context.Context, who caller, _ noArgs) (any, error) { return run(ctx, who) })
}

// tellsProgress tells a client that asks for it how far it is, twice, before it
// answers.
func tellsProgress() tool {
	return bareTool("tells_progress", func(ctx context.Context, _ caller) (any, error) {
		req := ctx.Value(passedRequest{}).(*checkedRequest)
		if req.Params == nil {
			return noArgs{}, nil // nobody asked
		}
		for _, percent := range []float64{50, 100} {
			progress := &mcp.ProgressNotificationParams{ProgressToken: req.Params.GetMeta()[metaProgressToken], Progress: percent, Total: 100}
			if err := req.Session.NotifyProgress(ctx, progress); err != nil {
				return nil, err
			}
		}
		return noArgs{}, nil
	})
}

// A checkedRequest is a call of a tool as the SDK knows it.
type checkedRequest = mcp.ServerRequest[*mcp.ParamsBase]

type passedRequest struct{}

// passRequests hands tools the SDK's request, by which they can send
// notifications. No tool that ships does.
func passRequests() *extension {
	pass := func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			return next(context.WithValue(ctx, passedRequest{}, req), method, req)
		}
	}
	return &extension{
		options:  func(*mcp.ServerOptions) {},
		register: func(sdk *mcp.Server) { sdk.AddReceivingMiddleware(pass) },
	}
}
