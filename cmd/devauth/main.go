// Command devauth is an authorization server for development: it lets a
// newcomer sign in to the MCP server on this machine with any client, without
// an account anywhere. It asks for a name and no password, so it is NOT for
// real use; docs/operations.md says how to use a real one instead.
//
//	devauth serve   answers on http://127.0.0.1:9000: sign-in page, tokens, keys
//	devauth token   prints one access token, signed with the same key file
//
// What it speaks: authorization code with PKCE (S256 only), refresh with
// rotation, client credentials, RFC 8414 metadata, resource indicators
// (RFC 8707), the iss parameter (RFC 9207), client ID metadata documents,
// dynamic registration (RFC 7591) and at+jwt access tokens (RFC 9068).
//
// Its laws: no endpoint gives a token without a sign-in or a client secret; a
// person's subject is "dev|NAME" and no client id may contain a "|", so a
// program never gets a person's subject; nothing is asked of a browser that is
// not answered from the page itself (no cookies, no JavaScript); what it keeps
// in memory is bounded and expires.
//
// Each flag of serve can be set in the environment: -allow-host is
// DEVAUTH_ALLOW_HOST (several values with commas). In a container:
//
//	DEVAUTH_ADDR=0.0.0.0:9000 DEVAUTH_LISTEN_ANYWHERE=true \
//	DEVAUTH_ISSUER=http://localhost:9000 DEVAUTH_ALLOW_HOST=devauth:9000 devauth serve
//
// It is written by hand because no Go library at hand does resource
// indicators, registration, metadata documents and at+jwt together. It imports
// nothing of this project: to use it elsewhere copy the folder and edit
// scopes.go.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
)

const usage = `devauth is an authorization server for development only.

	devauth serve [flags]             run it
	devauth token -user NAME [flags]  print an access token

"devauth serve -h" and "devauth token -h" list the flags. Those of serve, and
-issuer, -audience and -key of token, can be set in the environment too:
-listen-anywhere is DEVAUTH_LISTEN_ANYWHERE.
`

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, os.Args[1:], os.LookupEnv, os.Stdout, os.Stderr)
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "devauth:", err)
		os.Exit(1)
	}
}

// run is main without the process around it: tests call it.
func run(ctx context.Context, args []string, getenv func(string) (string, bool), stdout, stderr io.Writer) error {
	if len(args) == 0 {
		fmt.Fprint(stdout, usage)
		return flag.ErrHelp
	}
	switch command := args[0]; command {
	case "serve":
		return serve(ctx, args[1:], getenv, stdout, stderr)
	case "token":
		return printToken(args[1:], getenv, stdout)
	case "help", "-h", "-help", "--help":
		fmt.Fprint(stdout, usage)
		return flag.ErrHelp
	default:
		return fmt.Errorf("unknown command %q: want serve or token", command)
	}
}
