package main

import (
	"fmt"
	"strings"
	"testing"
)

func TestReplicaKilledDuringAConfirmationLeavesOneOrderOrNone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	two := s.open(t, nil)
	s.sell(t, "CLOCK", 100)
	s.installGates(t)
	alice := s.customer("alice")
	for i, m := range moments() {
		ok := t.Run(m.name, func(t *testing.T) {
			one := s.open(t, nil)
			f := s.asked(t, one, alice, line{"CLOCK", 1})
			lock := m.stop(t, s, f.cartID)
			lost := f.sendLater(t, one, sayYes)
			lock.waitFor(t, 1)
			one.kill(t)
			if got := <-lost; got.err == nil {
				t.Errorf("call to a replica that was killed = %v, want a broken connection", got)
			}
			// The database has not noticed yet: the dead one's locks are still held.
			retried := f.sendLater(t, two, sayYes)
			lock.waitFor(t, 2)
			lock.release(t)

			var order string
			if got := <-retried; m.committing {
				order = got.wantTold(t, "")
			} else {
				order = got.wantPlaced(t)
			}
			s.wantOrders(t, i+1)
			f.send(t, two, sayYes).wantTold(t, order)
			s.wantOrders(t, i+1)
			eventually(t, "no transaction is left open", func() bool { return s.openTransactions(t) == 0 })
		})
		if !ok {
			return // the next would count on it
		}
	}
}

func (s *shop) openTransactions(t testing.TB) int {
	t.Helper()
	return s.count(t, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
		AND application_name = 'mcp-cart' AND xact_start IS NOT NULL`)
}

func TestSessionEndedDuringAConfirmationLeavesNothingHalfDone(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one, two := s.open(t, nil), s.open(t, nil)
	s.sell(t, "CLOCK", 100)
	s.installGates(t)
	alice := s.customer("alice")
	for i, m := range moments() {
		ok := t.Run(m.name, func(t *testing.T) {
			f := s.asked(t, two, alice, line{"CLOCK", 1})
			lock := m.stop(t, s, f.cartID)
			ended := f.sendLater(t, one, sayYes)
			lock.waitFor(t, 1)
			s.do(t, `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
				WHERE datname = current_database() AND application_name = 'mcp-cart' AND wait_event_type = 'Lock'`)
			// It does not wait for our lock to find out that nothing happened.
			if got := <-ended; !got.retryable() {
				t.Errorf("confirmation whose session ended = %v, want a tool error that says to make the same call again", got)
			}
			lock.release(t)
			s.wantOrders(t, i)
			order := f.send(t, two, sayYes).wantPlaced(t)
			f.send(t, one, sayYes).wantTold(t, order)
			s.wantOrders(t, i+1)
		})
		if !ok {
			return // the next would count on it
		}
	}
}

// A confirmation that the database rolls back because of others is made again,
// and if that does not help either it was as if it had not been made.
func TestDeadlockDuringAConfirmationReachesNobody(t *testing.T) {
	t.Parallel()
	s := newShop(t)
	one, two := s.open(t, nil), s.open(t, nil)
	s.sell(t, "CLOCK", 100)
	// A sequence does not roll back, so it counts the attempts.
	s.do(t, `CREATE SEQUENCE attempts MINVALUE -1000`)
	s.do(t, `CREATE FUNCTION stumble() RETURNS trigger LANGUAGE plpgsql AS $$
		BEGIN
			IF nextval('attempts') <= 0 THEN RAISE EXCEPTION 'stumbled' USING ERRCODE = CASE currval('attempts') % 2 WHEN 0 THEN '40P01' ELSE '40001' END; END IF;
			RETURN new;
		END $$`)
	alice := s.customer("alice")
	orders := 0
	for g, trigger := range gateTriggers("stumble") {
		ok := t.Run(fmt.Sprint("gate ", g), func(t *testing.T) {
			s.do(t, `SELECT setval('attempts', 1)`)
			once, forever := s.asked(t, one, alice, line{"CLOCK", 1}), s.asked(t, two, alice, line{"CLOCK", 1})
			s.do(t, trigger)

			s.do(t, `SELECT setval('attempts', -2)`) // two attempts fail
			once.send(t, one, sayYes).wantPlaced(t)
			orders++
			s.wantOrders(t, orders)

			s.do(t, `SELECT setval('attempts', -1000)`)
			if got := forever.send(t, one, sayYes); !got.retryable() || strings.Contains(got.body, "stumbled") {
				t.Errorf("confirmation that loses every time = %v, want a tool error that says to make the same call again", got)
			}
			s.wantOrders(t, orders)
			s.do(t, `SELECT setval('attempts', 1)`)
			forever.send(t, two, sayYes).wantPlaced(t)
			orders++
			s.wantOrders(t, orders)

			name, table := "stumble", strings.Fields(trigger[strings.Index(trigger, " ON "):])[1]
			if g == atCommit {
				name = "stumble_commit"
			}
			s.do(t, `DROP TRIGGER `+name+` ON `+table)
		})
		if !ok {
			return // the next would count on it
		}
	}
}
