//go:build unix

package main

import (
	"net"
	"slices"
	"strings"
	"testing"
)

func getenv(env map[string]string) func(string) string {
	return func(name string) string { return env[name] }
}

func TestNamesFollowAddresses(t *testing.T) {
	tests := map[string]struct {
		env              map[string]string
		resource, issuer string
	}{
		"defaults":   {nil, "http://127.0.0.1:8080/mcp", "http://127.0.0.1:9000"},
		"ports":      {map[string]string{"LISTEN_ADDR": "127.0.0.1:1", "DEVAUTH_ADDR": "localhost:2"}, "http://127.0.0.1:1/mcp", "http://localhost:2"},
		"everywhere": {map[string]string{"LISTEN_ADDR": ":1", "DEVAUTH_ADDR": "0.0.0.0:2"}, "http://127.0.0.1:1/mcp", "http://127.0.0.1:2"},
		"v6":         {map[string]string{"LISTEN_ADDR": "[::1]:1", "DEVAUTH_ADDR": "[::]:2"}, "http://[::1]:1/mcp", "http://127.0.0.1:2"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			c, err := loadConfig(getenv(test.env))
			if err != nil {
				t.Fatalf("loadConfig = %v", err)
			}
			if got := c.resource(); got != test.resource {
				t.Errorf("resource = %s, want %s", got, test.resource)
			}
			if got := c.issuer(); got != test.issuer {
				t.Errorf("issuer = %s, want %s", got, test.issuer)
			}
		})
	}
}

func TestUselessAddressesAreRefused(t *testing.T) {
	for _, bad := range []string{"8080", "localhost", "127.0.0.1:", "127.0.0.1:0"} {
		for _, env := range []string{"LISTEN_ADDR", "DEVAUTH_ADDR"} {
			_, err := loadConfig(getenv(map[string]string{env: bad}))
			if err == nil || !strings.Contains(err.Error(), env) {
				t.Errorf("loadConfig with %s=%s = %v, want an error that names it", env, bad, err)
			}
		}
	}
}

func TestTakenPortSaysHowToChangeIt(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	a := address{listen: l.Addr().String(), env: "DEVAUTH_ADDR"}
	err = a.checkFree()
	if err == nil || !strings.Contains(err.Error(), a.listen+" is in use") || !strings.Contains(err.Error(), "DEVAUTH_ADDR=127.0.0.1:") {
		t.Errorf("checkFree = %v, want the address and the variable", err)
	}
}

func TestContradictingEnvironmentIsReplaced(t *testing.T) {
	c, err := loadConfig(getenv(nil))
	if err != nil {
		t.Fatal(err)
	}
	inherited := []string{"LOG_LEVEL=DEBUG", "DATABASE_URL=old", "DATABASE_URL_FILE=old", "REQUEST_STATE_KEYS=old", "OAUTH_JWKS_URL=old", "OAUTH_ISSUER=old"}
	got := c.environment(inherited, "postgres://new", "/ring")
	want := []string{
		"LOG_LEVEL=DEBUG", "DATABASE_URL=postgres://new", "LISTEN_ADDR=127.0.0.1:8080",
		"RESOURCE_URL=http://127.0.0.1:8080/mcp", "OAUTH_ISSUER=http://127.0.0.1:9000", "REQUEST_STATE_KEYS_FILE=/ring",
	}
	if !slices.Equal(got, want) {
		t.Errorf("environment = %q, want %q", got, want)
	}
}
