package localpg

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// places are where distributions keep the server binaries off the PATH.
func places() []string {
	return []string{
		"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
		"/usr/pgsql-*/bin",                                   // PostgreSQL's own RPMs
		"/usr/libexec/postgresql*",                           // Alpine
		"/opt/homebrew/opt/postgresql@*/bin",                 // Homebrew on Apple silicon
		"/usr/local/opt/postgresql@*/bin",                    // Homebrew on Intel
		"/Applications/Postgres.app/Contents/Versions/*/bin", // Postgres.app
	}
}

var versionLine = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// findBinaries returns the directory that holds initdb and postgres: the one
// the user has chosen (PATH, pg_config) if it is new enough, else the newest.
func findBinaries(ctx context.Context, places []string) (string, error) {
	for _, dir := range chosen(ctx) {
		if serverMajor(ctx, dir) >= minMajor {
			return dir, nil
		}
	}
	newest, major := "", minMajor-1
	for _, pattern := range places {
		dirs, _ := filepath.Glob(pattern) // the only error is a malformed pattern
		for _, dir := range dirs {
			if m := serverMajor(ctx, dir); m > major {
				newest, major = dir, m
			}
		}
	}
	if newest == "" {
		return "", fmt.Errorf("PostgreSQL binaries of version %d or later: %w", minMajor, errAbsent)
	}
	return newest, nil
}

func chosen(ctx context.Context) []string {
	var dirs []string
	if path, err := exec.LookPath("postgres"); err == nil {
		// A link in the PATH may stand alone, without initdb next to it.
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
		dirs = append(dirs, filepath.Dir(path))
	}
	if out, err := exec.CommandContext(ctx, "pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	return dirs
}

// serverMajor is the version of the server in dir, or 0 if there is none that
// can be run. A client-only installation has no initdb.
func serverMajor(ctx context.Context, dir string) int {
	if _, err := exec.LookPath(filepath.Join(dir, "initdb")); err != nil {
		return 0
	}
	out, err := exec.CommandContext(ctx, filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	match := versionLine.FindSubmatch(out)
	if match == nil {
		return 0
	}
	major, _ := strconv.Atoi(string(match[1])) // digits by the expression; 0 if absurd
	return major
}
