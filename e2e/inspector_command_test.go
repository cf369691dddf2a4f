//go:build e2e

package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// mcpdo is the Inspector's command that connects once, through a daemon, and
// then runs one command at a time.
type mcpdo struct {
	*inspector
	stand  *stand
	person *person
}

// newMCPDo starts the daemon itself. The command would, but a daemon of its own
// would outlive a test that is killed.
func newMCPDo(t testing.TB, s *stand, p *person) *mcpdo {
	t.Helper()
	c := &mcpdo{newInspector(t), s, p}
	daemon := start(t, "mcpdod", node(nodeModule("@modelcontextprotocol/inspector/clients/mcpdo/build/mcpdod.js")), c.env...)
	daemon.until(t, "it listens", func() bool {
		_, err := os.Stat(filepath.Join(c.home, ".mcp-inspector", "mcpdod.token"))
		return err == nil
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
	var shown struct{ ProtocolVersion string }
	c.do(t, &shown, "connections/show", "@shop") // completes the sign-in
	if shown.ProtocolVersion != "2026-07-28" {
		t.Errorf("mcpdo speaks version %q, want 2026-07-28", shown.ProtocolVersion)
	}
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
