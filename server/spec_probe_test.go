package server

import "context"

// bareTool is a tool without arguments that needs no scope but cart:read.
func bareTool(name string, run func(context.Context, caller) (any, error)) tool {
	return define(tool{
		name: name, title: name, description: "x", scopes: []string{"cart:read"},
		input: `{"type": "object", "additionalProperties": false}`, output: `{"type": "object"}`,
	}, func(ctx context.Context, who caller, _ noArgs) (any, error) { return run(ctx, who) })
}

// tellsProgress tells a client that asks for it how far it is, twice, before it
// answers. No tool that ships does.
func tellsProgress() tool {
	return bareTool("tells_progress", func(ctx context.Context, who caller) (any, error) {
		for _, percent := range []float64{50, 100} {
			if err := who.progress(ctx, percent, 100); err != nil {
				return nil, err
			}
		}
		return noArgs{}, nil
	})
}
