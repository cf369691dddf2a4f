package server

import (
	"context"
	"io"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// An exchange is the SDK's transport for exactly one HTTP request. The SDK's
// own HTTP handler would parse the request again, several times, and decide the
// status before the answer is known; behind the gate neither is needed.
//
// Three parties meet here. The SDK's reader takes the request and then waits in
// Read; the SDK's handler goroutine hands answers to Write; the HTTP goroutine
// receives them from out, and alone touches the ResponseWriter.
type exchange struct {
	// ctx is the HTTP request's. The SDK strips cancellation from the context
	// it is given, and only a failing Read cancels a handler, so Read watches
	// this one.
	ctx     context.Context
	request chan *jsonrpc.Request
	out     chan jsonrpc.Message
	closed  chan struct{}
	close   sync.Once
}

// internalID is the id the SDK sees in every request. The client's own id is
// written back byte for byte by the HTTP goroutine; the SDK would round it.
const internalID = "1"

func newExchange(ctx context.Context, c *call) (*exchange, error) {
	id, err := jsonrpc.MakeID(internalID)
	if err != nil {
		return nil, err
	}
	x := &exchange{
		ctx:     ctx,
		request: make(chan *jsonrpc.Request, 1),
		out:     make(chan jsonrpc.Message),
		closed:  make(chan struct{}),
	}
	method := c.method
	if method == "tools/call" {
		method = checkedCall
	}
	x.request <- &jsonrpc.Request{ID: id, Method: method, Params: []byte(c.params)}
	return x, nil
}

func (x *exchange) Connect(context.Context) (mcp.Connection, error) { return x, nil }

func (x *exchange) SessionID() string { return "" }

// Read hands over the request, once. After that it returns only when the call
// is over: with the context's error if the client went away or time ran out,
// which cancels the tool, or with io.EOF.
func (x *exchange) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case req := <-x.request:
		return req, nil
	default:
	}
	select {
	case <-x.ctx.Done():
		return nil, x.ctx.Err()
	case <-x.closed:
		return nil, io.EOF
	}
}

// Write hands a message to the HTTP goroutine.
func (x *exchange) Write(_ context.Context, m jsonrpc.Message) error {
	select {
	case x.out <- m:
		return nil
	case <-x.closed:
		return io.ErrClosedPipe
	}
}

// Close may be called by both sides, any number of times.
func (x *exchange) Close() error {
	x.close.Do(func() { close(x.closed) })
	return nil
}
