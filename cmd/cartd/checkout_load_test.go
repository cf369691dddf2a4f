package main

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A load is people who buy, one checkout after the other, each round on another
// replica than the one before.
type load struct {
	shop     *shop
	replicas []*keyed
	sku      string
	flows    []atomic.Int64 // that came to their end, of each person
	over     atomic.Bool
	running  sync.WaitGroup
}

func (s *shop) startLoad(t testing.TB, replicas []*keyed, sku string) *load {
	t.Helper()
	l := &load{shop: s, replicas: replicas, sku: sku, flows: make([]atomic.Int64, 3)}
	for i := range l.flows {
		token := s.customer(fmt.Sprint("person-", i))
		session := replicas[i%len(replicas)].with(t, token)
		l.running.Go(func() { l.person(t, i, session, token) })
	}
	t.Cleanup(func() {
		l.over.Store(true)
		l.running.Wait()
	})
	return l
}

func (l *load) person(t testing.TB, i int, session *mcp.ClientSession, token string) {
	for n := i; !l.over.Load(); n++ {
		made, failed := ask[cart](t, session, "cart_create", nil)
		if failed == "" {
			_, failed = ask[cart](t, session, "cart_set_item", setItem(made.CartID, l.sku, 1))
		}
		if failed != "" {
			t.Errorf("person %d has no cart: %s", i, failed)
			return
		}
		if !l.checkout(t, n, flow{shop: l.shop, token: token, cartID: made.CartID}) {
			return
		}
		l.flows[i].Add(1)
	}
}

// checkout makes all rounds and reports whether they led to an order.
func (l *load) checkout(t testing.TB, n int, f flow) bool {
	var got answer
	for round, answers := range []string{"", pickStandard, sayYes} {
		got = f.send(t, l.replicas[(n+round)%len(l.replicas)].replica, answers)
		if f.state = got.Result.RequestState; f.state == "" {
			break
		}
	}
	if got.placed() == "" {
		t.Errorf("checkout under load = %v, want an order", got)
		return false
	}
	return true
}

// endsItsFlows returns when everybody has ended the flow that they were in.
func (l *load) endsItsFlows(t testing.TB) {
	t.Helper()
	l.await(t, 1)
}

// goesOn returns when everybody has then begun and ended another one.
func (l *load) goesOn(t testing.TB) {
	t.Helper()
	l.await(t, 2)
}

func (l *load) await(t testing.TB, more int64) {
	t.Helper()
	for i := range l.flows {
		from := l.flows[i].Load()
		eventually(t, "the load goes on", func() bool {
			if t.Failed() {
				t.FailNow() // it has ended
			}
			return l.flows[i].Load() >= from+more
		})
	}
}

// stop ends the load and returns how many orders it made.
func (l *load) stop(t testing.TB) (orders int) {
	t.Helper()
	l.over.Store(true)
	l.running.Wait()
	for i := range l.flows {
		orders += int(l.flows[i].Load())
	}
	return orders
}
