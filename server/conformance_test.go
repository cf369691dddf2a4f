//go:build conformance

package server

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/mcp-cart/auth/authtest"
)

// The official conformance suite, run against this package's handler stack over
// real HTTP: front door, token, gate, SDK, tool wrapper, error mapping and
// sealing. `make conformance` installs the suite (conformance/package.json pins
// it, and the Node.js it needs) and runs these tests.
//
// A run is compared with what it is known to fail, and why: a scenario that
// fails unlisted is an error, and so is a listed one that passes.

// Kinds of scenario that this server does not serve.
const (
	tasks     = "the tasks extension is optional, and not served here"
	midCall   = "the server would have to send a request of its own in the middle of a call, and get the answer in another request: a stateless server has nothing to match it with"
	oldStream = "polling resumes a stream after the connection ends; nothing of a call is kept for that"
)

func TestConformance20260728(t *testing.T) {
	outcome := runSuite(t, signedIn(t, suiteServer(modern)), "--requirements", "2026-07-28")
	outcome.wantRequired(t, "2026-07-28", 37)
	outcome.wantFailing(t, map[string]string{
		"tasks-lifecycle":              tasks,
		"tasks-capability-negotiation": tasks,
		"tasks-wire-fields":            tasks,
		"tasks-request-state-removal":  tasks,
		"tasks-mrtr-input":             tasks,
		"tasks-request-headers":        tasks,
		"tasks-dispatch-and-envelope":  tasks,
		"tasks-status-notifications":   tasks,
		"tasks-required-task-error":    tasks,
		"tasks-mrtr-composition":       tasks,
	})
	outcome.wantPassing(t, "http-header-validation", "http-custom-header-server-validation", "json-schema-2020-12")
}

func TestConformance20251125(t *testing.T) {
	outcome := runSuite(t, signedIn(t, suiteServer(handshake)), "--requirements", "2025-11-25")
	outcome.wantRequired(t, "2025-11-25", 30)
	outcome.wantFailing(t, map[string]string{
		"tools-call-sampling":          midCall,
		"tools-call-elicitation":       midCall,
		"elicitation-sep1034-defaults": midCall,
		"elicitation-sep1330-enums":    midCall,
		"server-sse-polling":           oldStream,
	})
}

// The server as it ships has tools and nothing else, and none of the suite's.
// It passes what asks for neither.
func TestShopConforms20260728(t *testing.T) {
	outcome := runSuite(t, signedIn(t, newShop), "--requirements", "2026-07-28")
	outcome.wantPassing(t,
		"tools-list",
		"server-sse-multiple-streams",
		"dns-rebinding-protection",
		"input-required-result-unsupported-methods",
		"sep-2164-resource-not-found",
		"http-header-validation",
	)
	// Four checks of this one call tools of the suite.
	outcome.wantFailedChecks(t, "server-stateless",
		"sep-2575-http-server-missing-capability-400",
	)
}

func TestShopConforms20251125(t *testing.T) {
	outcome := runSuite(t, signedIn(t, newShop), "--requirements", "2025-11-25")
	outcome.wantPassing(t, "server-initialize", "ping", "tools-list", "server-sse-multiple-streams", "dns-rebinding-protection")
}

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
	t.Cleanup(door.Close)
	return self + "/mcp"
}

// A check is one finding of the suite. SUCCESS, WARNING, SKIPPED and INFO do not
// fail a scenario.
type check struct {
	ID     string `json:"id"`
	Status string `json:"status"`
	Error  string `json:"errorMessage"`
}

// An outcome is the checks by scenario.
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
		t.Fatalf("the suite did not run (npm ci --prefix conformance installs it): %v\n%s", err, printed)
	}
	folders, err := os.ReadDir(results)
	if err != nil {
		t.Fatal(err)
	}
	out := outcome{}
	for _, folder := range folders {
		// server-NAME-TIME
		name := regexp.MustCompile(`^server-(.+)-\d{4}-\d\d-\d\dT[-\d]+Z$`).FindStringSubmatch(folder.Name())
		text, err := os.ReadFile(filepath.Join(results, folder.Name(), "checks.json"))
		var checks []check
		if err == nil {
			err = json.Unmarshal(text, &checks)
		}
		if name == nil || err != nil {
			t.Fatalf("read result %s: %v", folder.Name(), err)
		}
		out[name[1]] = checks
	}
	if len(out) == 0 {
		t.Fatalf("the suite ran nothing:\n%s", printed)
	}
	out.log(t)
	return out
}

// failed is what fails a scenario.
func (o outcome) failed(scenario string) []check {
	return slices.DeleteFunc(slices.Clone(o[scenario]), func(c check) bool { return c.Status != "FAILURE" })
}

func (o outcome) log(t *testing.T) {
	t.Helper()
	counts := map[string]int{}
	passed := 0
	for _, scenario := range slices.Sorted(maps.Keys(o)) {
		if len(o.failed(scenario)) == 0 {
			passed++
		}
		for _, c := range o[scenario] {
			counts[c.Status]++
			if c.Status != "SUCCESS" {
				t.Logf("%s %s %s %s", c.Status, scenario, c.ID, c.Error)
			}
		}
	}
	t.Logf("%d of %d scenarios pass; checks: %v", passed, len(o), counts)
}

// wantRequired wants that the revision's required scenarios are as many as they
// are known to be, and that each of them ran.
func (o outcome) wantRequired(t *testing.T, revision string, many int) {
	t.Helper()
	text, err := os.ReadFile(suiteFolder + "/@modelcontextprotocol/conformance/requirements/" + revision + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	_, list, _ := strings.Cut(string(text), "\nserver:\n")
	list, _, _ = strings.Cut(list, "\n\n")
	required := strings.Fields(strings.ReplaceAll(list, "- ", ""))
	if len(required) != many {
		t.Errorf("scenarios required by %s = %d, want %d", revision, len(required), many)
	}
	for _, scenario := range required {
		if len(o[scenario]) == 0 {
			t.Errorf("%s: did not run, or checked nothing", scenario)
		}
	}
}

// wantFailing wants exactly these scenarios to fail.
func (o outcome) wantFailing(t *testing.T, known map[string]string) {
	t.Helper()
	for scenario := range o {
		if known[scenario] == "" {
			o.wantPassing(t, scenario)
		}
	}
	for scenario, why := range known {
		if len(o.failed(scenario)) == 0 {
			t.Errorf("%s: passes or did not run, though it is listed as failing: %s", scenario, why)
		}
	}
}

func (o outcome) wantPassing(t *testing.T, scenarios ...string) {
	t.Helper()
	for _, scenario := range scenarios {
		if len(o[scenario]) == 0 {
			t.Errorf("%s: did not run, or checked nothing", scenario)
		}
		for _, c := range o.failed(scenario) {
			t.Errorf("%s: %s failed: %s", scenario, c.ID, c.Error)
		}
	}
}

// wantFailedChecks wants exactly these checks of a scenario to fail.
func (o outcome) wantFailedChecks(t *testing.T, scenario string, ids ...string) {
	t.Helper()
	var got []string
	for _, c := range o.failed(scenario) {
		got = append(got, c.ID)
	}
	slices.Sort(got)
	slices.Sort(ids)
	if !slices.Equal(got, ids) {
		t.Errorf("%s: failed checks = %q, want %q", scenario, got, ids)
	}
}
