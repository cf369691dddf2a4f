package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/auth/authtest"
	"example.com/mcp-cart/cmd/cartdev/localpg/pgtest"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
)

var postgres pgtest.Server

func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }

// A shop is a whole server over real HTTP, with a real database and a real
// issuer of its own.
type shop struct {
	*Server
	url    string
	issuer *authtest.Issuer
	db     string // its database
	log    *logBuffer
}

type shopOption func(*Config)

// newShop opens a shop with the tools that ship.
func newShop(t testing.TB, options ...shopOption) *shop {
	t.Helper()
	return newShopWith(t, func(s *Server) error {
		return s.open(s.shopTools(), nil)
	}, options...)
}

// newShopWith opens a shop with what open puts into it.
func newShopWith(t testing.TB, open func(*Server) error, options ...shopOption) *shop {
	t.Helper()
	sh := &shop{issuer: authtest.NewIssuer(t), db: postgres.Database(t), log: &logBuffer{}}
	if _, err := store.Migrate(t.Context(), sh.db); err != nil {
		t.Fatal(err)
	}
	db, err := store.Open(t.Context(), sh.db+"&lock_timeout=60s") // tests hold locks for as long as they need
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	cfg := Config{
		Resource: authtest.Audience, Store: db, Sealer: newSealer(t),
		RateLimit: 100_000, Metrics: prometheus.NewRegistry(), Version: "test",
		Log: slog.New(slog.NewJSONHandler(sh.log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	}
	trusting(t, sh.issuer)(&cfg)
	for _, option := range options {
		option(&cfg)
	}
	if sh.Server, err = newServer(cfg); err != nil {
		t.Fatal(err)
	}
	if err := open(sh.Server); err != nil {
		t.Fatal(err)
	}
	handler, err := sh.Handler()
	if err != nil {
		t.Fatal(err)
	}
	hs := httptest.NewServer(handler)
	t.Cleanup(hs.Close)
	sh.url = hs.URL
	return sh
}

// newSealer has a key ring of its own.
func newSealer(t testing.TB) *requeststate.Sealer {
	t.Helper()
	ring, err := requeststate.ParseRing(requeststate.NewKeyLine())
	if err != nil {
		t.Fatal(err)
	}
	keys, err := requeststate.NewKeys(ring)
	if err != nil {
		t.Fatal(err)
	}
	sealer, err := requeststate.NewSealer(keys)
	if err != nil {
		t.Fatal(err)
	}
	return sealer
}

// trusting adds an issuer whose tokens are accepted.
func trusting(t testing.TB, issuer *authtest.Issuer) shopOption {
	return func(cfg *Config) {
		cfg.Issuers = append(cfg.Issuers, auth.Issuer{URL: issuer.URL, JWKSURL: issuer.JWKSURL()})
		verifier, err := auth.NewVerifier(auth.Config{Issuers: cfg.Issuers, Resource: authtest.Audience})
		if err != nil {
			t.Fatal(err)
		}
		runUntilEnd(t, verifier.Run)
		for verifier.Ready() != nil { // the first keys are on their way
			time.Sleep(time.Millisecond)
		}
		cfg.Verifier = verifier
	}
}

// coldVerifier knows no keys yet, and its issuer may be down.
func coldVerifier(t testing.TB, issuer *authtest.Issuer) *auth.Verifier {
	verifier, err := auth.NewVerifier(auth.Config{Issuers: []auth.Issuer{{URL: issuer.URL, JWKSURL: issuer.JWKSURL()}}, Resource: authtest.Audience})
	if err != nil {
		t.Fatal(err)
	}
	runUntilEnd(t, verifier.Run)
	return verifier
}

func runUntilEnd(t testing.TB, run func(context.Context) error) {
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Errorf("background work: %v", err)
		}
	})
}

const allScopes = "catalog:read cart order:read order:place"

// as connects the SDK's own client with a token of the subject.
func (sh *shop) as(t testing.TB, subject string, edits ...authtest.Edit) *mcp.ClientSession {
	t.Helper()
	edits = append([]authtest.Edit{authtest.Subject(subject), authtest.Scope(allScopes)}, edits...)
	return sh.connect(t, sh.issuer.Token(edits...))
}

func (sh *shop) connect(t testing.TB, token string) *mcp.ClientSession {
	t.Helper()
	return sh.connectWith(t, mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil), token)
}

func (sh *shop) connectWith(t testing.TB, client *mcp.Client, token string) *mcp.ClientSession {
	t.Helper()
	session, err := client.Connect(t.Context(), &mcp.StreamableClientTransport{
		Endpoint:   sh.url + "/mcp",
		HTTPClient: &http.Client{Transport: bearer(token)},
	}, nil)
	if err != nil {
		t.Fatalf("connect: %v", err)
	}
	t.Cleanup(func() { session.Close() })
	return session
}

type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// tryCall runs a tool and decodes its structured content. An error of the tool
// comes back as its text.
func tryCall[T any](t testing.TB, session *mcp.ClientSession, tool string, args map[string]any) (T, string) {
	t.Helper()
	var out T
	res, err := session.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: args})
	if err != nil {
		t.Fatalf("%s: %v", tool, err)
	}
	if res.IsError {
		return out, res.Content[0].(*mcp.TextContent).Text
	}
	text, err := json.Marshal(res.StructuredContent)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s: structured content: %v", tool, err)
	}
	return out, ""
}

// mustCall is tryCall for a tool that has to succeed.
func mustCall[T any](t testing.TB, session *mcp.ClientSession, tool string, args map[string]any) T {
	t.Helper()
	out, failed := tryCall[T](t, session, tool, args)
	if failed != "" {
		t.Fatalf("%s: tool error: %s", tool, failed)
	}
	return out
}

const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"t","version":"0"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{"form":{}}}}`

// reply is what came back from a raw request.
type reply struct {
	status int
	header http.Header
	body   string
}

// callBody is a tools/call of the modern era with these arguments, as text.
func callBody(tool, args string) string {
	return `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"` + tool + `","arguments":` + args + `,` + meta + `}}`
}

// post sends a body as it is, with the headers that a well-behaved client
// sends for a call of the tool.
func (sh *shop) post(t testing.TB, token, tool, body string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, sh.url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	req.Header.Set("MCP-Protocol-Version", "2026-07-28")
	req.Header.Set("Mcp-Method", "tools/call")
	req.Header.Set("Mcp-Name", tool)
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	return send(t, req)
}

func send(t testing.TB, req *http.Request) reply {
	t.Helper()
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(body)}
}

// logs waits until the log holds the text: a request's line is written when all
// is over, which may be after the client has its answer.
func (sh *shop) logs(t testing.TB, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !strings.Contains(sh.log.String(), text); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the log lacks %s:\n%s", text, sh.log)
		}
	}
}

// A logBuffer keeps what was logged.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
