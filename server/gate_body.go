package server

import (
	"bytes"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxBody bounds a message. The largest honest one, a checkout's last round
	// with its requestState of 4 KiB, is several times smaller; reading one strictly
	// costs time in proportion to its size.
	maxBody = 64 << 10
	// bodyTimeout bounds how long a client may take to send it.
	bodyTimeout = 10 * time.Second

	// What is too long is still read, and thrown away, up to these bounds. A
	// client that is writing does not read our answer, and loses it if the
	// connection is closed on what it writes.
	maxDrain     = 8 << 20
	drainTimeout = 2 * time.Second
)

// onlyPOST refuses other methods, with a token or without. This protocol has no
// GET stream and no sessions to DELETE.
func onlyPOST(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			refused := refuse(http.StatusMethodNotAllowed, jsonrpc.CodeInvalidRequest, "http_method", "Invalid Request: send messages by POST")
			refused.header = http.Header{"Allow": {http.MethodPost}}
			refused.turnAway(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// receive reads the body of a request and checks what the headers say of it.
//
// Accept is not looked at: this protocol tells clients to accept both JSON and
// event streams, and every client in the field takes the JSON that all but a few
// answers are, whatever it sends there.
func receive(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	body, refused := readBody(w, r)
	if refused == nil {
		refused = checkMediaType(r.Header)
	}
	if refused != nil {
		return nil, refused
	}
	return body, nil
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *refusal) {
	rc := http.NewResponseController(w)
	if r.ContentLength > maxBody {
		return nil, tooLarge(rc, r)
	}
	// A server that cannot set deadlines, as in some tests, has its own.
	_ = rc.SetReadDeadline(time.Now().Add(bodyTimeout))
	var buf bytes.Buffer
	if r.ContentLength > 0 {
		buf.Grow(int(r.ContentLength) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(io.LimitReader(r.Body, maxBody+1)); err != nil {
		return nil, broken(err)
	}
	if buf.Len() > maxBody {
		return nil, tooLarge(rc, r)
	}
	// Left in place, the deadline would pass for the client's going away and
	// cancel the call.
	_ = rc.SetReadDeadline(time.Time{})
	return buf.Bytes(), nil
}

// tooLarge answers when the client has sent its body, or enough of it. One that
// waits for our consent before it sends gets its answer at once.
func tooLarge(rc *http.ResponseController, r *http.Request) *refusal {
	if r.Header.Get("Expect") == "" {
		_ = rc.SetReadDeadline(time.Now().Add(drainTimeout))
		// However the reading ends, the answer is the same.
		_, _ = io.CopyN(io.Discard, r.Body, maxDrain)
	}
	return refuse(http.StatusRequestEntityTooLarge, jsonrpc.CodeInvalidRequest, "size", "Invalid Request: the body is too large")
}

// broken is a body that ended early or took too long. In both cases net/http
// closes the connection after the answer.
func broken(err error) *refusal {
	r := refuse(http.StatusBadRequest, jsonrpc.CodeParseError, "truncated", "Parse error: the body is incomplete")
	if errors.Is(err, os.ErrDeadlineExceeded) {
		r = refuse(http.StatusRequestTimeout, jsonrpc.CodeInvalidRequest, "slow", "Invalid Request: the body took too long to arrive")
	}
	r.cause = err
	return r
}

// checkMediaType wants JSON in UTF-8, as it is.
func checkMediaType(h http.Header) *refusal {
	refused := refuse(http.StatusUnsupportedMediaType, jsonrpc.CodeInvalidRequest, "media_type",
		"Invalid Request: the body must be application/json in UTF-8, without content encoding")
	refused.header = http.Header{"Accept-Post": {"application/json"}, "Accept-Encoding": {"identity"}}
	for _, coding := range h.Values("Content-Encoding") {
		if !strings.EqualFold(trimOWS(coding), "identity") {
			return refused
		}
	}
	types := h.Values("Content-Type")
	if len(types) != 1 {
		return refused
	}
	media, params, err := mime.ParseMediaType(types[0])
	if err != nil || media != "application/json" {
		return refused
	}
	if charset, named := params["charset"]; named && !strings.EqualFold(charset, "utf-8") {
		return refused
	}
	return nil
}
