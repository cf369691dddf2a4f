//go:build e2e

package e2e_test

import (
	"bytes"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"example.com/mcp-cart/cmd/cartdev/leash"
)

// patience bounds every wait for something that has to happen. Nothing is
// judged by it unless it does not happen at all.
const patience = 2 * time.Minute

// A process is a program that runs beside a test and ends with it.
type process struct {
	*leash.Process
	name string
	out  *output // what it prints, log included
}

// start runs a program in this environment.
func start(t testing.TB, name string, cmd *exec.Cmd, env ...string) *process {
	t.Helper()
	p := &process{name: name, out: new(output)}
	cmd.Env = append(environment(), env...)
	cmd.Stdout, cmd.Stderr = p.out, p.out
	var err error
	if p.Process, err = leash.Start(cmd, "TERM"); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if t.Failed() {
			t.Logf("the last of what %s printed:\n%s", name, p.out.tail())
		}
	})
	return p
}

// environment is what every program sees. It is not that of the tests, which may
// configure the servers, the clients or a proxy. The Node.js that was installed
// with the clients comes first.
func environment() []string {
	bin, err := filepath.Abs(nodeModule(".bin"))
	if err != nil {
		panic(err) // no working directory
	}
	return []string{
		"PATH=" + bin + string(os.PathListSeparator) + os.Getenv("PATH"),
		"HOME=" + os.Getenv("HOME"), "TMPDIR=" + os.TempDir(),
	}
}

// node is a program of this folder, or of the installed packages.
func node(script string, args ...string) *exec.Cmd {
	cmd := exec.Command(nodeModule(".bin/node"), append([]string{script}, args...)...)
	cmd.Env = environment()
	return cmd
}

// answers waits until the URL answers 200.
func (p *process) answers(t testing.TB, url string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: 5 * time.Second}
	p.until(t, url+" answers 200", func() bool {
		resp, err := client.Get(url)
		if err != nil {
			return false
		}
		resp.Body.Close()
		return resp.StatusCode == http.StatusOK
	})
}

// until waits for something that the process has to bring about.
func (p *process) until(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !holds(); time.Sleep(20 * time.Millisecond) {
		select {
		case <-p.Done():
			t.Fatalf("%s ended (%v) before %s:\n%s", p.name, p.Err(), what, p.out.tail())
		default:
		}
		if time.Now().After(deadline) {
			t.Fatalf("waited %v in vain until %s:\n%s", patience, what, p.out.tail())
		}
	}
}

// wait waits for the end and says how it was.
func (p *process) wait() error {
	select {
	case <-p.Done():
		return p.Err()
	case <-time.After(patience):
		return fmt.Errorf("%s has not ended after %v", p.name, patience)
	}
}

// freeAddress is an address on this machine where nothing listens. Another
// program may take it before its user does; then the test fails and says so.
func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func freePort(t testing.TB) string {
	t.Helper()
	_, port, err := net.SplitHostPort(freeAddress(t))
	if err != nil {
		t.Fatal(err)
	}
	return port
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
