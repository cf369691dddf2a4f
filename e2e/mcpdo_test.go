//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// inspector is an MCP Inspector as one user of this machine has it: a home for
// its tokens and settings, and ports that no other one uses.
type inspector struct {
	home string
	env  []string
}

func newInspector(t testing.TB) *inspector {
	t.Helper()
	home := t.TempDir()
	return &inspector{home: home, env: append(environment(),
		"HOME="+home,
		"MCP_INSPECTOR_SECRET_STORE=file", // there is no keychain
		"MCP_OAUTH_CALLBACK_URL=http://127.0.0.1:"+freePort(t)+"/oauth/callback",
		"MCP_AUTO_OPEN_ENABLED=false",
	)}
}

// run runs one of its programs to the end.
func (i *inspector) run(t testing.TB, program string, a ...string) (stdout, stderr string, err error) {
	t.Helper()
	// Not the test's context: the daemon is stopped after that has ended.
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, nodeModule(".bin/node"), append([]string{nodeModule(".bin/" + program)}, a...)...)
	cmd.Env = i.env
	cmd.WaitDelay = time.Second // a daemon may have inherited the output
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	return out.String(), complaint.String(), err
}

// mcpdo is the Inspector's command that connects once, through a daemon, and
// then runs one command at a time.
type mcpdo struct {
	*inspector
	stand  *stand
	person *person
}

func newMCPDo(t testing.TB, s *stand, p *person) *mcpdo {
	t.Helper()
	c := &mcpdo{newInspector(t), s, p}
	t.Cleanup(func() {
		if _, complaint, err := c.run(t, "mcpdo", "daemon", "stop"); err != nil {
			t.Errorf("mcpdo daemon stop: %v\n%s", err, complaint)
		}
	})
	return c
}

// connect signs in. Left alone, mcpdo asks for every scope that there is; a
// settings file makes it ask for these.
func (c *mcpdo) connect(t testing.TB, scopes string, options ...string) {
	t.Helper()
	file := filepath.Join(c.home, "servers.json")
	settings, err := json.Marshal(args{"mcpServers": args{"shop": args{
		"type": "streamable-http", "url": c.stand.endpoint, "protocolEra": "modern", "oauth": args{"scopes": scopes},
	}}})
	if err == nil {
		err = os.WriteFile(file, settings, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	var pending struct {
		PendingAuth bool
		AuthURL     string
	}
	c.do(t, &pending, append([]string{"--config", file, "connect", "shop"}, options...)...)
	if !pending.PendingAuth {
		t.Fatal("mcpdo connect asked for no sign-in")
	}
	redirect, err := c.person.signIn(pending.AuthURL)
	if err == nil {
		err = c.person.deliver(redirect)
	}
	if err != nil {
		t.Fatal(err)
	}
	var shown struct{ ProtocolEra string }
	c.do(t, &shown, "connections/show", "@shop") // completes the sign-in
}

// do runs a command that has to succeed.
func (c *mcpdo) do(t testing.TB, answer any, a ...string) {
	t.Helper()
	out, complaint, err := c.run(t, "mcpdo", append([]string{"--format", "json"}, a...)...)
	if err == nil {
		err = json.Unmarshal([]byte(out), answer)
	}
	if err != nil {
		t.Fatalf("mcpdo %s: %v\n%s%s", strings.Join(a, " "), err, out, complaint)
	}
}

func (c *mcpdo) tools(t testing.TB) []string {
	t.Helper()
	var list toolList
	c.do(t, &list, "@shop", "tools/list")
	return list.names()
}

func (c *mcpdo) call(t testing.TB, tool string, a args, answers ...answer) (o outcome) {
	t.Helper()
	command := append([]string{"@shop", "tools/call", tool}, pairs(t, a)...)
	for {
		out, complaint, err := c.run(t, "mcpdo", append([]string{"--format", "json"}, command...)...)
		var shown struct {
			toolResult
			ElicitationPending struct{ ElicitationID, Message string }
		}
		if parsed := json.Unmarshal([]byte(out), &shown); err != nil || parsed != nil {
			o.Failed = fmt.Sprintf("%v %s%s", err, out, complaint)
			return o
		}
		pending := shown.ElicitationPending
		if pending.ElicitationID == "" {
			o.Structured, o.Failed = shown.StructuredContent, shown.failed()
			return o
		}
		o.Asked = append(o.Asked, pending.Message)
		command = []string{"elicitation/respond", pending.ElicitationID, "--cancel"}
		if len(answers) > 0 && answers[0].Action == "accept" {
			command = append(command[:2], pairs(t, answers[0].Content)...)
		} else if len(answers) > 0 {
			command[2] = "--" + answers[0].Action
		}
		answers = answers[min(1, len(answers)):]
	}
}

// pairs are arguments as its command line wants them.
func pairs(t testing.TB, a args) (words []string) {
	t.Helper()
	for name, value := range a {
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		words = append(words, name+":="+string(text))
	}
	return words
}

// What the Inspector's programs print is what the server has sent.
type (
	toolList struct {
		Tools []struct{ Name string }
	}
	toolResult struct {
		StructuredContent json.RawMessage
		IsError           bool
		Content           []struct{ Text string }
	}
)

func (l toolList) names() (names []string) {
	for _, tool := range l.Tools {
		names = append(names, tool.Name)
	}
	return names
}

func (r toolResult) failed() string {
	if !r.IsError || len(r.Content) == 0 {
		return ""
	}
	return r.Content[0].Text
}

// mcpdo cannot step up in the middle of a call when nobody sits at its terminal:
// it fails, and is connected anew for more.
func TestInspectorCommandBuysAfterConnectingForMore(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		alice := newPerson("alice")
		c := newMCPDo(t, s, alice)
		c.connect(t, firstScope)
		id := fillCart(t, c)
		if got := c.call(t, "checkout", args{"cart_id": id}); !strings.Contains(got.Failed, "Interactive auth recovery required") {
			t.Errorf("checkout without the scope = %+v, want a demand for authorization", got)
		}
		c.connect(t, firstScope+" "+checkoutScope, "--relogin")
		refuseToBuy(t, c, id)
		buy(t, c, id)
		wantStepUp(t, alice.scopes())
	})
}
