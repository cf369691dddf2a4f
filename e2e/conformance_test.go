//go:build e2e

package e2e_test

import (
	"regexp"
	"testing"
)

var pageToOpen = regexp.MustCompile(`(http\S+/authorize\?\S+)`)

func TestDevauthPassesTheAuthorizationScenariosOfTheConformanceSuite(t *testing.T) {
	t.Parallel()
	const resource = "http://127.0.0.1:8080/mcp"
	issuer, out := "http://"+freeAddress(t), t.TempDir()
	startDevauth(t, issuer, resource)
	suite := start(t, "conformance", node(nodeModule(".bin/conformance"),
		"authorization", "--url", issuer, "--client-id", application, "-p", freePort(t), "--resource", resource, "-o", out))
	var page []string
	suite.until(t, "it names the page to open", func() bool {
		page = pageToOpen.FindStringSubmatch(suite.out.String())
		return page != nil
	})
	p := newPerson("alice")
	redirect, err := p.signIn(page[1])
	if err == nil {
		err = p.deliver(redirect)
	}
	if err == nil {
		err = suite.Err()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Log(suite.out.String())
	t.FailNow()
}
