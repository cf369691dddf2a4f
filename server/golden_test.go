package server

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"example.com/mcp-cart/auth/authtest"
)

// The files in testdata/wire show what goes over the wire, one file for each of
// the stories in spec_stories_test.go. They are the contract with clients that
// are out there: read a difference as a client would before recording it with
//
//	go test ./server -run Wire -update
//
// Bodies are indented to be read, and what is drawn at random or read from a
// clock has a name instead: CART-1, STATE-2, TIME. Everything else is as sent.
var update = flag.Bool("update", false, "record the exchanges in testdata/wire anew")

const wireDir = "testdata/wire"

// A story is one visit to the shop.
type story struct {
	about string
	shop  []shopOption
	tools []tool // instead of the shop's own
	play  func(*wire)
}

func TestWire(t *testing.T) {
	for name, s := range stories() {
		t.Run(name, func(t *testing.T) {
			w := &wire{T: t, sh: s.open(t), names: map[string]string{}, drawn: map[string]int{}}
			w.names[w.sh.issuer.URL] = "https://issuer.example"
			s.play(w)
			file, got := filepath.Join(wireDir, name+".txt"), s.about+"\n"+w.text.String()
			if *update {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatalf("%v; record it with -update", err)
			}
			if diff := cmp.Diff(string(want), got); diff != "" {
				t.Errorf("the exchange is not as recorded (-want +got):\n%s", diff)
			}
		})
	}
}

func TestEveryRecordedWireExchangeHasItsStory(t *testing.T) {
	for file := range goldens(t) {
		if _, ok := stories()[strings.TrimSuffix(file, ".txt")]; !ok {
			t.Errorf("%s/%s belongs to no story: delete it", wireDir, file)
		}
	}
}

// goldens reads every file that was recorded, by name.
func goldens(t *testing.T) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(wireDir)
	if err != nil || len(entries) == 0 {
		t.Fatalf("%d recorded exchanges, %v", len(entries), err)
	}
	texts := map[string]string{}
	for _, e := range entries {
		text, err := os.ReadFile(filepath.Join(wireDir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		texts[e.Name()] = string(text)
	}
	return texts
}

func (s story) open(t *testing.T) *shop {
	if s.tools == nil {
		return newShop(t, s.shop...)
	}
	return newShopWith(t, func(server *Server) error { return server.open(s.tools, nil) }, s.shop...)
}

// A wire is where a story happens. It keeps a record.
type wire struct {
	*testing.T
	sh   *shop
	text strings.Builder
	sent int

	names map[string]string // what to call texts that differ from run to run
	drawn map[string]int    // how many of a kind have a name
}

// token is a token of the user for these scopes.
func (w *wire) token(user, scope string, edits ...authtest.Edit) string {
	token := w.sh.issuer.Token(append([]authtest.Edit{authtest.Subject(user), authtest.Scope(scope)}, edits...)...)
	w.names[token] = fmt.Sprintf("<%s's token: %s>", user, scope)
	return token
}

// call sends a tool call of the modern era.
func (w *wire) call(about, token, tool, args string) reply {
	return w.post(about, token, newPost(modern, "tools/call", tool, `"name":"`+tool+`","arguments":`+args))
}

// post sends a message. Requests are numbered through.
func (w *wire) post(about, token string, p post) reply {
	p.body = strings.Replace(p.body, `"id":7`, `"id":`+strconv.Itoa(w.sent+1), 1)
	return w.send(about, messageTo(w.T, w.sh, token, p), p.body)
}

// messageTo makes the HTTP request of a client that knows its manners.
func messageTo(t testing.TB, sh *shop, token string, p post) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, sh.url+"/mcp", strings.NewReader(p.body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{"Content-Type": {"application/json"}, "Accept": {"application/json, text/event-stream"}}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	for name, values := range p.header {
		req.Header[name] = values
	}
	return req
}

// send makes the exchange and records it.
func (w *wire) send(about string, req *http.Request, body string) reply {
	w.Helper()
	w.sent++
	shown := body
	if len(body) > maxBody {
		shown = fmt.Sprintf("(%d bytes)", len(body))
	}
	w.record(fmt.Sprintf("request %d: %s", w.sent, about), req.Method+" "+req.URL.RequestURI(), req.Header, shown)
	got := send(w, req)
	w.record(fmt.Sprintf("answer %d", w.sent), strconv.Itoa(got.status)+" "+http.StatusText(got.status), got.header, got.body)
	return got
}

// record leaves out when the answer was given and how long it is.
func (w *wire) record(title, first string, h http.Header, body string) {
	fmt.Fprintf(&w.text, "\n-- %s --\n%s\n", title, first)
	names := []string{}
	for name := range h {
		if name != "Date" && name != "Content-Length" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		for _, value := range h[name] {
			fmt.Fprintf(&w.text, "%s: %s\n", name, w.named(value))
		}
	}
	var indented bytes.Buffer
	if json.Indent(&indented, []byte(body), "", "  ") == nil {
		body = indented.String()
	}
	if body != "" {
		_, _ = io.WriteString(&w.text, "\n"+strings.TrimRight(w.named(body), "\n")+"\n")
	}
}

// varying finds what differs from run to run.
var varying = regexp.MustCompile(`\b(?:cart|ord|stx)_[0-9a-z]{30}\b|\brs1\.[\w-]+|\b\d{4}-\d\d-\d\dT[\d:.]+Z|\b[0-9a-f]{16}\b`)

// named replaces what differs from run to run, the same text by the same name.
func (w *wire) named(text string) string {
	for old, name := range w.names {
		text = strings.ReplaceAll(text, old, name)
	}
	return varying.ReplaceAllStringFunc(text, func(found string) string {
		kind := map[string]string{"cart_": "CART", "ord_": "ORDER", "stx_": "TRANSACTION", "rs1.": "STATE"}[found[:strings.IndexAny(found, "_.-")+1]]
		switch {
		case strings.Contains(found, ":"):
			return "TIME"
		case kind == "":
			kind = "CORRELATION"
		}
		if w.names[found] == "" {
			w.drawn[kind]++
			w.names[found] = fmt.Sprintf("%s-%d", kind, w.drawn[kind])
		}
		return w.names[found]
	})
}

// first is the first text in an answer that a pattern finds.
func first(t testing.TB, pattern, body string) string {
	t.Helper()
	found := regexp.MustCompile(pattern).FindString(body)
	if found == "" {
		t.Fatalf("no %s in %s", pattern, body)
	}
	return found
}
