// Package mcpcart_test checks what holds for the whole repository.
package mcpcart_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// A rule says what a package may import besides the standard library. A path
// allows what is below it, too.
type rule struct {
	ours []string // packages of this module, without the module's path
	libs []string // everything else

	// alone marks a folder that can be copied into another project, tests and
	// all: its tests may import itself, and libraries for testing.
	alone bool
}

const (
	chi            = "github.com/go-chi/chi/v5"
	cmp            = "github.com/google/go-cmp"
	cors           = "github.com/rs/cors"
	cryptography   = "golang.org/x/crypto"
	currency       = "golang.org/x/text/currency"
	env            = "github.com/caarlos0/env/v11"
	goose          = "github.com/pressly/goose/v3"
	httprate       = "github.com/go-chi/httprate"
	jsonschema     = "github.com/google/jsonschema-go"
	jwkset         = "github.com/MicahParks/jwkset"
	jwt            = "github.com/golang-jwt/jwt/v5"
	keyfunc        = "github.com/MicahParks/keyfunc/v3"
	pgx            = "github.com/jackc/pgx/v5"
	prometheus     = "github.com/prometheus/client_golang"
	rapid          = "pgregory.net/rapid"
	sdk            = "github.com/modelcontextprotocol/go-sdk"
	strictJSON     = "github.com/go-json-experiment/json"
	xsync          = "golang.org/x/sync"
	testcontainers = "github.com/testcontainers/testcontainers-go"
)

// rules is the import rule: cmd → server → {auth, handles, requeststate, store},
// store → {handles, requeststate, migrations}, and nothing of ours below that.
// A package that is not listed may import nothing but the standard library.
func rules() map[string]rule {
	return map[string]rule{
		"handles":      {alone: true},
		"requeststate": {libs: []string{cryptography}, alone: true},
		"migrations":   {},
		"auth":         {libs: []string{jwt, keyfunc, jwkset, sdk, strictJSON, xsync}},
		"store":        {ours: []string{"handles", "requeststate", "migrations"}, libs: []string{pgx, goose}},
		"server": {
			ours: []string{"auth", "handles", "requeststate", "store"},
			libs: []string{chi, httprate, cors, sdk, currency, jsonschema, strictJSON, prometheus},
		},

		"cmd/cartd": {
			ours: []string{"server", "auth", "handles", "requeststate", "store", "migrations"},
			libs: []string{env, pgx, prometheus, xsync},
		},
		"cmd/cartdev":                {ours: []string{"cmd/cartdev/leash", "cmd/cartdev/localpg"}},
		"cmd/cartdev/leash":          {alone: true},
		"cmd/cartdev/localpg":        {ours: []string{"cmd/cartdev/leash"}, libs: []string{pgx, testcontainers}},
		"cmd/cartdev/localpg/pgtest": {ours: []string{"cmd/cartdev/localpg"}},
		"cmd/devauth":                {libs: []string{jwt}},

		// These exist for tests only.
		"auth/authtest":   {ours: []string{"auth"}, libs: []string{jwt, jwkset, strictJSON}},
		"store/storetest": {ours: []string{"store", "handles", "requeststate", "migrations"}, libs: []string{pgx, cmp, rapid, xsync}},
	}
}

// inTests is what the tests of any package may import besides.
func inTests() rule {
	return rule{
		ours: []string{"auth/authtest", "store/storetest", "cmd/cartdev/localpg/pgtest"},
		libs: []string{cmp, rapid, pgx, sdk, testcontainers, jwt, jwkset, keyfunc, xsync},
	}
}

func TestImportsPointOneWay(t *testing.T) {
	module, sources := readSources(t)
	testsOnly := foldersOfTests(sources)
	for file, s := range sources {
		// A folder of nothing but tests looks at the whole from outside.
		if testsOnly[s.pkg] {
			continue
		}
		for _, imported := range s.imports {
			if err := check(module, s, imported); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	}
}

// check says what is wrong with an import, if anything is.
func check(module string, s source, imported string) error {
	r := rules()[s.pkg]
	allowed := rule{ours: slices.Clone(r.ours), libs: slices.Clone(r.libs)}
	switch {
	case s.test && r.alone:
		allowed.ours = append(allowed.ours, s.pkg)
		allowed.libs = append(allowed.libs, cmp, rapid)
	case s.test:
		allowed.ours = append(append(allowed.ours, s.pkg), inTests().ours...)
		allowed.libs = append(allowed.libs, inTests().libs...)
	}
	if imported == module || strings.HasPrefix(imported, module+"/") {
		own := strings.TrimPrefix(strings.TrimPrefix(imported, module), "/")
		// Exactly: store does not stand for store/storetest.
		if !slices.Contains(allowed.ours, own) {
			return fmt.Errorf("%s may not import %s (it may: %s)", s.pkg, own, strings.Join(allowed.ours, ", "))
		}
		return nil
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		return nil // the standard library
	}
	if !slices.ContainsFunc(allowed.libs, func(lib string) bool {
		return imported == lib || strings.HasPrefix(imported, lib+"/")
	}) {
		return fmt.Errorf("%s may not import %s (it may: %s)", s.pkg, imported, strings.Join(allowed.libs, ", "))
	}
	return nil
}

func TestImportsThatBreakTheRuleAreSeen(t *testing.T) {
	const module = "example.org/renamed"
	tests := []struct {
		from     source
		imported string
		ok       bool
	}{
		{source{pkg: "server"}, module + "/store", true},
		{source{pkg: "store"}, module + "/server", false},
		{source{pkg: "store", test: true}, module + "/server", false},
		{source{pkg: "auth"}, module + "/handles", false},
		{source{pkg: "server"}, module + "/cmd/cartdev/localpg/pgtest", false},
		{source{pkg: "server", test: true}, module + "/cmd/cartdev/localpg/pgtest", true},
		{source{pkg: "server"}, pgx + "/pgxpool", false},
		{source{pkg: "server", test: true}, pgx + "/pgxpool", true},
		{source{pkg: "store"}, pgx + "/pgxpool", true},
		{source{pkg: "store"}, pgx + "x", false},
		{source{pkg: "cmd/cartd"}, chi, false},
		{source{pkg: "store", test: true}, chi, false},
		{source{pkg: "cmd/devauth"}, sdk + "/auth", false},
		{source{pkg: "cmd/devauth", test: true}, sdk + "/auth", true},
		{source{pkg: "handles"}, cryptography + "/hkdf", false},
		{source{pkg: "handles"}, "crypto/rand", true},
		{source{pkg: "handles", test: true}, module + "/handles", true},
		{source{pkg: "handles", test: true}, module + "/auth/authtest", false},
		{source{pkg: "requeststate"}, cryptography + "/chacha20poly1305", true},
		{source{pkg: "requeststate", test: true}, pgx, false},
		{source{pkg: "store"}, module + "/store/storetest", false},
		{source{pkg: "unheard/of"}, module + "/handles", false},
		{source{pkg: "unheard/of"}, "os", true},
	}
	for _, test := range tests {
		if err := check(module, test.from, test.imported); (err == nil) != test.ok {
			t.Errorf("check(%+v, %s) = %v, want ok %v", test.from, test.imported, err, test.ok)
		}
	}
}
