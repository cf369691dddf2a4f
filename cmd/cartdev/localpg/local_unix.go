//go:build unix

package localpg

import (
	"context"
	"crypto/rand"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"example.com/mcp-cart/cmd/cartdev/leash"
)

//go:embed postgres.sh
var script string

// A private is one Postgres of ours. The leash ends it with us.
type private struct {
	*leash.Process
	dir    string
	remove func() error
	log    *log
}

// startLocal runs a private server from binaries on this machine.
func startLocal(ctx context.Context, o Options) (*Server, error) {
	bin, err := findBinaries(ctx, places())
	if err != nil {
		return nil, err
	}
	password := rand.Text()
	// Another process may take the port between our asking for it and
	// Postgres binding it. Then ask for another.
	for range 5 {
		port, err := freePort()
		if err != nil {
			return nil, fmt.Errorf("start PostgreSQL: %w", err)
		}
		p, err := launch(bin, password, port, o)
		if err != nil {
			return nil, fmt.Errorf("start PostgreSQL: %w", err)
		}
		err = p.waitReady(ctx)
		if err == nil {
			url := fmt.Sprintf("postgres://mcpcart:%s@127.0.0.1:%d/postgres?sslmode=disable", password, port)
			return newServer(url, bin, p.stop), nil
		}
		err = errors.Join(err, p.stop())
		if !p.log.contains(portTaken) {
			return nil, fmt.Errorf("start PostgreSQL from %s: %w", bin, err)
		}
	}
	return nil, errors.New("start PostgreSQL: every free port was taken before it could be used")
}

// launch starts the server, without waiting for it, in a new directory.
func launch(bin, password string, port int, o Options) (*private, error) {
	user, err := unprivileged()
	if err != nil {
		return nil, err
	}
	p := &private{log: newLog(o.Log)}
	p.dir, p.remove, err = leash.TempDir(baseDir(user), "mcp-cart-postgres-")
	if err != nil {
		return nil, err
	}
	if err := furnish(p.dir, password, user); err != nil {
		return nil, errors.Join(err, p.remove())
	}
	args := append([]string{"-c", script, "postgres.sh", bin, p.dir}, settings(port, o.Durable)...)
	cmd := exec.Command("/bin/sh", args...)
	cmd.Dir = p.dir
	// Not our environment: PGDATA, PGPORT and the like would change what runs.
	cmd.Env = []string{"PATH=/usr/bin:/bin", "LC_ALL=C"}
	cmd.Stderr = p.log
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: user}
	// SIGQUIT is Postgres's immediate shutdown: nothing in here is kept, and
	// unlike the gentler ones it cannot be held up by a client.
	p.Process, err = leash.Start(cmd, "QUIT")
	if err != nil {
		return nil, errors.Join(err, p.remove())
	}
	return p, nil
}

// furnish puts the password into the server's directory and hands it over.
func furnish(dir, password string, user *syscall.Credential) error {
	file := filepath.Join(dir, "password")
	if err := os.WriteFile(file, []byte(password), 0o600); err != nil {
		return err
	}
	if user == nil {
		return nil
	}
	uid, gid := int(user.Uid), int(user.Gid)
	return errors.Join(os.Chown(file, uid, gid), os.Chown(dir, uid, gid))
}

func (p *private) waitReady(ctx context.Context) error {
	select {
	case <-p.log.ready:
		return nil
	case <-p.Done():
		return fmt.Errorf("it ended at once (%v):\n%s", p.Err(), p.log.tail())
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stop ends the server and returns when process and directory are gone.
func (p *private) stop() error {
	if err := errors.Join(p.Stop(), p.remove()); err != nil {
		return fmt.Errorf("stop PostgreSQL: %w", err)
	}
	return nil
}

// settings make Postgres private and light. Only a password opens it, and only
// from this machine; a socket in the file system would need a place that no
// other user can reach and no other server has taken.
func settings(port int, durable bool) []string {
	args := []string{
		"-c", "listen_addresses=127.0.0.1",
		"-c", fmt.Sprintf("port=%d", port),
		"-c", "unix_socket_directories=",
		"-c", "max_connections=200",
		"-c", "shared_buffers=64MB",
	}
	if !durable {
		args = append(args, "-c", "fsync=off", "-c", "synchronous_commit=off", "-c", "full_page_writes=off")
	}
	return args
}

func freePort() (int, error) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		return 0, err
	}
	return l.Addr().(*net.TCPAddr).Port, l.Close()
}
