//go:build conformance

package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

// signedIn opens a shop behind a door that adds a good token, since the suite
// cannot send one. Host and Origin stay as the suite sends them.
func signedIn(t *testing.T, open func(testing.TB, ...shopOption) *shop) string {
	t.Helper()
	door := httptest.NewUnstartedServer(nil)
	self := "http://" + door.Listener.Addr().String()
	sh := open(t, func(cfg *Config) { cfg.AllowedOrigins = []string{self} })
	handler, err := sh.Handler()
	if err != nil {
		t.Fatal(err)
	}
	token := sh.issuer.Token(authtest.Scope(allScopes))
	door.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Set("Authorization", "Bearer "+token)
		handler.ServeHTTP(w, r)
	})
	door.Start()
	t.Cleanup(func() {
		door.Close()
		if log := sh.log.String(); strings.Contains(log, `"outcome":"internal"`) {
			t.Errorf("the suite met an internal error: %s", log)
		}
	})
	return self + "/mcp"
}

// A check is one finding of the suite. Only FAILURE fails a scenario; WARNING and
// SKIPPED leave open whether it passes.
type check struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Error  string `json:"errorMessage"`
}

// An outcome is what a run found, by scenario.
type outcome map[string][]check

const suiteFolder = "../conformance/node_modules"

// runSuite runs the suite's server leg and reads what it wrote. Its exit code
// says no more than that.
func runSuite(t *testing.T, url string, args ...string) outcome {
	t.Helper()
	results := t.TempDir()
	args = append([]string{suiteFolder + "/@modelcontextprotocol/conformance/dist/index.js", "server", "--url", url, "-o", results}, args...)
	printed, err := exec.CommandContext(t.Context(), suiteFolder+"/.bin/node", args...).CombinedOutput()
	if failed := new(exec.ExitError); err != nil && !errors.As(err, &failed) {
		t.Fatalf("the suite did not run (`npm ci --prefix conformance` installs it): %v\n%s", err, printed)
	}
	got, err := readOutcome(results)
	if err != nil || len(got) == 0 {
		t.Fatalf("read the suite's results: %v\n%s", err, printed)
	}
	got.log(t)
	return got
}

// readOutcome reads a folder of folders, server-SCENARIO-TIME.
func readOutcome(results string) (outcome, error) {
	folder := regexp.MustCompile(`/server-([^/]+)-\d{4}-\d\d-\d\dT[-\d]+Z/checks\.json$`)
	files, err := filepath.Glob(results + "/*/checks.json")
	if err != nil {
		return nil, err
	}
	got := outcome{}
	for _, file := range files {
		scenario := folder.FindStringSubmatch(file)
		if scenario == nil {
			return nil, fmt.Errorf("%s is of no scenario", file)
		}
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		var checks []check
		if err := json.Unmarshal(text, &checks); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		got[scenario[1]] = checks
	}
	return got, nil
}

func (o outcome) log(t *testing.T) {
	t.Helper()
	passed, counts := 0, map[string]int{}
	for scenario, checks := range o {
		if len(o.failed(scenario)) == 0 {
			passed++
		}
		for _, c := range checks {
			counts[c.Status]++
		}
	}
	t.Logf("%d of %d scenarios pass; checks: %v", passed, len(o), counts)
}

// failed are the checks that fail a scenario, by id, with what the suite says.
func (o outcome) failed(scenario string) map[string]string {
	failed := map[string]string{}
	for _, c := range o[scenario] {
		if c.Status == "FAILURE" {
			failed[c.ID] = c.Error
		}
	}
	return failed
}

// wantAllRun wants that so many scenarios ran, and among them each of those that
// the revision requires, which are so many.
func (o outcome) wantAllRun(t *testing.T, all int, revision string, required int) {
	t.Helper()
	text, err := os.ReadFile(suiteFolder + "/@modelcontextprotocol/conformance/requirements/" + revision + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\nserver:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	scenarios := strings.Fields(strings.ReplaceAll(list, "- ", ""))
	if len(o) != all || len(scenarios) != required {
		t.Errorf("scenarios run, required = %d, %d, want %d, %d", len(o), len(scenarios), all, required)
	}
	passed := 0
	for _, scenario := range scenarios {
		if len(o[scenario]) == 0 {
			t.Errorf("%s: did not run, or checked nothing", scenario)
		}
		if len(o.failed(scenario)) == 0 {
			passed++
		}
	}
	t.Logf("%d of %d required scenarios pass", passed, required)
}

func (o outcome) wantPassed(t *testing.T, scenarios ...string) {
	t.Helper()
	for _, scenario := range scenarios {
		if len(o[scenario]) == 0 {
			t.Errorf("%s: did not run, or checked nothing", scenario)
		}
		o.wantFailedChecks(t, scenario, nil)
	}
}

// wantFailed wants exactly these scenarios to fail.
func (o outcome) wantFailed(t *testing.T, known ...map[string]string) {
	t.Helper()
	failed := map[string]string{}
	for scenario := range o {
		for id, text := range o.failed(scenario) {
			failed[scenario] += "\n\t" + id + ": " + text
		}
	}
	wantExactly(t, failed, known...)
}

// wantFailedChecks wants exactly these checks of a scenario to fail.
func (o outcome) wantFailedChecks(t *testing.T, scenario string, known map[string]string) {
	t.Helper()
	failed := map[string]string{}
	for id, text := range o.failed(scenario) {
		failed[id] = scenario + ": " + text
	}
	wantExactly(t, failed, known)
}

// wantUndecided wants exactly these checks to be warnings or to be skipped.
func (o outcome) wantUndecided(t *testing.T, known ...map[string]string) {
	t.Helper()
	undecided := map[string]string{}
	for scenario, checks := range o {
		for _, c := range checks {
			if c.Status == "WARNING" || c.Status == "SKIPPED" {
				undecided[c.ID] = c.Status + " in " + scenario + ": " + c.Error
			}
		}
	}
	wantExactly(t, undecided, known...)
}

func wantExactly(t *testing.T, got map[string]string, known ...map[string]string) {
	t.Helper()
	for _, reasons := range known {
		for name, reason := range reasons {
			if _, ok := got[name]; !ok {
				t.Errorf("%s: no trouble, though it is listed (%s): take it off the list", name, reason)
			}
			delete(got, name)
		}
	}
	for name, text := range got {
		t.Errorf("%s: %s", name, text)
	}
}

// because gives several things one reason.
func because(reason string, names ...string) map[string]string {
	m := map[string]string{}
	for _, name := range names {
		m[name] = reason
	}
	return m
}
