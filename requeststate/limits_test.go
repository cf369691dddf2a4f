package requeststate

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

func TestRoundLivesFiveMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealer(t, oldKey)
		token := begin(t, s)
		time.Sleep(5*time.Minute - time.Millisecond)
		open(t, s, token)
		time.Sleep(time.Millisecond)
		_, err := s.Open(alice(), token)
		wantRefused(t, err, ErrExpired)
	})
}

func TestFlowLivesThirtyMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealer(t, oldKey)
		token := begin(t, s)
		for range 6 { // to 29 min 59.994 s
			time.Sleep(5*time.Minute - time.Millisecond)
			next, err := open(t, s, token).Continue("shipping", nil)
			if err != nil {
				t.Fatalf("Continue = %v", err)
			}
			token = next
		}
		time.Sleep(5 * time.Millisecond)
		ticket := open(t, s, token)
		time.Sleep(time.Millisecond) // 30 min exactly
		_, err := s.Open(alice(), token)
		wantRefused(t, err, ErrFlowExpired)
		if _, err := ticket.Continue("shipping", nil); !errors.Is(err, ErrFlowEnded) {
			t.Errorf("Continue after 30 min = %v, want ErrFlowEnded", err)
		}
	})
}

func TestFlowHasEightRounds(t *testing.T) {
	s := newSealer(t, oldKey)
	ticket := open(t, s, begin(t, s))
	flow := ticket.Flow()
	for want := 1; ; want++ {
		if ticket.Round() != want || ticket.Flow() != flow {
			t.Fatalf("Round, Flow = %d, %s, want %d, %s", ticket.Round(), ticket.Flow(), want, flow)
		}
		token, err := ticket.Continue("confirm", nil)
		if want == 8 {
			if !errors.Is(err, ErrFlowEnded) || errors.Is(err, ErrInvalid) {
				t.Errorf("Continue in round 8 = %v, want ErrFlowEnded", err)
			}
			return
		}
		if err != nil {
			t.Fatalf("Continue in round %d = %v", want, err)
		}
		ticket = open(t, s, token)
	}
}

func TestClocksMayBeAMinuteApart(t *testing.T) {
	s := newSealer(t, oldKey)
	now := time.UnixMilli(1_786_000_000_000)
	token := forge(t, s, now, nil)
	if _, err := s.openAt(alice(), token, now.Add(-time.Minute)); err != nil {
		t.Errorf("Open 60 s before it was made = %v (%s), want a ticket", err, Check(err))
	}
	_, err := s.openAt(alice(), token, now.Add(-time.Minute-time.Millisecond))
	wantRefused(t, err, ErrIssuedAhead)
}

func TestRedemptionOutlivesTheFlowByADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newSealer(t, oldKey)
		start := time.Now()
		token := begin(t, s)
		time.Sleep(4 * time.Minute)
		token, err := open(t, s, token).Continue("confirm", nil)
		if err != nil {
			t.Fatal(err)
		}
		var l ledger
		if _, err := open(t, s, token).Redeem(t.Context(), &l, "ordered", "ord_1"); err != nil {
			t.Fatalf("Redeem = %v", err)
		}
		if want := start.Add(30*time.Minute + 24*time.Hour); !l.keep.Equal(want) {
			t.Errorf("keepUntil = %v, want %v", l.keep, want)
		}
	})
}
