package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"html/template"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"time"
)

// server holds everything the handlers share.
type server struct {
	signer    *signer
	hosts     []string // the Host values it answers to
	clients   map[string]*client
	registrar registrar
	documents *documents
	grants    *grants
	page      *template.Template
	log       *slog.Logger
}

// newServer makes the server; c.issuer must be set and checked.
func newServer(c config, log *slog.Logger) (*server, error) {
	key, err := openKey(c.keyFile)
	if err != nil {
		return nil, err
	}
	signer, signerErr := newSigner(key, c)
	registrar, registrarErr := newRegistrar(key)
	clients, clientsErr := configuredClients(c)
	page, pageErr := parsePage()
	issuer, issuerErr := url.Parse(c.issuer)
	if err := errors.Join(signerErr, registrarErr, clientsErr, pageErr, issuerErr); err != nil {
		return nil, err
	}
	return &server{
		signer:    signer,
		hosts:     append([]string{issuer.Host}, c.allowHosts...),
		clients:   clients,
		registrar: registrar,
		documents: newDocuments(c.documentLoopback),
		grants:    newGrants(),
		page:      page,
		log:       log,
	}, nil
}

func (s *server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/oauth-authorization-server", s.metadata)
	mux.HandleFunc("GET /jwks.json", s.jwks)
	mux.HandleFunc("POST /register", s.register)
	mux.HandleFunc("GET /authorize", s.authorize)
	mux.HandleFunc("POST /authorize", s.authorize)
	mux.HandleFunc("POST /token", s.token)
	mux.HandleFunc("GET /style.css", s.style)
	return s.guard(mux)
}

// serve is the serve command: it returns when ctx ends and running requests
// are answered.
func serve(ctx context.Context, args []string, getenv func(string) (string, bool), stdout, stderr io.Writer) error {
	var c config
	fs := flag.NewFlagSet("devauth serve", flag.ContinueOnError)
	c.sharedFlags(fs)
	c.serveFlags(fs)
	if err := errors.Join(fromEnvironment(fs, getenv), c.parse(fs, args, stdout)); err != nil {
		return err
	}
	if err := c.checkReach(); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", c.addr)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer ln.Close()
	if c.issuer == "" {
		c.issuer = "http://" + ln.Addr().String()
	}
	if err := c.checkIssuer(); err != nil {
		return err
	}
	s, err := newServer(c, slog.New(slog.NewTextHandler(stderr, nil)))
	if err != nil {
		return err
	}
	srv := &http.Server{
		Handler:           s.routes(),
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       10 * time.Second,
		WriteTimeout:      20 * time.Second,
		IdleTimeout:       time.Minute,
		MaxHeaderBytes:    32 << 10,
	}
	fmt.Fprintf(stdout, "devauth, FOR DEVELOPMENT ONLY (no passwords), is ready at %s\n", c.issuer)
	return serveUntil(ctx, srv, ln)
}

func serveUntil(ctx context.Context, srv *http.Server, ln net.Listener) error {
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stop, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := srv.Shutdown(stop); err != nil {
		return fmt.Errorf("shut down: %w", err)
	}
	return nil
}
