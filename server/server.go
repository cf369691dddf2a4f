// Package server is the HTTP surface of mcp-cart: what a request passes before
// it reaches a tool, and the tools.
//
// Start reading here, with [New] and [Server.Handler]. A request to /mcp goes
//
//	front door (hosts.go, cors.go)   Origin, Host, CORS, method
//	authenticate (access.go)         the bearer token, then the rate limit
//	receive, admit (gate*.go)        size, strict JSON, headers equal to body
//	authorize (access.go)            the scopes of the tool that the body names
//	serve (answer.go)                one exchange with the SDK (transport.go)
//	callTool (tool.go)               arguments, the tool, its errors (errors.go)
//
// Its laws: nothing about a client is kept between two requests; identity comes
// from the verified token alone; and what is not on a closed list of outward
// errors leaves as "internal error" with a correlation id.
package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/go-chi/chi/v5"
	"github.com/go-chi/chi/v5/middleware"
	"github.com/go-chi/httprate"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/prometheus/client_golang/prometheus"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/requeststate"
	"example.com/mcp-cart/store"
)

// Config is everything a server needs. New checks it.
type Config struct {
	// Resource is the canonical URL of this server's MCP endpoint: the audience
	// of its tokens, and what its metadata says (RFC 8707, RFC 9728).
	Resource string
	// Issuers are the authorization servers, as the metadata lists them.
	Issuers  []auth.Issuer
	Verifier *auth.Verifier
	Store    *store.Postgres
	// Sealer seals what a checkout remembers between its rounds.
	Sealer *requeststate.Sealer

	// AllowedOrigins are the browser origins that may call; none by default.
	AllowedOrigins []string
	// AllowedHosts are the Host values served, "host" for any port or
	// "host:port". By default that of Resource and the loopback names.
	AllowedHosts []string
	// ModernOnly turns clients away that open with initialize.
	ModernOnly bool
	// RateLimit allows 10 times as many calls in any 10 s, per user and replica.
	RateLimit int

	Log     *slog.Logger
	Metrics prometheus.Registerer
	Version string
}

const (
	healthPath = "/healthz"
	readyPath  = "/readyz"
)

// plainPath is a path that the router takes as it is written.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9._~-]+)+$`)

// A Server answers MCP requests. It keeps nothing between two of them but
// counters.
type Server struct {
	cfg        Config
	store      *store.Postgres
	sealer     *requeststate.Sealer
	log        *slog.Logger
	metrics    *metrics
	sdk        *mcp.Server
	tools      map[string]*tool
	gate       *gate
	origins    originList
	hosts      *hostList
	challenges auth.Challenges
	metadata   http.Handler
	limiter    *httprate.RateLimiter
	readiness  readiness
}

// New makes a server with the tools of this package.
func New(cfg Config) (*Server, error) {
	if cfg.Store == nil || cfg.Sealer == nil {
		return nil, errors.New("server: store and sealer are needed")
	}
	s, err := newServer(cfg)
	if err != nil {
		return nil, err
	}
	return s, s.open(s.shopTools(), nil)
}

// shopTools is the table of everything this server can do.
func (s *Server) shopTools() []tool {
	return slices.Concat(s.catalogTools(), s.cartTools(), s.checkoutTools(), s.orderTools())
}

// newServer makes everything except the tools and the gate, which is made of
// them.
func newServer(cfg Config) (*Server, error) {
	if cfg.Verifier == nil || cfg.Log == nil || cfg.Metrics == nil {
		return nil, errors.New("server: verifier, log and metrics are needed")
	}
	if cfg.RateLimit < 1 {
		return nil, errors.New("server: the rate limit must be positive")
	}
	s := &Server{cfg: cfg, store: cfg.Store, sealer: cfg.Sealer, log: cfg.Log, tools: map[string]*tool{}, limiter: newLimiter(cfg.RateLimit)}
	resource, err := url.Parse(cfg.Resource)
	if err != nil {
		return nil, fmt.Errorf("server: resource: %w", err)
	}
	if !plainPath.MatchString(resource.EscapedPath()) || strings.HasPrefix(resource.Path, "/.") || resource.Path == healthPath || resource.Path == readyPath {
		return nil, fmt.Errorf("server: resource %q must be a URL with a plain path of its own, such as https://shop.example/mcp", cfg.Resource)
	}
	if len(cfg.AllowedHosts) == 0 {
		cfg.AllowedHosts = []string{resource.Host, "localhost", "127.0.0.1", "[::1]"}
	}
	if s.hosts, err = newHostList(cfg.AllowedHosts); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if s.origins, err = newOriginList(cfg.AllowedOrigins); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if s.challenges, err = auth.NewChallenges(cfg.Resource); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	if s.metrics, err = newMetrics(cfg.Metrics); err != nil {
		return nil, fmt.Errorf("server: %w", err)
	}
	return s, nil
}

// An extension is what a server offers beside its tools. This one offers nothing
// more; one built on it may have prompts, resources or completion. To the SDK's
// middleware that it may add, a call of a tool is the method checkedCall.
type extension struct {
	options  func(*mcp.ServerOptions) // before the SDK's server is made
	register func(*mcp.Server)        // after the tools
	methods  map[era][]string         // served beside those of every server
}

// open puts the tools in place and the gate before them.
func (s *Server) open(tools []tool, more *extension) error {
	if more == nil {
		more = &extension{options: func(*mcp.ServerOptions) {}, register: func(*mcp.Server) {}}
	}
	sdk, err := s.newSDK(more.options)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.sdk = sdk
	if err := s.register(tools); err != nil {
		return fmt.Errorf("server: %w", err)
	}
	more.register(s.sdk)
	config := gateConfig{
		modernOnly:   s.cfg.ModernOnly,
		knownTool:    func(name string) bool { return s.tools[name] != nil },
		extraMethods: more.methods,
		paramHeaders: s.paramHeaders(),
	}
	gate, err := newGate(config)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.gate = gate
	document, err := auth.NewMetadata(s.cfg.Resource, "mcp-cart", s.cfg.Issuers, s.scopes())
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	s.metadata, err = auth.MetadataHandler(document)
	return err
}

// Handler routes requests.
func (s *Server) Handler() (http.Handler, error) {
	resource, err := url.Parse(s.cfg.Resource)
	if err != nil {
		return nil, err
	}
	metadataPath, err := auth.MetadataPath(s.cfg.Resource)
	if err != nil {
		return nil, err
	}
	r := chi.NewRouter()
	r.Use(middleware.GetHead)
	r.Get(healthPath, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	r.Get(readyPath, s.readyz)
	for _, path := range slices.Compact([]string{metadataPath, auth.RootMetadataPath}) {
		r.Handle(path, s.hosts.checkHost(s.metadata))
	}
	mcp := s.withTrace(frontDoor(s.origins, s.hosts, onlyPOST(http.HandlerFunc(s.mcp)), s.paramHeaderNames()...))
	r.Handle(resource.Path, mcp)
	return r, nil
}

// mcp is the path of every message.
func (s *Server) mcp(w http.ResponseWriter, r *http.Request) {
	principal, refused := s.authenticate(r)
	if refused != nil {
		refused.turnAway(w, r)
		return
	}
	if refused := s.limit(w, r, principal); refused != nil {
		refused.turnAway(w, r)
		return
	}
	body, refused := receive(w, r)
	if refused != nil {
		refused.answer(w, r)
		return
	}
	c, refused := s.gate.admit(r.Header, body)
	if refused != nil {
		refused.answer(w, r)
		return
	}
	traceFrom(r.Context()).admit(c)
	if c.notification {
		w.WriteHeader(http.StatusAccepted)
		return
	}
	if refused := s.authorize(c, principal); refused != nil {
		refused.answer(w, r)
		return
	}
	s.serve(w, r, c, caller{Principal: principal, call: c})
}
