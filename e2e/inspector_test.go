//go:build e2e

package e2e_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"testing"
	"time"

	"example.com/mcp-cart/cmd/cartdev/leash"
)

// inspector is an MCP Inspector as one user of this machine has it: a home for
// its tokens and settings, and ports that no other one uses.
type inspector struct {
	home string
	env  []string // over that of every program
}

func newInspector(t testing.TB) *inspector {
	t.Helper()
	// Not t.TempDir: its name holds the test's, and the path of the socket in
	// this folder may have some 100 letters only.
	home, remove, err := leash.TempDir(os.TempDir(), "inspector-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := remove(); err != nil {
			t.Error(err)
		}
	})
	return &inspector{home: home, env: []string{
		"HOME=" + home,
		"MCP_INSPECTOR_SECRET_STORE=file", // there is no keychain
		"MCP_OAUTH_CALLBACK_URL=http://127.0.0.1:" + freePort(t) + "/oauth/callback",
		"MCP_AUTO_OPEN_ENABLED=false",
	}}
}

// run runs one of its programs to the end.
func (i *inspector) run(t testing.TB, program string, a ...string) (stdout, stderr string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, nodeModule(".bin/node"), append([]string{nodeModule(".bin/" + program)}, a...)...)
	cmd.Env = append(environment(), i.env...)
	cmd.WaitDelay = time.Second // should something else have inherited the output
	var out, complaint bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaint
	err = cmd.Run()
	return out.String(), complaint.String(), err
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
