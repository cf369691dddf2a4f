package server

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"example.com/mcp-cart/auth/authtest"
)

// A buyer makes rounds of a checkout by hand, as a client that may do anything.
type buyer struct {
	sh    *shop
	token string
}

func (sh *shop) buyer(edits ...authtest.Edit) buyer {
	return buyer{sh, sh.issuer.Token(append([]authtest.Edit{authtest.Scope(allScopes)}, edits...)...)}
}

// A round is one answer of the server, whatever it was.
type round struct {
	reply
	Result struct {
		ResultType    string `json:"resultType"`
		RequestState  string `json:"requestState"`
		IsError       bool   `json:"isError"`
		InputRequests map[string]struct {
			Params struct {
				Message string `json:"message"`
			} `json:"params"`
		} `json:"inputRequests"`
		Content []struct {
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent checkoutView `json:"structuredContent"`
	} `json:"result"`
	Error *struct {
		Code int               `json:"code"`
		Data map[string]string `json:"data"`
	} `json:"error"`
}

// asked is the key of the question of this round.
func (r round) asked() string {
	for key := range r.Result.InputRequests {
		return key
	}
	return ""
}

func (r round) message() string { return r.Result.InputRequests[r.asked()].Params.Message }

// checkout sends a round. Each has a JSON-RPC id of its own, as it must.
func (b buyer) checkout(t testing.TB, args, state, answers string) round {
	t.Helper()
	params := `"name":"checkout","arguments":` + args
	if state != "" {
		params += `,"requestState":` + quoted(state)
	}
	if answers != "" {
		params += `,"inputResponses":` + answers
	}
	body := `{"jsonrpc":"2.0","id":"` + fmt.Sprintf("%p", &params) + `","method":"tools/call","params":{` + params + `,` + meta + `}}`
	got := round{reply: b.sh.post(t, b.token, "checkout", body)}
	if err := json.Unmarshal([]byte(got.body), &got); err != nil {
		t.Fatalf("%s: %v", got.body, err)
	}
	return got
}

func quoted(s string) string {
	text, _ := json.Marshal(s)
	return string(text)
}

func cartJSON(cartID string) string { return `{"cart_id":` + quoted(cartID) + `}` }

const (
	pickStandard = `{"shipping":{"action":"accept","content":{"shipping":"standard"}}}`
	sayYes       = `{"confirm":{"action":"accept","content":{"confirm":true}}}`
)

// toConfirm makes the first two rounds: what is left is the yes.
func (b buyer) toConfirm(t testing.TB, cartID string) round {
	t.Helper()
	first := b.checkout(t, cartJSON(cartID), "", "")
	if first.asked() != "shipping" || first.Result.RequestState == "" {
		t.Fatalf("first round = %s, want the question for the shipping", first.body)
	}
	second := b.checkout(t, cartJSON(cartID), first.Result.RequestState, pickStandard)
	if second.asked() != "confirm" || second.Result.RequestState == "" {
		t.Fatalf("second round = %s, want the question to confirm", second.body)
	}
	return second
}

func (b buyer) confirm(t testing.TB, cartID, state string) round {
	t.Helper()
	return b.checkout(t, cartJSON(cartID), state, sayYes)
}

func (b buyer) newCart(t testing.TB) cartView {
	t.Helper()
	return filledCart(t, b.sh.connect(t, b.token))
}

// orders counts what was bought, and fails the test if orders, stock and
// redemptions do not agree.
func (sh *shop) orders(t testing.TB) (n int) {
	t.Helper()
	var redeemed int
	sh.query(t, &n, `SELECT count(*) FROM orders`)
	sh.query(t, &redeemed, `SELECT count(*) FROM redemptions WHERE outcome = 'ordered'`)
	if n != redeemed {
		t.Errorf("%d orders but %d redemptions with that outcome", n, redeemed)
	}
	return n
}

func (sh *shop) stock(t testing.TB, sku string) (n int) {
	t.Helper()
	sh.query(t, &n, `SELECT stock FROM products WHERE sku = $1`, sku)
	return n
}

func (sh *shop) exec(t testing.TB, sql string, args ...any) {
	t.Helper()
	var n int
	sh.query(t, &n, `WITH x AS (`+sql+` RETURNING 1) SELECT count(*) FROM x`, args...)
	if n == 0 {
		t.Fatalf("%s: changed nothing", sql)
	}
}

func (r round) ordered(t testing.TB) string {
	t.Helper()
	if r.Result.StructuredContent.Status != "ordered" || r.Result.StructuredContent.OrderID == "" {
		t.Fatalf("confirmation = %s, want an order", r.body)
	}
	return r.Result.StructuredContent.OrderID
}

func TestCheckoutAsksTwiceThenOrders(t *testing.T) {
	sh := newShop(t)
	var asked []string
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ElicitationHandler: func(_ context.Context, req *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
			asked = append(asked, req.Params.Message)
			content := map[string]any{"shipping": "express"}
			if len(asked) == 2 {
				content = map[string]any{"confirm": true}
			}
			return &mcp.ElicitResult{Action: "accept", Content: content}, nil
		},
	})
	alice := sh.connectWith(t, client, sh.buyer().token)
	cart := filledCart(t, alice)
	before := sh.stock(t, cart.Lines[0].SKU)
	done := mustCall[checkoutView](t, alice, "checkout", map[string]any{"cart_id": cart.CartID})
	order := mustCall[orderView](t, alice, "order_get", map[string]any{"order_id": done.OrderID})
	want := cart.TotalMinor + shippingPrices["express"]
	if len(asked) != 2 || done.Status != "ordered" || done.TotalMinor != want || order.TotalMinor != want || order.CartID != cart.CartID || fmt.Sprint(order.Lines) != fmt.Sprint(cart.Lines) {
		t.Errorf("checkout = %+v, order = %+v after %d questions", done, order, len(asked))
	}
	if after := sh.stock(t, cart.Lines[0].SKU); after != before-2 {
		t.Errorf("stock = %d, want %d", after, before-2)
	}
	if list := mustCall[ordersView](t, alice, "order_list", nil).Orders; len(list) != 1 || list[0].OrderID != done.OrderID {
		t.Errorf("order_list = %+v, want the order", list)
	}
	if _, got := tryCall[cartView](t, alice, "cart_get", map[string]any{"cart_id": cart.CartID}); !strings.Contains(got, done.OrderID) {
		t.Errorf("cart_get of a bought cart = %q, want to be told the order", got)
	}
}

func TestQuestionShowsEveryLineAndTheWholeTotal(t *testing.T) {
	sh := newShop(t)
	sh.exec(t, `INSERT INTO products (sku, name, unit_price_minor, currency, stock)
		SELECT 'part-' || n, 'Part number ' || n, n, 'EUR', 1000 FROM generate_series(101, 200) n`)
	b := sh.buyer()
	session := sh.connect(t, b.token)
	cart := mustCall[cartView](t, session, "cart_create", nil)
	var total int64
	for n := int64(101); n <= 200; n++ {
		mustCall[cartView](t, session, "cart_set_item", map[string]any{"cart_id": cart.CartID, "sku": fmt.Sprint("part-", n), "quantity": 3})
		total += 3 * n
	}
	message := b.toConfirm(t, cart.CartID).message()
	for n := int64(101); n <= 200; n++ {
		if line := fmt.Sprintf("3 × Part number %d (part-%d) at %s: %s;\n", n, n, money(n, "EUR"), money(3*n, "EUR")); !strings.Contains(message, line) {
			t.Errorf("the question lacks %q", line)
		}
	}
	if want := "Total: " + money(total+shippingPrices["standard"], "EUR"); !strings.HasSuffix(message, want) {
		t.Errorf("the question ends with %q, want %q", message[len(message)-40:], want)
	}
}

func TestOnlyAYesOrders(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	again := []string{
		``, `null`, `{}`,
		`{"confirm":null}`, `{"confirm":42}`, `{"confirm":[]}`, `{"confirm":{}}`, `{"confirm":{"foo":1}}`,
		`{"confirm":{"action":"accept"}}`,
		`{"confirm":{"action":"accept","content":null}}`,
		`{"confirm":{"action":"accept","content":{}}}`,
		`{"confirm":{"action":"accept","content":[true]}}`,
		`{"confirm":{"action":"accept","content":{"confirm":"true"}}}`,
		`{"confirm":{"action":"accept","content":{"confirm":1}}}`,
		`{"confirm":{"action":"accept","content":{"confirm":null}}}`,
		`{"confirm":{"action":"accept","content":{"Confirm":true}}}`,
		`{"confirm":{"action":"ACCEPT","content":{"confirm":true}}}`,
		`{"confirm":{"action":"maybe","content":{"confirm":true}}}`,
		`{"Confirm":{"action":"accept","content":{"confirm":true}}}`,
		`{"shipping":{"action":"accept","content":{"confirm":true}}}`,
		`{"shipping":{"action":"accept","content":{"shipping":"express"}}}`,
		`{"x":{"action":"accept","content":{"confirm":true}}}`,
	}
	for _, answers := range again {
		cart := b.newCart(t)
		got := b.checkout(t, cartJSON(cart.CartID), b.toConfirm(t, cart.CartID).Result.RequestState, answers)
		if got.asked() != "confirm" || got.Result.RequestState == "" {
			t.Errorf("%s: %s, want the question again", answers, got.body)
		}
		sh.exec(t, `DELETE FROM carts`)
	}
	for answers, want := range map[string]string{
		`{"confirm":{"action":"decline","content":{"confirm":true}}}`: "declined",
		`{"confirm":{"action":"accept","content":{"confirm":false}}}`: "declined",
		`{"confirm":{"action":"cancel","content":{"confirm":true}}}`:  "cancelled",
	} {
		cart := b.newCart(t)
		got := b.checkout(t, cartJSON(cart.CartID), b.toConfirm(t, cart.CartID).Result.RequestState, answers)
		if got.Result.StructuredContent.Status != want || got.Result.IsError || got.Result.StructuredContent.OrderID != "" {
			t.Errorf("%s: %s, want %s", answers, got.body, want)
		}
		sh.exec(t, `DELETE FROM carts`)
	}
	if n := sh.orders(t); n != 0 {
		t.Fatalf("%d orders without a yes", n)
	}
	cart := b.newCart(t)
	extra := `{"x":{"action":"accept"},"confirm":{"action":"accept","content":{"confirm":true,"more":1},"_meta":{}},"y":7}`
	b.checkout(t, cartJSON(cart.CartID), b.toConfirm(t, cart.CartID).Result.RequestState, extra).ordered(t)
}

func TestShippingIsOneOfThoseOffered(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	state := b.checkout(t, cartJSON(cart.CartID), "", "").Result.RequestState
	for _, content := range []string{`{"shipping":"free"}`, `{"shipping":""}`, `{"shipping":1}`, `{"shipping":null}`, `{}`, `"standard"`} {
		got := b.checkout(t, cartJSON(cart.CartID), state, `{"shipping":{"action":"accept","content":`+content+`}}`)
		if got.asked() != "shipping" {
			t.Errorf("%s: %s, want the question again", content, got.body)
		}
	}
}

// What nobody was asked, nobody has answered.
func TestAnswersWithoutAStateAreTheFirstRound(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	for _, answers := range []string{pickStandard, sayYes} {
		if got := b.checkout(t, cartJSON(cart.CartID), "", answers); got.asked() != "shipping" {
			t.Errorf("%s without a state: %s, want the first question", answers, got.body)
		}
	}
}

func TestStateOpensOnlyForItsCallerAndItsCall(t *testing.T) {
	sh := newShop(t)
	alice := sh.buyer()
	cart, other := alice.newCart(t), alice.newCart(t)
	state := alice.toConfirm(t, cart.CartID).Result.RequestState
	bob := sh.buyer(authtest.Subject("bob"))
	attempts := map[string]round{
		"another user":               bob.confirm(t, cart.CartID, state),
		"another client of the user": sh.buyer(authtest.Client("client-2")).confirm(t, cart.CartID, state),
		"another cart":               alice.confirm(t, other.CartID, state),
		"another user's cart":        bob.confirm(t, bob.newCart(t).CartID, state),
		"one character changed":      alice.confirm(t, cart.CartID, state[:40]+"A"+state[41:]+"A"),
		"empty":                      alice.checkoutEmptyState(t, cart.CartID),
		"as long as a body may be":   alice.confirm(t, cart.CartID, strings.Repeat("A", 60_000)),
	}
	for name, got := range attempts {
		if got.Error == nil || got.Error.Code != -32602 || got.Error.Data["reason"] != "invalid_request_state" || got.status != 200 {
			t.Errorf("%s: %d %s, want the one refusal", name, got.status, got.body)
		}
	}
	if n := sh.orders(t); n != 0 {
		t.Errorf("%d orders by somebody else's state", n)
	}
	for _, reason := range []string{"state_principal", "state_request", "state_malformed"} {
		sh.logs(t, `"outcome":"`+reason+`"`)
	}
	if strings.Contains(sh.log.String(), state[10:40]) {
		t.Error("the log holds a state")
	}
	alice.confirm(t, cart.CartID, state).ordered(t)
}

func (b buyer) checkoutEmptyState(t testing.TB, cartID string) round {
	t.Helper()
	return b.checkout(t, cartJSON(cartID)+`,"requestState":""`, "", sayYes)
}

func TestRefusalsReadTheSame(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	state := b.toConfirm(t, cart.CartID).Result.RequestState
	bodies := map[string]bool{}
	for _, bad := range []string{state + "A", state[:len(state)-1], "rs2" + state[3:], "x", strings.Repeat("A", 5000)} {
		body := callBody("checkout", cartJSON(cart.CartID)+`,"requestState":`+quoted(bad)+`,"inputResponses":`+sayYes)
		bodies[b.sh.post(t, b.token, "checkout", body).body] = true
	}
	bobsBody := callBody("checkout", cartJSON(cart.CartID)+`,"requestState":`+quoted(state)+`,"inputResponses":`+sayYes)
	bodies[sh.post(t, sh.buyer(authtest.Subject("bob")).token, "checkout", bobsBody).body] = true
	if len(bodies) != 1 {
		t.Errorf("refusals differ: %v", bodies)
	}
}

func TestSameCallSpelledDifferentlyIsTheSameCall(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	state := b.toConfirm(t, cart.CartID).Result.RequestState
	escaped := `{ "cart_id" : "\u0063` + cart.CartID[1:] + `" }`
	b.checkout(t, escaped, state, sayYes).ordered(t)
}

func TestWhatMovedIsAskedAgainInTheSameFlow(t *testing.T) {
	for name, move := range map[string]func(*testing.T, *shop, *mcp.ClientSession, cartView){
		"cart": func(t *testing.T, _ *shop, session *mcp.ClientSession, cart cartView) {
			mustCall[cartView](t, session, "cart_set_item", map[string]any{"cart_id": cart.CartID, "sku": cart.Lines[0].SKU, "quantity": 3})
		},
		"price": func(t *testing.T, sh *shop, _ *mcp.ClientSession, cart cartView) {
			sh.exec(t, `UPDATE products SET unit_price_minor = unit_price_minor + 1 WHERE sku = $1`, cart.Lines[0].SKU)
		},
	} {
		t.Run(name, func(t *testing.T) {
			sh := newShop(t)
			b := sh.buyer()
			cart := b.newCart(t)
			session := sh.connect(t, b.token)
			stale := b.toConfirm(t, cart.CartID)
			move(t, sh, session, cart)
			again := b.confirm(t, cart.CartID, stale.Result.RequestState)
			if again.asked() != "confirm" || again.message() == stale.message() {
				t.Fatalf("stale yes: %s, want the question with the new numbers", again.body)
			}
			if n := sh.orders(t); n != 0 {
				t.Fatalf("%d orders at the old numbers", n)
			}
			order := b.confirm(t, cart.CartID, again.Result.RequestState).ordered(t)
			now := mustCall[orderView](t, session, "order_get", map[string]any{"order_id": order})
			if want := "Total: " + money(now.TotalMinor, now.Currency); !strings.HasSuffix(again.message(), want) {
				t.Errorf("charged %s, but the question said %q", want, again.message())
			}
			// One flow: the state from before the move is as spent as the other.
			if got := b.confirm(t, cart.CartID, stale.Result.RequestState); got.Error == nil || got.Error.Data["order_id"] != order {
				t.Errorf("stale state after the order: %s, want to be told the order", got.body)
			}
		})
	}
}

// A client may send a call again whose answer it lost, when the person has the
// question before them already.
func TestSameQuantityAgainDoesNotDisturbTheQuestion(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	asked := b.toConfirm(t, cart.CartID)
	again := map[string]any{"cart_id": cart.CartID, "sku": cart.Lines[0].SKU, "quantity": cart.Lines[0].Quantity}
	if got := mustCall[cartView](t, sh.connect(t, b.token), "cart_set_item", again); got.Version != cart.Version {
		t.Errorf("cart_set_item with the same again = version %d, want %d as before", got.Version, cart.Version)
	}
	b.confirm(t, cart.CartID, asked.Result.RequestState).ordered(t)
}

func TestSpentStateNamesWhatItDid(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	first := b.checkout(t, cartJSON(cart.CartID), "", "")
	second := b.checkout(t, cartJSON(cart.CartID), first.Result.RequestState, pickStandard)
	order := b.confirm(t, cart.CartID, second.Result.RequestState).ordered(t)
	for _, state := range []string{second.Result.RequestState, first.Result.RequestState} {
		got := b.confirm(t, cart.CartID, state)
		if got.status != 200 || got.Error == nil || got.Error.Code != -32602 || got.Error.Data["reason"] != "already_redeemed" || got.Error.Data["order_id"] != order {
			t.Errorf("spent state: %d %s, want already_redeemed and %s", got.status, got.body, order)
		}
	}
	if got := b.checkout(t, cartJSON(cart.CartID), "", ""); !got.Result.IsError || !strings.Contains(got.Result.Content[0].Text, order) {
		t.Errorf("checkout of a bought cart: %s, want to be told %s", got.body, order)
	}
	stranger := sh.buyer(authtest.Subject("bob")).confirm(t, cart.CartID, second.Result.RequestState)
	if stranger.Error == nil || stranger.Error.Data["reason"] != "invalid_request_state" || strings.Contains(stranger.body, order) {
		t.Errorf("spent state of somebody else: %s, want the one refusal", stranger.body)
	}
	if n := sh.orders(t); n != 1 {
		t.Errorf("%d orders, want 1", n)
	}
}

func TestDeclineIsFinalAndCancelIsNot(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	for _, inRound := range []int{1, 2} {
		first := b.checkout(t, cartJSON(cart.CartID), "", "")
		second := b.checkout(t, cartJSON(cart.CartID), first.Result.RequestState, pickStandard)
		state, key := first.Result.RequestState, "shipping"
		if inRound == 2 {
			state, key = second.Result.RequestState, "confirm"
		}
		b.checkout(t, cartJSON(cart.CartID), state, `{"`+key+`":{"action":"decline"}}`)
		for _, late := range []string{first.Result.RequestState, second.Result.RequestState} {
			got := b.checkout(t, cartJSON(cart.CartID), late, `{"shipping":{"action":"accept","content":{"shipping":"express"}},"confirm":{"action":"accept","content":{"confirm":true}}}`)
			if got.Error == nil || got.Error.Data["reason"] != "already_redeemed" || got.Error.Data["outcome"] != "declined" {
				t.Errorf("yes after a no in round %d: %s, want already_redeemed, declined", inRound, got.body)
			}
		}
	}
	state := b.toConfirm(t, cart.CartID).Result.RequestState
	b.checkout(t, cartJSON(cart.CartID), state, `{"confirm":{"action":"cancel"}}`)
	b.confirm(t, cart.CartID, state).ordered(t)
}

func TestNoAndYesAtOnceCannotBothWin(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	for range 5 {
		cart := b.newCart(t)
		state := b.toConfirm(t, cart.CartID).Result.RequestState
		before := sh.orders(t)
		var no, yes round
		var wg sync.WaitGroup
		wg.Go(func() { no = b.checkout(t, cartJSON(cart.CartID), state, `{"confirm":{"action":"decline"}}`) })
		wg.Go(func() { yes = b.confirm(t, cart.CartID, state) })
		wg.Wait()
		saidNo := no.Result.StructuredContent.Status == "declined"
		saidYes := yes.Result.StructuredContent.Status == "ordered"
		if bought := sh.orders(t) - before; saidNo == saidYes || (bought == 1) != saidYes {
			t.Fatalf("decline: %s\nconfirm: %s\norders: %d; want exactly one to win", no.body, yes.body, bought)
		}
	}
}

func TestFlowEndsAfterEightRounds(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	state := b.checkout(t, cartJSON(cart.CartID), "", "").Result.RequestState
	for n := 2; n <= 8; n++ {
		got := b.checkout(t, cartJSON(cart.CartID), state, "")
		if state = got.Result.RequestState; state == "" {
			t.Fatalf("round %d: %s, want the question again", n, got.body)
		}
	}
	got := b.checkout(t, cartJSON(cart.CartID), state, "")
	if !got.Result.IsError || !strings.Contains(got.Result.Content[0].Text, "start checkout again") {
		t.Errorf("ninth round: %s, want to start again", got.body)
	}
}

func TestClientThatCannotAskIsToldBeforeAnythingIsSealed(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	for capabilities, want := range map[string]int{
		`{}`: 400, `{"elicitation":{"url":{}}}`: 400, `{"sampling":{}}`: 400,
		`{"elicitation":{}}`: 200, `{"elicitation":{"form":{}}}`: 200, `{"elicitation":{"form":{},"url":{}}}`: 200,
	} {
		body := strings.Replace(callBody("checkout", cartJSON(cart.CartID)), `{"elicitation":{"form":{}}}`, capabilities, 1)
		got := sh.post(t, b.token, "checkout", body)
		refused := strings.Contains(got.body, `"code":-32021`) && strings.Contains(got.body, `"requiredCapabilities":{"elicitation":{"form":{}}}`)
		if got.status != want || refused != (want == 400) || refused && strings.Contains(got.body, "requestState") {
			t.Errorf("capabilities %s: %d %s, want %d", capabilities, got.status, got.body, want)
		}
	}
}

func TestParallelConfirmationsMakeOneOrder(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	sku := cart.Lines[0].SKU
	before := sh.stock(t, sku)
	states := make([]string, 25)
	for i := range states {
		states[i] = b.toConfirm(t, cart.CartID).Result.RequestState // a flow each
	}
	answers := make([]round, 50)
	var wg sync.WaitGroup
	for i := range answers {
		state := states[0]
		if i >= 25 {
			state = states[i-25]
		}
		wg.Go(func() { answers[i] = b.confirm(t, cart.CartID, state) })
	}
	wg.Wait()
	orders := map[string]int{}
	for _, got := range answers {
		if id := got.Result.StructuredContent.OrderID; id != "" {
			orders[id]++
		}
	}
	if len(orders) != 1 || sh.orders(t) != 1 || sh.stock(t, sku) != before-2 {
		t.Fatalf("orders = %v and %d in the database, stock %d, want one order and stock %d", orders, sh.orders(t), sh.stock(t, sku), before-2)
	}
	for id := range maps.Keys(orders) {
		for _, got := range answers {
			if !strings.Contains(got.body, id) {
				t.Errorf("%s does not name the order %s", got.body, id)
			}
		}
	}
}

func TestLastOneIsSoldOnce(t *testing.T) {
	sh := newShop(t)
	const buyers = 20
	var sku string
	type try struct {
		buyer
		cartID, state string
		answer        round
	}
	tries := make([]try, buyers)
	for i := range tries {
		tries[i].buyer = sh.buyer(authtest.Subject(fmt.Sprint("buyer-", i)))
		session := sh.connect(t, tries[i].token)
		sku = anySKU(t, session)
		cart := mustCall[cartView](t, session, "cart_create", nil)
		mustCall[cartView](t, session, "cart_set_item", map[string]any{"cart_id": cart.CartID, "sku": sku, "quantity": 1})
		tries[i].cartID = cart.CartID
		tries[i].state = tries[i].toConfirm(t, cart.CartID).Result.RequestState
	}
	sh.exec(t, `UPDATE products SET stock = 1 WHERE sku = $1`, sku)
	var wg sync.WaitGroup
	for i := range tries {
		wg.Go(func() { tries[i].answer = tries[i].confirm(t, tries[i].cartID, tries[i].state) })
	}
	wg.Wait()
	sold := 0
	for _, try := range tries {
		if try.answer.Result.StructuredContent.Status == "ordered" {
			sold++
			continue
		}
		if !try.answer.Result.IsError || !strings.Contains(try.answer.Result.Content[0].Text, "sold out") {
			t.Errorf("loser: %s, want to be told", try.answer.body)
		}
		cart := mustCall[cartView](t, sh.connect(t, try.token), "cart_get", map[string]any{"cart_id": try.cartID})
		if len(cart.Lines) != 1 {
			t.Errorf("loser's cart = %+v, want it kept", cart)
		}
	}
	if sold != 1 || sh.orders(t) != 1 || sh.stock(t, sku) != 0 {
		t.Errorf("sold %d, %d orders, stock %d, want 1, 1, 0", sold, sh.orders(t), sh.stock(t, sku))
	}
}

// A confirmation that failed has redeemed nothing: when there is stock again,
// the very same state works.
func TestStateSurvivesAFailedEffect(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	state := b.toConfirm(t, cart.CartID).Result.RequestState
	sku := cart.Lines[0].SKU
	sh.exec(t, `UPDATE products SET stock = 0 WHERE sku = $1`, sku)
	if got := b.confirm(t, cart.CartID, state); !got.Result.IsError {
		t.Fatalf("without stock: %s, want a tool error", got.body)
	}
	var redeemed int
	sh.query(t, &redeemed, `SELECT count(*) FROM redemptions`)
	if redeemed != 0 {
		t.Errorf("%d redemptions without an effect", redeemed)
	}
	sh.exec(t, `UPDATE products SET stock = 5 WHERE sku = $1`, sku)
	b.confirm(t, cart.CartID, state).ordered(t)
}

func TestForeignOrderIsUnknown(t *testing.T) {
	sh := newShop(t)
	alice := sh.buyer()
	cart := alice.newCart(t)
	order := alice.confirm(t, cart.CartID, alice.toConfirm(t, cart.CartID).Result.RequestState).ordered(t)
	bob := sh.as(t, "bob")
	if _, got := tryCall[orderView](t, bob, "order_get", map[string]any{"order_id": order}); !strings.Contains(got, unknownText) {
		t.Errorf("order_get of a foreign order = %q, want unknown", got)
	}
	if list := mustCall[ordersView](t, bob, "order_list", map[string]any{"after": order}).Orders; len(list) != 0 {
		t.Errorf("order_list after a foreign order = %+v, want none", list)
	}
}

func TestSoldOutIsToldBeforeAnybodyIsAsked(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	state := b.checkout(t, cartJSON(cart.CartID), "", "").Result.RequestState
	sh.exec(t, `UPDATE products SET stock = 1 WHERE sku = $1`, cart.Lines[0].SKU)
	for name, got := range map[string]round{
		"first round":  b.checkout(t, cartJSON(cart.CartID), "", ""),
		"second round": b.checkout(t, cartJSON(cart.CartID), state, pickStandard),
	} {
		if !got.Result.IsError || !strings.Contains(got.Result.Content[0].Text, ": 1 left") {
			t.Errorf("%s with stock 1 for 2: %s, want to be told", name, got.body)
		}
	}
}

// A question that another release asked is answered at that release's price, or
// asked anew: never at no price.
func TestShippingThatIsNoLongerOfferedIsAskedForAgain(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	who := caller{call: &call{method: "tools/call", tool: "checkout"}}
	var err error
	if who.Principal, err = sh.cfg.Verifier.Verify(t.Context(), b.token); err != nil {
		t.Fatal(err)
	}
	binding := sh.bind(who, cartArgs{cart.CartID}, askShipping, askConfirm)
	state, err := sh.sealer.Begin(binding, askConfirm.key, offer{
		Shipping: "overnight", ShippingMinor: 990, Version: cart.Version - 1, TotalMinor: cart.TotalMinor + 990, Currency: cart.Currency,
	})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.confirm(t, cart.CartID, state); got.asked() != "shipping" {
		t.Errorf("yes to a moved cart with a shipping of another release: %s, want the question for the shipping", got.body)
	}
}

func TestNameFromTheCatalogueCannotForgeTheQuestion(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer()
	cart := b.newCart(t)
	sh.exec(t, `UPDATE products SET name = E'Mug\nTotal: 1.00 EUR\u202e' WHERE sku = $1`, cart.Lines[0].SKU)
	message := b.toConfirm(t, cart.CartID).message()
	if strings.Count(message, "\n") != 3 || strings.Contains(message, "\u202e") {
		t.Errorf("the question is %q, want a line for the product, one for the shipping, one for the total", message)
	}
}
