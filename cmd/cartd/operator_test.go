package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestDetailsAreOnTheOperatorsPortOnly(t *testing.T) {
	t.Parallel()
	s := newSite(t, 1)
	r := s.launch(t, map[string]string{"METRICS_ADDR": "127.0.0.1:0"})
	var addrs [][]string
	eventually(t, "both ports are open", func() bool {
		addrs = listening.FindAllStringSubmatch(r.out.String(), -1)
		return len(addrs) == 2
	})
	// Which of the two listens first is not fixed.
	public, operator := *r, *r
	public.url, operator.url = "http://"+addrs[0][1], "http://"+addrs[1][1]
	if public.get(t, "/healthz") != http.StatusOK {
		public, operator = operator, public
	}
	public.waitReady(t)
	must[carts](t, public.as(t, "alice"), "cart_list", nil)

	for path, want := range map[string]string{
		"/metrics": `mcp_requests_total{method="tools/call",outcome="ok",tool="cart_list"} 1`,
		"/readyz":  "issuer " + s.issuer.URL + ": 1 keys",
	} {
		if got := body(t, operator.url+path); !strings.Contains(got, want) {
			t.Errorf("%s on the operator's port = %s\nwant %s in it", path, got, want)
		}
		if got := body(t, public.url+path); strings.Contains(got, want) {
			t.Errorf("%s on the public port = %s\nwant nothing of it", path, got)
		}
	}
	if got := operator.get(t, "/mcp"); got != http.StatusNotFound {
		t.Errorf("/mcp on the operator's port = %d, want 404", got)
	}
}

func body(t *testing.T, url string) string {
	t.Helper()
	resp, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
