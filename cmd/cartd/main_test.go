package main

import (
	"flag"
	"io"
	"os"
	"testing"

	"example.com/mcp-cart/cmd/cartdev/localpg/pgtest"
)

var postgres pgtest.Server

// runAsCartd makes the test binary be cartd. The replicas of these tests are
// such processes: the same main as the real binary's, without a second build,
// and under `go test -race` with the race detector in every replica.
const runAsCartd = "CARTD_TEST_RUN_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(runAsCartd) == "" {
		flag.Parse()
		// What is measured is to cost what it costs in production.
		postgres.Options.Durable = flag.Lookup("test.bench").Value.String() != ""
		os.Exit(postgres.Main(m))
	}
	go dieWithParent()
	main()
	// The race detector, if it is there, gives its verdict in Exit.
	os.Exit(0)
}

// dieWithParent ends a replica whose test is gone: the other end of its standard
// input is the test's, and the kernel closes it whatever the test died of.
func dieWithParent() {
	_, _ = io.Copy(io.Discard, os.Stdin)
	os.Exit(1)
}
