//go:build unix

package main

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// fakeEnv makes this test binary one of the servers; its value is what it does.
const fakeEnv = "CARTDEV_TEST_FAKE"

func TestMain(m *testing.M) {
	if how := os.Getenv(fakeEnv); how != "" {
		fake(how)
	}
	os.Exit(m.Run())
}

// fake answers for cartd and devauth: "serve" on /readyz, and "migrate".
func fake(how string) {
	name := filepath.Base(os.Args[0]) + " " + os.Args[1]
	fmt.Println("this is", name)
	switch {
	case strings.HasPrefix(how, name):
		os.Exit(9) // the one that is to end
	case name == "cartd migrate":
		os.Exit(0)
	case name == "cartd serve":
		http.HandleFunc("/readyz", func(http.ResponseWriter, *http.Request) {})
		fmt.Println(http.ListenAndServe(os.Getenv("LISTEN_ADDR"), nil))
		os.Exit(1)
	}
	select {} // devauth serve
}

func fakeStack(t *testing.T, seen *screen) (*stack, programs) {
	t.Helper()
	c, err := loadConfig(getenv(map[string]string{"LISTEN_ADDR": freeAddress(t), "DEVAUTH_ADDR": freeAddress(t)}))
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	bin := programs{cartd: filepath.Join(dir, "cartd"), devauth: filepath.Join(dir, "devauth")}
	for _, path := range []string{bin.cartd, bin.devauth} {
		if err := os.Symlink(self, path); err != nil {
			t.Fatal(err)
		}
	}
	return &stack{config: c, console: newConsole(seen)}, bin
}

func TestServersRunUntilTold(t *testing.T) {
	var seen screen
	s, bin := fakeStack(t, &seen)
	ctx, cancel := context.WithCancel(t.Context())
	s.console.out = writer(func(text string) {
		seen.Write([]byte(text))
		all := seen.String()
		if strings.Contains(all, "Ctrl-C stops everything") && strings.Contains(all, "this is devauth") {
			cancel()
		}
	})
	env := append(s.config.environment(os.Environ(), "postgres://", "/ring"), fakeEnv+"=nothing ends")
	if err := s.serve(ctx, bin, env); ctx.Err() == nil {
		t.Errorf("serve = %v before it was told to stop", err)
	}
	if err := s.down(); err != nil {
		t.Errorf("down = %v", err)
	}
	for _, want := range []string{"migrate | this is cartd migrate\n", "devauth | this is devauth serve\n", "cartd   | this is cartd serve\n"} {
		if !strings.Contains(seen.String(), want) {
			t.Errorf("output lacks %q:\n%s", want, &seen)
		}
	}
}

func TestServerThatEndsIsNamed(t *testing.T) {
	for who, want := range map[string]string{
		"cartd migrate": "cartd migrate: exit status 9",
		"cartd serve":   "cartd ended (exit status 9)",
		"devauth serve": "devauth ended (exit status 9)",
	} {
		t.Run(who, func(t *testing.T) {
			var seen screen
			s, bin := fakeStack(t, &seen)
			env := append(s.config.environment(os.Environ(), "postgres://", "/ring"), fakeEnv+"="+who)
			if err := s.serve(t.Context(), bin, env); err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("serve = %v, want %s", err, want)
			}
			if err := s.down(); err != nil {
				t.Errorf("down = %v", err)
			}
			if !strings.Contains(seen.String(), "| this is "+who+"\n") {
				t.Errorf("output lacks the last words of %s:\n%s", who, &seen)
			}
		})
	}
}
