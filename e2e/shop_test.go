//go:build e2e

package e2e_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

// A client is one of the real ones, told what to do. Its methods end the test
// when the client itself fails.
type client interface {
	// tools lists the names of the server's tools.
	tools(t testing.TB) []string
	// call calls a tool; the questions that come in the middle of it are
	// answered with these answers, in order.
	call(t testing.TB, tool string, arguments args, answers ...answer) outcome
}

type args = map[string]any

// An answer is what a person does with a question.
type answer struct {
	Action  string `json:"action"` // accept, decline, cancel
	Content args   `json:"content,omitempty"`
}

func accept(field string, value any) answer { return answer{"accept", args{field: value}} }

// An outcome is what the client shows for a call.
type outcome struct {
	Structured json.RawMessage `json:"structured"`
	Failed     string          `json:"failed"` // the text of a tool error, or of any other
	Asked      []string        `json:"asked"`  // the questions, as the person reads them
}

// decode reads the structured content of a call that has to succeed.
func decode[T any](t testing.TB, tool string, o outcome) (out T) {
	t.Helper()
	if o.Failed != "" {
		t.Fatalf("%s = %q, want a result", tool, o.Failed)
	}
	if err := json.Unmarshal(o.Structured, &out); err != nil {
		t.Fatalf("%s: structured content %q: %v", tool, o.Structured, err)
	}
	return out
}

type (
	cart struct {
		CartID     string `json:"cart_id"`
		Status     string `json:"status"`
		TotalMinor int64  `json:"total_minor"`
	}
	carts  struct{ Carts []cart }
	bought struct {
		Status     string `json:"status"`
		OrderID    string `json:"order_id"`
		TotalMinor int64  `json:"total_minor"`
	}
	order struct {
		OrderID    string `json:"order_id"`
		CartID     string `json:"cart_id"`
		TotalMinor int64  `json:"total_minor"`
	}
	orders   struct{ Orders []order }
	products struct {
		Products []struct{ SKU string }
	}
)

// The story's cart: two blue mugs at 14.90, and 14.90 for sending it express.
const (
	mugs     = int64(2 * 1490)
	mugsSent = mugs + 1490
)

// fillCart looks a product up and puts two of it into a new cart.
func fillCart(t testing.TB, c client) string {
	t.Helper()
	names := c.tools(t)
	for _, want := range []string{"product_search", "cart_create", "cart_set_item", "checkout", "order_list"} {
		if !slices.Contains(names, want) {
			t.Errorf("tools/list = %v, want %s among them", names, want)
		}
	}
	found := decode[products](t, "product_search", c.call(t, "product_search", args{"query": "blue"}))
	if len(found.Products) != 1 || found.Products[0].SKU != "MUG-BLUE" {
		t.Fatalf("product_search for blue = %+v, want MUG-BLUE alone", found)
	}
	made := decode[cart](t, "cart_create", c.call(t, "cart_create", args{}))
	got := decode[cart](t, "cart_set_item", c.call(t, "cart_set_item", args{"cart_id": made.CartID, "sku": "MUG-BLUE", "quantity": 2}))
	if got.TotalMinor != mugs {
		t.Fatalf("cart_set_item: total %d, want %d", got.TotalMinor, mugs)
	}
	return made.CartID
}

// buy buys a cart and looks for the order.
func buy(t testing.TB, c client, cartID string) {
	t.Helper()
	result := c.call(t, "checkout", args{"cart_id": cartID}, accept("shipping", "express"), accept("confirm", true))
	got := decode[bought](t, "checkout", result)
	if got.Status != "ordered" || got.TotalMinor != mugsSent {
		t.Fatalf("checkout = %+v, want ordered for %d", got, mugsSent)
	}
	// The person has seen the very total that was charged.
	if len(result.Asked) != 2 || !strings.Contains(result.Asked[1], "44.70") {
		t.Errorf("checkout asked %q, want two questions, the second with the total", result.Asked)
	}
	listed := decode[orders](t, "order_list", c.call(t, "order_list", args{}))
	if want := (order{got.OrderID, cartID, mugsSent}); len(listed.Orders) != 1 || listed.Orders[0] != want {
		t.Errorf("order_list = %+v, want %+v alone", listed, want)
	}
}

// refuseToBuy says no at the last question: nothing is bought, and the cart is
// as it was.
func refuseToBuy(t testing.TB, c client, cartID string) {
	t.Helper()
	result := c.call(t, "checkout", args{"cart_id": cartID}, accept("shipping", "standard"), answer{Action: "decline"})
	if got := decode[bought](t, "checkout", result); got.Status != "declined" || got.OrderID != "" {
		t.Errorf("checkout that was declined = %+v, want declined and no order", got)
	}
	if got := decode[cart](t, "cart_get", c.call(t, "cart_get", args{"cart_id": cartID})); got.Status != "open" || got.TotalMinor != mugs {
		t.Errorf("cart_get after a decline = %+v, want it open with %d", got, mugs)
	}
	if got := decode[orders](t, "order_list", c.call(t, "order_list", args{})); len(got.Orders) != 0 {
		t.Errorf("order_list after a decline = %+v, want none", got)
	}
}

// firstScope is what a client is told to ask for before it has a token, and
// checkoutScope what it is told to have for a checkout.
const (
	firstScope    = "catalog:read cart order:read"
	checkoutScope = "cart:write order:place"
)

// wantStepUp checks what a person was asked for: at first what everything but
// buying needs, then, once, all that checkout needs, without losing the first.
func wantStepUp(t testing.TB, asked []string) {
	t.Helper()
	if len(asked) != 2 {
		t.Fatalf("scopes asked for = %q, want two sign-ins: the first and one step-up", asked)
	}
	if !covers(asked[0], firstScope) || covers(asked[0], "order:place") {
		t.Errorf("scope of the first sign-in = %q, want %q", asked[0], firstScope)
	}
	if !covers(asked[1], firstScope+" "+checkoutScope) {
		t.Errorf("scope of the step-up = %q, want %q and %q in it", asked[1], firstScope, checkoutScope)
	}
}

func covers(scope, want string) bool {
	have := strings.Fields(scope)
	for _, w := range strings.Fields(want) {
		if !slices.Contains(have, w) {
			return false
		}
	}
	return true
}
