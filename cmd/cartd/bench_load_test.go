package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
)

// load sends the call over one connection for each user, as fast as the answers
// come. It does as little as can be done for that, since it shares the machine
// with what it measures.
func (s *stand) load(b *testing.B, address string, call benchCall) sample {
	b.Helper()
	latencies := make([][]time.Duration, len(s.users))
	var clients []*rawClient
	for _, u := range s.users {
		c, err := dialRaw(address, call, u)
		if err != nil {
			b.Fatal(err)
		}
		defer c.conn.Close()
		clients = append(clients, c)
	}
	begin := time.Now()
	var group errgroup.Group
	for i, c := range clients {
		group.Go(func() (err error) {
			latencies[i], err = c.run(begin.Add(benchRound))
			return err
		})
	}
	if err := group.Wait(); err != nil {
		b.Fatalf("%s: %v", call.tool, err)
	}
	took := time.Since(begin)
	var all []time.Duration
	for _, some := range latencies {
		all = append(all, some...)
	}
	return newSample(all, took)
}

// A rawClient sends the same bytes again and again.
type rawClient struct {
	conn    net.Conn
	reader  *bufio.Reader
	request []byte
}

func dialRaw(address string, call benchCall, u benchUser) (*rawClient, error) {
	conn, err := net.Dial("tcp", address)
	if err != nil {
		return nil, err
	}
	body := call.body(u)
	var request bytes.Buffer
	fmt.Fprintf(&request, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", address, len(body))
	if err := call.headers(u).Write(&request); err != nil {
		return nil, err
	}
	request.WriteString("\r\n" + body)
	c := &rawClient{conn, bufio.NewReaderSize(conn, 64<<10), request.Bytes()}
	for range 20 { // the connection and the pool are warm, then
		if err := c.call(); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func (c *rawClient) run(until time.Time) ([]time.Duration, error) {
	latencies := make([]time.Duration, 0, 1<<13)
	for begin := time.Now(); begin.Before(until); {
		if err := c.call(); err != nil {
			return nil, err
		}
		end := time.Now()
		latencies = append(latencies, end.Sub(begin))
		begin = end
	}
	return latencies, nil
}

var (
	okLine        = []byte("HTTP/1.1 200 ")
	contentLength = []byte("Content-Length: ")
	toolFailed    = []byte(`"isError":true`)
)

func (c *rawClient) call() error {
	if _, err := c.conn.Write(c.request); err != nil {
		return err
	}
	length, ok := 0, false
	for {
		line, err := c.reader.ReadSlice('\n')
		if err != nil {
			return err
		}
		ok = ok || bytes.HasPrefix(line, okLine)
		if text, found := bytes.CutPrefix(line, contentLength); found {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(text))); err != nil {
				return err
			}
		}
		if len(line) == 2 {
			break
		}
	}
	body, err := c.reader.Peek(length)
	if err != nil {
		return err
	}
	if !ok || bytes.Contains(body, toolFailed) {
		return fmt.Errorf("answered %s", body)
	}
	_, err = c.reader.Discard(length)
	return err
}

// volatile is what differs between two answers to the same call.
var volatile = regexp.MustCompile(`\\?"version\\?":\d+,|,\\?"expires_at\\?":\\?"[^"\\]*\\?"`)

// A nullWriter takes an answer and keeps next to nothing of it.
type nullWriter struct {
	header  http.Header
	status  int
	isError bool
}

func newNullWriter() *nullWriter { return &nullWriter{header: http.Header{}} }

func (w *nullWriter) reset() {
	clear(w.header)
	w.status, w.isError = 0, false
}

func (w *nullWriter) Header() http.Header { return w.header }

func (w *nullWriter) WriteHeader(status int) { w.status = status }

func (w *nullWriter) Write(p []byte) (int, error) {
	w.isError = w.isError || bytes.Contains(p, toolFailed)
	return len(p), nil
}

// SetReadDeadline is there because every real connection has it.
func (w *nullWriter) SetReadDeadline(time.Time) error { return nil }

// direct is the call as a request that never was on a network, and its body,
// which has to be set before each use.
func (c benchCall) direct(b *testing.B, u benchUser) (*http.Request, *strings.Reader) {
	b.Helper()
	body := strings.NewReader("")
	r, err := http.NewRequestWithContext(b.Context(), http.MethodPost, "http://localhost/mcp", nil)
	if err != nil {
		b.Fatal(err)
	}
	r.Header = c.headers(u)
	r.Body, r.ContentLength = io.NopCloser(body), int64(len(c.body(u)))
	return r, body
}
