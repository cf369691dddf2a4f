package server

import (
	"context"
	"encoding/hex"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/go-chi/httprate"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"example.com/mcp-cart/auth"
)

// authenticate finds out who is calling, before anything of the body is looked
// at: without a good token nobody learns whether a tool exists or a text parses.
func (s *Server) authenticate(r *http.Request) (auth.Principal, *refusal) {
	token, err := auth.BearerToken(r.Header)
	if err == nil {
		var p auth.Principal
		if p, err = s.cfg.Verifier.Verify(r.Context(), token); err == nil {
			traceFrom(r.Context()).identify(p)
			return p, nil
		}
	}
	if errors.Is(err, auth.ErrUnavailable) {
		refused := refuse(http.StatusServiceUnavailable, jsonrpc.CodeInternalError, "token_"+auth.Reason(err), "tokens cannot be verified right now: try again")
		refused.header = http.Header{"Retry-After": {"5"}}
		return auth.Principal{}, refused
	}
	refused := refuse(http.StatusUnauthorized, jsonrpc.CodeInvalidRequest, "token_"+auth.Reason(err), "a valid access token is needed")
	refused.header = http.Header{"Www-Authenticate": {s.challenges.Unauthorized(err)}}
	return auth.Principal{}, refused
}

// authorize compares the token with the scopes of the tool that the body names.
// One that does not say which tool needs none: it is listed or it does nothing.
func (s *Server) authorize(c *call, p auth.Principal) *refusal {
	t := s.tools[c.tool]
	if c.method != "tools/call" || t == nil {
		return nil
	}
	if len(p.Scopes.Missing(t.scopes...)) == 0 {
		return nil
	}
	if t.asks && c.era == handshake {
		return nil // it will be refused whatever it may: nobody is asked for a scope in vain
	}
	refused := refuse(http.StatusForbidden, jsonrpc.CodeInvalidRequest, "scope", "the access token lacks a scope that this tool needs")
	refused.id = c.id
	refused.header = http.Header{"Www-Authenticate": {s.challenges.InsufficientScope(t.scopes...)}}
	return refused
}

// scopes lists every scope that some tool needs, and the one that implies others.
func (s *Server) scopes() []string {
	all := []string{"cart"}
	for _, t := range s.tools {
		all = append(all, t.scopes...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

const rateWindow = 10 * time.Second

func newLimiter(rate int) *httprate.RateLimiter {
	return httprate.NewRateLimiter(10*rate, rateWindow, httprate.WithResponseHeaders(httprate.ResponseHeaders{}))
}

// limit counts the calls of a user, after the token is verified: what others
// send without a good token costs nobody their share.
func (s *Server) limit(w http.ResponseWriter, r *http.Request, p auth.Principal) *refusal {
	user := p.UserID()
	if !s.limiter.OnLimit(w, r, hex.EncodeToString(user[:])) {
		return nil
	}
	refused := refuse(http.StatusTooManyRequests, jsonrpc.CodeInvalidRequest, "rate", "too many calls: wait before the next one")
	refused.header = http.Header{"Retry-After": {strconv.Itoa(int(rateWindow.Seconds()))}}
	return refused
}

type callerKey struct{}

func withCaller(ctx context.Context, who caller) context.Context {
	return context.WithValue(ctx, callerKey{}, who)
}

func callerFrom(ctx context.Context) (caller, bool) {
	who, ok := ctx.Value(callerKey{}).(caller)
	return who, ok
}
