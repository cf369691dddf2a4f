//go:build e2e

package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// tsClient is the official TypeScript client, in typescript.mjs.
type tsClient struct {
	*driven
	person *person // who signs in, if it speaks for one
}

func newTSClient(t testing.TB, s *stand, p *person, settings args) *tsClient {
	t.Helper()
	settings["endpoint"], settings["redirect"] = s.endpoint, applicationCallback
	return &tsClient{drive(t, "typescript.mjs", settings), p}
}

// ask sends a command and hears its answer, signing in meanwhile if need be.
func (c *tsClient) ask(t testing.TB, command, answer any) {
	t.Helper()
	c.tell(t, command)
	for {
		var line json.RawMessage
		c.hear(t, &line)
		var browser struct{ Open string }
		if err := json.Unmarshal(line, &browser); err != nil {
			t.Fatal(err)
		}
		if browser.Open == "" {
			if err := json.Unmarshal(line, answer); err != nil {
				t.Fatal(err)
			}
			return
		}
		redirect, err := c.person.signIn(browser.Open)
		if err != nil {
			t.Fatal(err)
		}
		c.tell(t, args{"redirect": redirect.String()})
	}
}

func (c *tsClient) tools(t testing.TB) []string {
	t.Helper()
	var list struct{ Tools []string }
	c.ask(t, args{"do": "tools"}, &list)
	return list.Tools
}

func (c *tsClient) call(t testing.TB, tool string, a args, answers ...answer) (o outcome) {
	t.Helper()
	c.ask(t, args{"do": "call", "tool": tool, "arguments": a, "answers": answers}, &o)
	return o
}

func TestTypeScriptClientSignsInAndBuysWithAStepUp(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		alice := newPerson("alice")
		c := newTSClient(t, s, alice, args{})
		id := fillCart(t, c)
		refuseToBuy(t, c, id)
		wantStepUp(t, alice.scopes())
		buy(t, c, id)
	})
}

func TestTypeScriptClientBuysForAProgram(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		// It sends its secret by HTTP Basic, and only to the issuer it expects.
		c := newTSClient(t, s, nil, args{"program": args{"id": programBasic, "secret": programSecret, "issuer": s.issuer}})
		id := fillCart(t, c)
		refuseToBuy(t, c, id)
		buy(t, c, id)
	})
}

// The version of the handshake era is this client's default.
func TestTypeScriptClientOfTheHandshakeEraIsToldWhyItCannotCheckOut(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		alice := newPerson("alice")
		old := newTSClient(t, s, alice, args{"era": "legacy"})
		id := fillCart(t, old)
		wantToldWhy(t, old.call(t, "checkout", args{"cart_id": id}))
		buy(t, newTSClient(t, s, alice, args{}), id)
	})
}

// A client that shows no forms is told which capability is missing.
func TestTypeScriptClientWithoutFormsIsToldWhichCapabilityIsMissing(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		c := newTSClient(t, s, newPerson("alice"), args{"forms": false})
		id := fillCart(t, c)
		got := c.call(t, "checkout", args{"cart_id": id})
		if !strings.Contains(got.Failed, "MissingRequiredClientCapabilityError -32021") || !strings.Contains(got.Failed, "elicitation") {
			t.Errorf("checkout = %+v, want the client's MissingRequiredClientCapabilityError, and elicitation named", got)
		}
	})
}
