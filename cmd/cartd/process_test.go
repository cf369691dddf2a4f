package main

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// patience bounds every wait for something that has to happen. Nothing is
// judged by it unless it does not happen at all.
const patience = 30 * time.Second

// eventually returns when the condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain: %s", patience, what)
		}
	}
}

// A process is one run of cartd.
type process struct {
	cmd   *exec.Cmd
	out   *output // what it prints, log included
	lease io.Closer
	done  chan struct{}
	err   error // how it ended; read it after done
}

// start runs cartd with this command and this environment and no other. It is
// gone when the test ends.
func start(t testing.TB, env map[string]string, args ...string) *process {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(self, args...), out: new(output), done: make(chan struct{})}
	p.cmd.Args[0] = "cartd"
	// The race detector otherwise sleeps for a second at every end.
	p.cmd.Env = []string{runAsCartd + "=1", "GORACE=atexit_sleep_ms=0"}
	for name, value := range env {
		p.cmd.Env = append(p.cmd.Env, name+"="+value)
	}
	p.cmd.Stdout, p.cmd.Stderr = p.out, p.out
	if p.lease, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		p.err = p.cmd.Wait()
	}()
	t.Cleanup(func() { p.end(t) })
	return p
}

// end ends what still runs and gives the race detector's verdict.
func (p *process) end(t testing.TB) {
	_ = p.cmd.Process.Kill() // It may have ended long ago.
	<-p.done
	if strings.Contains(p.out.String(), "DATA RACE") {
		t.Errorf("the race detector found something in cartd:\n%s", p.out)
	}
	if t.Failed() {
		t.Logf("the last of what cartd printed:\n%s", p.out.tail())
	}
}

// signal sends a signal.
func (p *process) signal(t testing.TB, s syscall.Signal) {
	t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		t.Fatalf("signal %v: %v", s, err)
	}
}

// kill ends it as a power cut would.
func (p *process) kill(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGKILL)
	<-p.done
}

// exit waits for the end and returns the exit code.
func (p *process) exit(t testing.TB) int {
	t.Helper()
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatalf("cartd has not ended after %v", patience)
	}
	var exit *exec.ExitError
	if p.err != nil && !errors.As(p.err, &exit) {
		t.Fatalf("wait for cartd: %v", p.err)
	}
	return p.cmd.ProcessState.ExitCode()
}

// running reports whether it has not ended.
func (p *process) running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// An output keeps what a process prints.
type output struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buf.String()
}

func (o *output) tail() string {
	text := o.String()
	return text[max(0, len(text)-4000):]
}
