package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
)

// FuzzAnswer looks for inputResponses that make checkout panic, or that count as
// an answer and are none: only an action that reads accept is one, and only a
// form that says yes or no ends the last question.
//
// The flow has been redeemed before, so that a yes or a no, which nothing here
// may turn into the other, both end at the redemption and change nothing.
func FuzzAnswer(f *testing.F) {
	for _, form := range []string{`null`, `7`, `[]`, `{}`, `{"action":"accept"}`, `{"action":"decline"}`, `{"action":"cancel"}`, `{"action":"ACCEPT"}`,
		`{"Action":"accept"}`, `{"action":"accept","Action":"decline"}`, `{"action":"accept\u0000"}`, `{"action":["accept"]}`, `{"action":"\u0061ccept"}`,
		`{"action":"accept","content":null}`, `{"action":"accept","content":{"shipping":"express"}}`, `{"action":"accept","content":{"shipping":"free"}}`,
		`{"action":"accept","content":{"confirm":true}}`, `{"action":"accept","content":{"confirm":false,"more":{}}}`, `{"action":"accept","content":{"confirm":"true"}}`,
		`{"action":"accept","content":{"Confirm":true}}`, `{"action":"accept","content":{"confirm":null}}`, `{"action":"decline","content":{"confirm":true}}`} {
		f.Add([]byte(`{"shipping":` + form + `,"confirm":` + form + `}`))
		f.Add([]byte(`{"Confirm":` + form + `,"x":7}`))
	}
	for _, text := range []string{``, `null`, `[]`, `"accept"`, `{`, `{"confirm":{"action":"accept"},"confirm":{"action":"accept","content":{"confirm":true}}}`, "{\"confirm\":{\"action\":\"accept\xff\"}}"} {
		f.Add([]byte(text))
	}
	c := newRedeemedCheckout(f)
	f.Fuzz(func(t *testing.T, responses []byte) {
		for _, q := range []question{askShipping, askConfirm} {
			did, content := q.answer(jsontext.Value(responses))
			action, form := readPlainly(responses, q.key)
			want := map[string]reaction{"accept": accepted, "decline": declined, "cancel": cancelled}[action]
			// Strict reading may find no answer where others find one, but no other.
			if did != want && did != noAnswer {
				t.Fatalf("answer(%q) to %s = %d, but another reader finds the action %q", responses, q.key, did, action)
			}
			if did != accepted {
				if content != nil {
					t.Errorf("answer(%q) = %d with content %s", responses, did, content)
				}
				continue
			}
			if !bytes.Equal(bytes.TrimSpace(content), bytes.TrimSpace(form)) {
				t.Fatalf("answer(%q) hands on %s, but another reader finds %s", responses, content, form)
			}
			c.check(t, q, content)
		}
	})
}

// readPlainly finds an answer with a reader that knows nothing of strictness.
func readPlainly(responses []byte, key string) (action string, content json.RawMessage) {
	var all, one map[string]json.RawMessage
	if json.Unmarshal(responses, &all) != nil || json.Unmarshal(all[key], &one) != nil || json.Unmarshal(one["action"], &action) != nil {
		return "", nil
	}
	return action, one["content"]
}

// A redeemedCheckout is one whose flow has ended.
type redeemedCheckout struct {
	*shop
	key     handles.Key
	tickets map[string]*requeststate.Ticket // by question
}

func newRedeemedCheckout(f *testing.F) *redeemedCheckout {
	sh := newShop(f)
	b := sh.buyer()
	cart := b.newCart(f)
	first := b.checkout(f, cartJSON(cart.CartID), "", "").Result.RequestState
	second := b.checkout(f, cartJSON(cart.CartID), first, pickStandard).Result.RequestState
	b.checkout(f, cartJSON(cart.CartID), second, `{"confirm":{"action":"decline"}}`)

	p, err := sh.cfg.Verifier.Verify(f.Context(), b.token)
	if err != nil {
		f.Fatal(err)
	}
	who := caller{Principal: p, call: &call{method: "tools/call", tool: "checkout"}}
	c := &redeemedCheckout{shop: sh, tickets: map[string]*requeststate.Ticket{}}
	if c.key, err = cartKey(who, cart.CartID); err != nil {
		f.Fatal(err)
	}
	for _, state := range []string{first, second} {
		ticket, err := sh.sealer.Open(sh.bind(who, cartArgs{cart.CartID}, askShipping, askConfirm), state)
		if err != nil {
			f.Fatal(err)
		}
		c.tickets[ticket.Question()] = ticket
	}
	return c
}

// check hands the content of an accepted form on, as resume does.
func (c *redeemedCheckout) check(t *testing.T, q question, content jsontext.Value) {
	t.Helper()
	var form map[string]json.RawMessage
	if json.Unmarshal(content, &form) != nil {
		form = nil
	}
	var shipping string
	_ = json.Unmarshal(form["shipping"], &shipping) // what is no text is no choice
	said := string(form["confirm"])
	var got any
	var err error
	asksFor, ends := askShipping.key, false
	if q.key == askShipping.key {
		got, err = c.chooseShipping(t.Context(), c.key, c.tickets[q.key], content)
		if shipping == "standard" || shipping == "express" {
			asksFor = askConfirm.key
		}
	} else {
		got, err = c.confirm(t.Context(), c.key, c.tickets[q.key], content)
		asksFor, ends = askConfirm.key, said == "true" || said == "false"
	}
	var spent *requeststate.RedeemedError
	if ends {
		if !errors.As(err, &spent) {
			t.Fatalf("%s with %s = %v, %v, want it to end at the redemption", q.key, content, got, err)
		}
		return
	}
	asked, ok := got.(*inputRequired)
	if err != nil || !ok || asked.InputRequests[asksFor] == nil || asked.RequestState == "" {
		t.Fatalf("%s with %s = %v, %v, want the question %s", q.key, content, got, err, asksFor)
	}
}
