package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// readyFor is how long an answer about readiness is good. /readyz needs no token
// and is asked by strangers too: it must not be a way to the database.
const readyFor = time.Second

type readiness struct {
	mu       sync.Mutex
	draining bool
	asked    time.Time
	err      error
}

// Drain makes the server say that it is not ready, while it goes on serving.
func (s *Server) Drain() {
	s.readiness.mu.Lock()
	defer s.readiness.mu.Unlock()
	s.readiness.draining = true
}

// Ready says what is missing before calls can be served, or nil. The answer may
// be a second old.
func (s *Server) Ready(ctx context.Context) error {
	r := &s.readiness
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.draining {
		return errors.New("shutting down")
	}
	if time.Since(r.asked) < readyFor {
		return r.err
	}
	// One caller's going away must not be everybody's answer.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if r.err = s.checkReady(ctx); r.err != nil {
		s.log.WarnContext(ctx, "not ready", "err", r.err)
	}
	r.asked = time.Now()
	return r.err
}

func (s *Server) checkReady(ctx context.Context) error {
	if err := s.cfg.Verifier.Ready(); err != nil {
		return fmt.Errorf("issuer keys: %w", err)
	}
	if err := s.store.CheckSchema(ctx); err != nil {
		return fmt.Errorf("database: %w", err)
	}
	return nil
}

// readyz tells a load balancer yes or no. The reason is on the metrics port and
// in the log, for operators.
func (s *Server) readyz(w http.ResponseWriter, r *http.Request) {
	if s.Ready(r.Context()) != nil {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	w.WriteHeader(http.StatusOK)
}
