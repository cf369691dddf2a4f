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
// gosdk_test.go, typescript_test.go, inspector_*_test.go.
// Every story runs twice, with devauth and with oidc-provider, an independent
// authorization server configured as an operator would (oidc-provider.mjs).
//
// Each *.mjs is a program that a test starts. It takes its settings as one
// argument of JSON, says what came of it in lines of JSON, and ends with its
// standard input, so that it does not outlive the test.
package e2e_test
