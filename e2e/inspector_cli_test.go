//go:build e2e

package e2e_test

import (
	"encoding/json"
	"regexp"
	"strings"
	"testing"
)

// inspectorCLI is the Inspector's command line: one connection for each call.
type inspectorCLI struct {
	*inspector
	stand  *stand
	person *person
}

func (c *inspectorCLI) command(a ...string) []string {
	return append([]string{"--cli", "--transport", "http", "--server-url", c.stand.endpoint, "--protocol-era", "modern", "--format", "json"}, a...)
}

var navigateTo = regexp.MustCompile(`Please navigate to:\s+(http\S+)`)

// signIn runs the first call, with a person at the browser it opens. Its tokens
// are stored in the home folder for the calls that follow.
func (c *inspectorCLI) signIn(t testing.TB) {
	t.Helper()
	cmd := node(nodeModule(".bin/mcp-inspector"), c.command("--method", "initialize")...)
	cli := start(t, "mcp-inspector --cli", cmd, append(c.env, "MCP_AUTO_OPEN_ENABLED=true", "BROWSER=true")...)
	var url []string
	cli.until(t, "it names the page to sign in at", func() bool {
		url = navigateTo.FindStringSubmatch(cli.out.String())
		return url != nil
	})
	redirect, err := c.person.signIn(url[1])
	if err == nil {
		err = c.person.deliver(redirect)
	}
	if err == nil {
		err = cli.wait()
	}
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(cli.out.String(), "2026-07-28") {
		t.Errorf("initialize = %s, want protocol version 2026-07-28", cli.out)
	}
}

// do runs a call that has to succeed, without anybody at a browser.
func (c *inspectorCLI) do(t testing.TB, answer any, a ...string) {
	t.Helper()
	out, complaint, err := c.run(t, "mcp-inspector", c.command(append(a, "--stored-auth-only")...)...)
	if err == nil {
		err = json.Unmarshal([]byte(out), &struct{ Result any }{answer})
	}
	if err != nil {
		t.Fatalf("mcp-inspector --cli %s: %v\n%s%s", strings.Join(a, " "), err, out, complaint)
	}
}

func (c *inspectorCLI) tools(t testing.TB) []string {
	t.Helper()
	var list toolList
	c.do(t, &list, "--method", "tools/list", "--strict") // it fails if a schema is not portable
	return list.names()
}

func (c *inspectorCLI) call(t testing.TB, tool string, a args, _ ...answer) outcome {
	t.Helper()
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var shown toolResult
	c.do(t, &shown, "--method", "tools/call", "--tool-name", tool, "--tool-args-json", string(text))
	return outcome{Structured: shown.StructuredContent, Failed: shown.failed()}
}

// The command line has no way to show a form, and says so to the server.
func TestInspectorCommandLineFillsACartAndIsToldWhyItCannotCheckOut(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		c := &inspectorCLI{newInspector(t), s, newPerson("alice")}
		c.signIn(t)
		id := fillCart(t, c)
		_, complaint, err := c.run(t, "mcp-inspector", c.command("--stored-auth-only",
			"--method", "tools/call", "--tool-name", "checkout", "--tool-args-json", `{"cart_id":"`+id+`"}`)...)
		if err == nil || !strings.Contains(complaint, "must declare the elicitation capability") {
			t.Errorf("checkout: %v, %q, want a failure that names the elicitation capability", err, complaint)
		}
	})
}
