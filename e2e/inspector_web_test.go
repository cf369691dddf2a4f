//go:build e2e

package e2e_test

import (
	"path/filepath"
	"strings"
	"testing"
)

// web starts the Inspector's web page and returns its address.
func (i *inspector) web(t testing.TB, s *stand) string {
	t.Helper()
	port := freePort(t)
	page := start(t, "mcp-inspector --web",
		node(nodeModule(".bin/mcp-inspector"), "--web", "--transport", "http", "--server-url", s.endpoint, "--protocol-era", "modern"),
		append(i.env, "CLIENT_PORT="+port, "MCP_SANDBOX_PORT="+freePort(t), "MCP_INSPECTOR_API_TOKEN=of-this-test")...)
	page.answers(t, "http://127.0.0.1:"+port+"/")
	return "http://127.0.0.1:" + port + "/?MCP_INSPECTOR_API_TOKEN=of-this-test"
}

// picture is where a script leaves a picture of the page it failed on.
func picture(t testing.TB) string {
	return filepath.Join(pictures, strings.NewReplacer("/", "-", " ", "_").Replace(t.Name())+".png")
}

func TestInspectorWebPageSignsInAndBuysWithAStepUp(t *testing.T) {
	t.Parallel()
	withEach(t, func(t *testing.T, s *stand) {
		browser, err := chromium()
		if err != nil {
			t.Fatal(err)
		}
		d := drive(t, "inspector-web.mjs", args{
			"chromium": browser, "url": newInspector(t).web(t, s), "authServer": s.issuer, "name": "alice", "picture": picture(t),
		})
		var bought struct {
			Order  string
			CartID string `json:"cart_id"`
		}
		d.hear(t, &bought)
		// Any other client of the same person finds what was bought at the page.
		alice := newGoClient(t, s, byCode(t, newPerson("alice"), registers()), nil)
		listed := decode[orders](t, "order_list", alice.call(t, "order_list", args{}))
		if want := (order{bought.Order, bought.CartID, mugsSent}); len(listed.Orders) != 1 || listed.Orders[0] != want {
			t.Errorf("order_list of another client = %+v, want %+v alone", listed, want)
		}
	})
}
