package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp-cart/auth/authtest"
)

// probes are tools that go wrong in the ways tools go wrong.
func probes(started chan<- struct{}, release <-chan struct{}) []tool {
	probe := func(name string, run func(context.Context) (any, error)) tool {
		return define(tool{
			name: name, description: "x", scopes: []string{"cart:read"},
			input: `{"type": "object", "additionalProperties": false}`, output: `{"type": "object"}`,
		}, func(ctx context.Context, _ caller, _ noArgs) (any, error) { return run(ctx) })
	}
	return []tool{
		probe("panics", func(context.Context) (any, error) {
			panic("nil map in a tool")
		}),
		probe("fails", func(context.Context) (any, error) {
			return nil, errors.New(`ERROR: relation "secret_table" does not exist (SQLSTATE 42P01)`)
		}),
		probe("cannot_be_marshalled", func(context.Context) (any, error) { return make(chan int), nil }),
		probe("waits", func(ctx context.Context) (any, error) {
			started <- struct{}{}
			select {
			case <-ctx.Done():
				return nil, ctx.Err()
			case <-release:
				return noArgs{}, nil
			}
		}),
	}
}

func newProbeShop(t *testing.T) (sh *shop, started chan struct{}, release chan struct{}) {
	started, release = make(chan struct{}), make(chan struct{})
	sh = newShopWith(t, func(s *Server) error { return s.open(probes(started, release), nil) })
	return sh, started, release
}

func TestPanicFailsOneCallAndOthersFinish(t *testing.T) {
	sh, started, release := newProbeShop(t)
	token := sh.issuer.Token(authtest.Scope(allScopes))
	var slow reply
	var wg sync.WaitGroup
	wg.Go(func() { slow = sh.post(t, token, "waits", callBody("waits", "{}")) })
	<-started
	got := sh.post(t, token, "panics", callBody("panics", "{}"))
	release <- struct{}{}
	wg.Wait()
	if !strings.Contains(got.body, `"code":-32603`) || strings.Contains(got.body, "nil map") || strings.Contains(got.body, "goroutine") {
		t.Errorf("panicking tool: %s, want a bare internal error", got.body)
	}
	if slow.status != 200 || !strings.Contains(slow.body, `"result"`) {
		t.Errorf("call in flight: %d %s, want its result", slow.status, slow.body)
	}
	sh.logs(t, "nil map")
}

func TestUnlistedErrorIsInternalWithAnIDToAskAbout(t *testing.T) {
	sh, _, _ := newProbeShop(t)
	token := sh.issuer.Token(authtest.Scope(allScopes))
	for _, tool := range []string{"fails", "cannot_be_marshalled"} {
		got := sh.post(t, token, tool, callBody(tool, "{}"))
		var body struct {
			Error struct {
				Code    int
				Message string
				Data    struct {
					ID string `json:"correlation_id"`
				}
			}
		}
		if err := json.Unmarshal([]byte(got.body), &body); err != nil {
			t.Fatalf("%s: %v", got.body, err)
		}
		if e := body.Error; got.status != 200 || e.Code != -32603 || e.Message != "internal error" || e.Data.ID == "" {
			t.Errorf("%s: %d %s, want a bare internal error with an id", tool, got.status, got.body)
		}
		sh.logs(t, body.Error.Data.ID)
	}
}

func TestClosingTheRequestCancelsTheTool(t *testing.T) {
	sh, started, _ := newProbeShop(t)
	ctx, hangUp := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, sh.url+"/mcp", strings.NewReader(callBody("waits", "{}")))
	if err != nil {
		t.Fatal(err)
	}
	req.Header = http.Header{
		"Authorization": {"Bearer " + sh.issuer.Token(authtest.Scope(allScopes))}, "Content-Type": {"application/json"},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"waits"},
	}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if resp, err := http.DefaultClient.Do(req); err == nil {
			resp.Body.Close()
		}
	}()
	<-started
	hangUp()
	<-ended
	// The line is written when the tool has returned. It never would, were the
	// tool not cancelled: nobody releases it.
	sh.logs(t, `"outcome":"cancelled"`)
}

func TestToolsListShowsWhatTheTokenAllows(t *testing.T) {
	sh := newShop(t)
	for scopes, want := range map[string][]string{
		"":                              {},
		"catalog:read":                  {"product_search"},
		"cart:read":                     {"cart_get", "cart_list"},
		"cart":                          {"cart_create", "cart_discard", "cart_get", "cart_list", "cart_set_item", "checkout"},
		"cart:write unknown:scope":      {"cart_create", "cart_discard", "cart_set_item", "checkout"},
		"order:place":                   {"checkout"},
		"CART cart:readx cart:* * cart": {"cart_create", "cart_discard", "cart_get", "cart_list", "cart_set_item", "checkout"},
	} {
		session := sh.as(t, "alice", authtest.Scope(scopes))
		list, err := session.ListTools(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{}
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
		}
		if !slices.Equal(names, want) {
			t.Errorf("tools/list with scopes %q = %v, want %v", scopes, names, want)
		}
		if list.CacheScope != "private" || list.TTLMs <= 0 {
			t.Errorf("tools/list cache hints = %q, %d, want private and a time", list.CacheScope, list.TTLMs)
		}
	}
}

func TestEveryToolNeedsItsScopes(t *testing.T) {
	sh := newShop(t)
	for name, tool := range sh.tools {
		for _, missing := range tool.scopes {
			rest := slices.DeleteFunc(slices.Clone(tool.scopes), func(s string) bool { return s == missing })
			token := sh.issuer.Token(authtest.Scope(strings.Join(rest, " ")))
			got := sh.post(t, token, name, callBody(name, "{}"))
			challenge := got.header.Get("WWW-Authenticate")
			if got.status != 403 || !strings.Contains(challenge, `error="insufficient_scope"`) ||
				!strings.Contains(challenge, `scope="`+strings.Join(tool.scopes, " ")+`"`) || !strings.Contains(challenge, "resource_metadata=") {
				t.Errorf("%s without %s: %d %s, want 403 with a challenge for all its scopes", name, missing, got.status, challenge)
			}
		}
	}
}

// The gate compares scopes before the SDK is reached. Were there another way to
// a tool, the wrapper would still refuse.
func TestScopesAreComparedAgainAtTheTool(t *testing.T) {
	sh := newShop(t)
	ctx := withCaller(t.Context(), caller{call: &call{tool: "cart_create"}})
	if res, err := sh.callTool(ctx, nil, nil); err == nil {
		t.Errorf("cart_create without scopes = %+v, want an error", res)
	}
	if res, err := sh.callTool(t.Context(), nil, nil); err == nil {
		t.Errorf("a tool without a caller = %+v, want an error", res)
	}
}

func TestToolWithoutScopeOrWithAnOpenSchemaIsRefusedAtStart(t *testing.T) {
	for name, row := range map[string]tool{
		"no scope":        {name: "x", input: `{"type": "object", "additionalProperties": false}`},
		"open schema":     {name: "x", scopes: []string{"a"}, input: `{"type": "object"}`},
		"unbounded text":  {name: "x", scopes: []string{"a"}, input: `{"type": "object", "additionalProperties": false, "properties": {"t": {"type": "string", "description": "d"}}}`},
		"unbounded count": {name: "x", scopes: []string{"a"}, input: `{"type": "object", "additionalProperties": false, "properties": {"n": {"type": "integer", "minimum": 1, "description": "d"}}}`},
		"unexplained":     {name: "x", scopes: []string{"a"}, input: `{"type": "object", "additionalProperties": false, "properties": {"b": {"type": "boolean"}}}`},
		"nested":          {name: "x", scopes: []string{"a"}, input: `{"type": "object", "additionalProperties": false, "properties": {"o": {"type": "object", "description": "d"}}}`},
	} {
		s := &Server{tools: map[string]*tool{}}
		s.sdk = mcp.NewServer(&mcp.Implementation{Name: "t", Version: "0"}, nil)
		if err := s.register([]tool{row}); err == nil {
			t.Errorf("%s: registered", name)
		}
	}
}

func TestSecondToolOfOneNameIsRefusedAtStart(t *testing.T) {
	row := tool{name: "x_y", scopes: []string{"a"}, input: `{"type": "object", "additionalProperties": false}`, output: `{"type": "object"}`}
	s := &Server{tools: map[string]*tool{}, sdk: mcp.NewServer(&mcp.Implementation{Name: "t", Version: "0"}, nil)}
	if err := s.register([]tool{row, row}); err == nil {
		t.Error("registered twice")
	}
}

func TestToolCannotReturnWhatIsNoResult(t *testing.T) {
	for name, out := range map[string]any{
		"the SDK's, whose resultType cannot be set": &mcp.CallToolResult{Content: []mcp.Content{}},
		"no toolResult":              (*toolResult)(nil),
		"a toolResult of no content": &toolResult{StructuredContent: json.RawMessage(`{}`)},
		"no inputRequired":           (*inputRequired)(nil),
		"what is not JSON":           make(chan int),
	} {
		if res, err := result(out); err == nil {
			t.Errorf("result of %s = %+v, want an error", name, res)
		}
	}
}

// What a tool says in _meta stands beside what the server says.
func TestToolMayAnswerInItsOwnWords(t *testing.T) {
	ready := &toolResult{Content: []mcp.Content{&mcp.TextContent{Text: "t"}}, StructuredContent: json.RawMessage(`{"a":1}`)}
	meta := map[string]any{"com.example/x": 7}
	ready.SetMeta(meta)
	sh := newShopWith(t, func(s *Server) error {
		return s.open([]tool{bareTool("says_it_itself", func(context.Context, caller) (any, error) { return ready, nil })}, nil)
	})
	got := sh.say(t, sh.issuer.Token(authtest.Scope(allScopes)), callOf(modern, "says_it_itself", `{}`))
	want := `"result":{"_meta":{"com.example/x":7,"io.modelcontextprotocol/serverInfo":{"name":"mcp-cart","title":"mcp-cart","version":"test"}},` +
		`"content":[{"type":"text","text":"t"}],"structuredContent":{"a":1},"resultType":"complete"}`
	if !strings.Contains(got.body, want) || len(meta) != 1 {
		t.Errorf("answer = %s, its _meta is now %v, want %s", got.body, meta, want)
	}
}

// Each tool's answer is checked as a client would: against the output schema
// that tools/list shows, and text against structure.
func TestStructuredContentFitsItsSchemaAndEqualsTheText(t *testing.T) {
	sh := newShop(t)
	yes := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"shipping": "standard", "confirm": true}}, nil
		},
	})
	b := sh.buyer()
	alice := sh.connectWith(t, yes, b.token)
	list, err := alice.ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	cart, bought := filledCart(t, alice), filledCart(t, alice)
	order := b.confirm(t, bought.CartID, b.toConfirm(t, bought.CartID).Result.RequestState).ordered(t)
	args := map[string]map[string]any{
		"product_search": {"query": "tea", "limit": 3},
		"cart_create":    {}, "cart_list": {},
		"cart_get":      {"cart_id": cart.CartID},
		"cart_set_item": {"cart_id": cart.CartID, "sku": cart.Lines[0].SKU, "quantity": 1},
		"cart_discard":  {"cart_id": filledCart(t, alice).CartID},
		"checkout":      {"cart_id": filledCart(t, alice).CartID},
		"order_get":     {"order_id": order},
		"order_list":    {"limit": 5},
	}
	for _, tool := range list.Tools {
		res, err := alice.CallTool(t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: args[tool.Name]})
		if err != nil || res.IsError {
			t.Fatalf("%s: %v %+v", tool.Name, err, res)
		}
		if err := resolved(t, tool.OutputSchema).Validate(res.StructuredContent); err != nil {
			t.Errorf("%s: structured content does not fit its schema: %v", tool.Name, err)
		}
		var text any
		if err := json.Unmarshal([]byte(res.Content[0].(*mcp.TextContent).Text), &text); err != nil {
			t.Errorf("%s: text is not JSON: %v", tool.Name, err)
		}
		if fmt.Sprint(text) != fmt.Sprint(res.StructuredContent) {
			t.Errorf("%s: text %v differs from structured content %v", tool.Name, text, res.StructuredContent)
		}
	}
}

func resolved(t *testing.T, schema any) *jsonschema.Resolved {
	t.Helper()
	text, err := json.Marshal(schema)
	if err != nil {
		t.Fatal(err)
	}
	var s jsonschema.Schema
	if err := json.Unmarshal(text, &s); err != nil {
		t.Fatal(err)
	}
	r, err := s.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestDeclarationsAreHonest(t *testing.T) {
	sh := newShop(t)
	list, err := sh.as(t, "alice").ListTools(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	nounVerb := regexp.MustCompile(`^([a-z]+(_[a-z]+)+|checkout)$`)
	for _, tool := range list.Tools {
		row := sh.tools[tool.Name]
		if !nounVerb.MatchString(tool.Name) || tool.Title == "" || tool.Description == "" {
			t.Errorf("%s: name, title or description", tool.Name)
		}
		a := tool.Annotations
		if a.OpenWorldHint == nil || *a.OpenWorldHint || a.DestructiveHint == nil {
			t.Errorf("%s: annotations = %+v", tool.Name, a)
		}
		onlyReads := !slices.ContainsFunc(row.scopes, func(s string) bool { return !strings.HasSuffix(s, ":read") })
		if a.ReadOnlyHint != onlyReads {
			t.Errorf("%s: readOnlyHint = %v with scopes %v", tool.Name, a.ReadOnlyHint, row.scopes)
		}
	}
}

// The lifetime that descriptions promise is measured on a real cart, on the
// database's clock.
func TestDescriptionsStateTheRealLifetime(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice")
	cart := filledCart(t, alice)
	var hours, limited float64
	sh.query(t, &hours, `SELECT round(extract(epoch FROM expires_at - clock_timestamp())) / 3600 FROM carts`)
	var n int
	sh.query(t, &n, `WITH u AS (UPDATE carts SET created_at = created_at - interval '6 days 23 hours', expires_at = created_at + interval '1 hour' RETURNING 1) SELECT count(*) FROM u`)
	mustCall[cartView](t, alice, "cart_set_item", map[string]any{"cart_id": cart.CartID, "sku": cart.Lines[0].SKU, "quantity": 5})
	sh.query(t, &limited, `SELECT round(extract(epoch FROM expires_at - created_at)) / 86400 FROM carts`)
	promised := fmt.Sprintf("expires %.0f hours after its last change and at most %.0f days after", hours, limited)
	for _, name := range []string{"cart_create", "cart_get", "cart_list", "cart_set_item"} {
		if d := sh.tools[name].description; !strings.Contains(d, promised) {
			t.Errorf("%s says %q, want %q", name, d, promised)
		}
	}
}
