package server

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// instructions go to the model with server/discover.
const instructions = "A shop. Find products with product_search, make a cart with cart_create, fill it with cart_set_item. " +
	"A cart is named by its cart_id, which you pass with every call; cart_list finds a lost one. Prices are whole numbers in the currency's minor unit."

// listTTL is how long a client may keep discovery and lists, in milliseconds.
// They change only with a release, or with the token's scopes.
const listTTL = 5 * 60 * 1000

// checkedCall is the method by which a tools/call reaches the SDK, once the gate
// has read it. For a method of its own the SDK would decode params twice more,
// which takes longer than all that the gate does, and three quarters of the memory
// of a call. For this one there are none.
const checkedCall = "mcp-cart/checked-call"

// newSDK sets the SDK's server up. It is shared by all requests and keeps
// nothing of them.
func (s *Server) newSDK(more func(*mcp.ServerOptions)) (*mcp.Server, error) {
	options := &mcp.ServerOptions{
		Instructions: instructions,
		// The SDK logs every connection, which here is every request.
		Logger:       slog.New(atLeast{s.log.Handler(), slog.LevelWarn}),
		Capabilities: &mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}},
		SetCacheable: func(_ context.Context, req mcp.Request, c *mcp.Cacheable) {
			// What a list shows depends on the token's scopes, so no cache may
			// hand it to somebody else.
			c.TTLMs, c.CacheScope = listTTL, "private"
		},
		SupportedProtocolVersions: servedVersions(s.cfg.ModernOnly),
	}
	more(options)
	sdk := mcp.NewServer(s.self(), options)
	sdk.AddReceivingMiddleware(contain, s.hideTools)
	return sdk, mcp.AddReceivingCustomMethod(sdk, checkedCall, s.callTool)
}

// self is who answers.
func (s *Server) self() *mcp.Implementation {
	return &mcp.Implementation{Name: "mcp-cart", Title: "mcp-cart", Version: s.cfg.Version}
}

// contain turns a panic in a handler into one failed call. Handlers run on a
// goroutine of the SDK, where net/http cannot catch it: the process would end,
// and with it everybody's calls.
func contain(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (res mcp.Result, err error) {
		defer func() {
			if v := recover(); v != nil {
				res, err = nil, fmt.Errorf("panic in %s: %v\n%s", method, v, debug.Stack())
			}
		}()
		growStack(0)
		return next(ctx, method, req)
	}
}

// growStack makes room on the stack once. A handler runs on a goroutine of its
// own, whose small stack would be copied to a larger one several times on the way
// down to the database and back.
//
//go:noinline
func growStack(i int) byte {
	var room [16 << 10]byte
	return room[i]
}

// hideTools leaves those tools out of tools/list of which the token allows nothing.
// It is a courtesy to the model; what may be called is decided at the call. A tool
// that needs one scope more than the token has is shown: only a client that knows
// of it can call it, be told which scope is missing, and ask the user for it.
func (s *Server) hideTools(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		res, err := next(ctx, method, req)
		list, ok := res.(*mcp.ListToolsResult)
		if err != nil || !ok {
			return res, err
		}
		who, _ := callerFrom(ctx)
		shown := []*mcp.Tool{}
		for _, t := range list.Tools {
			if row := s.tools[t.Name]; row != nil && len(who.Scopes.Missing(row.scopes...)) < len(row.scopes) {
				shown = append(shown, t)
			}
		}
		list.Tools = shown
		return list, nil
	}
}

// atLeast passes records of a level and above.
type atLeast struct {
	slog.Handler
	level slog.Level
}

func (h atLeast) Enabled(ctx context.Context, l slog.Level) bool {
	return l >= h.level && h.Handler.Enabled(ctx, l)
}
