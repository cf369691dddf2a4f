package main

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// A flow is somebody's checkout of one cart. Its state is that of the last round.
type flow struct {
	shop          *shop
	token, cartID string
	state         string
}

// Answers to the two questions.
const (
	pickStandard = `{"shipping":{"action":"accept","content":{"shipping":"standard"}}}`
	sayYes       = `{"confirm":{"action":"accept","content":{"confirm":true}}}`
	sayNo        = `{"confirm":{"action":"decline"}}`
)

// fill makes a cart with these lines, put in one after the other.
func (s *shop) fill(t testing.TB, r *replica, token string, lines ...line) flow {
	t.Helper()
	session := r.with(t, token)
	made := must[cart](t, session, "cart_create", nil)
	for _, l := range lines {
		must[cart](t, session, "cart_set_item", setItem(made.CartID, l.SKU, l.Quantity))
	}
	return flow{shop: s, token: token, cartID: made.CartID}
}

// asked is fill and then all rounds but the last: what is left is the yes.
func (s *shop) asked(t testing.TB, r *replica, token string, lines ...line) flow {
	t.Helper()
	return s.fill(t, r, token, lines...).begin(t, r, r)
}

// begin makes the first round on one replica and the second on another.
func (f flow) begin(t testing.TB, first, second *replica) flow {
	t.Helper()
	f.state = ""
	f.state = f.send(t, first, "").wantAsked(t, "shipping")
	f.state = f.send(t, second, pickStandard).wantAsked(t, "confirm")
	return f
}

// jsonrpcID gives every call an id of its own, as the protocol wants it: what is
// called the same call in these tests is the same but for its id.
var jsonrpcID atomic.Int64

// request is one round, with the state of the round before.
func (f flow) request(t testing.TB, r *replica, answers string) *http.Request {
	t.Helper()
	req := r.request(t, f.token, "checkout", args{"cart_id": f.cartID})
	body, err := io.ReadAll(req.Body)
	if err != nil {
		t.Fatal(err)
	}
	params := `"params":{`
	if f.state != "" {
		params += `"requestState":"` + f.state + `",`
	}
	if answers != "" {
		params += `"inputResponses":` + answers + `,`
	}
	text := strings.Replace(string(body), `"params":{`, params, 1)
	text = strings.Replace(text, `"id":1`, fmt.Sprintf(`"id":%d`, jsonrpcID.Add(1)), 1)
	req.Body, req.ContentLength = io.NopCloser(strings.NewReader(text)), int64(len(text))
	return req
}

// send makes a round.
func (f flow) send(t testing.TB, r *replica, answers string) answer {
	t.Helper()
	return f.shop.answer(t, f.request(t, r, answers))
}

// sendLater is send for a round that something else has to happen during.
func (f flow) sendLater(t testing.TB, r *replica, answers string) <-chan answer {
	t.Helper()
	req := f.request(t, r, answers)
	got := make(chan answer, 1)
	go func() { got <- f.shop.answer(t, req) }()
	return got
}

// An answer is what a round brought, whatever it was.
type answer struct {
	reply
	Result struct {
		RequestState  string                     `json:"requestState"`
		IsError       bool                       `json:"isError"`
		InputRequests map[string]json.RawMessage `json:"inputRequests"`
		Content       []struct {
			Text string `json:"text"`
		} `json:"content"`
		StructuredContent struct {
			Status  string `json:"status"`
			OrderID string `json:"order_id"`
		} `json:"structuredContent"`
	} `json:"result"`
	Error struct {
		Code int               `json:"code"`
		Data map[string]string `json:"data"`
	} `json:"error"`
}

// answer may be called from any goroutine.
func (s *shop) answer(t testing.TB, req *http.Request) answer {
	got := answer{reply: s.send(req)}
	if got.err != nil {
		return got
	}
	if err := json.Unmarshal([]byte(got.body), &got); err != nil {
		t.Errorf("answer %d %q: %v", got.status, got.body, err)
	}
	if got.Result.RequestState != "" {
		s.secret("a state", got.Result.RequestState[:100])
	}
	return got
}

// String is for messages of tests.
func (a answer) String() string {
	if a.err != nil {
		return a.err.Error()
	}
	return fmt.Sprint(a.status, " ", a.body)
}

// wantAsked returns the new state.
func (a answer) wantAsked(t testing.TB, question string) string {
	t.Helper()
	if _, ok := a.Result.InputRequests[question]; !ok || a.Result.RequestState == "" {
		t.Fatalf("round = %v, want the question %s", a, question)
	}
	return a.Result.RequestState
}

// placed is the id of the order that this very call placed, or empty.
func (a answer) placed() string {
	if a.Result.StructuredContent.Status != "ordered" {
		return ""
	}
	return a.Result.StructuredContent.OrderID
}

// told is the id of the order that the caller is told exists already, or empty.
func (a answer) told() string {
	if a.Error.Code == -32602 && a.Error.Data["reason"] == "already_redeemed" && a.Error.Data["outcome"] == "ordered" {
		return a.Error.Data["order_id"]
	}
	if _, rest, ok := strings.Cut(a.text(), "this cart was already ordered, as "); ok {
		id, _, _ := strings.Cut(rest, ":")
		return id
	}
	return ""
}

// text is that of a tool error, or empty.
func (a answer) text() string {
	if !a.Result.IsError || len(a.Result.Content) != 1 {
		return ""
	}
	return a.Result.Content[0].Text
}

// retryable reports that the caller is told to make the same call again.
func (a answer) retryable() bool { return strings.Contains(a.text(), "make the same call again") }

// refused reports the one answer to every state that does not open.
func (a answer) refused() bool {
	return a.status == http.StatusOK && a.Error.Code == -32602 && a.Error.Data["reason"] == "invalid_request_state"
}

// wantPlaced returns the id of the order.
func (a answer) wantPlaced(t testing.TB) string {
	t.Helper()
	id := a.placed()
	if id == "" {
		t.Fatalf("confirmation = %v, want an order", a)
	}
	return id
}

// wantTold returns the id of the order, which has to be this one unless it is empty.
func (a answer) wantTold(t testing.TB, order string) string {
	t.Helper()
	id := a.told()
	if id == "" || order != "" && id != order {
		t.Fatalf("confirmation = %v, want to be told the order %s", a, order)
	}
	return id
}
