package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// config is what both commands are told; each uses its part.
type config struct {
	issuer, audience, keyFile string
	ttl                       time.Duration

	// serve
	addr                   string
	listenAnywhere         bool
	documentLoopback       bool
	allowHosts             list
	publicClients, clients list

	// token
	user, clientID, scope string
}

// list is a flag that may be repeated or hold several values with commas. Set
// never fails: the flag package would print the value, which may be a secret.
type list []string

func (l *list) String() string { return "" }

func (l *list) Set(s string) error {
	for part := range strings.SplitSeq(s, ",") {
		if part = strings.TrimSpace(part); part != "" {
			*l = append(*l, part)
		}
	}
	return nil
}

func (c *config) sharedFlags(fs *flag.FlagSet) {
	fs.StringVar(&c.issuer, "issuer", "", "the issuer's `URL`, as clients see it (default http:// and the address)")
	fs.StringVar(&c.audience, "audience", "http://127.0.0.1:8080/mcp", "the MCP server's `URL`, the only audience of tokens")
	fs.StringVar(&c.keyFile, "key", defaultKeyFile(), "signing key `file`, made if absent")
}

func (c *config) serveFlags(fs *flag.FlagSet) {
	fs.StringVar(&c.addr, "addr", "127.0.0.1:9000", "`address` to listen on")
	fs.DurationVar(&c.ttl, "ttl", 15*time.Minute, "lifetime of access tokens")
	fs.BoolVar(&c.listenAnywhere, "listen-anywhere", false, "allow an address or a plain http issuer beyond loopback: whoever reaches it can sign in as anyone")
	fs.BoolVar(&c.documentLoopback, "document-loopback", false, "fetch client metadata documents from loopback addresses too (for tests)")
	fs.Var(&c.allowHosts, "allow-host", "further Host `name:port` to answer to, besides the issuer's (repeatable)")
	fs.Var(&c.publicClients, "public-client", "pre-registered public client, `id=redirect_uri` (repeatable)")
	fs.Var(&c.clients, "client", "pre-registered client for client credentials, `id:secret` (repeatable; better in the environment)")
}

func (c *config) tokenFlags(fs *flag.FlagSet) {
	fs.StringVar(&c.user, "user", "", "`name` of the person (required)")
	fs.StringVar(&c.clientID, "client", "devauth-token", "client `id` in the token")
	fs.StringVar(&c.scope, "scope", defaultScope, "`scopes`, separated by spaces")
	fs.DurationVar(&c.ttl, "ttl", time.Hour, "lifetime of the token")
}

// fromEnvironment sets the flags defined so far from DEVAUTH_NAME variables.
func fromEnvironment(fs *flag.FlagSet, getenv func(string) (string, bool)) error {
	var errs []error
	fs.VisitAll(func(f *flag.Flag) {
		name := "DEVAUTH_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))
		if value, _ := getenv(name); value != "" {
			if err := fs.Set(f.Name, value); err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", name, err))
			}
		}
	})
	return errors.Join(errs...)
}

func (c *config) parse(fs *flag.FlagSet, args []string, stdout io.Writer) error {
	fs.SetOutput(io.Discard) // main prints the error, once
	err := fs.Parse(args)
	switch {
	case errors.Is(err, flag.ErrHelp):
		fs.SetOutput(stdout)
		fs.Usage()
		return err
	case err != nil:
		return err
	case fs.NArg() > 0:
		return fmt.Errorf("unexpected argument %q", fs.Arg(0))
	case c.ttl <= 0:
		return errors.New("-ttl must be positive")
	case !isHTTPURL(c.audience):
		return fmt.Errorf("-audience %q is not an http or https URL", c.audience)
	}
	return nil
}

// checkIssuer wants the bare origin, in the one spelling that clients and
// resource servers compare byte for byte.
func (c *config) checkIssuer() error {
	u, err := url.Parse(c.issuer)
	if err != nil || !isHTTPURL(c.issuer) || c.issuer != u.Scheme+"://"+u.Host {
		return fmt.Errorf("-issuer %q: want http(s)://host[:port] and nothing after it", c.issuer)
	}
	return nil
}

// checkReach refuses what would let other machines in, unless told in words.
func (c *config) checkReach() error {
	host, _, err := net.SplitHostPort(c.addr)
	if err != nil {
		return fmt.Errorf("-addr: %w", err)
	}
	if !isLoopback(host) && !c.listenAnywhere {
		return fmt.Errorf("-addr %q is not loopback: that needs -listen-anywhere", c.addr)
	}
	if !isLoopback(host) && c.issuer == "" {
		return fmt.Errorf("-addr %q needs -issuer: the name by which clients will reach it", c.addr)
	}
	u, err := url.Parse(c.issuer)
	if err == nil && u.Scheme == "http" && !isLoopback(u.Hostname()) && !c.listenAnywhere {
		return fmt.Errorf("-issuer %q is plain http beyond loopback: that needs -listen-anywhere", c.issuer)
	}
	return nil
}

func isHTTPURL(s string) bool {
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil && !strings.Contains(s, "#")
}

func isLoopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// defaultKeyFile is one place for both commands, outside any repository.
func defaultKeyFile() string {
	dir, err := os.UserCacheDir()
	if err != nil {
		dir = os.TempDir() // no home: the file's mode still guards the key
	}
	return filepath.Join(dir, "mcp-cart", "devauth-key.pem")
}
