//go:build e2e

package e2e_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"example.com/mcp-cart/cmd/cartdev/leash"
	"example.com/mcp-cart/cmd/cartdev/localpg/pgtest"
)

var postgres pgtest.Server

// built is the directory of the binaries under test.
var built string

func TestMain(m *testing.M) {
	os.Exit(func() int {
		remove, err := prepare()
		if err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
		code := postgres.Main(m)
		if err := remove(); err != nil {
			fmt.Fprintln(os.Stderr, "e2e:", err)
			return 1
		}
		return code
	}())
}

// prepare builds the binaries and says what is not installed. Nothing is
// skipped for want of it: a test that did not run proves nothing.
func prepare() (func() error, error) {
	if _, err := os.Stat(nodeModule("oidc-provider")); err != nil {
		return nil, fmt.Errorf("the clients are not installed: run `make e2e`, or `npm ci` in the folder e2e (%w)", err)
	}
	if _, err := chromium(); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(pictures, 0o755); err != nil {
		return nil, err
	}
	dir, remove, err := leash.TempDir(os.TempDir(), "mcp-cart-e2e-")
	if err != nil {
		return nil, err
	}
	built = dir
	out, err := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "../cmd/cartd", "../cmd/devauth").CombinedOutput()
	if err != nil {
		_ = remove() // the first error tells more
		return nil, fmt.Errorf("build cartd and devauth: %w\n%s", err, out)
	}
	return remove, nil
}

// pictures is where a browser that failed leaves what it showed.
const pictures = "out"

// chromium is the browser of the tests: CHROMIUM, or one that is installed.
func chromium() (string, error) {
	if path := os.Getenv("CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", fmt.Errorf("no Chromium found: install it (Debian: apt-get install chromium), or set CHROMIUM to the program's path")
}

func nodeModule(path string) string { return filepath.Join("node_modules", path) }
