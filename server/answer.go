package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// maxCall bounds a call. It lies below the usual timeouts of proxies, and the
// database's own limits lie below it.
const maxCall = 30 * time.Second

// serve runs one admitted call through the SDK and writes its answer. It
// returns only when nothing of the call is running any more, so that a shutdown
// that waits for requests waits for their writes too.
func (s *Server) serve(w http.ResponseWriter, r *http.Request, c *call, who caller) {
	ctx, cancel := context.WithTimeout(withCaller(r.Context(), who), maxCall)
	defer cancel()
	x, err := newExchange(ctx, c)
	if err != nil {
		internalError(ctx, c, err).answer(w, r)
		return
	}
	defer x.Close()
	session, err := s.sdk.Connect(ctx, x, sessionOptions(c))
	if err != nil {
		internalError(ctx, c, err).answer(w, r)
		return
	}
	a := &answer{s: s, w: w, r: r, call: c}
	for !a.done {
		select {
		case m := <-x.out:
			a.take(m)
		case <-ctx.Done():
			a.abandon(ctx)
			x.Close()
			session.Wait()
		}
	}
}

// An answer writes what the SDK hands over: one JSON object, or, if a
// notification comes before it, an event stream that ends with it.
type answer struct {
	s      *Server
	w      http.ResponseWriter
	r      *http.Request
	call   *call
	stream bool
	done   bool
}

func (a *answer) take(m jsonrpc.Message) {
	switch m := m.(type) {
	case *jsonrpc.Response:
		a.done = true
		if m.Error != nil {
			a.fail(a.s.outward(a.r.Context(), a.call, m.Error))
			return
		}
		a.send(http.StatusOK, resultBody(a.call.id, m.Result))
	case *jsonrpc.Request:
		// A request from server to client does not exist in this protocol
		// (specification, basic/transports/streamable-http); a notification has
		// no id.
		if m.IsCall() {
			note(a.r.Context(), "internal", errors.New("the SDK tried to send a request to the client"))
			return
		}
		a.event(m)
	}
}

func (a *answer) event(m *jsonrpc.Request) {
	text, err := jsonrpc.EncodeMessage(m)
	if err != nil {
		note(a.r.Context(), "internal", err)
		return
	}
	if !a.stream {
		a.stream = true
		h := a.w.Header()
		h.Set("Content-Type", "text/event-stream")
		h.Set("Cache-Control", "no-store")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Accel-Buffering", "no")
		a.w.WriteHeader(http.StatusOK)
	}
	a.send(http.StatusOK, text)
}

func (a *answer) fail(refused *refusal) {
	note(a.r.Context(), refused.reason, refused.cause)
	if a.stream {
		a.send(http.StatusOK, refused.body())
		return
	}
	refused.write(a.w)
}

func (a *answer) send(status int, body []byte) {
	if a.stream {
		// A client that is gone shows as a write error; its request's context
		// ends too, and that is where it is dealt with.
		_, _ = a.w.Write([]byte("event: message\ndata: " + string(body) + "\n\n"))
		_ = http.NewResponseController(a.w).Flush()
		return
	}
	h := a.w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	a.w.WriteHeader(status)
	_, _ = a.w.Write(body)
}

// abandon ends a call whose client went away, or that took too long.
func (a *answer) abandon(ctx context.Context) {
	a.done = true
	if a.r.Context().Err() != nil {
		note(ctx, "cancelled", nil)
		return
	}
	a.fail(internalError(ctx, a.call, errors.New("the call took longer than it may")))
	// What is still running is waited for; the client need not.
	_ = http.NewResponseController(a.w).Flush()
}

// resultBody puts the client's own id around the SDK's result, byte for byte.
func resultBody(id, result []byte) []byte {
	body := make([]byte, 0, len(id)+len(result)+40)
	body = append(body, `{"jsonrpc":"2.0","id":`...)
	body = append(body, id...)
	body = append(body, `,"result":`...)
	body = append(body, result...)
	return append(body, '}')
}

// outward is the closed list of the errors that may leave this server. A
// refusal was written by us. Of the SDK's own errors only the code is kept: its
// texts quote parameters, and what a handler returned as a plain error may hold
// anything.
func (s *Server) outward(ctx context.Context, c *call, err error) *refusal {
	var refused *refusal
	if errors.As(err, &refused) {
		refused.id = c.id
		return refused
	}
	var wire *jsonrpc.Error
	if errors.As(err, &wire) {
		switch wire.Code {
		case jsonrpc.CodeInvalidParams:
			return &refusal{status: http.StatusOK, code: jsonrpc.CodeInvalidParams, message: "invalid params", reason: "params", id: c.id}
		case jsonrpc.CodeMethodNotFound:
			return &refusal{status: http.StatusNotFound, code: jsonrpc.CodeMethodNotFound, message: "method not found", reason: "method", id: c.id}
		}
	}
	return internalError(ctx, c, err)
}

// internalError tells the client nothing but an id to quote to the operator.
func internalError(ctx context.Context, c *call, err error) *refusal {
	return &refusal{
		status:  http.StatusOK,
		code:    jsonrpc.CodeInternalError,
		message: "internal error",
		data:    map[string]string{"correlation_id": traceFrom(ctx).id},
		reason:  "internal",
		id:      c.id,
		cause:   err,
	}
}
