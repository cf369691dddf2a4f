//go:build unix

package localpg

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
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

// withBinaries runs a test of the private server where there are binaries to
// run it from. A machine that has only Docker has nothing here to go wrong.
func withBinaries(t *testing.T, test func(t *testing.T)) {
	t.Helper()
	t.Setenv("DATABASE_URL", "")
	bin, err := findBinaries(t.Context(), places())
	if errors.Is(err, errAbsent) {
		return
	}
	t.Run(filepath.Base(filepath.Dir(bin)), test)
}

func TestServerIsPrivateAndLeavesNothing(t *testing.T) {
	withBinaries(t, func(t *testing.T) {
		s := startAny(t)
		dir := query(t, s.URL(), "SELECT current_setting('data_directory')")
		info, err := os.Stat(filepath.Dir(dir))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o700 {
			t.Errorf("mode of %s = %v, want rwx for the owner only", dir, got)
		}
		for _, want := range []struct{ setting, value string }{
			{"listen_addresses", "127.0.0.1"}, {"unix_socket_directories", ""}, {"password_encryption", "scram-sha-256"},
		} {
			if got := query(t, s.URL(), "SELECT current_setting('"+want.setting+"')"); got != want.value {
				t.Errorf("%s = %q, want %q", want.setting, got, want.value)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatalf("Close = %v", err)
		}
		if _, err := os.Stat(filepath.Dir(dir)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat(%s) after Close = %v, want it gone", filepath.Dir(dir), err)
		}
		if err := s.Close(); err != nil {
			t.Errorf("second Close = %v, want nil", err)
		}
	})
}

func TestOnlyThePasswordOpens(t *testing.T) {
	withBinaries(t, func(t *testing.T) {
		a, b := startAny(t), startAny(t)
		config, err := pgx.ParseConfig(a.URL())
		if err != nil {
			t.Fatal(err)
		}
		other, err := pgx.ParseConfig(b.URL())
		if err != nil {
			t.Fatal(err)
		}
		if config.Port == other.Port || config.Password == other.Password {
			t.Fatal("two servers share a port or a password")
		}
		for name, password := range map[string]string{"none": "", "another server's": other.Password} {
			config.Password = password
			conn, err := pgx.ConnectConfig(t.Context(), config)
			if err == nil {
				conn.Close(t.Context())
				t.Errorf("connect with password %s = ok, want refused", name)
			}
		}
	})
}

func TestServerDiesWithItsKilledStarter(t *testing.T) {
	withBinaries(t, func(t *testing.T) {
		for _, stage := range []string{"starting", "ready"} {
			t.Run(stage, func(t *testing.T) {
				pid, dir := startAndKill(t, stage)
				waitUntil(t, "the directory is gone", func() bool {
					_, err := os.Stat(dir)
					return errors.Is(err, fs.ErrNotExist)
				})
				waitUntil(t, "the process is gone", func() bool { return !alive(pid) })
			})
		}
	})
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

func TestGivenUpStartLeavesNothing(t *testing.T) {
	withBinaries(t, func(t *testing.T) {
		bin, err := findBinaries(t.Context(), places())
		if err != nil {
			t.Fatal(err)
		}
		port, err := freePort()
		if err != nil {
			t.Fatal(err)
		}
		p, err := launch(bin, "secret", port, Options{})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		// The server may be quicker than the select; only what is left counts.
		if err := p.waitReady(ctx); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("waitReady = %v, want context canceled", err)
		}
		if err := p.stop(); err != nil {
			t.Fatalf("stop = %v", err)
		}
		if _, err := os.Stat(p.dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("Stat(%s) = %v, want it gone", p.dir, err)
		}
	})
}

func TestTakenPortIsRecognised(t *testing.T) {
	withBinaries(t, func(t *testing.T) {
		bin, err := findBinaries(t.Context(), places())
		if err != nil {
			t.Fatal(err)
		}
		taken, err := net.Listen("tcp4", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer taken.Close()
		p, err := launch(bin, "secret", taken.Addr().(*net.TCPAddr).Port, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.waitReady(t.Context()); err == nil || !p.log.contains(portTaken) {
			t.Errorf("waitReady = %v, want an error whose log says %q", err, portTaken)
		}
		if err := p.stop(); err != nil {
			t.Errorf("stop = %v", err)
		}
	})
}

// TestOrdinaryUserCanStart runs the first test again as a user without rights
// of any kind, if we are root; if we are not, that test was such a run.
func TestOrdinaryUserCanStart(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	withBinaries(t, func(t *testing.T) {
		nobody, err := user.Lookup("nobody")
		if err != nil {
			t.Fatal(err)
		}
		uid, err := strconv.ParseUint(nobody.Uid, 10, 32)
		if err != nil {
			t.Fatal(err)
		}
		dir := publicDir(t, int(uid))
		cmd := exec.CommandContext(t.Context(), copyOfThisBinary(t, dir), "-test.run=^TestServerIsPrivateAndLeavesNothing$", "-test.v")
		cmd.Dir = dir
		cmd.Env = []string{"PATH=/usr/bin:/bin", "TMPDIR=" + dir}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(uid)}}
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), "--- PASS: TestServerIsPrivateAndLeavesNothing/") {
			t.Errorf("as nobody: %v\n%s", err, out)
		}
	})
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
