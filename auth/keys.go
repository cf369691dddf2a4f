package auth

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/MicahParks/jwkset"
	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
)

// When keys are fetched. Together these promise: a new key is known within
// minGap plus one fetch of its first use, even while others send made-up key
// names; a withdrawn key is forgotten within refreshEvery; and requests, however
// many, cause at most one fetch per minGap from each replica.
const (
	refreshEvery = 5 * time.Minute
	minGap       = 5 * time.Second

	// maxWait and maxWaiting bound how long, and how many, requests wait for
	// the fetch that their unknown key name has caused.
	maxWait    = 2 * time.Second
	maxWaiting = 64

	// maxStale is how long an outage is ridden out. Beyond it nobody could
	// have withdrawn a stolen key for a day.
	maxStale = 24 * time.Hour
)

// keySource has the keys of one issuer: read by every request, replaced by
// one goroutine ([keySource.run]).
type keySource struct {
	issuer Issuer
	fetch  fetcher
	log    *slog.Logger
	wake   chan struct{} // asks run for a fetch before the next regular one

	current atomic.Pointer[keySet]

	mu      sync.Mutex
	round   chan struct{} // the fetch that is asked for or under way; closed when it is over
	started time.Time     // the last fetch
	failed  error         // how the last fetch ended
	waiting int
}

// keySet is what one successful fetch brought. It never changes.
type keySet struct {
	find    keyfunc.Keyfunc
	count   int
	fetched time.Time
}

func newKeySource(issuer Issuer, fetch fetcher, log *slog.Logger) *keySource {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	return &keySource{issuer: issuer, fetch: fetch, log: log.With("issuer", issuer.URL), wake: make(chan struct{}, 1)}
}

// key finds the key that the token names. Only an unknown name makes it look
// for newer keys.
func (s *keySource) key(ctx context.Context, token *jwt.Token) (any, error) {
	key, err := s.lookUp(ctx, token)
	if !errors.Is(err, badKID) {
		return key, err
	}
	asked := s.awaitNewer(ctx)
	key, err = s.lookUp(ctx, token)
	if errors.Is(err, badKID) && !(asked && s.lastError() == nil) {
		// The name may be that of a new key: "bad token" would be a guess.
		return nil, ErrUnavailable
	}
	return key, err
}

func (s *keySource) lookUp(ctx context.Context, token *jwt.Token) (any, error) {
	set := s.current.Load()
	if set == nil || time.Since(set.fetched) > maxStale {
		return nil, ErrUnavailable
	}
	key, err := set.find.KeyfuncCtx(ctx)(token)
	switch {
	case errors.Is(err, jwkset.ErrKeyNotFound):
		return nil, badKID
	case err != nil: // the key is published for another algorithm
		return nil, badAlg
	default:
		return key, nil
	}
}

// awaitNewer says whether the issuer has been asked just now. If a fetch may
// begin or is under way, it waits for its end; if the last one is too recent,
// that one has to do, so that a flood of made-up names costs no more than the
// answer to each.
func (s *keySource) awaitNewer(ctx context.Context) bool {
	round, recent := s.join()
	if round == nil {
		return recent
	}
	defer s.leave()
	ctx, cancel := context.WithTimeout(ctx, maxWait)
	defer cancel()
	select {
	case <-round:
		return true
	case <-ctx.Done():
		return false
	}
}

// join returns the fetch to wait for. There is none if the last one is recent,
// or if too many are waiting already.
func (s *keySource) join() (round <-chan struct{}, recent bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.round == nil {
		select {
		case s.wake <- struct{}{}:
		default: // asked already
		}
		if time.Since(s.started) < minGap {
			return nil, true
		}
		s.round = make(chan struct{})
	}
	if s.waiting >= maxWaiting {
		return nil, false
	}
	s.waiting++
	return s.round, false
}

func (s *keySource) leave() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waiting--
}

func (s *keySource) lastError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.failed
}
