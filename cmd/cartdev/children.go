//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"

	"example.com/mcp-cart/cmd/cartdev/leash"
)

// children are programs that live and die together.
type children struct {
	console *console
	list    []child
	ended   chan error // that of the first to end
}

type child struct {
	name string
	*leash.Process
}

func newChildren(c *console) *children {
	return &children{console: c, ended: make(chan error, 1)}
}

// start runs one more, with its output on the console.
func (c *children) start(name string, cmd *exec.Cmd) error {
	out := c.console.of(name)
	cmd.Stdout, cmd.Stderr = out, out
	p, err := leash.Start(cmd, "TERM")
	if err != nil {
		return fmt.Errorf("start %s: %w", name, err)
	}
	one := child{name: name, Process: p}
	c.list = append(c.list, one)
	go func() { // ends with the child, for which stop waits
		<-p.Done()
		select {
		case c.ended <- one.obituary():
		default: // another was first
		}
	}()
	return nil
}

// obituary says who ended and how. A server that is not there any more is an
// error, whatever its exit status.
func (c child) obituary() error {
	how := "exit status 0"
	if err := c.Err(); err != nil {
		how = err.Error()
	}
	return fmt.Errorf("%s ended (%s); its last lines above say why", c.name, how)
}

// wait returns when the context is done, or with the obituary of the first
// child to end.
func (c *children) wait(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-c.ended:
		return err
	}
}

// stop ends them one after the other, the last to start first: what it needs is
// still there while it finishes its work.
func (c *children) stop() error {
	var errs []error
	for i := len(c.list) - 1; i >= 0; i-- {
		if err := c.list[i].Stop(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", c.list[i].name, err))
		}
	}
	return errors.Join(errs...)
}
