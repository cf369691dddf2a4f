//go:build unix

package main

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestPrintedCallWorksAndNothingIsLeft builds cartdev, runs it as a user would,
// does what it says, and ends it in the gentle and in the brutal way.
func TestPrintedCallWorksAndNothingIsLeft(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "cartdev")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", bin, ".").CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	for _, signal := range []os.Signal{os.Interrupt, os.Kill} {
		t.Run(signal.String(), func(t *testing.T) {
			env := environment(t)
			r := start(t, bin, env)
			r.callAsPrinted(t, env)
			if err := r.cmd.Process.Signal(signal); err != nil {
				t.Fatal(err)
			}
			rest, _ := io.ReadAll(r.lines)
			if err := r.cmd.Wait(); (err == nil) != (signal == os.Interrupt) {
				t.Errorf("cartdev ended with %v after %v\n%s", err, signal, rest)
			}
			for _, name := range []string{"LISTEN_ADDR", "DEVAUTH_ADDR"} {
				waitUntil(t, name+" is free again", func() bool { return isFree(env[name]) })
			}
			waitUntil(t, "no file is left", func() bool {
				left, err := os.ReadDir(env["TMPDIR"])
				return err == nil && len(left) == 0
			})
		})
	}
}

// environment gives a run its own ports and its own place for files.
func environment(t *testing.T) map[string]string {
	return map[string]string{
		"LISTEN_ADDR": freeAddress(t), "DEVAUTH_ADDR": freeAddress(t),
		"DEVAUTH_KEY": filepath.Join(t.TempDir(), "key.pem"),
		"TMPDIR":      t.TempDir(),
	}
}

func withEnv(cmd *exec.Cmd, env map[string]string) *exec.Cmd {
	cmd.Env = os.Environ()
	for name, value := range env {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func isFree(addr string) bool {
	l, err := net.Listen("tcp", addr)
	return err == nil && l.Close() == nil
}

// running is a cartdev that has said that it is ready.
type running struct {
	cmd   *exec.Cmd
	lines *bufio.Reader
	curl  string // the printed call
}

func start(t *testing.T, bin string, env map[string]string) running {
	t.Helper()
	cmd := withEnv(exec.CommandContext(t.Context(), bin), env)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = cmd.Stdout
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	r := running{cmd: cmd, lines: bufio.NewReader(stdout)}
	var said strings.Builder
	for !strings.Contains(said.String(), "Ctrl-C stops everything") {
		line, err := r.lines.ReadString('\n')
		said.WriteString(line)
		if err != nil {
			t.Fatalf("cartdev ended before it was ready:\n%s", &said)
		}
		if strings.HasPrefix(line, "curl ") {
			r.curl = line
		}
	}
	return r
}

// callAsPrinted lets a shell read the printed line, substitution and quotes
// included, and sends what curl would have sent.
func (r running) callAsPrinted(t *testing.T, env map[string]string) {
	t.Helper()
	cmd := withEnv(exec.CommandContext(t.Context(), "/bin/sh", "-c", `curl() { for a; do echo "$a"; done; }; `+r.curl), env)
	cmd.Dir = filepath.Join("..", "..")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("sh -c %s: %v", r.curl, err)
	}
	status, body := send(t, strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"))
	var answer struct {
		Result struct {
			IsError           bool
			StructuredContent struct{ Products []any }
		}
	}
	if err := json.Unmarshal(body, &answer); err != nil {
		t.Fatalf("answer %d is no JSON: %v\n%s", status, err, body)
	}
	if status != http.StatusOK || answer.Result.IsError || len(answer.Result.StructuredContent.Products) == 0 {
		t.Errorf("answer = %d %s, want 200 and products", status, body)
	}
}

// send understands the options of curl that the printed line uses, and no others.
func send(t *testing.T, args []string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(args); i++ {
		switch arg := args[i]; {
		case arg == "-sS":
		case arg == "--noproxy":
			i++
		case arg == "-H":
			i++
			name, value, _ := strings.Cut(args[i], ": ")
			req.Header.Set(name, value)
		case arg == "-d":
			i++
			req.Body = io.NopCloser(strings.NewReader(args[i]))
		case strings.HasPrefix(arg, "http://"):
			if req.URL, err = req.URL.Parse(arg); err != nil {
				t.Fatal(err)
			}
		default:
			t.Fatalf("the printed line has an unknown argument %q", arg)
		}
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, body
}

// waitUntil is for what another process does in its own time.
func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("30 s later, still not so: %s", what)
		}
	}
}
