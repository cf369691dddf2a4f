package main

import (
	"fmt"
	"testing"
)

// A gate is a place in the transaction of a confirmation where a test can make
// it wait, and let things happen to it.
type gate int

const (
	atRedemption gate = iota + 1
	atStock           // the redemption is written; the cart and its products are locked
	atOrder           // the stock is taken
	atCart            // the order is written
	atCommit          // everything is written, and COMMIT has been sent
)

// installGates makes the gates, all open. A confirmation passes by taking a
// lock that it shares with all others, and a test closes a gate by taking it alone.
func (s *shop) installGates(t testing.TB) {
	t.Helper()
	s.do(t, `CREATE FUNCTION gate() RETURNS trigger LANGUAGE plpgsql AS
		$$ BEGIN PERFORM pg_advisory_xact_lock_shared(7, TG_ARGV[0]::int); RETURN new; END $$`)
	for _, trigger := range gateTriggers("gate") {
		s.do(t, trigger)
	}
}

// gateTriggers runs a function at each gate, with the number of the gate.
func gateTriggers(function string) map[gate]string {
	const form = `CREATE %s TRIGGER %s %s FOR EACH ROW EXECUTE FUNCTION %s(%d)`
	triggers := map[gate]string{}
	for g, when := range map[gate]string{
		atRedemption: "BEFORE INSERT ON redemptions",
		atStock:      "BEFORE UPDATE ON products",
		atOrder:      "BEFORE INSERT ON orders",
		atCart:       "BEFORE UPDATE ON carts",
	} {
		triggers[g] = fmt.Sprintf(form, "", function, when, function, g)
	}
	triggers[atCommit] = fmt.Sprintf(form, "CONSTRAINT", function+"_commit",
		"AFTER INSERT ON redemptions DEFERRABLE INITIALLY DEFERRED", function, atCommit)
	return triggers
}

func (s *shop) closeGate(t testing.TB, g gate) *lock {
	t.Helper()
	return s.hold(t, `SELECT pg_advisory_xact_lock(7, $1)`, int(g))
}

// A moment is one in the life of a confirmation.
type moment struct {
	name string
	stop func(t testing.TB, s *shop, cartID string) *lock // makes a confirmation wait just then
	// committing says that nothing but the end of the database can stop it any more.
	committing bool
}

// moments are all that can be told apart from outside, in their order.
func moments() []moment {
	at := func(g gate) func(testing.TB, *shop, string) *lock {
		return func(t testing.TB, s *shop, _ string) *lock { return s.closeGate(t, g) }
	}
	return []moment{
		{name: "before anything", stop: func(t testing.TB, s *shop, _ string) *lock {
			return s.hold(t, `LOCK TABLE redemptions IN ACCESS EXCLUSIVE MODE`)
		}},
		{name: "as it redeems", stop: at(atRedemption)},
		{name: "as it waits for the cart", stop: func(t testing.TB, s *shop, cartID string) *lock { return s.holdCart(t, cartID) }},
		{name: "as it waits for a product", stop: func(t testing.TB, s *shop, _ string) *lock {
			return s.hold(t, `SELECT FROM products FOR UPDATE`)
		}},
		{name: "as it takes the stock", stop: at(atStock)},
		{name: "as it writes the order", stop: at(atOrder)},
		{name: "as it closes the cart", stop: at(atCart)},
		{name: "as it commits", stop: at(atCommit), committing: true},
	}
}
