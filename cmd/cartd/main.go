// Command cartd is the mcp-cart server.
//
//	cartd serve      answers MCP requests; the environment configures it (see README)
//	cartd migrate    brings the database schema up to date, then ends
//	cartd keygen     prints a new line for the requestState key ring
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, syscall.SIGINT)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "cartd:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	command := ""
	if len(args) == 1 {
		command = args[0]
	}
	switch command {
	case "serve":
		// From the first moment: a SIGHUP that nobody waits for ends the process.
		hup := make(chan os.Signal, 1)
		signal.Notify(hup, syscall.SIGHUP)
		cfg, err := loadConfig()
		if err != nil {
			return err
		}
		setMemoryLimits()
		return serve(ctx, cfg, hup, newLogger(cfg))
	case "migrate":
		cfg, err := loadMigrateConfig()
		if err != nil {
			return err
		}
		return migrate(ctx, cfg)
	case "keygen":
		return keygen(os.Stdout)
	default:
		return fmt.Errorf("usage: cartd serve | migrate | keygen")
	}
}

func newLogger(cfg config) *slog.Logger {
	return slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: cfg.LogLevel}))
}
