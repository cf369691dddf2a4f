//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	"example.com/mcp-cart/cmd/cartdev/leash"
	"example.com/mcp-cart/cmd/cartdev/localpg"
)

const (
	databaseTimeout = 5 * time.Minute // a first run with Docker fetches an image
	readyTimeout    = time.Minute
)

// run starts everything, says so, and returns when the context is done or
// something ended that should not have. What it started has ended by then.
func run(ctx context.Context, c config, console *console) error {
	s := &stack{config: c, console: console}
	err := s.up(ctx)
	if ctx.Err() != nil {
		err = nil // we were told to stop; how far we had come does not matter
		console.say("stopping …")
	}
	return errors.Join(err, s.down())
}

// A stack is what runs, bottom first.
type stack struct {
	config  config
	console *console
	undo    []func() error
}

// down ends what up has started, in reverse order.
func (s *stack) down() error {
	var errs []error
	for i := len(s.undo) - 1; i >= 0; i-- {
		errs = append(errs, s.undo[i]())
	}
	return errors.Join(errs...)
}

func (s *stack) up(ctx context.Context) error {
	if err := errors.Join(s.config.cartd.checkFree(), s.config.devauth.checkFree()); err != nil {
		return err
	}
	dir, remove, err := leash.TempDir(os.TempDir(), "cartdev-")
	if err != nil {
		return err
	}
	s.undo = append(s.undo, remove)
	bin, err := build(ctx, dir, s.console)
	if err != nil {
		return err
	}
	keyRing := filepath.Join(dir, "request-state-keys")
	if err := bin.writeKeyRing(ctx, keyRing); err != nil {
		return err
	}
	databaseURL, err := s.startDatabase(ctx)
	if err != nil {
		return err
	}
	return s.serve(ctx, bin, s.config.environment(os.Environ(), databaseURL, keyRing))
}

func (s *stack) startDatabase(ctx context.Context) (string, error) {
	s.console.say("finding or starting a PostgreSQL …")
	ctx, cancel := context.WithTimeout(ctx, databaseTimeout)
	defer cancel()
	database, err := localpg.Start(ctx, localpg.Options{Durable: true})
	if err != nil {
		return "", err
	}
	s.undo = append(s.undo, database.Close)
	s.console.say("database: %s", database.Origin())
	return database.URL(), nil
}

// serve brings the schema up to date and runs the servers on it.
func (s *stack) serve(ctx context.Context, bin programs, env []string) error {
	if err := s.migrate(ctx, bin, env); err != nil {
		return err
	}
	servers := newChildren(s.console)
	s.undo = append(s.undo, servers.stop)
	devauth := exec.Command(bin.devauth, "serve",
		"-addr", s.config.devauth.listen, "-issuer", s.config.issuer(), "-audience", s.config.resource())
	cartd := exec.Command(bin.cartd, "serve")
	devauth.Env, cartd.Env = env, env
	if err := servers.start("devauth", devauth); err != nil {
		return err
	}
	if err := servers.start("cartd", cartd); err != nil {
		return err
	}
	if err := servers.waitReady(ctx, s.config.cartd.origin()+"/readyz"); err != nil {
		return err
	}
	s.console.say("%s", greeting(s.config))
	return servers.wait(ctx)
}

// migrate has its lines on the console, whether it succeeds or not.
func (s *stack) migrate(ctx context.Context, bin programs, env []string) error {
	cmd := exec.Command(bin.cartd, "migrate")
	cmd.Env = env
	out := s.console.of("migrate")
	cmd.Stdout, cmd.Stderr = out, out
	if err := runToEnd(ctx, cmd); err != nil {
		return fmt.Errorf("cartd migrate: %w", err)
	}
	return nil
}

// runToEnd runs a command that is to end by itself. It is on a leash all the
// same: a migration that hangs on keeps its lock, a compiler the processor.
func runToEnd(ctx context.Context, cmd *exec.Cmd) error {
	p, err := leash.Start(cmd, "TERM")
	if err != nil {
		return err
	}
	select {
	case <-p.Done():
		return p.Err()
	case <-ctx.Done():
		return errors.Join(ctx.Err(), p.Stop())
	}
}
