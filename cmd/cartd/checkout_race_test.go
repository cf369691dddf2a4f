package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
)

// confirmAtOnce sends every flow's yes, in turn to each replica, lets them all
// run into the lock and then releases it.
func confirmAtOnce(t *testing.T, l *lock, replicas []*replica, flows []flow) []answer {
	t.Helper()
	answers := make([]answer, len(flows))
	var running sync.WaitGroup
	for i, f := range flows {
		req := f.request(t, replicas[i%len(replicas)], sayYes)
		running.Go(func() { answers[i] = f.shop.answer(t, req) })
	}
	l.waitFor(t, len(flows))
	l.release(t)
	running.Wait()
	return answers
}

func TestFiftyConfirmationsOfOneCartMakeOneOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	replicas := s.openWith(t, 3, 18)
	s.sell(t, "CLOCK", 10)
	const calls = 50
	orders := 0
	for name, flowsOfACart := range map[string]func(*testing.T, flow) []flow{
		"with one state": func(_ *testing.T, f flow) []flow {
			return repeated(f, calls)
		},
		"with a flow each": func(t *testing.T, f flow) (all []flow) {
			for i := range calls {
				all = append(all, f.begin(t, replicas[i%3], replicas[(i+1)%3]))
			}
			return all
		},
		"with five states ten times each": func(t *testing.T, f flow) (all []flow) {
			for range 5 {
				all = append(all, repeated(f.begin(t, replicas[0], replicas[1]), 10)...)
			}
			return all
		},
	} {
		ok := t.Run(name, func(t *testing.T) {
			alice := s.customer("alice")
			f := s.asked(t, replicas[0], alice, line{"CLOCK", 2})
			flows := flowsOfACart(t, f)
			answers := confirmAtOnce(t, s.holdCart(t, f.cartID), replicas, flows)

			orders++
			s.wantOrders(t, orders)
			order := oneOrder(t, answers)
			// Whoever comes later is told as well, everywhere.
			for i, r := range replicas {
				flows[i].send(t, r, sayYes).wantTold(t, order)
				f.begun().send(t, r, "").wantTold(t, order)
			}
			s.wantOrders(t, orders)
		})
		if !ok {
			return // the next would count on it
		}
	}
}

func repeated(f flow, times int) (all []flow) {
	for range times {
		all = append(all, f)
	}
	return all
}

// begun is the flow as one that has not begun.
func (f flow) begun() flow {
	f.state = ""
	return f
}

// oneOrder fails the test unless one answer is an order and all others name it.
func oneOrder(t *testing.T, answers []answer) (order string) {
	t.Helper()
	var ids []string
	for _, a := range answers {
		if id := a.placed(); id != "" {
			ids = append(ids, id)
		}
	}
	if len(ids) != 1 {
		t.Fatalf("%d confirmations placed the orders %v, want one", len(answers), ids)
	}
	for _, a := range answers {
		if a.placed() == "" && a.told() != ids[0] {
			t.Errorf("confirmation = %v, want to be told the order %s", a, ids[0])
		}
	}
	return ids[0]
}

func TestLastPieceIsSoldToOneOfTwentyBuyers(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	replicas := s.openWith(t, 3, 8)
	s.sell(t, "CLOCK", 1)
	var flows []flow
	for i := range 20 {
		flows = append(flows, s.asked(t, replicas[i%3], s.customer(fmt.Sprint("buyer-", i)), line{"CLOCK", 1}))
	}
	lock := s.hold(t, "SELECT FROM products WHERE sku = 'CLOCK' FOR UPDATE")
	answers := confirmAtOnce(t, lock, replicas, flows)

	s.wantOrders(t, 1)
	if stock := s.count(t, "SELECT stock FROM products WHERE sku = 'CLOCK'"); stock != 0 {
		t.Errorf("stock = %d, want 0", stock)
	}
	var losers []flow
	for i, a := range answers {
		if a.placed() != "" {
			continue
		}
		losers = append(losers, flows[i])
		if !strings.Contains(a.text(), "CLOCK") || !strings.Contains(a.text(), "Nothing was charged and the cart is kept") {
			t.Errorf("loser's answer = %v, want to be told that none is left", a)
		}
		kept := must[cart](t, replicas[i%3].with(t, flows[i].token), "cart_get", args{"cart_id": flows[i].cartID})
		if kept.Status != "open" || len(kept.Lines) != 1 {
			t.Errorf("loser's cart = %v, want it as it was", kept)
		}
	}
	if len(losers) != 19 {
		t.Fatalf("%d losers, want 19", len(losers))
	}
	// A yes that came too late was not used up.
	s.do(t, "UPDATE products SET stock = 1 WHERE sku = 'CLOCK'")
	s.stock["CLOCK"] = 2
	losers[0].send(t, replicas[0], sayYes).wantPlaced(t)
	s.wantOrders(t, 2)
}

func TestCartsWithTheSameProductsDoNotDeadlock(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	replicas := s.openWith(t, 3, 18)
	s.sell(t, "ANVIL", 1000)
	s.sell(t, "BELL", 1000)
	var flows []flow
	for i := range 50 {
		lines := []line{{"ANVIL", 1}, {"BELL", 2}}
		if i%2 == 1 {
			lines[0], lines[1] = lines[1], lines[0]
		}
		flows = append(flows, s.asked(t, replicas[i%3], s.customer(fmt.Sprint("buyer-", i)), lines...))
	}
	// If carts were locked in the order in which they were filled, half of them
	// would have BELL by now and wait for ANVIL, and the others want BELL next.
	lock := s.hold(t, "SELECT FROM products WHERE sku = 'ANVIL' FOR UPDATE")
	for _, a := range confirmAtOnce(t, lock, replicas, flows) {
		if a.placed() == "" {
			t.Errorf("confirmation = %v, want an order", a)
		}
	}
	s.wantOrders(t, 50)
	for _, r := range replicas {
		if strings.Contains(r.out.String(), "deadlock") {
			t.Error("the log tells of a deadlock")
		}
	}
}

func TestNoAndYesAtOnceOnTwoReplicasAreOneOfTheTwo(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one, two := s.open(t, nil), s.open(t, nil)
	s.sell(t, "CLOCK", 10)
	s.installGates(t)
	alice := s.customer("alice")
	orders := 0
	for _, test := range []struct {
		name        string
		hold        func(t *testing.T, cartID string) *lock
		first, then string // answers
		winner      string // "" if either may be
	}{
		{"the yes was first", func(t *testing.T, cartID string) *lock { return s.holdCart(t, cartID) }, sayYes, sayNo, "ordered"},
		{"the no was first", func(t *testing.T, _ string) *lock { return s.closeGate(t, atCommit) }, sayNo, sayYes, "declined"},
		{"neither was first", func(t *testing.T, _ string) *lock { return s.hold(t, "LOCK TABLE redemptions IN SHARE MODE") }, sayYes, sayNo, ""},
		{"neither was first, the no asked first", func(t *testing.T, _ string) *lock { return s.hold(t, "LOCK TABLE redemptions IN SHARE MODE") }, sayNo, sayYes, ""},
	} {
		ok := t.Run(test.name, func(t *testing.T) {
			f := s.asked(t, one, alice, line{"CLOCK", 1})
			lock := test.hold(t, f.cartID)
			first := f.sendLater(t, one, test.first)
			lock.waitFor(t, 1)
			then := f.sendLater(t, two, test.then)
			lock.waitFor(t, 2)
			lock.release(t)

			won, lost := <-first, <-then
			if won.Result.StructuredContent.Status == "" {
				won, lost = lost, won
			}
			outcome := won.Result.StructuredContent.Status
			if outcome == "" || test.winner != "" && outcome != test.winner {
				t.Fatalf("answers = %v, %v, want one to win: %s", won, lost, test.winner)
			}
			if lost.Error.Data["reason"] != "already_redeemed" || lost.Error.Data["outcome"] != outcome || lost.Error.Data["order_id"] != won.placed() {
				t.Errorf("loser = %v, want to be told that the flow was %s %s", lost, outcome, won.placed())
			}
			if outcome == "ordered" {
				orders++
				s.wantOrders(t, orders)
				return
			}
			s.wantOrders(t, orders)
			// It was this flow that was declined and not the cart.
			f.begin(t, two, one).send(t, two, sayYes).wantPlaced(t)
			orders++
			s.wantOrders(t, orders)
		})
		if !ok {
			return // the next would count on it
		}
	}
}
