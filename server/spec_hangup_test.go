package server

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/mcp-cart/auth/authtest"
)

// A blockade holds locks that calls run into.
type blockade struct {
	t  *testing.T
	sh *shop
	tx pgx.Tx
}

// block takes the locks that these statements take.
func (sh *shop) block(t *testing.T, statements ...string) blockade {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), sh.db)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, sql := range statements {
		if _, err := tx.Exec(t.Context(), sql); err != nil {
			t.Fatalf("%s: %v", sql, err)
		}
	}
	return blockade{t, sh, tx}
}

func (b blockade) lift() {
	b.t.Helper()
	if err := b.tx.Rollback(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

// waiting is how many of the shop's connections wait for a lock.
func (b blockade) waiting() (n int) {
	b.sh.query(b.t, &n, `SELECT count(*) FROM pg_stat_activity
		WHERE datname = current_database() AND application_name = 'mcp-cart' AND wait_event_type = 'Lock'`)
	return n
}

// connections are the shop's, by the processes that serve them.
func (sh *shop) connections(t *testing.T) (pids []int32) {
	sh.query(t, &pids, `SELECT array_agg(pid ORDER BY pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'mcp-cart'`)
	return pids
}

// eventually waits for what nothing signals.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !done(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s: not after 20 s", what)
		}
	}
}

// begin sends a message in the background and returns what hangs up.
func (sh *shop) begin(t *testing.T, token string, p post) (hangUp func()) {
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	req := messageTo(t, sh, token, p).WithContext(ctx)
	go func() {
		defer close(ended)
		if resp, err := (&http.Client{Transport: &http.Transport{}}).Do(req); err == nil {
			t.Errorf("answered: %d", resp.StatusCode)
			resp.Body.Close()
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// warmUp makes the shop open as many connections as a test is going to block.
// A new one prepares its statements, and would run into the locks by that.
func (sh *shop) warmUp(t *testing.T, b buyer, n int) {
	t.Helper()
	cart := b.newCart(t)
	locks := sh.block(t, `SELECT FROM carts FOR UPDATE`)
	var calls sync.WaitGroup
	for range n {
		calls.Go(func() { sh.say(t, b.token, callOf(modern, "cart_discard", cartJSON(cart.CartID))) })
	}
	eventually(t, "all connections wait", func() bool { return locks.waiting() == n })
	locks.lift()
	calls.Wait()
}

func (sh *shop) cancelled(tool string) bool {
	for line := range strings.Lines(sh.log.String()) {
		if strings.Contains(line, `"tool":"`+tool+`","outcome":"cancelled"`) {
			return true
		}
	}
	return false
}

// A client hangs up while its write waits for a lock, in the middle of what it
// does. Another call of its, a read, is hung up together with it: when that one
// has been cancelled, the write would have been, too.
func TestHangingUpCancelsAReadAndLeavesAWriteWhole(t *testing.T) {
	const orders = `LOCK TABLE orders IN ACCESS EXCLUSIVE MODE`
	for tool, c := range map[string]struct {
		lock string
		call func(b buyer, cart cartView) post
		done func(sh *shop, before string, cart cartView) bool
	}{
		"cart_set_item": {
			lock: `SELECT FROM carts FOR UPDATE`,
			call: func(_ buyer, cart cartView) post {
				return callOf(modern, "cart_set_item", `{"cart_id":"`+cart.CartID+`","sku":"PLANT-FERN","quantity":3}`)
			},
			done: func(sh *shop, before string, cart cartView) bool {
				row := sh.row(t, cart.CartID)
				return row != before && strings.Contains(row, "PLANT-FERN") && strings.Contains(row, cart.Lines[0].SKU)
			},
		},
		"cart_discard": {
			lock: `SELECT FROM carts FOR UPDATE`,
			call: func(_ buyer, cart cartView) post { return callOf(modern, "cart_discard", cartJSON(cart.CartID)) },
			done: func(sh *shop, _ string, cart cartView) bool {
				return strings.Contains(sh.row(t, cart.CartID), "discarded")
			},
		},
		"checkout": { // its redemption is written by then
			lock: `SELECT FROM carts FOR UPDATE`,
			call: func(b buyer, cart cartView) post {
				state := b.toConfirm(t, cart.CartID).Result.RequestState
				members := `"name":"checkout","arguments":` + cartJSON(cart.CartID) + `,"requestState":"` + state + `","inputResponses":` + sayYes
				return newPost(modern, "tools/call", "checkout", members)
			},
			done: func(sh *shop, _ string, cart cartView) bool {
				return sh.orders(t) == 1 && strings.Contains(sh.row(t, cart.CartID), "ordered")
			},
		},
	} {
		t.Run(tool, func(t *testing.T) {
			sh := newShop(t)
			b := sh.buyer()
			sh.warmUp(t, b, 2)
			cart := b.newCart(t)
			call, before := c.call(b, cart), sh.row(t, cart.CartID)
			locks := sh.block(t, c.lock, orders)
			write := sh.begin(t, b.token, call)
			read := sh.begin(t, b.token, callOf(modern, "order_list", `{}`))
			eventually(t, "both calls wait", func() bool { return locks.waiting() == 2 })
			connections := sh.connections(t)

			write()
			read()
			eventually(t, "the read is cancelled, its lock still held", func() bool { return sh.cancelled("order_list") })
			if n := locks.waiting(); n != 1 {
				t.Errorf("%d statements wait, want the write alone", n)
			}
			locks.lift()
			eventually(t, "the write ends", func() bool { return sh.cancelled(tool) })
			if !c.done(sh, before, cart) {
				t.Errorf("the cart is %s, want the write done, as a whole", sh.row(t, cart.CartID))
			}
			// Nobody's hanging up costs a connection.
			for range 10 {
				mustCall[map[string][]cartView](t, sh.connect(t, b.token), "cart_list", nil)
			}
			for _, pid := range connections {
				if after := sh.connections(t); !slices.Contains(after, pid) {
					t.Errorf("connections = %v, want those from before among them: %v", after, connections)
				}
			}
		})
	}
}

// A call that is refused when the lock is free has left nothing of itself.
func TestHangingUpLeavesNothingOfAWriteThatFails(t *testing.T) {
	sh := newShop(t)
	b := sh.buyer(authtest.Subject("alice"))
	sh.warmUp(t, b, 2)
	cart := b.newCart(t)
	state := b.toConfirm(t, cart.CartID).Result.RequestState
	members := `"name":"checkout","arguments":` + cartJSON(cart.CartID) + `,"requestState":"` + state + `","inputResponses":` + sayYes
	locks := sh.block(t, `UPDATE products SET stock = 0`)
	hangUp := sh.begin(t, b.token, newPost(modern, "tools/call", "checkout", members))
	eventually(t, "the purchase waits", func() bool { return locks.waiting() == 1 })
	hangUp()
	if err := locks.tx.Commit(t.Context()); err != nil {
		t.Fatal(err)
	}
	// Which of the two it notices first, the hang-up or the empty shelf, is luck.
	eventually(t, "the purchase ends", func() bool {
		return sh.cancelled("checkout") || strings.Contains(sh.log.String(), `"outcome":"out_of_stock"`)
	})
	var redemptions int
	sh.query(t, &redemptions, `SELECT count(*) FROM redemptions`)
	if n := sh.orders(t); n != 0 || redemptions != 0 || !strings.Contains(sh.row(t, cart.CartID), "open") {
		t.Errorf("%d orders, %d redemptions, cart %s, want nothing done", n, redemptions, sh.row(t, cart.CartID))
	}
	sh.exec(t, `UPDATE products SET stock = 5`)
	b.confirm(t, cart.CartID, state).ordered(t)
}
