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
	console.say("building cartd and devauth …")
	module, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return programs{}, fmt.Errorf("find the module: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-o", dir+string(filepath.Separator), "./cmd/cartd", "./cmd/devauth")
	cmd.Dir = filepath.Dir(strings.TrimSpace(string(module)))
	if out, err := cmd.CombinedOutput(); err != nil {
		return programs{}, fmt.Errorf("build: %w\n%s", err, out)
	}
	return programs{cartd: filepath.Join(dir, "cartd"), devauth: filepath.Join(dir, "devauth")}, nil
}

// writeKeyRing makes the requestState key of this run. A deployment keeps one
// ring for all its replicas; here there is one replica, and nothing outlives it.
func (p programs) writeKeyRing(ctx context.Context, file string) error {
	var complaint bytes.Buffer
	cmd := exec.CommandContext(ctx, p.cartd, "keygen")
	cmd.Stderr = &complaint
	line, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("cartd keygen: %w\n%s", err, &complaint)
	}
	return os.WriteFile(file, line, 0o600)
}
