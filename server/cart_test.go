package server

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp-cart/auth/authtest"
	"example.com/mcp-cart/handles"
)

// unknownText is what a tool says about a handle that names nothing.
const unknownText = "nothing of yours under this handle"

// cartCalls are the tools that take a cart_id, with the rest of their arguments.
// checkout has tests of its own.
var cartCalls = map[string]map[string]any{
	"cart_get":      {},
	"cart_set_item": {"sku": "tea-assam-250", "quantity": 3},
	"cart_discard":  {},
}

func TestCartCallsMissesNoTool(t *testing.T) {
	for name, tool := range newShop(t).tools {
		if _, takes := tool.args.properties["cart_id"]; takes && cartCalls[name] == nil && name != "checkout" {
			t.Errorf("%s takes a cart_id and is not in cartCalls", name)
		}
	}
}

func callsWith(cartID string) map[string]map[string]any {
	calls := map[string]map[string]any{}
	for tool, args := range cartCalls {
		calls[tool] = map[string]any{"cart_id": cartID}
		maps.Copy(calls[tool], args)
	}
	return calls
}

// filledCart makes a cart with one line.
func filledCart(t testing.TB, session *mcp.ClientSession) cartView {
	t.Helper()
	cart := mustCall[cartView](t, session, "cart_create", nil)
	return mustCall[cartView](t, session, "cart_set_item", map[string]any{"cart_id": cart.CartID, "sku": anySKU(t, session), "quantity": 2})
}

func anySKU(t testing.TB, session *mcp.ClientSession) string {
	t.Helper()
	return mustCall[productsView](t, session, "product_search", nil).Products[0].SKU
}

// row reads a cart as the database has it, every column.
func (sh *shop) row(t testing.TB, cartID string) string {
	t.Helper()
	var text string
	sh.query(t, &text, `SELECT coalesce((SELECT c::text FROM carts c WHERE handle = $1), 'none')`, cartID)
	return text
}

func (sh *shop) query(t testing.TB, into any, sql string, args ...any) {
	t.Helper()
	conn, err := pgx.Connect(context.Background(), sh.db)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(context.Background())
	if err := conn.QueryRow(context.Background(), sql, args...).Scan(into); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
}

func TestCartIsFilledReadAndFoundAgain(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice")
	cart := filledCart(t, alice)
	if len(cart.Lines) != 1 || cart.Lines[0].Quantity != 2 || cart.TotalMinor != 2*cart.Lines[0].UnitPriceMinor || cart.Version != 2 {
		t.Errorf("filled cart = %+v, want one line of 2 and version 2", cart)
	}
	read := mustCall[cartView](t, alice, "cart_get", map[string]any{"cart_id": cart.CartID})
	if fmt.Sprint(read) != fmt.Sprint(cart) {
		t.Errorf("cart_get = %+v, want %+v", read, cart)
	}
	listed := mustCall[map[string][]cartView](t, alice, "cart_list", nil)["carts"]
	if len(listed) != 1 || fmt.Sprint(listed[0]) != fmt.Sprint(cart) {
		t.Errorf("cart_list = %+v, want the one cart", listed)
	}
	emptied := mustCall[cartView](t, alice, "cart_set_item", map[string]any{"cart_id": cart.CartID, "sku": cart.Lines[0].SKU, "quantity": 0})
	if len(emptied.Lines) != 0 || emptied.TotalMinor != 0 {
		t.Errorf("after quantity 0 = %+v, want no lines", emptied)
	}
}

func TestForeignHandleIsUnknownToEveryTool(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice")
	cart := filledCart(t, alice)
	before := sh.row(t, cart.CartID)
	strangers := map[string]*mcp.ClientSession{
		"another user through the same client": sh.as(t, "bob"),
		"a client without a user":              sh.as(t, "client-1"),
	}
	never := handles.Mint(handles.Cart).Reveal()
	for who, stranger := range strangers {
		for tool, args := range callsWith(cart.CartID) {
			_, got := tryCall[cartView](t, stranger, tool, args)
			_, want := tryCall[cartView](t, stranger, tool, callsWith(never)[tool])
			if got != want || !strings.Contains(got, unknownText) {
				t.Errorf("%s, %s: %q, want the answer for a handle that never existed, %q", who, tool, got, want)
			}
		}
		if carts := mustCall[map[string][]cartView](t, stranger, "cart_list", nil)["carts"]; len(carts) != 0 {
			t.Errorf("%s: cart_list = %+v, want none", who, carts)
		}
	}
	if after := sh.row(t, cart.CartID); after != before {
		t.Errorf("cart changed:\n%s\n%s", before, after)
	}
}

func TestCartFollowsItsUserToAnotherClient(t *testing.T) {
	sh := newShop(t)
	cart := filledCart(t, sh.as(t, "alice"))
	other := sh.as(t, "alice", authtest.Client("client-2"))
	if got := mustCall[cartView](t, other, "cart_get", map[string]any{"cart_id": cart.CartID}); got.Version != cart.Version {
		t.Errorf("cart_get through another client = %+v, want %+v", got, cart)
	}
}

func TestSameSubjectOfAnotherIssuerIsAnotherUser(t *testing.T) {
	other := authtest.NewIssuer(t)
	sh := newShop(t, trusting(t, other))
	cart := filledCart(t, sh.as(t, "alice"))
	stranger := sh.connect(t, other.Token(authtest.Subject("alice"), authtest.Scope(allScopes)))
	if _, got := tryCall[cartView](t, stranger, "cart_get", map[string]any{"cart_id": cart.CartID}); !strings.Contains(got, unknownText) {
		t.Errorf("cart_get by the other issuer's alice = %q, want unknown", got)
	}
}

func TestExpiredCartIsGoneForEveryTool(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice")
	cart := filledCart(t, alice)
	var n int
	sh.query(t, &n, `WITH u AS (UPDATE carts SET expires_at = clock_timestamp() RETURNING 1) SELECT count(*) FROM u`)
	before := sh.row(t, cart.CartID)
	for tool, args := range callsWith(cart.CartID) {
		if _, got := tryCall[cartView](t, alice, tool, args); !strings.Contains(got, "expired") {
			t.Errorf("%s = %q, want expired", tool, got)
		}
	}
	if carts := mustCall[map[string][]cartView](t, alice, "cart_list", nil)["carts"]; len(carts) != 0 {
		t.Errorf("cart_list = %+v, want none", carts)
	}
	if after := sh.row(t, cart.CartID); after != before {
		t.Errorf("expired cart changed:\n%s\n%s", before, after)
	}
}

func TestDiscardedCartIsUnknown(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice")
	cart := filledCart(t, alice)
	mustCall[map[string]string](t, alice, "cart_discard", map[string]any{"cart_id": cart.CartID})
	for tool, args := range callsWith(cart.CartID) {
		if _, got := tryCall[cartView](t, alice, tool, args); !strings.Contains(got, unknownText) {
			t.Errorf("%s after cart_discard = %q, want unknown", tool, got)
		}
	}
}

func TestMistypedHandleIsToldSo(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice")
	cart := filledCart(t, alice)
	last := cart.CartID[len(cart.CartID)-1]
	for name, id := range map[string]string{
		"upper case":     strings.ToUpper(cart.CartID),
		"one character":  cart.CartID[:len(cart.CartID)-1] + string(last^1),
		"another kind":   handles.Mint(handles.Order).Reveal(),
		"invented":       "cart_12345",
		"trailing blank": cart.CartID + " ",
		"empty":          "",
	} {
		for tool, args := range callsWith(id) {
			if _, got := tryCall[cartView](t, alice, tool, args); !strings.Contains(got, "not a handle") {
				t.Errorf("%s with %s = %q, want to be told that it is no handle", tool, name, got)
			}
		}
	}
}

func TestHostileArgumentsAreRefusedAndChangeNothing(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice")
	cart := filledCart(t, alice)
	sku := cart.Lines[0].SKU
	token := sh.issuer.Token(authtest.Scope(allScopes))
	before := sh.row(t, cart.CartID)
	item := func(sku, quantity string) string {
		return `{"cart_id":"` + cart.CartID + `","sku":` + sku + `,"quantity":` + quantity + `}`
	}
	good := `"` + sku + `"`
	hostile := map[string]string{
		"NUL in a sku":           item(`"a\u0000b"`, "1"),
		"unpaired surrogate":     item(`"\ud800"`, "1"),
		"invalid UTF-8":          item("\"a\xffb\"", "1"),
		"long sku":               item(`"`+strings.Repeat("x", 41)+`"`, "1"),
		"10000 character sku":    item(`"`+strings.Repeat("x", 10_000)+`"`, "1"),
		"look-alike sku":         item(`"tea\u00ad"`, "1"),
		"full-width digits":      item(`"１２３"`, "1"),
		"SQL in a sku":           item(`"x'; DROP TABLE carts; --"`, "1"),
		"negative":               item(good, "-1"),
		"too many":               item(good, "1000"),
		"2^31":                   item(good, "2147483648"),
		"2^53+1":                 item(good, "9007199254740993"),
		"2^63":                   item(good, "9223372036854775808"),
		"1e400":                  item(good, "1e400"),
		"fraction":               item(good, "1.5"),
		"string for a number":    item(good, `"2"`),
		"null for a number":      item(good, "null"),
		"NaN":                    item(good, "NaN"),
		"array for a string":     item(`["`+sku+`"]`, "1"),
		"unknown key":            `{"cart_id":"` + cart.CartID + `","sku":` + good + `,"quantity":1,"user_id":"bob"}`,
		"case variant key":       `{"cart_id":"` + cart.CartID + `","sku":` + good + `,"Quantity":1}`,
		"both spellings":         `{"cart_id":"` + cart.CartID + `","sku":` + good + `,"quantity":1,"Quantity":9}`,
		"NUL in a key":           `{"cart_id":"` + cart.CartID + `","sku":` + good + `,"quantity":1,"quantity\u0000":9}`,
		"repeated key":           `{"cart_id":"` + cart.CartID + `","sku":` + good + `,"quantity":1,"quantity":9}`,
		"missing key":            `{"cart_id":"` + cart.CartID + `","sku":` + good + `}`,
		"array of arguments":     `[]`,
		"deep":                   strings.Repeat("[", 5000) + strings.Repeat("]", 5000),
		"a handle that is a URL": `{"cart_id":"http://127.0.0.1:1/","sku":` + good + `,"quantity":1}`,
	}
	for name, args := range hostile {
		got := sh.post(t, token, "cart_set_item", callBody("cart_set_item", args))
		if got.status != 200 && got.status != 400 {
			t.Errorf("%s: status = %d, want 200 with isError, or 400", name, got.status)
		}
		if got.status == 200 && !strings.Contains(got.body, `"isError":true`) {
			t.Errorf("%s: accepted: %s", name, got.body)
		}
		for _, leak := range []string{"SQLSTATE", "ERROR:", "DROP", "pgx", "goroutine", ".go:", cart.CartID} {
			if strings.Contains(got.body, leak) {
				t.Errorf("%s: answer shows %q: %s", name, leak, got.body)
			}
		}
	}
	if after := sh.row(t, cart.CartID); after != before {
		t.Errorf("cart changed:\n%s\n%s", before, after)
	}
}

func TestOneNumberHasManySpellings(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice")
	cart := filledCart(t, alice)
	token := sh.issuer.Token(authtest.Scope(allScopes))
	for _, two := range []string{"2", "2.0", "2e0", "0.2e1"} {
		args := `{"quantity":` + two + `,"sku":"` + cart.Lines[0].SKU + `","cart_id":"` + cart.CartID + `"}`
		got := sh.post(t, token, "cart_set_item", callBody("cart_set_item", args))
		if got.status != 200 || !strings.Contains(got.body, `"quantity":2,`) {
			t.Errorf("quantity %s: %d %s, want a cart with 2", two, got.status, got.body)
		}
	}
}

func TestQuotaOfOpenCartsIsTold(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice")
	for range 20 {
		mustCall[cartView](t, alice, "cart_create", nil)
	}
	if _, got := tryCall[cartView](t, alice, "cart_create", nil); !strings.Contains(got, "cart_discard") {
		t.Errorf("21st cart_create = %q, want to be told the quota", got)
	}
	mustCall[cartView](t, sh.as(t, "bob"), "cart_create", nil)
}

func TestProductSearchPagesThroughTheCatalogue(t *testing.T) {
	sh := newShop(t)
	alice := sh.as(t, "alice")
	all := mustCall[productsView](t, alice, "product_search", nil).Products
	var paged []productView
	for after := ""; ; {
		page := mustCall[productsView](t, alice, "product_search", map[string]any{"after": after, "limit": 5})
		paged = append(paged, page.Products...)
		if after = page.Next; after == "" {
			break
		}
	}
	if !slices.Equal(all, paged) || len(all) == 0 {
		t.Errorf("pages of 5 = %v, want %v", paged, all)
	}
	if found := mustCall[productsView](t, alice, "product_search", map[string]any{"query": "%"}).Products; len(found) != 0 {
		t.Errorf("product_search for %% = %v, want nothing: no wildcards", found)
	}
}
