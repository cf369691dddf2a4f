package main

import (
	"bytes"
	"net"
	"net/url"
	"sync"
	"testing"
	"time"
)

// A tap is in the way from a replica to the database, where it can catch a
// COMMIT. From then on it is the test that says what becomes of it.
type tap struct {
	listener net.Listener
	target   string
	caught   chan *caughtCommit

	mu          sync.Mutex
	armed       bool
	loseCancels bool // requests to cancel a statement get lost
	conns       []net.Conn
}

// tapped returns the connection string that leads through a new tap to db.
func tapped(t testing.TB, db string) (*tap, string) {
	t.Helper()
	through, err := url.Parse(db)
	if err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{listener: l, target: through.Host, caught: make(chan *caughtCommit, 1)}
	through.Host = l.Addr().String()
	var running sync.WaitGroup
	running.Go(func() { p.run(&running) })
	t.Cleanup(func() {
		l.Close()
		p.closeAll()
		running.Wait()
	})
	return p, through.String()
}

func (p *tap) closeAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, conn := range p.conns {
		conn.Close()
	}
}

func (p *tap) run(running *sync.WaitGroup) {
	for {
		near, err := p.listener.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", p.target)
		if err != nil {
			near.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, near, far)
		p.mu.Unlock()
		c := &caughtCommit{near: near, far: far, answered: make(chan struct{})}
		running.Go(func() { p.up(c) })
		running.Go(c.down)
	}
}

// arm has the next COMMIT caught.
func (p *tap) arm() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.armed = true
}

func (p *tap) disarm() (was bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was, p.armed = p.armed, false
	return was
}

// lose has requests to cancel a statement get lost, or not any more.
func (p *tap) lose(cancels bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.loseCancels = cancels
}

func (p *tap) loses(message []byte) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.loseCancels && bytes.HasPrefix(message, cancelMessage)
}

// next returns the COMMIT that was caught.
func (p *tap) next(t testing.TB) *caughtCommit {
	t.Helper()
	select {
	case c := <-p.caught:
		return c
	case <-time.After(patience):
		t.Fatal("no COMMIT was sent")
		return nil
	}
}

// commitMessage is a COMMIT as the driver sends it: nothing goes with it.
var commitMessage = []byte("Q\x00\x00\x00\x0bcommit\x00")

// cancelMessage is how a request to cancel begins, on a connection of its own.
var cancelMessage = []byte{0, 0, 0, 16, 0x04, 0xd2, 0x16, 0x2e}

// up passes on what the replica sends, until it is a COMMIT to be caught.
func (p *tap) up(c *caughtCommit) {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.near.Read(buf)
		if err != nil || p.loses(buf[:n]) {
			c.cut()
			return
		}
		if bytes.Equal(buf[:n], commitMessage) && p.disarm() {
			p.caught <- c
			return
		}
		if _, err := c.far.Write(buf[:n]); err != nil {
			c.near.Close()
			return
		}
	}
}

// A caughtCommit has been sent and has not arrived.
type caughtCommit struct {
	near, far net.Conn
	answered  chan struct{}

	mu   sync.Mutex
	mute bool // no answer goes back any more
}

// down passes on what the database answers.
func (c *caughtCommit) down() {
	buf := make([]byte, 64<<10)
	for {
		n, err := c.far.Read(buf)
		if err != nil {
			c.near.Close()
			return
		}
		c.mu.Lock()
		muted := c.mute
		c.mu.Unlock()
		if muted {
			close(c.answered)
			return
		}
		if _, err := c.near.Write(buf[:n]); err != nil {
			c.far.Close()
			return
		}
	}
}

// deliver lets the COMMIT arrive and its answer get lost, and returns when
// there is one.
func (c *caughtCommit) deliver(t testing.TB) {
	t.Helper()
	c.send(t)
	select {
	case <-c.answered:
	case <-time.After(patience):
		t.Fatal("COMMIT was not answered")
	}
}

// send is deliver without waiting.
func (c *caughtCommit) send(t testing.TB) {
	t.Helper()
	c.mu.Lock()
	c.mute = true
	c.mu.Unlock()
	if _, err := c.far.Write(commitMessage); err != nil {
		t.Fatal(err)
	}
}

// cut breaks the connection.
func (c *caughtCommit) cut() {
	c.near.Close()
	c.far.Close()
}
