package auth

import (
	"context"
	"math/rand/v2"
	"time"
)

// retryFirst to retryMost is the pause after a failure; it doubles.
const (
	retryFirst = time.Second
	retryMost  = time.Minute
)

// run fetches until the context ends: at once, then regularly, sooner when
// asked, and after a failure again and again with longer pauses.
func (s *keySource) run(ctx context.Context) {
	failures := 0
	for {
		if err := s.refresh(ctx); err != nil {
			failures++
		} else {
			failures = 0
		}
		if !s.waitForTurn(ctx, pause(failures)) {
			return
		}
	}
}

// waitForTurn ends at the regular time, or earlier when asked, but never so
// early that requests decide how often an issuer is asked. It is false when
// the context has ended.
func (s *keySource) waitForTurn(ctx context.Context, regular time.Duration) bool {
	next := time.After(regular)
	var asked <-chan time.Time
	for {
		select {
		case <-ctx.Done():
			return false
		case <-next:
			return true
		case <-asked:
			return true
		case <-s.wake:
			asked = time.After(minGap - s.sinceStart())
		}
	}
}

// refresh makes one fetch and tells who waits for it. A failure of any kind
// keeps the keys there are.
func (s *keySource) refresh(ctx context.Context) error {
	s.mu.Lock()
	if s.round == nil {
		s.round = make(chan struct{})
	}
	select {
	case <-s.wake: // whoever asked until now is served by this fetch
	default:
	}
	s.started = time.Now()
	s.mu.Unlock()

	set, err := s.fetch.keySet(ctx, s.issuer)
	if err == nil {
		s.current.Store(set)
	}
	s.mu.Lock()
	before := s.failed
	s.failed = err
	close(s.round)
	s.round = nil
	s.mu.Unlock()
	s.report(ctx, before, err)
	return err
}

func (s *keySource) report(ctx context.Context, before, now error) {
	switch {
	case ctx.Err() != nil: // shutting down
	case now != nil:
		s.log.WarnContext(ctx, "keys of an issuer not fetched", "err", now)
	case before != nil:
		s.log.InfoContext(ctx, "keys of an issuer fetched again")
	}
}

func (s *keySource) sinceStart() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Since(s.started)
}

// pause is a little random, so that replicas that failed together do not come
// back together.
func pause(failures int) time.Duration {
	d := refreshEvery
	if failures > 0 {
		d = min(retryFirst<<min(failures-1, 10), retryMost)
	}
	return d - rand.N(d/5)
}
