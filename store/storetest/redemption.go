package storetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
)

func (s *suite) testRedemption(t *testing.T) {
	t.Run("a flow is redeemed once and says what came of it", func(t *testing.T) {
		key := s.cartOf(t, "T-001")
		c := s.checkout(t, key)
		order, err := c.confirm(t.Context(), s.store)
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.confirm(t.Context(), s.store)
		s.wantRedeemed(t, err, store.OutcomeOrdered, order.ID.Reveal())
		s.wantRedeemed(t, c.decline(t.Context(), s.store), store.OutcomeOrdered, order.ID.Reveal())
		s.wantOrders(t, key.Owner(), 1, 1)
	})
	t.Run("a declined flow orders nothing any more, another one may", func(t *testing.T) {
		key := s.cartOf(t, "T-001")
		c := s.checkout(t, key)
		if err := c.decline(t.Context(), s.store); err != nil {
			t.Fatalf("decline = %v", err)
		}
		_, err := c.confirm(t.Context(), s.store)
		s.wantRedeemed(t, err, "declined", "")
		s.wantOrders(t, key.Owner(), 0, 1)
		if _, err := s.checkout(t, key).confirm(t.Context(), s.store); err != nil {
			t.Errorf("another flow = %v", err)
		}
	})
	t.Run("whether a flow is redeemed can be asked, by its owner only", func(t *testing.T) {
		c := s.checkout(t, s.cartOf(t, "T-001"))
		owner := c.what.Cart.Owner()
		if err := s.store.EarlierOutcome(t.Context(), owner, c.ticket.Flow()); err != nil {
			t.Errorf("Redeemed of a new flow = %v, want nil", err)
		}
		if err := c.decline(t.Context(), s.store); err != nil {
			t.Fatal(err)
		}
		s.wantRedeemed(t, s.store.EarlierOutcome(t.Context(), owner, c.ticket.Flow()), "declined", "")
		if err := s.store.EarlierOutcome(t.Context(), newUser(), c.ticket.Flow()); err != nil {
			t.Errorf("Redeemed for another user = %v, want nil", err)
		}
		if err := s.store.EarlierOutcome(t.Context(), [16]byte{}, c.ticket.Flow()); !errors.Is(err, store.ErrBadKey) {
			t.Errorf("Redeemed for nobody = %v, want ErrBadKey", err)
		}
	})
	t.Run("the same flow id of two users is two flows", func(t *testing.T) {
		var flow requeststate.FlowID
		copy(flow[:], handles.Mint(handles.Cart).Reveal()[5:])
		for range 2 {
			owner := newUser()
			err := s.store.InTx(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				return tx.RedeemOnce(ctx, owner, flow, "declined", "", time.Now().Add(time.Hour))
			})
			if err != nil {
				t.Errorf("RedeemOnce = %v", err)
			}
		}
	})
	t.Run("a redemption outlives its flow by a day", func(t *testing.T) {
		c := s.checkout(t, s.cartOf(t, "T-001"))
		if err := c.decline(t.Context(), s.store); err != nil {
			t.Fatal(err)
		}
		kept := ask[time.Duration](t, s, `SELECT keep_until - redeemed_at FROM redemptions WHERE user_id = $1`, c.what.Cart.Owner())
		if kept < 24*time.Hour+29*time.Minute || kept > 24*time.Hour+31*time.Minute {
			t.Errorf("it is kept for %v, want 24h30m", kept)
		}
	})
	t.Run("nothing is recorded for nobody, or for the past", func(t *testing.T) {
		for name, record := range map[string]func(context.Context, *store.Tx) error{
			"nobody": func(ctx context.Context, tx *store.Tx) error {
				return tx.RedeemOnce(ctx, [16]byte{}, requeststate.FlowID{}, "declined", "", time.Now().Add(time.Hour))
			},
			"the past": func(ctx context.Context, tx *store.Tx) error {
				return tx.RedeemOnce(ctx, newUser(), requeststate.FlowID{}, "declined", "", time.Now().Add(-time.Hour))
			},
		} {
			if err := s.store.InTx(t.Context(), record); err == nil {
				t.Errorf("RedeemOnce for %s succeeded", name)
			}
		}
	})
	t.Run("50 confirmations of one flow at once are one order", func(t *testing.T) {
		sku := s.product(t, 50)
		key := s.cartOf(t, sku)
		c := s.checkout(t, key)
		replicas := []*store.Postgres{s.store, s.open(t, ""), s.open(t, "")}
		got := parallel(t, 50, func(i int) error {
			_, err := c.confirm(t.Context(), replicas[i%3])
			return err
		}, redeemedAs(store.OutcomeOrdered))
		s.wantOneOrder(t, key, sku, got)
	})
	t.Run("50 confirmations of as many flows of one cart at once are one order", func(t *testing.T) {
		sku := s.product(t, 50)
		key := s.cartOf(t, sku)
		flows := make([]checkout, 50)
		for i := range flows {
			flows[i] = s.checkout(t, key)
		}
		replicas := []*store.Postgres{s.store, s.open(t, ""), s.open(t, "")}
		got := parallel(t, len(flows), func(i int) error {
			_, err := flows[i].confirm(t.Context(), replicas[i%3])
			return err
		}, ordered)
		s.wantOneOrder(t, key, sku, got)
	})
	t.Run("of a decline and a confirmation at once one wins", func(t *testing.T) {
		for i := range 20 {
			key := s.cartOf(t, "T-001")
			c := s.checkout(t, key)
			got := parallel(t, 2, func(j int) error {
				if (i+j)%2 == 0 {
					return c.decline(t.Context(), s.store)
				}
				_, err := c.confirm(t.Context(), s.store)
				return err
			}, redeemedAs(store.OutcomeOrdered), redeemedAs("declined"))
			if got[0] != 1 {
				t.Fatalf("%d of the two succeeded, want 1", got[0])
			}
			s.wantOrders(t, key.Owner(), got[1], 1)
		}
	})
	t.Run("a confirmation waits for a decline that is under way", func(t *testing.T) {
		for _, declined := range []bool{true, false} {
			key := s.cartOf(t, "T-001")
			c := s.checkout(t, key)
			under, over := make(chan struct{}), make(chan struct{})
			undo := errors.New("undo")
			first := make(chan error, 1)
			go func() {
				first <- s.store.InTx(context.Background(), func(ctx context.Context, tx *store.Tx) error {
					_, err := c.ticket.Redeem(ctx, tx, "declined", "")
					close(under)
					<-over
					if err == nil && !declined {
						err = undo
					}
					return err
				})
			}()
			<-under
			second := make(chan error, 1)
			go func() { _, err := c.confirm(context.Background(), s.store); second <- err }()
			s.awaitBlocked(t, 1)
			close(over)
			firstErr, secondErr := <-first, <-second
			if declined {
				s.wantRedeemed(t, secondErr, "declined", "")
				s.wantOrders(t, key.Owner(), 0, 1)
				continue
			}
			if !errors.Is(firstErr, undo) || secondErr != nil {
				t.Errorf("an undone decline = %v and the confirmation %v, want it to succeed", firstErr, secondErr)
			}
			s.wantOrders(t, key.Owner(), 1, 1)
		}
	})
}

func (s *suite) wantRedeemed(t testing.TB, err error, outcome, ref string) {
	t.Helper()
	var redeemed *requeststate.RedeemedError
	if !errors.As(err, &redeemed) || redeemed.Outcome != outcome || redeemed.Ref != ref {
		t.Errorf("error = %v, want one that says %s", err, outcome)
	}
}

// wantOneOrder checks that one of 50 confirmations has bought the cart.
func (s *suite) wantOneOrder(t testing.TB, key handles.Key, sku string, counts []int) {
	t.Helper()
	if counts[0] != 1 || counts[1] != 49 {
		t.Errorf("%d confirmations succeeded and %d were told of the order, want 1 and 49", counts[0], counts[1])
	}
	s.wantOrders(t, key.Owner(), 1, 1)
	if stock := s.stock(t, sku); stock != 49 {
		t.Errorf("stock = %d, want 49", stock)
	}
}

// The errors that a parallel call may meet.
func redeemedAs(outcome string) func(error) bool {
	return func(err error) bool {
		redeemed, ok := errors.AsType[*requeststate.RedeemedError](err)
		return ok && redeemed.Outcome == outcome
	}
}

func ordered(err error) bool {
	_, ok := errors.AsType[*store.OrderedError](err)
	return ok
}

func outOfStock(err error) bool {
	_, ok := errors.AsType[*store.OutOfStockError](err)
	return ok
}
