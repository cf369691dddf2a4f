package main

import (
	"fmt"
	"io"
	"net"
	"net/url"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// A cable is the way from the replicas to the database, and can be cut.
type cable struct {
	listener net.Listener
	target   string

	mu    sync.Mutex
	cut   bool
	conns []net.Conn
}

// throughCable returns the connection string that leads through a new cable.
func (s *site) throughCable(t testing.TB) (*cable, string) {
	t.Helper()
	config, err := pgx.ParseConfig(s.db)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c := &cable{listener: l, target: net.JoinHostPort(config.Host, fmt.Sprint(config.Port))}
	go c.run()
	t.Cleanup(func() {
		l.Close()
		c.Cut()
	})
	through := url.URL{
		Scheme: "postgres", User: url.UserPassword(config.User, config.Password),
		Host: l.Addr().String(), Path: config.Database, RawQuery: "sslmode=disable&lock_timeout=60s",
	}
	return c, through.String()
}

// Cut breaks every connection and refuses new ones.
func (c *cable) Cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = true
	for _, conn := range c.conns {
		conn.Close()
	}
	c.conns = nil
}

// Mend ends what Cut began.
func (c *cable) Mend() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cut = false
}

func (c *cable) run() {
	for {
		near, err := c.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", c.target)
		if err != nil || !c.keep(near, far) {
			near.Close()
			continue
		}
		go pass(near, far)
		go pass(far, near)
	}
}

// keep remembers both ends of a connection, unless the cable is cut.
func (c *cable) keep(near, far net.Conn) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.cut {
		far.Close()
		return false
	}
	c.conns = append(c.conns, near, far)
	return true
}

// pass copies until one of the two ends is closed, and then closes the other.
func pass(from, to net.Conn) {
	_, _ = io.Copy(to, from)
	to.Close()
}
