// Package pgtest gives every test an empty PostgreSQL database of its own, with
// nothing to install into the test's environment first.
//
//	var postgres pgtest.Server
//
//	func TestMain(m *testing.M) { os.Exit(postgres.Main(m)) }
//
//	func TestSomething(t *testing.T) {
//		url := postgres.Database(t)
//
// The server is found or started by package localpg when the first test asks
// for a database, so a run that needs none starts none.
package pgtest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
	"time"

	"example.com/mcp-cart/cmd/cartdev/localpg"
)

// startTimeout is generous: a first run with Docker fetches an image.
const startTimeout = 3 * time.Minute

// A Server is one PostgreSQL for all tests of a package. Its zero value is
// ready to use.
type Server struct {
	// Options are for whoever measures; tests leave them as they are.
	Options localpg.Options

	once   sync.Once
	server *localpg.Server
	err    error
}

// Main runs the tests, stops the server if one was started, and returns the
// exit code for [os.Exit].
func (s *Server) Main(m *testing.M) int {
	code := m.Run()
	if s.server == nil {
		return code
	}
	if err := s.server.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "pgtest:", err)
		return max(code, 1)
	}
	return code
}

// Database returns the connection string of a new, empty database, which is
// dropped when the test ends. A machine without PostgreSQL fails the test,
// saying what to install: a test that silently did not run proves nothing.
func (s *Server) Database(t testing.TB) string {
	t.Helper()
	s.once.Do(s.start)
	if s.err != nil {
		t.Fatalf("pgtest: %v", s.err)
	}
	url, drop, err := s.server.CreateDatabase(t.Context())
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	t.Cleanup(func() {
		// The test's own context is over by now.
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := drop(ctx); err != nil {
			t.Errorf("pgtest: %v", err)
		}
	})
	return url
}

func (s *Server) start() {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	s.server, s.err = localpg.Start(ctx, s.Options)
}
