//go:build unix

package localpg

import (
	"fmt"
	"io"
	"strings"
	"sync"

	"example.com/mcp-cart/cmd/cartdev/leash"
)

// readyLine is what Postgres logs, in the C locale, once it accepts connections.
// The log is the one place that speaks for this very server: whatever answers
// on the port could be another.
const readyLine = "database system is ready to accept connections"

// portTaken is what it logs, in that locale, if another process has the port.
const portTaken = "Address already in use"

// tailLines is how much of the log an error quotes.
const tailLines = 20

// A log takes in a server's log and remembers the end of it.
type log struct {
	io.Writer
	ready chan struct{} // closed when the server accepts connections

	mu    sync.Mutex
	lines []string
}

func newLog(out io.Writer) *log {
	if out == nil {
		out = io.Discard
	}
	l := &log{ready: make(chan struct{})}
	ready := sync.OnceFunc(func() { close(l.ready) })
	l.Writer = leash.Lines(func(line string) {
		// Whoever asked for the log may have gone; the server need not care.
		_, _ = fmt.Fprintln(out, line)
		l.remember(line)
		if strings.Contains(line, readyLine) {
			ready()
		}
	})
	return l
}

func (l *log) remember(line string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.lines = append(l.lines, line)
	if len(l.lines) > tailLines {
		l.lines = l.lines[1:]
	}
}

func (l *log) tail() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Join(l.lines, "\n")
}

func (l *log) contains(text string) bool { return strings.Contains(l.tail(), text) }
