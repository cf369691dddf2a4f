package auth

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/sync/errgroup"
)

// leeway is how far the clocks of an issuer and of this server may disagree.
// It holds for exp, nbf and iat alike.
const leeway = 30 * time.Second

// Config is what a [Verifier] needs to know.
type Config struct {
	Issuers  []Issuer
	Resource string // this server's canonical URL; the audience, compared exactly

	AllowHTTPHosts []string     // host names, besides loopback, that may be reached without TLS
	HTTPClient     *http.Client // for keys and metadata; its transport is used, redirects and bounds are ours. Optional
	Log            *slog.Logger // what happens with the keys of issuers. Optional
}

// Verifier turns tokens into principals. Its methods may be called from many
// goroutines.
type Verifier struct {
	resource string
	parser   *jwt.Parser
	issuers  map[string]*keySource
}

// NewVerifier checks the configuration. Nothing is fetched before [Verifier.Run].
func NewVerifier(cfg Config) (*Verifier, error) {
	if len(cfg.Issuers) == 0 {
		return nil, errors.New("token verifier: no issuer is configured")
	}
	if _, err := parseURL(cfg.Resource); err != nil {
		return nil, fmt.Errorf("token verifier: resource %q %w", cfg.Resource, err)
	}
	v := &Verifier{
		resource: cfg.Resource,
		issuers:  map[string]*keySource{},
		parser: jwt.NewParser(jwt.WithStrictDecoding(), jwt.WithValidMethods(allowedAlgs()),
			jwt.WithExpirationRequired(), jwt.WithIssuedAt(), jwt.WithLeeway(leeway)),
	}
	fetch := newFetcher(cfg.HTTPClient, cfg.AllowHTTPHosts)
	for _, issuer := range cfg.Issuers {
		checked, err := checkIssuer(issuer, cfg.AllowHTTPHosts)
		if err != nil {
			return nil, fmt.Errorf("token verifier: issuer %q: %w", issuer.URL, err)
		}
		if v.issuers[issuer.URL] != nil {
			return nil, fmt.Errorf("token verifier: issuer %q is configured twice", issuer.URL)
		}
		v.issuers[issuer.URL] = newKeySource(checked, fetch, cfg.Log)
	}
	return v, nil
}

func checkIssuer(issuer Issuer, allowHTTPHosts []string) (Issuer, error) {
	if _, err := parseTrusted(issuer.URL, allowHTTPHosts); err != nil {
		return Issuer{}, err
	}
	if issuer.JWKSURL != "" {
		if _, err := parseTrusted(issuer.JWKSURL, allowHTTPHosts); err != nil {
			return Issuer{}, fmt.Errorf("JWKS URL %w", err)
		}
	}
	var err error
	issuer.TokenTyp, err = parseTyp(issuer.TokenTyp)
	return issuer, err
}

// Run fetches the keys of every issuer, and again as keys.go says, until the
// context ends; then it returns nil. An issuer that is down is no error.
func (v *Verifier) Run(ctx context.Context) error {
	var group errgroup.Group
	for _, source := range v.issuers {
		group.Go(func() error {
			source.run(ctx)
			return nil
		})
	}
	return group.Wait()
}

// Verify says whose token this is, or one of [ErrInvalidToken] and
// [ErrUnavailable]. The errors hold nothing of the token. It waits for the
// network only if the token names a key that is not known yet, and then for a
// bounded time.
func (v *Verifier) Verify(ctx context.Context, token string) (Principal, error) {
	if len(token) > maxToken {
		return Principal{}, badSize
	}
	head, err := parseHeader(token)
	if err != nil {
		return Principal{}, err
	}
	var said claims
	_, err = v.parser.ParseWithClaims(token, &said, func(t *jwt.Token) (any, error) {
		return v.findKey(ctx, t, head, &said)
	})
	if err != nil {
		return Principal{}, reasonOf(err)
	}
	return v.principal(&said)
}

// findKey chooses the issuer first and the key among that issuer's only: the
// key of one issuer never speaks for another, even under the same kid.
func (v *Verifier) findKey(ctx context.Context, t *jwt.Token, head header, said *claims) (any, error) {
	source := v.issuers[said.Issuer]
	if source == nil {
		return nil, badIssuer
	}
	if typ := source.issuer.TokenTyp; !head.hasTyp(typ) || said.isOtherKind(typ) {
		return nil, badType
	}
	return source.key(ctx, t)
}

// principal judges what is said by a token whose signature and times are good.
func (v *Verifier) principal(said *claims) (Principal, error) {
	if !slices.Contains(said.Audience, v.resource) {
		return Principal{}, badAudience
	}
	if said.Binding != nil {
		// A token bound to a key (DPoP, mutual TLS) and sent as a plain
		// bearer token may be a stolen one; the proof is not checked here.
		return Principal{}, badBinding
	}
	if !isName(said.Subject) {
		return Principal{}, badSubject
	}
	client, ok := said.client()
	if !ok {
		return Principal{}, badClient
	}
	p := Principal{
		Kind: User, Issuer: said.Issuer, Subject: said.Subject, ClientID: client,
		Scopes: said.scopes(), Expires: time.Unix(int64(*said.Expires), 0),
	}
	if p.Subject == p.ClientID {
		p.Kind = Client
	}
	return p, nil
}

// client is the one client that all claims that name a client agree on.
func (c *claims) client() (string, bool) {
	client := ""
	for _, claim := range []*string{c.ClientID, c.AZP, c.AppID} {
		if claim == nil {
			continue
		}
		if !isName(*claim) || client != "" && client != *claim {
			return "", false
		}
		client = *claim
	}
	return client, client != ""
}

func (c *claims) scopes() Scopes {
	if c.Scope != nil {
		return ParseScopes(*c.Scope)
	}
	return ParseScopes(strings.Join(c.SCP, " "))
}

// isName refuses control characters: PostgreSQL cannot store a NUL, and the
// others have no business in a name. (Invalid UTF-8 has not come this far.)
func isName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || r == 0x7f })
}
