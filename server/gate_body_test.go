package server

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// receiving answers with the length of the body it received, after working on it
// for as long as the query says.
func receiving() http.Handler {
	return onlyPOST(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, refused := receive(w, r)
		if refused != nil {
			refused.write(w)
			return
		}
		if work, err := time.ParseDuration(r.URL.Query().Get("work")); err == nil {
			select {
			case <-time.After(work):
			case <-r.Context().Done():
				w.WriteHeader(http.StatusGatewayTimeout)
			}
		}
		fmt.Fprint(w, len(body))
	}))
}

func postJSON(url string, body io.Reader, header map[string][]string) (*http.Request, error) {
	r, err := http.NewRequest("POST", url, body)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	for name, values := range header {
		r.Header[name] = values
	}
	return r, nil
}

func TestOtherMethodsAreNotAllowed(t *testing.T) {
	for _, method := range []string{"GET", "DELETE", "PUT", "PATCH", "HEAD", "OPTIONS", "TRACE", "post", "SUBSCRIBE"} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/mcp", nil)
		r.Method = method
		receiving().ServeHTTP(w, r)
		wantJSONRPCError(t, w, http.StatusMethodNotAllowed)
		if got := w.Header().Get("Allow"); got != "POST" {
			t.Errorf("%s: Allow = %q, want POST", method, got)
		}
	}
}

func TestOnlyPlainJSONIsReceived(t *testing.T) {
	for _, c := range []struct {
		name   string
		header map[string][]string
		ok     bool
	}{
		{"plain", nil, true},
		{"charset", map[string][]string{"Content-Type": {"application/json; charset=utf-8"}}, true},
		{"charset in capitals, quoted", map[string][]string{"Content-Type": {`Application/JSON;charset="UTF-8"`}}, true},
		{"identity", map[string][]string{"Content-Encoding": {"identity"}}, true},
		{"missing", map[string][]string{"Content-Type": nil}, false},
		{"empty", map[string][]string{"Content-Type": {""}}, false},
		{"twice", map[string][]string{"Content-Type": {"application/json", "application/json"}}, false},
		{"another charset", map[string][]string{"Content-Type": {"application/json; charset=utf-16"}}, false},
		{"text", map[string][]string{"Content-Type": {"text/plain"}}, false},
		{"JSON in a parameter", map[string][]string{"Content-Type": {"text/plain; x=application/json"}}, false},
		{"JSONP", map[string][]string{"Content-Type": {"application/jsonp"}}, false},
		{"a suffix", map[string][]string{"Content-Type": {"application/problem+json"}}, false},
		{"form", map[string][]string{"Content-Type": {"application/x-www-form-urlencoded"}}, false},
		{"two in one", map[string][]string{"Content-Type": {"application/json, text/plain"}}, false},
		{"malformed", map[string][]string{"Content-Type": {"application/json; charset"}}, false},
		{"gzip", map[string][]string{"Content-Encoding": {"gzip"}}, false},
		{"gzip after identity", map[string][]string{"Content-Encoding": {"identity", "gzip"}}, false},
		{"gzip in a list", map[string][]string{"Content-Encoding": {"identity, gzip"}}, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			r, err := postJSON("/mcp", strings.NewReader("{}"), c.header)
			if err != nil {
				t.Fatal(err)
			}
			w := httptest.NewRecorder()
			receiving().ServeHTTP(w, r)
			if c.ok && w.Code != http.StatusOK {
				t.Errorf("status = %d, want 200", w.Code)
			}
			if !c.ok {
				wantJSONRPCError(t, w, http.StatusUnsupportedMediaType)
			}
		})
	}
}

func TestEveryAcceptIsTolerated(t *testing.T) {
	for _, accept := range [][]string{nil, {"*/*"}, {"application/json"}, {"application/json, text/event-stream"}, {"text/event-stream, application/json"},
		{"text/event-stream;q=0"}, {"text/html"}, {""}} {
		r, err := postJSON("/mcp", strings.NewReader("{}"), map[string][]string{"Accept": accept})
		if err != nil {
			t.Fatal(err)
		}
		w := httptest.NewRecorder()
		receiving().ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Errorf("status with Accept %q = %d, want 200", accept, w.Code)
		}
	}
}

func TestBodyOverTheLimitIsAnsweredReadably(t *testing.T) {
	s := httptest.NewServer(receiving())
	t.Cleanup(s.Close)
	for _, c := range []struct {
		name   string
		size   int
		status int
	}{
		{"at the limit", maxBody, 200},
		{"one over", maxBody + 1, 413},
		{"far over", 20 * maxBody, 413},
	} {
		for _, chunked := range []string{"with a length", "chunked"} {
			t.Run(c.name+" "+chunked, func(t *testing.T) {
				var body io.Reader = bytes.NewReader(make([]byte, c.size))
				if chunked == "chunked" {
					body = io.MultiReader(body) // hides the length
				}
				r, err := postJSON(s.URL, body, nil)
				if err != nil {
					t.Fatal(err)
				}
				resp, err := s.Client().Do(r)
				if err != nil {
					t.Fatalf("post = %v, want an answer", err)
				}
				text, err := io.ReadAll(resp.Body)
				resp.Body.Close()
				if err != nil || resp.StatusCode != c.status {
					t.Fatalf("answer = %d, %s, %v, want %d", resp.StatusCode, text, err, c.status)
				}
				if c.status == 413 && !strings.Contains(string(text), `"error":{"code":-32600`) {
					t.Errorf("body = %s, want a JSON-RPC error", text)
				}
			})
		}
	}
}

// onPipe talks to a server over an in-memory connection, in fake time.
func onPipe(t *testing.T, talk func(net.Conn)) {
	client, server := net.Pipe()
	conns := make(chan net.Conn, 1)
	conns <- server
	s := &http.Server{Handler: receiving()}
	go func() { _ = s.Serve(pipeListener(conns)) }()
	talk(client)
	client.Close()
	close(conns)
	s.Close()
	time.Sleep(time.Minute) // a closing connection lingers
}

type pipeListener chan net.Conn

func (l pipeListener) Accept() (net.Conn, error) {
	if c, ok := <-l; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}
func (l pipeListener) Close() error   { return nil }
func (l pipeListener) Addr() net.Addr { return &net.IPAddr{} }

func readAnswer(t *testing.T, r *bufio.Reader) (status int, body string, closes bool) {
	t.Helper()
	resp, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatalf("read the answer: %v", err)
	}
	return resp.StatusCode, string(text), resp.Close
}

const pipeHead = "POST /mcp HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"

func TestSlowBodyIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onPipe(t, func(conn net.Conn) {
			start := time.Now()
			go func() {
				fmt.Fprint(conn, pipeHead+"Content-Length: 1000\r\n\r\n")
				for { // a byte a second
					time.Sleep(time.Second)
					if _, err := conn.Write([]byte(" ")); err != nil {
						return
					}
				}
			}()
			status, body, closes := readAnswer(t, bufio.NewReader(conn))
			if status != http.StatusRequestTimeout || !closes || !strings.Contains(body, `"code":-32600`) {
				t.Errorf("answer = %d, %s, close %v, want 408, a JSON-RPC error and the end of the connection", status, body, closes)
			}
			if took := time.Since(start); took != bodyTimeout {
				t.Errorf("answered after %v, want %v", took, bodyTimeout)
			}
		})
	})
}

// A deadline for the body that outlived it would look like the client's going
// away, and cancel a call that takes its time.
func TestTimeForTheBodyIsNotTimeForTheCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onPipe(t, func(conn net.Conn) {
			r := bufio.NewReader(conn)
			head := strings.Replace(pipeHead, "/mcp", "/mcp?work="+(2*bodyTimeout).String(), 1)
			for _, sent := range []string{"{}", ""} {
				fmt.Fprintf(conn, "%sContent-Length: %d\r\n\r\n%s", head, len(sent), sent)
				if status, body, closes := readAnswer(t, r); status != 200 || body != fmt.Sprint(len(sent)) || closes {
					t.Errorf("answer to %q = %d, %s, close %v, want 200, its length and the connection kept", sent, status, body, closes)
				}
			}
			time.Sleep(2 * bodyTimeout)
			fmt.Fprint(conn, pipeHead+"Content-Length: 3\r\n\r\n{ }")
			if status, body, _ := readAnswer(t, r); status != 200 || body != "3" {
				t.Errorf("second answer = %d, %s, want 200, 3", status, body)
			}
		})
	})
}

func TestDrainingIsBoundedInTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onPipe(t, func(conn net.Conn) {
			start := time.Now()
			fmt.Fprintf(conn, pipeHead+"Content-Length: %d\r\n\r\n", 2*maxBody) // and then nothing
			status, _, closes := readAnswer(t, bufio.NewReader(conn))
			if took := time.Since(start); status != 413 || !closes || took != drainTimeout {
				t.Errorf("answer = %d, close %v, after %v, want 413 and the end of the connection after %v", status, closes, took, drainTimeout)
			}
		})
	})
}

func TestDrainingIsBoundedInBytes(t *testing.T) {
	var body countingReader
	r := httptest.NewRequest("POST", "/mcp", &body)
	w := httptest.NewRecorder()
	receiving().ServeHTTP(w, r)
	wantJSONRPCError(t, w, http.StatusRequestEntityTooLarge)
	if most := int64(maxBody + maxDrain + bytes.MinRead); int64(body) > most {
		t.Errorf("read %d bytes of an endless body, want at most %d", body, most)
	}
}

// A countingReader never ends.
type countingReader int64

func (c *countingReader) Read(b []byte) (int, error) {
	*c += countingReader(len(b))
	return len(b), nil
}

func TestClientThatAsksBeforeItSendsIsAnsweredAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		onPipe(t, func(conn net.Conn) {
			start := time.Now()
			fmt.Fprintf(conn, pipeHead+"Expect: 100-continue\r\nContent-Length: %d\r\n\r\n", 50<<20)
			status, _, _ := readAnswer(t, bufio.NewReader(conn))
			if took := time.Since(start); status != 413 || took != 0 {
				t.Errorf("answer = %d after %v, want 413 at once", status, took)
			}
		})
	})
}

func TestTruncatedBodyIsAClientError(t *testing.T) {
	s := httptest.NewServer(receiving())
	t.Cleanup(s.Close)
	for name, rest := range map[string]string{
		"with a length": "Content-Length: 1000\r\n\r\n{\"jsonrpc\":",
		"chunked":       "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"jso",
		"bad chunk":     "Transfer-Encoding: chunked\r\n\r\nzz\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			conn, err := net.Dial("tcp", s.Listener.Addr().String())
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { conn.Close() })
			fmt.Fprint(conn, pipeHead+rest)
			_ = conn.(*net.TCPConn).CloseWrite()
			if status, body, _ := readAnswer(t, bufio.NewReader(conn)); status != 400 || !strings.Contains(body, `"code":-32700`) {
				t.Errorf("answer = %d, %s, want 400 and -32700", status, body)
			}
		})
	}
}
