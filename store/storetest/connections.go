package storetest

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/mcp-cart/handles"
	"example.com/mcp-cart/store"
)

func (s *suite) testRoundTrips(t *testing.T) {
	var trips atomic.Int64
	p := s.open(t, "&pool_max_conns=1", store.CountRoundTrips(&trips))
	if err := p.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	key := s.newCart(t)
	calls := []call{createCall()}
	calls = append(calls, cartCalls()...)
	calls = append(calls,
		call{"Carts", func(ctx context.Context, p *store.Postgres, key handles.Key) error {
			_, err := p.Carts(ctx, key.Owner())
			return err
		}},
		call{"SearchProducts", func(ctx context.Context, p *store.Postgres, _ handles.Key) error {
			_, err := p.SearchProducts(ctx, "thing", "", 10)
			return err
		}})
	// A call that is refused costs no more, and neither does the one after it.
	for _, round := range []struct {
		name string
		key  handles.Key
	}{{"first", key}, {"second", key}, {"foreign", foreign(key)}} {
		for _, call := range calls {
			if call.name == "CreateCart" {
				round.key = newKey(round.key.Owner())
			}
			before := trips.Load()
			err := call.do(t.Context(), p, round.key)
			if got := trips.Load() - before; got != 1 {
				t.Errorf("%s, %s = %v in %d round trips, want 1", round.name, call.name, err, got)
			}
		}
	}
	before := trips.Load()
	_, err := p.SetItem(t.Context(), key, "\x00", 1)
	_, again := p.SetItem(t.Context(), key, "T-002", 1)
	if got := trips.Load() - before; got != 2 {
		t.Errorf("an invalid call and another (%v, %v) took %d round trips, want 2", err, again, got)
	}
}

// A single is a store of one connection whose server process is known.
type single struct {
	*store.Postgres
	s    *suite
	name string
}

func (s *suite) single(t *testing.T, name string) single {
	t.Helper()
	p := single{s.open(t, "&pool_max_conns=1&application_name="+name), s, name}
	if err := p.Ping(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

const backends = `FROM pg_stat_activity WHERE datname = current_database() AND application_name = $1`

func (p single) backend(t *testing.T) int {
	t.Helper()
	return ask[int](t, p.s, `SELECT coalesce(max(pid), 0) `+backends, p.name)
}

func (p single) awaitBlocked(t *testing.T) {
	t.Helper()
	p.s.eventually(t, "the call to block", `SELECT count(*) = 1 `+backends+` AND wait_event_type = 'Lock'`, p.name)
}

func (s *suite) testConnections(t *testing.T) {
	t.Run("a cancelled read is over at once and keeps its connection", func(t *testing.T) {
		p, key := s.single(t, "cancelled_read"), s.newCart(t)
		backend := p.backend(t)
		_, commit := s.hold(t, `LOCK TABLE carts IN ACCESS EXCLUSIVE MODE`)
		ctx, hangUp := context.WithCancel(t.Context())
		result := make(chan error, 1)
		go func() { _, err := p.Cart(ctx, key); result <- err }()
		p.awaitBlocked(t)
		hangUp()
		if err := <-result; !errors.Is(err, context.Canceled) {
			t.Errorf("Cart = %v, want context.Canceled", err)
		}
		commit()
		if _, err := p.Cart(t.Context(), key); err != nil {
			t.Errorf("the next Cart = %v", err)
		}
		if got := p.backend(t); got != backend {
			t.Errorf("the connection was replaced: server process %d, then %d", backend, got)
		}
	})
	t.Run("a read over its deadline is busy", func(t *testing.T) {
		p, key := s.single(t, "late_read"), s.newCart(t)
		_, commit := s.hold(t, `LOCK TABLE carts IN ACCESS EXCLUSIVE MODE`)
		defer commit()
		slow := s.open(t, "&statement_timeout=50")
		if _, err := slow.Cart(t.Context(), key); !errors.Is(err, store.ErrBusy) {
			t.Errorf("Cart over the statement timeout = %v, want ErrBusy", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 1)
		defer cancel()
		if _, err := p.Cart(ctx, key); !errors.Is(err, store.ErrBusy) {
			t.Errorf("Cart over its caller's deadline = %v, want ErrBusy", err)
		}
	})
	for _, call := range cartCalls()[1:] {
		t.Run("a hang-up does not stop "+call.name+" once it was sent", func(t *testing.T) {
			p, key := s.single(t, "hang_up"), s.newCart(t)
			s.set(t, key, "T-001", 1)
			backend, before := p.backend(t), s.row(t, key)
			_, commit := s.hold(t, `SELECT FROM carts WHERE user_id = $1 FOR UPDATE`, key.Owner())
			ctx, hangUp := context.WithCancel(t.Context())
			result := make(chan error, 1)
			go func() { result <- call.do(ctx, p.Postgres, key) }()
			p.awaitBlocked(t)
			hangUp()
			// Time enough for a cancellation to do its work, were there one.
			select {
			case err := <-result:
				t.Fatalf("%s ended with its caller: %v", call.name, err)
			case <-time.After(300 * time.Millisecond):
			}
			commit()
			if err := <-result; err != nil {
				t.Errorf("%s = %v, want success", call.name, err)
			}
			if s.row(t, key) == before {
				t.Errorf("%s said it succeeded and wrote nothing", call.name)
			}
			if got := p.backend(t); got != backend {
				t.Errorf("the connection was replaced: server process %d, then %d", backend, got)
			}
		})
		t.Run("a hang-up before "+call.name+" was sent leaves nothing", func(t *testing.T) {
			key := s.newCart(t)
			before := s.row(t, key)
			ctx, hangUp := context.WithCancel(t.Context())
			hangUp()
			if err := call.do(ctx, s.store, key); !errors.Is(err, context.Canceled) {
				t.Errorf("%s = %v, want context.Canceled", call.name, err)
			}
			if after := s.row(t, key); after != before {
				t.Errorf("the cart changed to %s", after)
			}
		})
	}
	t.Run("a lost connection is unavailable, and the next call works", func(t *testing.T) {
		p, key := s.single(t, "terminated"), s.newCart(t)
		before := s.row(t, key)
		_, commit := s.hold(t, `SELECT FROM carts WHERE user_id = $1 FOR UPDATE`, key.Owner())
		result := make(chan error, 1)
		go func() { _, err := p.SetItem(t.Context(), key, "T-001", 1); result <- err }()
		p.awaitBlocked(t)
		s.exec(t, `SELECT pg_terminate_backend($1)`, p.backend(t))
		if err := <-result; !errors.Is(err, store.ErrUnavailable) {
			t.Errorf("SetItem = %v, want ErrUnavailable", err)
		}
		commit()
		if after := s.row(t, key); after != before {
			t.Errorf("the cart changed to %s", after)
		}
		if _, err := p.SetItem(t.Context(), key, "T-001", 1); err != nil {
			t.Errorf("the next SetItem = %v", err)
		}
	})
	t.Run("a lock that somebody keeps is not waited for long", func(t *testing.T) {
		key := s.newCart(t)
		hasty, err := store.Open(t.Context(), strings.TrimSuffix(s.url, patientLocks)+"&statement_timeout=30s")
		if err != nil {
			t.Fatal(err)
		}
		defer hasty.Close()
		before := s.row(t, key)
		_, commit := s.hold(t, `SELECT FROM carts WHERE user_id = $1 FOR UPDATE`, key.Owner())
		_, err = hasty.SetItem(t.Context(), key, "T-001", 1)
		commit()
		// Not after the 15 s that a write may take: its own timeout has another text.
		if !errors.Is(err, store.ErrBusy) || !strings.Contains(err.Error(), "55P03") {
			t.Errorf("SetItem = %v, want ErrBusy because of the lock", err)
		}
		if after := s.row(t, key); after != before {
			t.Errorf("the cart changed from %s to %s", before, after)
		}
	})
	t.Run("a pool with no free connection is busy", func(t *testing.T) {
		p, key := s.single(t, "exhausted"), s.newCart(t)
		_, commit := s.hold(t, `SELECT FROM carts WHERE user_id = $1 FOR UPDATE`, key.Owner())
		result := make(chan error, 1)
		go func() { _, err := p.SetItem(t.Context(), key, "T-001", 1); result <- err }()
		p.awaitBlocked(t)
		ctx, cancel := context.WithTimeout(t.Context(), 1)
		defer cancel()
		if _, err := p.Cart(ctx, key); !errors.Is(err, store.ErrBusy) {
			t.Errorf("Cart = %v, want ErrBusy", err)
		}
		commit()
		if err := <-result; err != nil {
			t.Errorf("SetItem = %v", err)
		}
	})
}
