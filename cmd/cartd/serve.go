package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"golang.org/x/sync/errgroup"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/server"
	"example.com/mcp-cart/store"
)

// The HTTP server's own bounds. idleTimeout is longer than the keep-alive of a
// proxy in front, so that it is the proxy that closes an idle connection: the
// other way round a request can meet a connection that is just being closed.
const (
	headerTimeout   = 10 * time.Second
	idleTimeout     = 2 * time.Minute
	maxHeaderBytes  = 16 << 10
	shutdownTimeout = 45 * time.Second // longer than any call may take
)

// serve runs the server until the context ends, then lets running calls finish.
// Everything that runs in the background is started here, and ended here.
func serve(ctx context.Context, cfg config, log *slog.Logger) error {
	db, err := store.Open(ctx, cfg.Database.URL)
	if err != nil {
		return err
	}
	defer db.Close()
	issuers, err := auth.ParseIssuers(cfg.OAuthIssuer, cfg.OAuthJWKSURL, cfg.OAuthTokenTyp)
	if err != nil {
		return err
	}
	verifier, err := auth.NewVerifier(auth.Config{
		Issuers: issuers, Resource: cfg.ResourceURL, AllowHTTPHosts: cfg.OAuthAllowHTTPHosts, Log: log,
	})
	if err != nil {
		return err
	}
	keys, err := loadKeys(cfg)
	if err != nil {
		return err
	}
	sealer, err := requeststate.NewSealer(keys)
	if err != nil {
		return err
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(keyMetrics{keys}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	srv, err := server.New(server.Config{
		Resource: cfg.ResourceURL, Issuers: issuers, Verifier: verifier, Store: db, Sealer: sealer,
		AllowedOrigins: cfg.AllowedOrigins, AllowedHosts: cfg.AllowedHosts,
		ModernOnly: cfg.ProtocolEras == "modern", RateLimit: cfg.RateLimit,
		Log: log, Metrics: registry, Version: version(),
	})
	if err != nil {
		return err
	}
	handler, err := srv.Handler()
	if err != nil {
		return err
	}
	janitor, err := store.NewJanitor(db, cfg.JanitorInterval, log)
	if err != nil {
		return err
	}
	g, ctx := errgroup.WithContext(ctx)
	drained := make(chan struct{})
	g.Go(func() error {
		defer close(drained)
		<-ctx.Done()
		// Not ready comes first: a load balancer that asks has time to look
		// elsewhere before the port closes.
		srv.Drain()
		time.Sleep(cfg.ShutdownDelay)
		return nil
	})
	g.Go(func() error { return verifier.Run(ctx) })
	g.Go(func() error { return watchKeys(ctx, cfg, keys, log) })
	g.Go(func() error { return janitor.Run(ctx) })
	g.Go(func() error { return listen(ctx, drained, cfg.ListenAddr, handler, log) })
	if cfg.MetricsAddr != "" {
		g.Go(func() error {
			return listen(ctx, drained, cfg.MetricsAddr, operatorHandler(srv, verifier, registry), log)
		})
	}
	return g.Wait()
}

// listen serves until it is to close, and then waits for what is running.
func listen(ctx context.Context, closing <-chan struct{}, addr string, h http.Handler, log *slog.Logger) error {
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	log.InfoContext(ctx, "listening", "addr", l.Addr().String())
	hs := &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelDebug),
	}
	stopped := make(chan error, 1)
	go func() {
		<-closing
		// The context has ended; a shutdown needs one that has not.
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		stopped <- hs.Shutdown(bounded)
	}()
	if err := hs.Serve(l); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	return <-stopped
}
