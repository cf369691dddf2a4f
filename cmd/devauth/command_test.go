package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func noEnv(string) (string, bool) { return "", false }

func TestKeyFileIsMadeOncePrivateAndKept(t *testing.T) {
	path := filepath.Join(t.TempDir(), "new", "key.pem")
	kids := make(chan string, 8)
	var wg sync.WaitGroup
	for range cap(kids) {
		wg.Go(func() {
			key, err := openKey(path)
			if err != nil {
				t.Error(err)
				return
			}
			s, err := newSigner(key, config{})
			if err != nil {
				t.Error(err)
				return
			}
			kids <- s.jwk["kid"]
		})
	}
	wg.Wait()
	close(kids)
	first := <-kids
	for kid := range kids {
		if kid != first {
			t.Errorf("two processes at once have keys %s and %s, want one", first, kid)
		}
	}
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("key file = %v, %v, want mode 0600", info, err)
	}
	if entries, _ := os.ReadDir(filepath.Dir(path)); len(entries) != 1 {
		t.Errorf("folder holds %v, want the key file alone", entries)
	}
}

func TestKeyFileIsRefused(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good.pem")
	if _, err := openKey(good); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(good)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		mode os.FileMode
		text string
		want string
	}{
		"group":    {0o640, string(text), "open to other users"},
		"world":    {0o604, string(text), "open to other users"},
		"no PEM":   {0o600, "hello", "no PEM"},
		"no key":   {0o600, "-----BEGIN PRIVATE KEY-----\naGVsbG8=\n-----END PRIVATE KEY-----\n", "no PKCS #8"},
		"cut half": {0o600, string(text[:len(text)/2]), "no PEM"},
	} {
		path := filepath.Join(dir, strings.ReplaceAll(name, " ", "-"))
		if err := os.WriteFile(path, []byte(test.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, test.mode); err != nil {
			t.Fatal(err)
		}
		if _, err := openKey(path); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: openKey = %v, want %q", name, err, test.want)
		}
	}
}

func TestTokenCommandSignsWithTheServersKey(t *testing.T) {
	s := start(t)
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"DEVAUTH_ISSUER": s.signer.issuer, "DEVAUTH_KEY": s.keyFile, "DEVAUTH_CLIENT": "robot:secret"}[name]
		return value, ok
	}
	var out bytes.Buffer
	if err := run(t.Context(), []string{"token", "-user", "Bob", "-scope", "cart order:place", "-ttl", "2h"}, env, &out, io.Discard); err != nil {
		t.Fatal(err)
	}
	claims := s.claims(strings.TrimSuffix(out.String(), "\n"))
	if claims["sub"] != "dev|bob" || claims["client_id"] != "devauth-token" || claims["scope"] != "cart order:place" ||
		claims["exp"].(float64)-claims["iat"].(float64) != 7200 {
		t.Errorf("claims = %v", claims)
	}
}

func TestCommandsRefuse(t *testing.T) {
	// Were one not refused, it would stop at once instead of serving for ever.
	over, cancel := context.WithCancel(t.Context())
	cancel()
	key := filepath.Join(t.TempDir(), "key.pem")
	for _, test := range []struct {
		args string
		want string
	}{
		{"dance", "unknown command"},
		{"token", "a name is"},
		{"token -user a|b", "a name is"},
		{"token -user alice -scope admin", "invalid_scope"},
		{"token -user alice -client dev|alice", "a client id is"},
		{"token -user alice -issuer http://127.0.0.1:9000/", "-issuer"},
		{"token -user alice -audience mcp", "-audience"},
		{"token -user alice -ttl -1s", "-ttl"},
		{"token -user alice extra", "unexpected argument"},
		{"token -nonsense", "-nonsense"},
		{"serve -addr 0.0.0.0:0", "-listen-anywhere"},
		{"serve -addr :0", "-listen-anywhere"},
		{"serve -addr [::]:0", "-listen-anywhere"},
		{"serve -addr 192.0.2.1:0", "-listen-anywhere"},
		{"serve -addr example.com:0", "-listen-anywhere"},
		{"serve -addr 0.0.0.0:0 -listen-anywhere", "needs -issuer"},
		{"serve -addr 127.0.0.1:0 -issuer http://devauth:9000", "-listen-anywhere"},
		{"serve -addr 127.0.0.1:0 -issuer https://auth.example/path", "nothing after it"},
		{"serve -addr 127.0.0.1:0 -client robot:short", "number 1"},
		{"serve -addr 127.0.0.1:0 -client dev|alice:0123456789abcdef", "number 1"},
		{"serve -addr 127.0.0.1:0 -public-client app=http://app.example/", "number 1"},
		{"serve -addr 127.0.0.1:0 -client robot:0123456789abcdef -public-client robot=http://localhost/", "is a -client too"},
	} {
		args := strings.Fields(test.args)
		if len(args) > 1 {
			args = append([]string{args[0], "-key", key}, args[1:]...)
		}
		err := run(over, args, noEnv, io.Discard, io.Discard)
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("devauth %s = %v, want %q", test.args, err, test.want)
		}
		if err != nil && (strings.Contains(err.Error(), "short") || strings.Contains(err.Error(), "0123456789abcdef")) {
			t.Errorf("devauth %s: the error shows the secret: %v", test.args, err)
		}
	}
}

func TestHelpListsFlagsWithoutSecrets(t *testing.T) {
	env := func(name string) (string, bool) { return "robot:0123456789abcdef", name == "DEVAUTH_CLIENT" }
	for _, args := range [][]string{{}, {"help"}, {"serve", "-h"}, {"token", "-h"}} {
		var out bytes.Buffer
		if err := run(t.Context(), args, env, &out, io.Discard); !errors.Is(err, flag.ErrHelp) {
			t.Errorf("devauth %q = %v, want help", args, err)
		}
		if out.Len() == 0 || strings.Contains(out.String(), "0123456789abcdef") {
			t.Errorf("devauth %q prints %q", args, out.String())
		}
	}
}

func TestServeSaysWhereItIsAndStopsWhenTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	out, stdout := io.Pipe()
	done := make(chan error)
	key := filepath.Join(t.TempDir(), "key.pem")
	go func() {
		done <- run(ctx, []string{"serve", "-addr", "127.0.0.1:0", "-key", key}, noEnv, stdout, io.Discard)
	}()
	line := make([]byte, 200)
	n, err := out.Read(line)
	if err != nil {
		t.Fatal(err)
	}
	text := string(line[:n])
	_, address, ok := strings.Cut(strings.TrimSpace(text), "ready at ")
	if !ok || !strings.Contains(text, "FOR DEVELOPMENT ONLY") {
		t.Fatalf("first line = %q", text)
	}
	resp, err := http.Get(address + "/jwks.json")
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	cancel()
	if err := <-done; err != nil {
		t.Errorf("serve = %v, want nil after it was told to stop", err)
	}
}
