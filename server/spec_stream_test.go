package server

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
)

func progressCall(t *testing.T, tool string) post {
	t.Helper()
	return callOf(modern, tool, `{}`).replace(t, `"_meta":{`, `"_meta":{"progressToken":"p",`)
}

func TestOnlyACallWithNewsIsAStream(t *testing.T) {
	sh := newShopWith(t, func(s *Server) error { return s.open([]tool{tellsProgress()}, nil) })
	token := sh.issuer.Token(authtest.Scope(allScopes))
	got := sh.say(t, token, progressCall(t, "tells_progress"))
	if got.header.Get("Content-Type") != "text/event-stream" || got.header.Get("X-Accel-Buffering") != "no" || got.header.Get("Cache-Control") != "no-store" {
		t.Errorf("with a progress token: %v, want an unbuffered event stream", got.header)
	}
	events := strings.Split(strings.TrimSuffix(got.body, "\n\n"), "\n\n")
	if len(events) != 3 || !strings.Contains(events[0], `"progress":50`) || !strings.Contains(events[1], `"progress":100`) || !strings.Contains(events[2], `"id":7,"result"`) {
		t.Fatalf("events = %q, want two of progress and then the result", events)
	}
	for i, event := range events {
		if !strings.HasPrefix(event, "event: message\ndata: {") || strings.Count(event, "\n") != 1 {
			t.Errorf("event = %q, want one line of data and no id to resume from", event)
		}
		if isLast := i == len(events)-1; strings.Contains(event, `"id":`) != isLast || !isLast && !strings.Contains(event, `"progressToken":"p"`) {
			t.Errorf("event %d = %q, want notifications for this call alone before its answer", i, event)
		}
	}
	got = sh.say(t, token, callOf(modern, "tells_progress", `{}`))
	if got.header.Get("Content-Type") != "application/json" || got.header.Get("X-Accel-Buffering") != "" || strings.Contains(got.body, "progress") {
		t.Errorf("without a progress token: %v %s, want one JSON object", got.header, got.body)
	}
}

// News is of use only if it comes before the end.
func TestNewsIsSentBeforeTheToolEnds(t *testing.T) {
	release := make(chan struct{})
	slow := bareTool("waits_after_news", func(ctx context.Context, who caller) (any, error) {
		if err := who.progress(ctx, 1, 2); err != nil {
			return nil, err
		}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return noArgs{}, ctx.Err()
	})
	sh := newShopWith(t, func(s *Server) error { return s.open([]tool{slow}, nil) })
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	req := messageTo(t, sh, sh.issuer.Token(authtest.Scope(allScopes)), progressCall(t, "waits_after_news"))
	resp, err := http.DefaultClient.Do(req.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	lines := bufio.NewScanner(resp.Body)
	for lines.Scan() && !strings.Contains(lines.Text(), `"progress":1`) {
	}
	close(release) // had the news not come, nothing would
	for lines.Scan() && !strings.Contains(lines.Text(), `"result"`) {
	}
	if err := lines.Err(); err != nil || !strings.Contains(lines.Text(), `"id":7,"result"`) {
		t.Errorf("last event = %q, %v, want the result", lines.Text(), err)
	}
}

// onShopLine talks to a whole server over an in-memory connection, in fake time.
// It has no database: what needs one is not called.
func onShopLine(t *testing.T, tools func() []tool, talk func(token string, conn net.Conn)) {
	issuer := authtest.NewIssuer(t) // outside: its socket would stop the clock
	synctest.Test(t, func(t *testing.T) {
		issuers := []auth.Issuer{{URL: issuer.URL, JWKSURL: issuer.JWKSURL()}}
		verifier, err := auth.NewVerifier(auth.Config{Issuers: issuers, Resource: authtest.Audience, HTTPClient: issuer.Client()})
		if err != nil {
			t.Fatal(err)
		}
		runUntilEnd(t, verifier.Run)
		s, err := newServer(Config{
			Resource: authtest.Audience, Issuers: issuers, Verifier: verifier, RateLimit: 100, AllowedOrigins: []string{"https://app.example"},
			Log: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(),
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.open(tools(), nil); err != nil {
			t.Fatal(err)
		}
		h, err := s.Handler()
		if err != nil {
			t.Fatal(err)
		}
		synctest.Wait() // for the keys
		client, server := net.Pipe()
		conns := make(pipeListener, 1)
		conns <- server
		hs := &http.Server{Handler: h}
		go func() { _ = hs.Serve(conns) }()
		talk(issuer.Token(authtest.Scope(allScopes)), client)
		client.Close()
		close(conns)
		hs.Close()
		time.Sleep(time.Minute) // a closing connection lingers
	})
}

func noTools() []tool { return nil }

// The deadlines of readBody must reach the connection through whatever stands
// between it and the routes.
func TestSlowBodyIsCutOffThroughEveryLayer(t *testing.T) {
	for name, header := range map[string]string{"of a program": "", "of a page": "Origin: https://app.example\r\n"} {
		t.Run(name, func(t *testing.T) {
			onShopLine(t, noTools, func(token string, conn net.Conn) {
				start := time.Now()
				go func() {
					fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n%sAuthorization: Bearer %s\r\nContent-Length: 1000\r\n\r\n", header, token)
					for { // a byte a second
						time.Sleep(time.Second)
						if _, err := conn.Write([]byte(" ")); err != nil {
							return
						}
					}
				}()
				status, body, closes := readAnswer(t, bufio.NewReader(conn))
				if took := time.Since(start); status != http.StatusRequestTimeout || !closes || took != bodyTimeout {
					t.Errorf("answer = %d %s, close %v, after %v, want 408 and the end of the connection after %v", status, body, closes, took, bodyTimeout)
				}
			})
		})
	}
}

// waitsForever ends only when it is told to.
func waitsForever() []tool {
	return []tool{bareTool("waits", func(ctx context.Context, _ caller) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})}
}

func TestCallIsEndedAfterItsTime(t *testing.T) {
	onShopLine(t, waitsForever, func(token string, conn net.Conn) {
		start := time.Now()
		go fmt.Fprint(conn, callOf(modern, "waits", `{}`).text(token))
		status, body, closes := readAnswer(t, bufio.NewReader(conn))
		if took := time.Since(start); status != 200 || closes || !strings.HasPrefix(body, `{"jsonrpc":"2.0","id":7,"error":{"code":-32603,`) || took != maxCall {
			t.Errorf("answer = %d %s, close %v, after %v, want an internal error after %v", status, body, closes, took, maxCall)
		}
	})
}

// Whoever is turned away is not waited for: the answer comes although the body
// does not.
func TestStrangerIsAnsweredWithoutTheBody(t *testing.T) {
	for name, head := range map[string]string{
		"without a token":  "POST /mcp HTTP/1.1\r\nHost: localhost\r\n",
		"of another host":  "POST /mcp HTTP/1.1\r\nHost: evil.example\r\n",
		"by another means": "PUT /mcp HTTP/1.1\r\nHost: localhost\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			onShopLine(t, noTools, func(_ string, conn net.Conn) {
				start := time.Now()
				if _, err := conn.Write([]byte(head + "Content-Length: 1000\r\n\r\n")); err != nil {
					t.Fatal(err)
				}
				status, _, _ := readAnswer(t, bufio.NewReader(conn))
				if took := time.Since(start); status < 400 || took > drainTimeout {
					t.Errorf("answer = %d after %v, want an error within %v", status, took, drainTimeout)
				}
			})
		})
	}
}

// A write that has been sent is waited for; the client that has waited long
// enough is told so all the same.
func TestLateAnswerDoesNotWaitForTheWrite(t *testing.T) {
	slow := func() []tool {
		return []tool{bareTool("slow", func(context.Context, caller) (any, error) {
			time.Sleep(2 * maxCall) // whatever becomes of its context
			return noArgs{}, nil
		})}
	}
	onShopLine(t, slow, func(token string, conn net.Conn) {
		start := time.Now()
		go fmt.Fprint(conn, callOf(modern, "slow", `{}`).text(token))
		_, body, _ := readAnswer(t, bufio.NewReader(conn))
		if took := time.Since(start); took != maxCall || !strings.Contains(body, "-32603") {
			t.Errorf("answer = %s after %v, want an internal error after %v", body, took, maxCall)
		}
	})
}

func TestPanicBesideTheToolsIsNotedAsOne(t *testing.T) {
	sh := newShop(t)
	broken := sh.withTrace(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { panic("in the gate") }))
	func() {
		defer func() {
			if v := recover(); v != http.ErrAbortHandler {
				t.Errorf("the panic goes on as %v, want http.ErrAbortHandler", v)
			}
		}()
		broken.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/mcp", nil))
	}()
	sh.logs(t, "in the gate")
	sh.logs(t, `"level":"ERROR"`)
	sh.logs(t, `"outcome":"internal"`)
}
