//go:build e2e

package e2e_test

import (
	"os"
	"time"
	"testing"
)

func TestZZ(t *testing.T) {
	s := newStand(t, startDevauth)
	i := newInspector(t)
	port, sandbox := freePort(t), freePort(t)
	cmd := node(nodeModule(".bin/mcp-inspector"), "--web", "--transport", "http", "--server-url", s.endpoint, "--protocol-era", "modern")
	env := append([]string{}, i.env[3:]...)
	p := start(t, "web", cmd, append(env, "CLIENT_PORT="+port, "MCP_SANDBOX_PORT="+sandbox, "MCP_INSPECTOR_API_TOKEN=tok", "MCP_INSPECTOR_SECRET_STORE=memory")...)
	p.answers(t, "http://127.0.0.1:"+port+"/")
	os.WriteFile("/tmp/e2ex/weburl", []byte("http://127.0.0.1:"+port+"/?MCP_INSPECTOR_API_TOKEN=tok"), 0o600)
	for {
		if _, err := os.Stat("/tmp/e2ex/stop"); err == nil {
			break
		}
		time.Sleep(time.Second)
	}
	t.Log(p.out, s.log())
}
