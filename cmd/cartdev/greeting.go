//go:build unix

package main

import (
	"fmt"
	"strings"
)

// scopes are what the printed token may do.
const scopes = "catalog:read cart order:place order:read"

// call is the printed call: every request names its protocol version, its
// client and what that client can do, in itself.
const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"product_search","arguments":{"query":"mug"},` +
	`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"curl","version":"0"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}}}`

// greeting says what a person can do now. Its lines can be pasted as they are.
func greeting(c config) string {
	return fmt.Sprintf(`
The server is ready.

  endpoint              %s
  authorization server  %s  (for development: any name signs in)

A token:

%s

A call (one line):

%s

Ctrl-C stops everything.
`, c.resource(), c.issuer(), tokenCommand(c), curlCommand(c))
}

// tokenCommand leaves out what devauth assumes anyway.
func tokenCommand(c config) string {
	var b strings.Builder
	fmt.Fprintf(&b, "go run ./cmd/devauth token -user alice -scope %q", scopes)
	if c.issuer() != "http://127.0.0.1:9000" {
		fmt.Fprintf(&b, " -issuer %s", c.issuer())
	}
	if c.resource() != "http://127.0.0.1:8080/mcp" {
		fmt.Fprintf(&b, " -audience %s", c.resource())
	}
	return b.String()
}

func curlCommand(c config) string {
	return strings.Join([]string{
		"curl -sS --noproxy '*' " + c.resource(),
		`-H "Authorization: Bearer $(` + tokenCommand(c) + `)"`,
		"-H 'Content-Type: application/json'",
		"-H 'Accept: application/json, text/event-stream'",
		"-H 'MCP-Protocol-Version: 2026-07-28'",
		"-H 'Mcp-Method: tools/call'",
		"-H 'Mcp-Name: product_search'",
		"-d '" + call + "'",
	}, " ")
}
