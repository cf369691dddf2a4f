//go:build unix

// Command cartdev is what `make run` starts: everything a newcomer needs on one
// machine, and nothing of it left when it ends.
//
//  1. a PostgreSQL, found or started by package localpg;
//  2. the schema, by `cartd migrate`;
//  3. devauth, the development authorization server;
//  4. `cartd serve`, the server itself;
//  5. the lines that say what to do next.
//
// The programs run as children on a leash (package leash): if one ends, all
// end; if cartdev ends, however, they end too.
//
// The environment of `cartd serve` may be set as usual (LOG_LEVEL, RATE_LIMIT,
// PROTOCOL_ERAS …), except for what has to fit together and so is set here. The
// addresses are LISTEN_ADDR and DEVAUTH_ADDR.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP)
	// After the first signal a second one ends us at once; the leashes hold.
	context.AfterFunc(ctx, stop)
	c, err := loadConfig(os.Getenv)
	if err == nil {
		err = run(ctx, c, newConsole(os.Stdout))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cartdev:", err)
		os.Exit(1)
	}
}
