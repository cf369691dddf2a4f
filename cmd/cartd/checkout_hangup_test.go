package main

import (
	"strings"
	"testing"
	"time"
)

// A client that hangs up during a confirmation loses the answer and nothing
// else: before the transaction nothing happens, and from then on all of it.
// Nothing outside shows when cartd notices, so each goes on until it did in time.
func TestClientThatHangsUpFindsOutByTheSameCall(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one, two := s.open(t, nil), s.open(t, nil)
	s.sell(t, "CLOCK", 1000)
	s.installGates(t)
	alice := s.customer("alice")
	orders := 0
	for i, m := range moments() {
		ok := t.Run(m.name, func(t *testing.T) {
			cancelled := strings.Count(one.out.String(), `"outcome":"cancelled"`)
			eventually(t, "cartd notices that the client hung up", func() bool {
				f := s.asked(t, two, alice, line{"CLOCK", 1})
				lock := m.stop(t, s, f.cartID)
				req, hangUp := cancellable(f.request(t, one, sayYes))
				lost := make(chan answer, 1)
				go func() { lost <- s.answer(t, req) }()
				lock.waitFor(t, 1)
				hangUp()
				if got := <-lost; got.err == nil {
					t.Fatalf("call that was hung up = %v, want no answer", got)
				}
				// A transaction goes on. The look before it does not.
				if i == 0 {
					eventually(t, "the look is cancelled", func() bool { return s.openTransactions(t) == 0 })
				} else {
					// Time for a wrong server to take it back. A right one passes with any.
					time.Sleep(200 * time.Millisecond)
					lock.waitFor(t, 1)
				}
				lock.release(t)
				eventually(t, "nothing is running", func() bool { return s.openTransactions(t) == 0 })

				var order string
				if i == 0 {
					order = f.send(t, two, sayYes).wantPlaced(t)
				} else {
					order = f.send(t, two, sayYes).wantTold(t, "")
				}
				f.send(t, one, sayYes).wantTold(t, order)
				orders++
				s.wantOrders(t, orders)
				return strings.Count(one.out.String(), `"outcome":"cancelled"`) > cancelled
			})
		})
		if !ok {
			return // the next would count on it
		}
	}
}
