//go:build unix

package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// programs are the paths of the built servers.
type programs struct{ cartd, devauth string }

// build compiles the two servers into dir. With `go run` the process to stop
// would not be the process we started.
func build(ctx context.Context, dir string, console *console) (programs, error) {
	console.say("building cartd and devauth … (a minute or more the first time)")
	module, err := output(ctx, exec.Command("go", "env", "GOMOD"))
	if err != nil {
		return programs{}, fmt.Errorf("find the module: %w", err)
	}
	cmd := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./cmd/cartd", "./cmd/devauth")
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(module)))
	if _, err := output(ctx, cmd); err != nil {
		return programs{}, fmt.Errorf("build: %w", err)
	}
	return programs{cartd: filepath.Join(dir, "cartd"), devauth: filepath.Join(dir, "devauth")}, nil
}

// writeKeyRing makes the requestState key of this run. A deployment keeps one
// ring for all its replicas; here there is one replica, and nothing outlives it.
func (p programs) writeKeyRing(ctx context.Context, file string) error {
	line, err := output(ctx, exec.Command(p.cartd, "keygen"))
	if err != nil {
		return fmt.Errorf("cartd keygen: %w", err)
	}
	return os.WriteFile(file, line, 0o600)
}

// output is what the command prints; an error holds what it complains about.
func output(ctx context.Context, cmd *exec.Cmd) ([]byte, error) {
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	if err := runToEnd(ctx, cmd); err != nil {
		return nil, fmt.Errorf("%w\n%s", err, &complaint)
	}
	return out.Bytes(), nil
}
