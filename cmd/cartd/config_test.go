package main

import (
	"maps"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

// goodEnv is the least that serve starts with. Nothing is behind its addresses:
// a wrong configuration has to be refused before anybody is asked.
func goodEnv() map[string]string {
	return map[string]string{
		"DATABASE_URL":       "postgres://cart:hunter2@127.0.0.1:1/cart",
		"LISTEN_ADDR":        "127.0.0.1:0",
		"RESOURCE_URL":       authtest.Audience,
		"OAUTH_ISSUER":       "http://127.0.0.1:1",
		"REQUEST_STATE_KEYS": ring("0a1b2c3d", "mint"),
	}
}

// ring is a line of a key ring. Its secret is always the same.
func ring(id, mint string) string { return id + " AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8 " + mint }

func TestServeRefusesABadConfiguration(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { taken.Close() })
	notEmpty := filepath.Join(t.TempDir(), "url")
	if err := os.WriteFile(notEmpty, []byte("postgres://127.0.0.1:1/cart"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		change map[string]string // an empty value takes the variable away
		want   string            // in what is printed
	}{
		{"no resource", map[string]string{"RESOURCE_URL": ""}, "RESOURCE_URL"},
		{"resource with a fragment", map[string]string{"RESOURCE_URL": authtest.Audience + "#x"}, "resource"},
		{"resource that is no URL", map[string]string{"RESOURCE_URL": "127.0.0.1/mcp"}, "resource"},
		{"no issuer", map[string]string{"OAUTH_ISSUER": ""}, "OAUTH_ISSUER"},
		{"http issuer elsewhere", map[string]string{"OAUTH_ISSUER": "http://login.example.com"}, "loopback"},
		{"http JWKS elsewhere", map[string]string{"OAUTH_JWKS_URL": "http://login.example.com/jwks"}, "loopback"},
		{"issuer twice", map[string]string{"OAUTH_ISSUER": "http://127.0.0.1:1,http://127.0.0.1:1"}, "twice"},
		{"several issuers, one JWKS", map[string]string{"OAUTH_ISSUER": "https://a.example,https://b.example", "OAUTH_JWKS_URL": "https://a.example/jwks"}, "several issuers"},
		{"several issuers, one typ", map[string]string{"OAUTH_ISSUER": "https://a.example,https://b.example", "OAUTH_TOKEN_TYP": "JWT"}, "several issuers"},
		{"token typ", map[string]string{"OAUTH_TOKEN_TYP": "id_token"}, "typ"},
		{"no key ring", map[string]string{"REQUEST_STATE_KEYS": ""}, "REQUEST_STATE_KEYS"},
		{"two key rings", map[string]string{"REQUEST_STATE_KEYS_FILE": "/keys"}, "not both"},
		{"key that is too short", map[string]string{"REQUEST_STATE_KEYS": "0a1b2c3d aHVudGVyMg mint"}, "line 1"},
		{"key that no state is sealed with", map[string]string{"REQUEST_STATE_KEYS": ring("0a1b2c3d", "")}, "mint"},
		{"two keys that seal", map[string]string{"REQUEST_STATE_KEYS": ring("0a1b2c3d", "mint") + "\n" + "4e5f6a7b ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8 mint"}, "line 2"},
		{"one secret under two ids", map[string]string{"REQUEST_STATE_KEYS": ring("0a1b2c3d", "mint") + "\n" + ring("4e5f6a7b", "")}, "line 2"},
		{"key file that is not there", map[string]string{"REQUEST_STATE_KEYS": "", "REQUEST_STATE_KEYS_FILE": "/nowhere"}, "/nowhere"},
		{"no database", map[string]string{"DATABASE_URL": ""}, "DATABASE_URL"},
		{"two databases", map[string]string{"DATABASE_URL_FILE": notEmpty}, "DATABASE_URL"},
		{"database file that is not there", map[string]string{"DATABASE_URL": "", "DATABASE_URL_FILE": "/nowhere"}, "/nowhere"},
		{"database that is no URL", map[string]string{"DATABASE_URL": "postgres://cart:hunter2@127.0.0.1:port/cart"}, "database url"},
		{"eras", map[string]string{"PROTOCOL_ERAS": "ancient"}, `"modern"`},
		{"rate", map[string]string{"RATE_LIMIT": "0"}, "RATE_LIMIT"},
		{"rate that is no number", map[string]string{"RATE_LIMIT": "many"}, "RateLimit"},
		{"janitor", map[string]string{"JANITOR_INTERVAL": "-1s"}, "JANITOR_INTERVAL"},
		{"shutdown delay", map[string]string{"SHUTDOWN_DELAY": "-1s"}, "SHUTDOWN_DELAY"},
		{"log level", map[string]string{"LOG_LEVEL": "chatty"}, "LogLevel"},
		{"origin with a path", map[string]string{"ALLOWED_ORIGINS": "https://app.example/"}, "allowed origins"},
		{"host with a scheme", map[string]string{"ALLOWED_HOSTS": "https://shop.example"}, "allowed hosts"},
		{"address that is taken", map[string]string{"LISTEN_ADDR": taken.Addr().String()}, "listen"},
		{"metrics address that is taken", map[string]string{"METRICS_ADDR": taken.Addr().String()}, "listen"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			env := goodEnv()
			maps.Copy(env, test.change)
			maps.DeleteFunc(env, func(_, value string) bool { return value == "" })
			p := start(t, env, "serve")
			code, printed := p.exit(t), p.out.String()
			if code != 1 || !strings.Contains(printed, "cartd: ") || !strings.Contains(printed, test.want) {
				t.Errorf("cartd serve = exit %d, want 1 and a message with %q:\n%s", code, test.want, printed)
			}
			if strings.Contains(printed, "hunter2") || strings.Contains(printed, "AAECAwQF") || strings.Contains(printed, "aHVudGVyMg") || strings.Contains(printed, "panic") {
				t.Errorf("the message holds a secret or is a panic:\n%s", printed)
			}
		})
	}
}

func TestCartdRefusesOtherCommands(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{nil, {"start"}, {"serve", "now"}, {"-h"}} {
		p := start(t, goodEnv(), args...)
		if code := p.exit(t); code != 1 || !strings.Contains(p.out.String(), "usage: cartd") {
			t.Errorf("cartd %v = exit %d, want 1 and the usage:\n%s", args, code, p.out)
		}
	}
}

func TestMigrateReportsADatabaseItCannotReach(t *testing.T) {
	t.Parallel()
	p := start(t, map[string]string{"DATABASE_URL": goodEnv()["DATABASE_URL"]}, "migrate")
	if code := p.exit(t); code != 1 || !strings.Contains(p.out.String(), "migrate") || strings.Contains(p.out.String(), "hunter2") {
		t.Errorf("cartd migrate without a database = exit %d, want 1 and a message without the password:\n%s", code, p.out)
	}
}

func TestDatabaseURLMayStandInAFile(t *testing.T) {
	t.Parallel()
	s := newEmptySite(t, 1)
	file := filepath.Join(t.TempDir(), "url")
	// As an editor or echo leaves it.
	if err := os.WriteFile(file, []byte(s.db+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, map[string]string{"DATABASE_URL_FILE": file}, "migrate")
	if code := p.exit(t); code != 0 {
		t.Fatalf("cartd migrate = exit %d, want 0:\n%s", code, p.out)
	}
	delete(s.env, "DATABASE_URL")
	s.env["DATABASE_URL_FILE"] = file
	s.replica(t)
}

func TestKeygenPrintsAKeyThatServeTakes(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	var keys [2]string
	for i := range keys {
		p := start(t, nil, "keygen")
		if code := p.exit(t); code != 0 {
			t.Fatalf("cartd keygen = exit %d, want 0:\n%s", code, p.out)
		}
		keys[i] = p.out.String()
	}
	if keys[0] == keys[1] {
		t.Errorf("cartd keygen printed %q twice", keys[0])
	}
	s.env["REQUEST_STATE_KEYS"] = keys[0]
	r := s.replica(t)
	if secret := strings.Fields(keys[0])[1]; strings.Contains(r.out.String(), secret) {
		t.Error("the log holds the secret of a key")
	}
}
