package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp-cart/auth/authtest"
)

// A cart is the structured content of the cart tools.
type cart struct {
	CartID     string `json:"cart_id"`
	Status     string `json:"status"`
	Version    int    `json:"version"`
	Lines      []line `json:"lines"`
	TotalMinor int64  `json:"total_minor"`
}

type line struct {
	SKU      string `json:"sku"`
	Quantity int    `json:"quantity"`
}

type carts struct {
	Carts []cart `json:"carts"`
}

const allScopes = "catalog:read cart order:read order:place"

func (s *site) token(subject string, edits ...authtest.Edit) string {
	return s.issuer.Token(append([]authtest.Edit{authtest.Subject(subject), authtest.Scope(allScopes)}, edits...)...)
}

// as connects the SDK's own client to the replica, with a token of the subject.
func (r *replica) as(t testing.TB, subject string, edits ...authtest.Edit) *mcp.ClientSession {
	t.Helper()
	return r.with(t, r.site.token(subject, edits...))
}

// with connects the SDK's own client to the replica with a token.
func (r *replica) with(t testing.TB, token string) *mcp.ClientSession {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil)
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint:   r.url + "/mcp",
		HTTPClient: &http.Client{Transport: bearer{token, r.site.http.Transport}},
	}, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

type bearer struct {
	token string
	next  http.RoundTripper
}

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+b.token)
	return b.next.RoundTrip(r)
}

type args = map[string]any

// ask runs a tool and decodes its structured content. A tool error comes back
// as its text. It may be called from any goroutine.
func ask[T any](t testing.TB, session *mcp.ClientSession, tool string, a args) (out T, failed string) {
	t.Helper()
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		t.Errorf("%s: %v", tool, err)
		return out, err.Error()
	}
	if res.IsError {
		return out, res.Content[0].(*mcp.TextContent).Text
	}
	text, err := json.Marshal(res.StructuredContent)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	if err != nil {
		t.Errorf("%s: structured content: %v", tool, err)
	}
	return out, ""
}

// must is ask for a tool that has to succeed.
func must[T any](t testing.TB, session *mcp.ClientSession, tool string, a args) T {
	t.Helper()
	out, failed := ask[T](t, session, tool, a)
	if failed != "" {
		t.Fatalf("%s: tool error: %s", tool, failed)
	}
	return out
}

// setItem fills one line.
func setItem(cartID, sku string, quantity int) args {
	return args{"cart_id": cartID, "sku": sku, "quantity": quantity}
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

// A reply is what came back from a call that no client library touched.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of the connection
}

// ok reports a successful tool call.
func (r reply) ok() bool {
	return r.err == nil && r.status == http.StatusOK && strings.Contains(r.body, `"structuredContent"`)
}

// request is a tools/call as a well-behaved client sends it.
func (r *replica) request(t testing.TB, token, tool string, a args) *http.Request {
	t.Helper()
	if a == nil {
		a = args{}
	}
	arguments, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + string(arguments) + `,` + meta + `}}`
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, r.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	// A client library that repeats a call hides what became of the first.
	req.GetBody = nil
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json", "Accept": "application/json, text/event-stream",
		"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": tool,
	} {
		req.Header.Set(name, value)
	}
	return req
}

// post calls a tool and returns whatever happens.
func (r *replica) post(t testing.TB, token, tool string, a args) reply {
	t.Helper()
	return r.site.send(r.request(t, token, tool, a))
}

// postLater is post for a call that something else has to happen during.
func (r *replica) postLater(t testing.TB, token, tool string, a args) <-chan reply {
	t.Helper()
	req := r.request(t, token, tool, a)
	answer := make(chan reply, 1)
	go func() { answer <- r.site.send(req) }()
	return answer
}

// cancellable returns the request with a way to hang up.
func cancellable(req *http.Request) (*http.Request, context.CancelFunc) {
	ctx, hangUp := context.WithCancel(req.Context())
	return req.WithContext(ctx), hangUp
}

func (s *site) send(req *http.Request) reply {
	resp, err := s.http.Do(req)
	if err != nil {
		return reply{err: err}
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return reply{resp.StatusCode, resp.Header, string(body), err}
}
