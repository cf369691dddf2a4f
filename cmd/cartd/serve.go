package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
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
	readTimeout     = 20 * time.Second // of headers and body together
	writeTimeout    = 90 * time.Second // from the end of the headers to the end of the answer
	idleTimeout     = 2 * time.Minute
	maxHeaderBytes  = 16 << 10
	shutdownTimeout = 75 * time.Second // longer than a call may take, with a write whose outcome must be found out
)

// An app is everything that serve runs.
type app struct {
	cfg      config
	hup      <-chan os.Signal // asks to read the key file again
	log      *slog.Logger
	db       *store.Postgres
	verifier *auth.Verifier
	keys     *requeststate.Keys
	janitor  *store.Janitor
	server   *server.Server
	registry *prometheus.Registry
}

// serve runs the server until the context ends, then lets running calls finish.
func serve(ctx context.Context, cfg config, hup <-chan os.Signal, log *slog.Logger) error {
	a, err := assemble(ctx, cfg, log)
	if err != nil {
		return err
	}
	a.hup = hup
	defer a.db.Close()
	return a.run(ctx)
}

// assemble makes all parts from the configuration. Nothing runs yet, and nothing
// outside has to be there yet.
func assemble(ctx context.Context, cfg config, log *slog.Logger) (_ *app, err error) {
	a := &app{cfg: cfg, log: log, registry: prometheus.NewRegistry()}
	issuers, err := auth.ParseIssuers(cfg.OAuthIssuer, cfg.OAuthJWKSURL, cfg.OAuthTokenTyp)
	if err != nil {
		return nil, err
	}
	if a.verifier, err = auth.NewVerifier(auth.Config{
		Issuers: issuers, Resource: cfg.ResourceURL, AllowHTTPHosts: cfg.OAuthAllowHTTPHosts, Log: log,
	}); err != nil {
		return nil, err
	}
	if a.keys, err = loadKeys(cfg); err != nil {
		return nil, err
	}
	sealer, err := requeststate.NewSealer(a.keys)
	if err != nil {
		return nil, err
	}
	if a.db, err = store.Open(ctx, cfg.Database.URL); err != nil {
		return nil, err
	}
	if a.janitor, err = store.NewJanitor(a.db, cfg.JanitorInterval, log); err != nil {
		return nil, err
	}
	a.registry.MustRegister(keyMetrics{a.keys}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	a.server, err = server.New(server.Config{
		Resource: cfg.ResourceURL, Issuers: issuers, Verifier: a.verifier, Store: a.db, Sealer: sealer,
		AllowedOrigins: cfg.AllowedOrigins, AllowedHosts: cfg.AllowedHosts,
		ModernOnly: cfg.ProtocolEras == "modern", RateLimit: cfg.RateLimit,
		Log: log, Metrics: a.registry, Version: version(),
	})
	return a, err
}

// run starts everything that runs in the background, and ends it. Calls depend
// on keys and issuers to their end, so those stop after the listeners.
func (a *app) run(ctx context.Context) error {
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	g, ending := errgroup.WithContext(ctx)
	g.Go(func() error { return a.verifier.Run(background) })
	g.Go(func() error { return watchKeys(background, a.cfg, a.keys, a.hup, a.log) })
	g.Go(func() error { return a.janitor.Run(background) })
	g.Go(func() error {
		defer stop()
		return a.listen(ctx, ending)
	})
	return g.Wait()
}

// listen serves on all ports until the context is ending, because of a signal or
// because something has failed.
func (a *app) listen(ctx, ending context.Context) error {
	handler, err := a.server.Handler()
	if err != nil {
		return err
	}
	g, ending := errgroup.WithContext(ending)
	closing := make(chan struct{})
	g.Go(func() error {
		defer close(closing)
		<-ending.Done()
		if ctx.Err() != nil {
			// Not ready comes first: a load balancer that asks has time to look
			// elsewhere before the port closes.
			a.server.Drain()
			time.Sleep(a.cfg.ShutdownDelay)
		}
		return nil
	})
	g.Go(func() error { return listen(ctx, closing, a.cfg.ListenAddr, handler, a.log) })
	if a.cfg.MetricsAddr != "" {
		operator := operatorHandler(a.server, a.verifier, a.registry)
		g.Go(func() error { return listen(ctx, closing, a.cfg.MetricsAddr, operator, a.log) })
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
	hs := newHTTPServer(h, log)
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

// newHTTPServer bounds everything that a client can make us wait for, whether or
// not it has shown a token by then.
func newHTTPServer(h http.Handler, log *slog.Logger) *http.Server {
	return &http.Server{
		Handler:           h,
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       readTimeout,
		WriteTimeout:      writeTimeout,
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    maxHeaderBytes,
		ErrorLog:          slog.NewLogLogger(log.Handler(), slog.LevelWarn),
	}
}
