package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"sync"
	"time"

	"example.com/mcp-cart/auth"
)

// A trace gathers what the one log line of a request says. No token, no
// argument and no full handle goes into it.
type trace struct {
	id    string // the correlation id, shown to the client with internal errors
	start time.Time

	mu        sync.Mutex
	principal *auth.Principal
	method    string
	tool      string
	outcome   string // "ok", or the reason of the first thing that went wrong
	err       error
}

type traceKey struct{}

// withTrace starts the trace of a request and writes its line at the end.
func (s *Server) withTrace(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t := &trace{id: correlationID(), start: time.Now(), outcome: "ok"}
		r = r.WithContext(context.WithValue(r.Context(), traceKey{}, t))
		defer s.finish(r.Context(), t)
		defer abort(r.Context())
		next.ServeHTTP(w, r)
	})
}

// abort lets net/http break the connection after a panic, once it is noted.
func abort(ctx context.Context) {
	if v := recover(); v != nil {
		note(ctx, "internal", fmt.Errorf("panic: %v\n%s", v, debug.Stack()))
		panic(http.ErrAbortHandler)
	}
}

func correlationID() string {
	var b [8]byte
	rand.Read(b[:])
	return hex.EncodeToString(b[:])
}

// traceFrom never returns nil, so that what is noted outside a request is lost
// rather than a crash.
func traceFrom(ctx context.Context) *trace {
	if t, ok := ctx.Value(traceKey{}).(*trace); ok {
		return t
	}
	return &trace{}
}

// note records why a request did not go well. The first reason stands.
func note(ctx context.Context, reason string, err error) {
	t := traceFrom(ctx)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.outcome == "ok" {
		t.outcome, t.err = reason, err
	}
}

func (t *trace) identify(p auth.Principal) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.principal = &p
}

func (t *trace) admit(c *call) {
	t.mu.Lock()
	defer t.mu.Unlock()
	// Both become labels of metrics, so both are names from our own tables: the
	// rest of a notification's method is the client's to invent, and so is the
	// URI of a resource.
	t.method = c.method
	if c.notification {
		t.method = "notification"
	}
	if c.method == "tools/call" {
		t.tool = c.tool
	}
}

// maxErrorText bounds what one request can add to the log.
const maxErrorText = 4 << 10

// errorText is what the log says of an error, which may be more than the error
// says to everybody.
func errorText(err error) string {
	text := err.Error()
	if v, ok := err.(slog.LogValuer); ok {
		text = v.LogValue().String()
	}
	return text[:min(len(text), maxErrorText)]
}

func (s *Server) finish(ctx context.Context, t *trace) {
	t.mu.Lock()
	defer t.mu.Unlock()
	took := time.Since(t.start)
	s.metrics.observe(t, took)
	level := slog.LevelInfo
	if t.outcome == "internal" {
		level = slog.LevelError
	}
	if !s.log.Enabled(ctx, level) {
		return
	}
	attrs := []slog.Attr{
		slog.String("id", t.id),
		slog.String("method", t.method),
		slog.String("tool", t.tool),
		slog.String("outcome", t.outcome),
		slog.Duration("took", took),
	}
	if t.principal != nil {
		attrs = append(attrs, slog.Any("principal", *t.principal))
	}
	if t.err != nil {
		attrs = append(attrs, slog.String("err", errorText(t.err)))
	}
	s.log.LogAttrs(ctx, level, "request", attrs...)
}
