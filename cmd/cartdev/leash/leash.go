//go:build unix

// Package leash runs child processes, and keeps directories, that cannot
// outlive this process: not after a panic, not after kill -9.
//
// Each child holds on to a pipe whose other end only this process has, so the
// kernel itself tells the child's watcher (leash.sh) when this process is gone.
// That holds on every Unix; Linux's parent-death signal does not, and it follows
// the thread that started the child rather than the process.
//
// To use it elsewhere, copy the folder: it needs the standard library and
// /bin/sh.
package leash

import (
	_ "embed"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"time"
)

//go:embed leash.sh
var script string

// grace is how long a child may take to end after it was told to; the script
// knows the same number. Then it is killed.
const grace = 60 * time.Second

// A Process is a child on a leash.
type Process struct {
	pid   int
	lease io.Closer
	done  chan struct{}
	err   error // how it ended; read it after done
}

// Start starts the command on a leash. At the end it gets the signal ("TERM",
// "QUIT" …) as a process group of its own: a Ctrl-C in the terminal does not
// reach it, we decide when it stops. The command must not set Stdin.
func Start(cmd *exec.Cmd, signal string) (*Process, error) {
	if cmd.Err != nil {
		return nil, cmd.Err
	}
	cmd.Args = append([]string{"sh", "-c", script, "leash", signal, cmd.Path}, cmd.Args[1:]...)
	return start(cmd)
}

func start(cmd *exec.Cmd) (*Process, error) {
	cmd.Path = "/bin/sh"
	if cmd.SysProcAttr == nil {
		cmd.SysProcAttr = &syscall.SysProcAttr{}
	}
	cmd.SysProcAttr.Setpgid = true
	// A grandchild that keeps the output open must not keep us waiting.
	cmd.WaitDelay = time.Second
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &Process{pid: cmd.Process.Pid, lease: stdin, done: make(chan struct{})}
	go func() {
		defer close(p.done)
		p.err = cmd.Wait()
	}()
	return p, nil
}

// PID is the process id of the command itself.
func (p *Process) PID() int { return p.pid }

// Done is closed when the command has ended and its output is written.
func (p *Process) Done() <-chan struct{} { return p.done }

// Err says how the command ended: nil for success. Ask after Done.
func (p *Process) Err() error {
	<-p.done
	return p.err
}

// Stop lets go of the leash and returns when the command has ended. Stopping
// one that has ended, or twice, does no harm.
func (p *Process) Stop() error {
	if err := p.lease.Close(); err != nil && !errors.Is(err, os.ErrClosed) {
		return fmt.Errorf("stop process %d: %w", p.pid, err)
	}
	select {
	case <-p.done:
		return nil
	case <-time.After(grace + 10*time.Second):
		return fmt.Errorf("stop process %d: it still runs", p.pid)
	}
}

// TempDir makes a directory in base, closed to other users, that is removed by
// the returned function or when this process ends, whichever is first.
func TempDir(base, pattern string) (string, func() error, error) {
	dir, err := os.MkdirTemp(base, pattern)
	if err != nil {
		return "", nil, err
	}
	cmd := exec.Command("/bin/sh", "-c", script, "leash", "rm", dir)
	cmd.Dir = "/"
	p, err := start(cmd)
	if err != nil {
		return "", nil, errors.Join(err, os.Remove(dir))
	}
	remove := func() error {
		if err := p.Stop(); err != nil {
			return err
		}
		if err := p.Err(); err != nil {
			return fmt.Errorf("remove %s: %w", dir, err)
		}
		return nil
	}
	return dir, remove, nil
}
