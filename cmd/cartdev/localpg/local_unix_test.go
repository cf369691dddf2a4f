//go:build unix

package localpg

import (
	"context"
	"errors"
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

	"github.com/jackc/pgx/v5"
)

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
