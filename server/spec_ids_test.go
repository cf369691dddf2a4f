package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

func TestEveryAnswerRepeatsTheIDByteForByte(t *testing.T) {
	sh := newShopWith(t, func(s *Server) error {
		return s.open(append(s.shopTools(), tellsProgress(), brokenTool()), nil)
	})
	token := sh.issuer.Token(authtest.Scope(allScopes))
	readOnly := sh.issuer.Token(authtest.Scope("cart:read"))
	progress := `"_meta":{"progressToken":"p",`
	for _, e := range bothEras {
		told := newPost(e, "tools/call", "tells_progress", `"name":"tells_progress"`)
		if e == modern {
			told = told.replace(t, `"_meta":{`, progress)
		} else {
			told = told.replace(t, `"params":{`, `"params":{`+strings.TrimSuffix(progress, ",")+`},`)
		}
		for name, c := range map[string]struct {
			post
			token, answer string
		}{
			"result":         {newPost(e, "tools/list", "", ""), token, `"result":{`},
			"tool's result":  {callOf(e, "cart_list", `{}`), token, `"result":{`},
			"tool's error":   {callOf(e, "cart_get", `{}`), token, `"result":{`},
			"event stream":   {told, token, `"result":{`},
			"internal error": {callOf(e, "breaks", `{}`), token, `"error":{"code":-32603`},
			"SDK's error":    {newPost(e, "tools/list", "", `"cursor":"x"`), token, `"error":{"code":-32602`},
			"gate's refusal": {callOf(e, "no_such_tool", `{}`), token, `"error":{"code":-32602`},
			"missing scope":  {callOf(e, "cart_create", `{}`), readOnly, `"error":{"code":-32600`},
		} {
			for _, id := range []string{`1`, `"1"`, `0`, `-1`, `9007199254740993`, `"9007199254740993"`, `""`, `"😀"`, `"\ud83d\ude00"`, `"\u0031"`, `"a\/b\"c"`, `"data: x\n\n"`} {
				got := sh.say(t, c.token, c.replace(t, `"id":7`, `"id":`+id))
				if want := `{"jsonrpc":"2.0","id":` + id + `,` + c.answer; strings.Count(got.body, want) != 1 || strings.Count(got.body, `"id":`) != 1 {
					t.Errorf("%v, %s, id %s: %s, want %s in it, and no other id", e, name, id, got.body, want)
				}
			}
		}
	}
}

// Two calls that are under way together, with one id, of two users.
func TestSameIDOfTwoUsersIsTwoCalls(t *testing.T) {
	arrived, release := make(chan string), make(chan struct{})
	meet := bareTool("meets", func(ctx context.Context, who caller) (any, error) {
		arrived <- who.Subject
		select {
		case <-release:
		case <-ctx.Done():
		}
		return map[string]string{"subject": who.Subject}, nil
	})
	sh := newShopWith(t, func(s *Server) error { return s.open([]tool{meet}, nil) })
	for _, e := range bothEras {
		answers := map[string]*reply{"alice": {}, "bob": {}}
		var calls sync.WaitGroup
		for user, got := range answers {
			token := sh.issuer.Token(authtest.Subject(user), authtest.Scope(allScopes))
			calls.Go(func() { *got = sh.say(t, token, callOf(e, "meets", `{}`)) })
		}
		<-arrived
		<-arrived
		release <- struct{}{}
		release <- struct{}{}
		calls.Wait()
		for user, got := range answers {
			if !strings.HasPrefix(got.body, `{"jsonrpc":"2.0","id":7,`) || !strings.Contains(got.body, `"structuredContent":{"subject":"`+user+`"}`) {
				t.Errorf("%v: %s's answer = %s, want the own one", e, user, got.body)
			}
		}
	}
}

// A line is one TCP connection to a shop.
type line struct {
	t    *testing.T
	conn net.Conn
	in   *bufio.Reader
}

func (sh *shop) line(t *testing.T) *line {
	t.Helper()
	u, err := url.Parse(sh.url)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := net.Dial("tcp", u.Host)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	return &line{t, conn, bufio.NewReader(conn)}
}

// text is a request as it goes over a connection.
func (p post) text(token string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n", len(p.body))
	if token != "" {
		fmt.Fprintf(&b, "Authorization: Bearer %s\r\n", token)
	}
	for name, values := range p.header {
		for _, v := range values {
			fmt.Fprintf(&b, "%s: %s\r\n", name, v)
		}
	}
	return b.String() + "\r\n" + p.body
}

func (l *line) write(text string) {
	if _, err := io.WriteString(l.conn, text); err != nil {
		l.t.Fatal(err)
	}
}

func (l *line) read() reply {
	l.t.Helper()
	resp, err := http.ReadResponse(l.in, nil)
	if err != nil {
		l.t.Fatalf("read the answer: %v", err)
	}
	body, err := io.ReadAll(resp.Body)
	if err != nil || resp.Close {
		l.t.Fatalf("read the answer: %s, %v, close %v", body, err, resp.Close)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

func TestNothingOfOneRequestReachesTheNextOfItsConnection(t *testing.T) {
	sh := newShop(t)
	alice := sh.issuer.Token(authtest.Scope(allScopes))
	bob := sh.issuer.Token(authtest.Subject("bob"), authtest.Scope(allScopes))
	reader := sh.issuer.Token(authtest.Scope("catalog:read"))
	cart := filledCart(t, sh.connect(t, alice)).CartID
	list, get := callOf(modern, "cart_list", `{}`), callOf(modern, "cart_get", cartJSON(cart))
	old := callOf(handshake, "cart_list", `{}`)
	steps := []struct {
		about, token string
		post
		status int
		want   string
	}{
		{"alice's carts", alice, list, 200, cart},
		{"bob's carts", bob, list, 200, `"structuredContent":{"carts":[]}`},
		{"alice's cart, by bob", bob, get, 200, unknownText},
		{"nobody's carts", "", list, 401, `"error"`},
		{"alice's carts, by a token for products", reader, list, 403, `"error"`},
		{"alice again", alice, list, 200, cart},
		{"without _meta", alice, list.replace(t, ","+testMeta, ``), 400, `-32602`},
		{"initialize", alice, opening(), 200, versionHandshake},
		{"after initialize, without a version", alice, old.set("MCP-Protocol-Version"), 400, `-32020`},
		{"of the older era", bob, old, 200, `"structuredContent":{"carts":[]}`},
		{"without the headers of the newer", alice, list.set("Mcp-Name"), 400, `-32020`},
		{"buying without the capability", alice, callOf(modern, "checkout", cartJSON(cart)).replace(t, `{"elicitation":{"form":{}}}`, `{}`), 400, `-32021`},
		{"another id, as a notification", alice, post{http.Header{}, `{"jsonrpc":"2.0","method":"notifications/initialized"}`}, 202, ``},
		{"alice at last", alice, list, 200, cart},
	}
	check := func(how string, i int, got reply) {
		if s := steps[i]; got.status != s.status || !strings.Contains(got.body, s.want) || strings.Contains(got.body, cart) != (s.want == cart) {
			t.Errorf("%s, %s: %d %s, want %d with %s", how, s.about, got.status, got.body, s.status, s.want)
		}
	}
	one := sh.line(t)
	for i, s := range steps {
		one.write(s.text(s.token))
		check("one after the other", i, one.read())
	}
	// All of them sent before the first is answered.
	all := sh.line(t)
	go func() {
		for _, s := range steps {
			all.write(s.text(s.token))
		}
	}()
	for i := range steps {
		check("at once", i, all.read())
	}
}
