// Package localpg finds or starts a PostgreSQL for people and for tests, on a
// machine where nothing is running yet.
//
// It tries, in this order, and stops at the first that is there:
//
//  1. the server that DATABASE_URL names;
//  2. PostgreSQL's own binaries, run privately: a data directory of their own,
//     a free port on 127.0.0.1, a password nobody else has;
//  3. Docker, through testcontainers.
//
// If none is there, [Start] returns an error that says what to install.
//
// Its laws: what it starts ends with the process that started it, killed -9 or
// not, and leaves no files; nobody else on the machine can log in; and it never
// touches a database of a server it did not start, except for those that
// [Server.CreateDatabase] makes and drops.
//
// Tests use package pgtest, next door.
package localpg

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
)

// minMajor is the oldest PostgreSQL that the store's SQL is written for.
const minMajor = 15

// Options are the choices of whoever starts a server. The zero value is right
// for tests.
type Options struct {
	// Durable keeps fsync on, so that a commit costs what it costs in
	// production. Tests leave it off: their data is thrown away after a crash
	// anyhow, and waiting for the disk is most of their time.
	Durable bool

	// Log receives PostgreSQL's own log. Nil drops it; the last lines are
	// still quoted if the server does not start.
	Log io.Writer
}

// A Server is a PostgreSQL that answers.
type Server struct {
	url    string
	origin string
	close  func() error
}

// errAbsent marks a way of getting a PostgreSQL that this machine does not offer.
var errAbsent = errors.New("not available")

// Start finds or starts a PostgreSQL. The context bounds the start only; the
// server runs until [Server.Close] or until this process ends, whichever is first.
func Start(ctx context.Context, o Options) (*Server, error) {
	if url := os.Getenv("DATABASE_URL"); url != "" {
		return use(ctx, url)
	}
	server, localErr := startLocal(ctx, o)
	if !errors.Is(localErr, errAbsent) {
		return server, localErr
	}
	server, dockerErr := startDocker(ctx)
	if errors.Is(dockerErr, errAbsent) {
		return nil, nothingFound(localErr, dockerErr)
	}
	return server, dockerErr
}

// nothingFound says what to install, and what was tried.
func nothingFound(tried ...error) error {
	return fmt.Errorf(`no PostgreSQL found. One of these is needed:
  - DATABASE_URL set to a PostgreSQL %[1]d or later, whose user may create databases;
  - PostgreSQL %[1]d or later installed, not necessarily running (Debian, Ubuntu: apt-get install postgresql;
    Fedora: dnf install postgresql-server; macOS: brew install postgresql@17);
  - Docker, running.
Tried:
%[2]w`, minMajor, errors.Join(tried...))
}

// use checks the server that the operator named. Nothing of it is ours to stop.
func use(ctx context.Context, url string) (*Server, error) {
	if err := checkVersion(ctx, url); err != nil {
		return nil, fmt.Errorf("use DATABASE_URL: %w", err)
	}
	return &Server{url: url, origin: "DATABASE_URL", close: func() error { return nil }}, nil
}

// URL is the connection string of the server's own database.
func (s *Server) URL() string { return s.url }

// Origin says in a few words where the server came from. It holds no secret.
func (s *Server) Origin() string { return s.origin }

// Close stops the server and removes its files, unless it is the one that
// DATABASE_URL names. Closing twice is the same as closing once.
func (s *Server) Close() error { return s.close() }

// newServer makes a server that is stopped at most once.
func newServer(url, origin string, stop func() error) *Server {
	return &Server{url: url, origin: origin, close: sync.OnceValue(stop)}
}
