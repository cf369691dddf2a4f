//go:build unix

package localpg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// holdEnv makes this test binary a starter that can be killed.
const holdEnv = "LOCALPG_TEST_HOLD"

func TestMain(m *testing.M) {
	if os.Getenv(holdEnv) != "" {
		hold()
	}
	os.Exit(m.Run())
}

// hold starts a server, says where its directory is, and lives until killed.
func hold() {
	defer os.Exit(1)
	bin, err := findBinaries(context.Background(), places())
	if err != nil {
		return
	}
	port, err := freePort()
	if err != nil {
		return
	}
	p, err := launch(bin, "secret", port, Options{})
	if err != nil {
		return
	}
	fmt.Println(p.PID(), p.dir)
	if os.Getenv(holdEnv) == "ready" && p.waitReady(context.Background()) != nil {
		return
	}
	fmt.Println("holding")
	select {}
}

// startAndKill runs this binary as a starter and kills it -9 at the stage.
func startAndKill(t *testing.T, stage string) (pid int, dir string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), holdEnv+"="+stage)
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(stdout)
	first, err := lines.ReadString('\n')
	if err != nil {
		t.Fatalf("read from the starter: %v", err)
	}
	if _, err := fmt.Sscan(first, &pid, &dir); err != nil {
		t.Fatalf("starter said %q: %v", first, err)
	}
	if _, err := lines.ReadString('\n'); err != nil {
		t.Fatalf("read from the starter: %v", err)
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	return pid, dir
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

// publicDir is a directory for another user; t.TempDir is closed to it.
func publicDir(t *testing.T, uid int) string {
	t.Helper()
	dir, err := os.MkdirTemp("/tmp", "localpg-test-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, uid, -1); err != nil {
		t.Fatal(err)
	}
	return dir
}

func copyOfThisBinary(t *testing.T, dir string) string {
	t.Helper()
	in, err := os.Open(os.Args[0])
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	path := filepath.Join(dir, "localpg.test")
	out, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(out, in); err != nil {
		t.Fatal(err)
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// waitUntil is for what another process does in its own time.
func waitUntil(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.Now().Add(30 * time.Second)
	for !done() {
		if time.Now().After(deadline) {
			t.Fatalf("30 s later, still not so: %s", what)
		}
		time.Sleep(10 * time.Millisecond)
	}
}
