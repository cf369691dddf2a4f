package main

import "testing"

// openTapped starts a replica whose COMMITs can be caught.
func (s *shop) openTapped(t testing.TB, db string) (*replica, *tap) {
	t.Helper()
	p, through := tapped(t, db)
	return s.open(t, map[string]string{"DATABASE_URL": through}), p
}

func TestReplicaKilledBetweenCommitAndAnswerLeavesOneOrder(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one, tap := s.openTapped(t, s.db)
	two := s.open(t, nil)
	s.sell(t, "CLOCK", 10)
	f := s.asked(t, one, s.customer("alice"), line{"CLOCK", 2})

	tap.arm()
	lost := f.sendLater(t, one, sayYes)
	commit := tap.next(t)
	s.wantOrders(t, 0)
	commit.deliver(t)
	s.wantOrders(t, 1)
	one.kill(t)
	if got := <-lost; got.err == nil {
		t.Errorf("call to a replica that was killed = %v, want a broken connection", got)
	}
	order := f.send(t, two, sayYes).wantTold(t, "")
	f.begun().send(t, two, "").wantTold(t, order)
	s.wantOrders(t, 1)
}

func TestReplicaKilledBeforeItsCommitArrivesLeavesNothing(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one, tap := s.openTapped(t, s.db)
	two := s.open(t, nil)
	s.sell(t, "CLOCK", 10)
	f := s.asked(t, one, s.customer("alice"), line{"CLOCK", 2})

	tap.arm()
	lost := f.sendLater(t, one, sayYes)
	commit := tap.next(t)
	one.kill(t)
	<-lost
	commit.cut()
	s.wantOrders(t, 0)
	f.send(t, two, sayYes).wantPlaced(t)
	s.wantOrders(t, 1)
}

// A connection that breaks during COMMIT does not say whether there was an order.
// The replica finds out before it answers.
func TestConnectionCutDuringCommitIsOneOrderOrNoneAndKnown(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one, tap := s.openTapped(t, s.db)
	two := s.open(t, nil)
	s.sell(t, "CLOCK", 10)
	s.installGates(t)
	alice := s.customer("alice")
	orders := 0
	for _, test := range []struct {
		name        string
		fate        func(*testing.T, *caughtCommit)
		loseCancels bool
		ordered     bool
	}{
		{"after it was done", func(t *testing.T, c *caughtCommit) { c.deliver(t); c.cut() }, false, true},
		{"while it runs", func(t *testing.T, c *caughtCommit) {
			lock := s.closeGate(t, atCommit)
			c.send(t)
			lock.waitFor(t, 1)
			c.cut()
			lock.waitFor(t, 2) // whoever wants to know has to wait for it
			lock.release(t)
		}, true, true},
		// The driver asks the database to stop what nobody hears of any more.
		{"while it runs, and it is cancelled", func(t *testing.T, c *caughtCommit) {
			lock := s.closeGate(t, atCommit)
			c.send(t)
			lock.waitFor(t, 1)
			c.cut()
			eventually(t, "COMMIT is cancelled", func() bool { return s.openTransactions(t) == 0 })
			lock.release(t)
		}, false, false},
	} {
		ok := t.Run(test.name, func(t *testing.T) {
			f := s.asked(t, one, alice, line{"CLOCK", 1})
			tap.lose(test.loseCancels)
			tap.arm()
			confirmed := f.sendLater(t, one, sayYes)
			test.fate(t, tap.next(t))
			got := <-confirmed
			if !test.ordered {
				if !got.retryable() {
					t.Errorf("confirmation whose COMMIT was cancelled = %v, want a tool error that says to make the same call again", got)
				}
				s.wantOrders(t, orders)
				got = f.send(t, two, sayYes)
			}
			order := got.wantPlaced(t)
			orders++
			s.wantOrders(t, orders)
			f.send(t, one, sayYes).wantTold(t, order)
			f.send(t, two, sayYes).wantTold(t, order)
			s.wantOrders(t, orders)
		})
		if !ok {
			return // the next would count on it
		}
	}
}

func TestConnectionCutBeforeCommitIsNoOrderAndTheSameCallOrders(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one, tap := s.openTapped(t, s.db)
	s.sell(t, "CLOCK", 10)
	f := s.asked(t, one, s.customer("alice"), line{"CLOCK", 2})
	tap.arm()
	confirmed := f.sendLater(t, one, sayYes)
	tap.next(t).cut()
	if got := <-confirmed; !got.retryable() {
		t.Errorf("confirmation whose COMMIT got lost = %v, want a tool error that says to make the same call again", got)
	}
	s.wantOrders(t, 0)
	f.send(t, one, sayYes).wantPlaced(t)
	s.wantOrders(t, 1)
}

// Nobody can find out what became of a COMMIT while the database is gone. But
// whoever makes the same call afterwards is told.
func TestDatabaseGoneAfterCommitIsToldLater(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	cable, db := s.throughCable(t)
	one, tap := s.openTapped(t, db)
	s.sell(t, "CLOCK", 10)
	alice := s.customer("alice")
	for i, committed := range []bool{true, false} {
		f := s.asked(t, one, alice, line{"CLOCK", 1})
		tap.arm()
		confirmed := f.sendLater(t, one, sayYes)
		commit := tap.next(t)
		if committed {
			commit.deliver(t)
		}
		cable.Cut()
		commit.cut()
		if got := <-confirmed; !got.retryable() {
			t.Errorf("confirmation without a database = %v, want a tool error that says to make the same call again", got)
		}
		if got := f.send(t, one, sayYes); !got.retryable() {
			t.Errorf("the same call without a database = %v, want a tool error that says to make the same call again", got)
		}
		cable.Mend()
		var got answer
		eventually(t, "the same call reaches the database", func() bool {
			got = f.send(t, one, sayYes)
			return !got.retryable()
		})
		if committed {
			got.wantTold(t, "")
		} else {
			got.wantPlaced(t)
		}
		s.wantOrders(t, i+1)
	}
}

// A network that swallows the answer to COMMIT and says nothing makes the caller
// wait, but not for ever, and not guess.
func TestSilenceAfterCommitIsOneOrderAndKnown(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one, tap := s.openTapped(t, s.db)
	s.sell(t, "CLOCK", 10)
	f := s.asked(t, one, s.customer("alice"), line{"CLOCK", 2})
	tap.arm()
	confirmed := f.sendLater(t, one, sayYes)
	commit := tap.next(t)
	commit.deliver(t)
	order := (<-confirmed).wantPlaced(t)
	commit.cut()
	f.send(t, one, sayYes).wantTold(t, order)
	s.wantOrders(t, 1)
}
