package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"unicode"
)

// client is a program that asks for tokens: pre-registered on the command
// line, registered by itself (register.go) or described by a document at its
// id, an https URL (document.go).
type client struct {
	id, name  string
	redirects []string
	secret    string // "" for a public client
	// trusted: the operator named its redirects, so a person may be sent to
	// them without having been asked.
	trusted bool
}

// configuredClients reads the -client and -public-client flags. Errors name a
// client's position, not its text: that may hold the secret.
func configuredClients(c config) (map[string]*client, error) {
	clients := make(map[string]*client)
	for i, text := range c.clients {
		id, secret, _ := strings.Cut(text, ":")
		// It is all that stands before a token for whoever reaches the socket.
		if checkClientID(id) != nil || len(secret) < 16 || clients[id] != nil {
			return nil, fmt.Errorf("-client number %d: want a new id:secret with a secret of 16 characters or more", i+1)
		}
		clients[id] = &client{id: id, name: id, secret: secret, trusted: true}
	}
	for i, text := range c.publicClients {
		id, redirect, _ := strings.Cut(text, "=")
		if err := errors.Join(checkClientID(id), checkRedirect(redirect)); err != nil {
			return nil, fmt.Errorf("-public-client number %d: want id=redirect_uri: %w", i+1, err)
		}
		if clients[id] == nil {
			clients[id] = &client{id: id, name: id, trusted: true}
		}
		if clients[id].secret != "" {
			return nil, fmt.Errorf("-public-client number %d: that id is a -client too", i+1)
		}
		clients[id].redirects = append(clients[id].redirects, redirect)
	}
	return clients, nil
}

// lookup finds a client this server knows by itself, or nil.
func (s *server) lookup(id string) *client {
	if c := s.clients[id]; c != nil {
		return c
	}
	return s.registrar.lookup(id)
}

// secretIs compares in constant time; hashing first hides the length.
func (c *client) secretIs(secret string) bool {
	want, got := sha256.Sum256([]byte(c.secret)), sha256.Sum256([]byte(secret))
	return subtle.ConstantTimeCompare(want[:], got[:]) == 1
}

var redirectHost = regexp.MustCompile(`^([A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(:[0-9]{1,5})?$`)

// checkRedirect says whether uri may be a redirect URI at all: https, or http
// on this machine. The host's alphabet matters: it goes into a
// Content-Security-Policy, where url.Parse would let a ";" through.
func checkRedirect(uri string) error {
	u, err := url.Parse(uri)
	if err != nil || len(uri) > 512 || !isHTTPURL(uri) || !redirectHost.MatchString(u.Host) {
		return errors.New("a redirect URI is an absolute http or https URL without user, fragment or odd host")
	}
	if u.Scheme != "https" && !isLoopback(u.Hostname()) {
		return errors.New("a redirect URI is https, or http on a loopback host")
	}
	return nil
}

// allows says whether asked is one of the client's redirect URIs: exactly, or,
// for http on a loopback host, with any port (RFC 8252 section 7.3), because
// a program takes whatever port is free.
func (c *client) allows(asked string) bool {
	if checkRedirect(asked) != nil {
		return false
	}
	for _, registered := range c.redirects {
		if asked == registered || isLoopbackHTTP(registered) && withoutPort(asked) == withoutPort(registered) {
			return true
		}
	}
	return false
}

func isLoopbackHTTP(uri string) bool {
	u, err := url.Parse(uri)
	return err == nil && u.Scheme == "http" && isLoopback(u.Hostname())
}

func withoutPort(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	u.Host = strings.TrimSuffix(u.Host, ":"+u.Port())
	return u.String()
}

// originOf is the CSP source that covers a redirect to uri. CSP has no
// notation for IPv6 addresses, so those are covered by their scheme.
func originOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	if ip, err := netip.ParseAddr(u.Hostname()); err == nil && ip.Is6() {
		return u.Scheme + ":"
	}
	return u.Scheme + "://" + u.Host
}

// displayName makes a name a stranger chose safe to show: no control or
// direction characters, and short.
func displayName(name string) string {
	name = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return -1
		}
		return r
	}, name)
	if runes := []rune(name); len(runes) > 80 {
		name = string(runes[:80]) + "…"
	}
	return strings.TrimSpace(name)
}
