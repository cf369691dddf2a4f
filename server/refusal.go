package server

import (
	"encoding/json"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
)

// A refusal is an error on its way to the client. Every error on /mcp leaves
// through one, so that a client always finds a JSON-RPC body: by it a client
// knows that it has met this protocol, and not a server of an older kind.
type refusal struct {
	status  int            // HTTP status
	code    int            // JSON-RPC error code
	message string         // for the client; never repeats what was sent
	data    any            // for the client, may be nil
	id      jsontext.Value // of the request, byte for byte; nil if it could not be read
	header  http.Header    // more headers for the answer, may be nil

	reason string // one of few words, for the log and the metrics
	cause  error  // for the log only, may be nil
}

func (r *refusal) Error() string { return r.reason + ": " + r.message }

func (r *refusal) Unwrap() error { return r.cause }

// body is the refusal as a JSON-RPC error object. Where the id could not be
// read there is no id member: this protocol has no null ids (specification,
// basic/index, "Error Responses").
func (r *refusal) body() []byte {
	b := make([]byte, 0, 160+len(r.message)+len(r.id))
	b = append(b, `{"jsonrpc":"2.0",`...)
	if len(r.id) > 0 {
		b = append(b, `"id":`...)
		b = append(b, r.id...)
		b = append(b, ',')
	}
	b = append(b, `"error":{"code":`...)
	b = strconv.AppendInt(b, int64(r.code), 10)
	b = append(b, `,"message":`...)
	b = appendJSON(b, r.message)
	if r.data != nil {
		b = append(b, `,"data":`...)
		b = appendJSON(b, r.data)
	}
	return append(b, "}}"...)
}

// appendJSON falls back to null: data that cannot be marshalled is a mistake of
// ours, and the client still gets the code and the message.
func appendJSON(b []byte, v any) []byte {
	text, err := json.Marshal(v)
	if err != nil {
		return append(b, "null"...)
	}
	return append(b, text...)
}

// turnAway answers a request whose body has not been read. net/http reads it
// before it sends the answer; a client that is still sending gets this long.
func (r *refusal) turnAway(w http.ResponseWriter, req *http.Request) {
	_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(drainTimeout))
	r.answer(w, req)
}

// answer sends the refusal and notes its reason for the request's log line.
func (r *refusal) answer(w http.ResponseWriter, req *http.Request) {
	note(req.Context(), r.reason, r.cause)
	r.write(w)
}

// write sends the refusal as the answer to an HTTP request.
func (r *refusal) write(w http.ResponseWriter) {
	body := r.body()
	h := w.Header()
	for name, values := range r.header {
		h[name] = values
	}
	h.Set("Content-Type", "application/json")
	h.Set("Content-Length", strconv.Itoa(len(body)))
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(r.status)
	// The client may be gone; there is nobody left to tell.
	_, _ = w.Write(body)
}
