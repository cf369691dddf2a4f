//go:build e2e

// Package e2e_test runs real MCP clients against the real server: built
// binaries, two replicas behind a front that gives every request to another one
// than the request before, a PostgreSQL, and a real authorization server where a
// real page is signed in to. Nothing on the way is a stand-in.
//
//	make e2e        installs the clients (package-lock.json), then runs all of it
//
// Read it in this order: stand_test.go is what runs, shop_test.go is the story
// that every client is told to live through, and then one file for each client:
// typescript_test.go, gosdk_test.go, mcpdo_test.go, inspector_test.go.
// Every story runs twice, with devauth and with oidc-provider, an independent
// authorization server configured as an operator would (oidc-provider.mjs).
//
// Each *.mjs is a program that a test starts. Those that are told what to do in
// the middle read lines of JSON from their standard input and end with it, so
// that none of them outlives the test.
package e2e_test
