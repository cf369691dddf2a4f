//go:build unix

package main

import (
	"fmt"
	"io"
	"sync"

	"example.com/mcp-cart/cmd/cartdev/leash"
)

// A console is where everybody's lines go, whole and one at a time, each with
// the name of who says it.
type console struct {
	mu  sync.Mutex
	out io.Writer
}

func newConsole(out io.Writer) *console { return &console{out: out} }

func (c *console) say(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	// A terminal that is gone ends us by SIGPIPE or SIGHUP, not by this error.
	_, _ = fmt.Fprintf(c.out, format+"\n", args...)
}

// of returns the writer for the output of the program of that name.
func (c *console) of(name string) io.Writer {
	return leash.Lines(func(line string) { c.say("%-8s| %s", name, line) })
}
