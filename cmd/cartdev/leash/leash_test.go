//go:build unix

package leash_test

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/mcp-cart/cmd/cartdev/leash"
)

// holdEnv makes this test binary a starter that can be killed: its value is
// the shell script that it runs on a leash.
const holdEnv = "LEASH_TEST_HOLD"

func TestMain(m *testing.M) {
	if script := os.Getenv(holdEnv); script != "" {
		hold(script)
	}
	os.Exit(m.Run())
}

func hold(script string) {
	dir, _, err := leash.TempDir(os.Getenv("TMPDIR"), "held-")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Stdout = os.Stdout
	p, err := leash.Start(cmd, "TERM")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(p.PID(), dir)
	<-p.Done()
}

func TestNothingOutlivesAKilledStarter(t *testing.T) {
	base := t.TempDir()
	starter := exec.CommandContext(t.Context(), os.Args[0])
	// The script starts a child of its own, which has to go as well.
	starter.Env = append(os.Environ(), "TMPDIR="+base, holdEnv+"=sleep 1000 & echo started $!; wait")
	stdout, err := starter.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := starter.Start(); err != nil {
		t.Fatal(err)
	}
	var child, grandchild int
	var dir string
	for lines := bufio.NewScanner(stdout); (child == 0 || grandchild == 0) && lines.Scan(); {
		if n, _ := fmt.Sscanf(lines.Text(), "started %d", &grandchild); n == 1 {
			continue
		}
		if _, err := fmt.Sscan(lines.Text(), &child, &dir); err != nil {
			t.Fatalf("starter said %q", lines.Text())
		}
	}
	if !alive(child) || !alive(grandchild) {
		t.Fatalf("child %d and grandchild %d do not run", child, grandchild)
	}
	if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := starter.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	waitUntil(t, "the child is gone", func() bool { return !alive(child) })
	waitUntil(t, "the grandchild is gone", func() bool { return !alive(grandchild) })
	waitUntil(t, "the directory is gone", func() bool { return !exists(dir) })
	_ = starter.Wait() // it was killed
}

func TestStopSendsTheSignalAndWaits(t *testing.T) {
	for _, signal := range []string{"TERM", "QUIT"} {
		t.Run(signal, func(t *testing.T) {
			ready, said := make(chan struct{}), make([]string, 0, 2)
			cmd := exec.Command("/bin/sh", "-c", "trap 'echo stopping; exit 7' "+signal+"; echo ready; while :; do sleep 0.01; done")
			cmd.Stdout = leash.Lines(func(line string) {
				if said = append(said, line); line == "ready" {
					close(ready)
				}
			})
			p, err := leash.Start(cmd, signal)
			if err != nil {
				t.Fatalf("Start = %v", err)
			}
			<-ready
			if err := p.Stop(); err != nil {
				t.Fatalf("Stop = %v", err)
			}
			var exit *exec.ExitError
			if err := p.Err(); !errors.As(err, &exit) || exit.ExitCode() != 7 {
				t.Errorf("Err = %v, want exit status 7", err)
			}
			if want := []string{"ready", "stopping"}; !reflect.DeepEqual(said, want) {
				t.Errorf("output = %q, want %q", said, want)
			}
			if err := p.Stop(); err != nil {
				t.Errorf("second Stop = %v, want nil", err)
			}
		})
	}
}

func TestArgumentsArriveAsGiven(t *testing.T) {
	want := []string{"a b", "$HOME", "'", "", "-x", "*"}
	var got []string
	cmd := exec.Command("/usr/bin/env", append([]string{"sh", "-c", `for a; do echo "<$a>"; done`, "sh"}, want...)...)
	cmd.Stdout = leash.Lines(func(line string) { got = append(got, strings.Trim(line, "<>")) })
	p, err := leash.Start(cmd, "TERM")
	if err != nil {
		t.Fatalf("Start = %v", err)
	}
	if err := p.Err(); err != nil {
		t.Errorf("Err = %v, want nil", err)
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("arguments = %q, want %q", got, want)
	}
}

func TestMissingCommandIsAnError(t *testing.T) {
	if _, err := leash.Start(exec.Command("no-such-command-anywhere"), "TERM"); !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("Start = %v, want %v", err, exec.ErrNotFound)
	}
}

func TestTempDirIsClosedAndRemoved(t *testing.T) {
	dir, remove, err := leash.TempDir(t.TempDir(), "x-")
	if err != nil {
		t.Fatalf("TempDir = %v", err)
	}
	info, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != 0o700 {
		t.Errorf("mode = %v, want rwx for the owner only", got)
	}
	if err := os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := remove(); err != nil {
		t.Errorf("remove = %v", err)
	}
	if exists(dir) {
		t.Error("the directory is still there")
	}
}

func TestLines(t *testing.T) {
	var got []string
	w := leash.Lines(func(line string) { got = append(got, line) })
	for _, part := range []string{"on", "e\ntwo\n\nthr", "ee\n", "no end"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("Write(%q) = %d, %v", part, n, err)
		}
	}
	if want := []string{"one", "two", "", "three"}; !reflect.DeepEqual(got, want) {
		t.Errorf("lines = %q, want %q", got, want)
	}
}

func TestEndlessLineIsCut(t *testing.T) {
	var got string
	w := leash.Lines(func(line string) { got = line })
	chunk := strings.Repeat("x", 1<<20)
	for _, part := range []string{chunk, chunk, "\n"} {
		if n, err := w.Write([]byte(part)); n != len(part) || err != nil {
			t.Errorf("Write = %d, %v, want %d, nil", n, err, len(part))
		}
	}
	if len(got) != 64<<10 {
		t.Errorf("length = %d, want %d", len(got), 64<<10)
	}
}

// alive reports whether the process runs. One that has ended but that nobody
// has asked about (a container's first process may never do so) does not.
func alive(pid int) bool {
	if syscall.Kill(pid, 0) != nil {
		return false
	}
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return !errors.Is(err, fs.ErrNotExist)
	}
	_, state, _ := strings.Cut(string(stat), ") ")
	return !strings.HasPrefix(state, "Z")
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return !errors.Is(err, fs.ErrNotExist)
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
