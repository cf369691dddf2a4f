//go:build e2e

package e2e_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"testing"
)

var pageToOpen = regexp.MustCompile(`http\S+/authorize\?\S+`)

// The suite signs in at the page itself; the server needs no resource to run.
func TestDevauthPassesTheAuthorizationScenariosOfTheConformanceSuite(t *testing.T) {
	t.Parallel()
	const resource = "http://127.0.0.1:8080/mcp"
	issuer, results := startDevauth(t, resource), t.TempDir()
	suite := start(t, "conformance", node(nodeModule(".bin/conformance"), "authorization",
		"--url", issuer, "--client-id", application, "-p", freePort(t), "--resource", resource, "-o", results))
	page := ""
	suite.until(t, "it names the page to open", func() bool {
		page = pageToOpen.FindString(suite.out.String())
		return page != ""
	})
	alice := newPerson("alice")
	redirect, err := alice.signIn(page)
	if err == nil {
		err = alice.deliver(redirect)
	}
	if err == nil {
		err = suite.wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	wantAllChecks(t, results, 3)
}

// wantAllChecks reads what the suite wrote. Its exit status passes warnings.
func wantAllChecks(t testing.TB, results string, want int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(results, "*", "checks.json"))
	if err != nil {
		t.Fatal(err)
	}
	succeeded := 0
	for _, file := range files {
		var checks []struct{ ID, Status, ErrorMessage string }
		text, err := os.ReadFile(file)
		if err == nil {
			err = json.Unmarshal(text, &checks)
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, check := range checks {
			if check.Status != "SUCCESS" {
				t.Errorf("check %s = %s (%s), want SUCCESS", check.ID, check.Status, check.ErrorMessage)
				continue
			}
			succeeded++
		}
	}
	if succeeded != want {
		t.Errorf("checks that succeeded = %d, want %d", succeeded, want)
	}
}
