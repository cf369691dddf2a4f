//go:build unix

package main

import (
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// A config says where things listen and how they are called.
type config struct {
	cartd   address
	devauth address
}

// An address is where one of the servers listens.
type address struct {
	listen string // host:port
	env    string // the variable that changes it
}

func loadConfig(getenv func(string) string) (config, error) {
	var c config
	var errs []error
	for _, a := range []struct {
		to            *address
		env, fallback string
	}{
		{&c.cartd, "LISTEN_ADDR", "127.0.0.1:8080"},
		{&c.devauth, "DEVAUTH_ADDR", "127.0.0.1:9000"},
	} {
		listen := getenv(a.env)
		if listen == "" {
			listen = a.fallback
		}
		*a.to = address{listen: listen, env: a.env}
		if _, port, err := net.SplitHostPort(listen); err != nil || port == "" || port == "0" {
			errs = append(errs, fmt.Errorf("%s=%s: want HOST:PORT with a port of your choice", a.env, listen))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return config{}, err
	}
	return c, nil
}

// origin is how a client on this machine reaches the server: one that listens
// everywhere is reached on the loopback address.
func (a address) origin() string {
	host, port, _ := net.SplitHostPort(a.listen) // checked by loadConfig
	if ip, err := netip.ParseAddr(host); host == "" || err == nil && ip.IsUnspecified() {
		host = "127.0.0.1"
	}
	return "http://" + net.JoinHostPort(host, port)
}

func (c config) resource() string { return c.cartd.origin() + "/mcp" }
func (c config) issuer() string   { return c.devauth.origin() }

// checkFree says which variable to change if a port is taken, before anything
// is started that would have to be stopped again.
func (a address) checkFree() error {
	l, err := net.Listen("tcp", a.listen)
	if errors.Is(err, syscall.EADDRINUSE) {
		return fmt.Errorf("%s is in use by another program: stop that, or choose another port, for example %s=%s make run",
			a.listen, a.env, a.nextPort())
	}
	if err != nil {
		return fmt.Errorf("%s=%s: %w", a.env, a.listen, err)
	}
	return l.Close()
}

func (a address) nextPort() string {
	host, port, _ := net.SplitHostPort(a.listen)
	n, err := net.LookupPort("tcp", port)
	if err != nil || n == 65535 {
		n = 8080
	}
	return net.JoinHostPort(host, fmt.Sprint(n+1))
}

// environment is that of the children: ours, and over it what has to fit
// together. A name without "=" is taken out, because it would contradict.
func (c config) environment(inherited []string, databaseURL, keyRing string) []string {
	ours := []string{
		"DATABASE_URL=" + databaseURL, "DATABASE_URL_FILE",
		"LISTEN_ADDR=" + c.cartd.listen,
		"RESOURCE_URL=" + c.resource(),
		"OAUTH_ISSUER=" + c.issuer(), "OAUTH_JWKS_URL", "OAUTH_TOKEN_TYP",
		"REQUEST_STATE_KEYS_FILE=" + keyRing, "REQUEST_STATE_KEYS",
	}
	set := make(map[string]bool, len(ours))
	for _, v := range ours {
		name, _, _ := strings.Cut(v, "=")
		set[name] = true
	}
	var env []string
	for _, v := range inherited {
		if name, _, _ := strings.Cut(v, "="); !set[name] {
			env = append(env, v)
		}
	}
	for _, v := range ours {
		if strings.Contains(v, "=") {
			env = append(env, v)
		}
	}
	return env
}
