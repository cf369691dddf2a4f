package main

import (
	"io"
	"log/slog"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// oneConn is a listener that has one connection.
type oneConn struct{ conns chan net.Conn }

func (l oneConn) Accept() (net.Conn, error) {
	if c, ok := <-l.conns; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l oneConn) Close() error   { return nil }
func (l oneConn) Addr() net.Addr { return &net.TCPAddr{} }

// Before it answers, net/http reads a body that the handler has not read. A
// stranger who never sends it would keep the connection for ever.
func TestStrangerCannotKeepAConnection(t *testing.T) {
	for name, sent := range map[string]string{
		"no headers":     "POST /mcp HTTP/1.1\r\nHost: x\r\n",
		"no body":        "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n",
		"half a body":    "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{",
		"chunks for now": "POST /mcp HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\n{\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				near, far := net.Pipe()
				l := oneConn{make(chan net.Conn, 1)}
				l.conns <- far
				close(l.conns)
				hs := newHTTPServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
					w.WriteHeader(http.StatusUnauthorized)
				}), slog.New(slog.DiscardHandler))
				served := make(chan error, 1)
				go func() { served <- hs.Serve(l) }()
				start := time.Now()
				if _, err := io.WriteString(near, sent); err != nil {
					t.Fatal(err)
				}
				_, _ = io.Copy(io.Discard, near) // until the server hangs up
				if took := time.Since(start); took > readTimeout+time.Second {
					t.Errorf("the connection was kept for %v, want at most %v", took, readTimeout)
				}
				near.Close()
				hs.Close()
				<-served
			})
		})
	}
}
