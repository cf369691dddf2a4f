package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
)

// documentHost serves metadata documents over TLS on loopback, and s trusts it.
func documentHost(t *testing.T, s *running, handler http.HandlerFunc) string {
	t.Helper()
	ts := httptest.NewTLSServer(handler)
	t.Cleanup(ts.Close)
	s.documents.http.Transport.(*http.Transport).TLSClientConfig = ts.Client().Transport.(*http.Transport).TLSClientConfig
	return ts.URL
}

func onLoopback(c *config) { c.documentLoopback = true }

func sendJSON(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	fmt.Fprint(w, body)
}

func TestClientMayBeADocument(t *testing.T) {
	s := start(t, onLoopback)
	host := documentHost(t, s, func(w http.ResponseWriter, r *http.Request) {
		id, _ := json.Marshal("https://" + r.Host + r.URL.Path)
		sendJSON(w, `{"client_id":`+string(id)+`,"client_name":"Editor","redirect_uris":["com.example:/cb","http://localhost/cb"]}`)
	})
	id, redirect := host+"/client.json", "http://localhost:5555/cb"
	_, page := s.do("GET", s.request("client_id", id, "redirect_uri", redirect), "")
	if !strings.Contains(page, "Editor") || !strings.Contains(page, id) || !strings.Contains(page, "localhost:5555") {
		t.Errorf("page lacks name, id or redirect host: %s", page)
	}
	code := s.code("alice", "client_id", id, "redirect_uri", redirect).Get("code")
	a := s.exchangeCode(code, "client_id", id, "redirect_uri", redirect)
	if s.claims(a.AccessToken)["client_id"] != id {
		t.Errorf("token answer = %+v", a)
	}
	if resp, _ := s.do("GET", s.request("client_id", id, "redirect_uri", "http://localhost/other"), ""); resp.StatusCode != 400 {
		t.Errorf("redirect the document does not name = %s, want 400", resp.Status)
	}
}

func TestDocumentIsRefused(t *testing.T) {
	s := start(t, onLoopback)
	good := func(id string) string {
		return `{"client_id":"` + id + `","client_name":"Editor","redirect_uris":["` + callback + `"]`
	}
	var elsewhere atomic.Int32
	answers := map[string]func(w http.ResponseWriter, id string){
		"/good":   func(w http.ResponseWriter, id string) { sendJSON(w, good(id)+"}") },
		"/other":  func(w http.ResponseWriter, id string) { sendJSON(w, good(id+"x")+"}") },
		"/secret": func(w http.ResponseWriter, id string) { sendJSON(w, good(id)+`,"client_secret":"x"}`) },
		"/method": func(w http.ResponseWriter, id string) {
			sendJSON(w, good(id)+`,"token_endpoint_auth_method":"client_secret_post"}`)
		},
		"/nameless":  func(w http.ResponseWriter, id string) { sendJSON(w, strings.Replace(good(id), "Editor", "", 1)+"}") },
		"/noanswer":  func(w http.ResponseWriter, id string) { sendJSON(w, `{"client_id":"`+id+`","client_name":"Editor"}`) },
		"/broken":    func(w http.ResponseWriter, id string) { sendJSON(w, good(id)) },
		"/long":      func(w http.ResponseWriter, id string) { sendJSON(w, good(id)+strings.Repeat(" ", maxDocument)+"}") },
		"/elsewhere": func(http.ResponseWriter, string) { elsewhere.Add(1) },
		"/html": func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, good(id)+"}")
		},
		"/created": func(w http.ResponseWriter, id string) {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, good(id)+"}")
		},
		"/redirect": func(w http.ResponseWriter, id string) {
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(http.StatusFound)
		},
	}
	host := documentHost(t, s, func(w http.ResponseWriter, r *http.Request) {
		answers[r.URL.Path](w, "https://"+r.Host+r.URL.Path)
	})
	for path := range answers {
		if c, err := s.documents.fetch(t.Context(), host+path); (err == nil) != (path == "/good") {
			t.Errorf("fetch of %s = %v, %v", path, c, err)
		}
	}
	if elsewhere.Load() != 1 { // asked for by its own name above
		t.Error("the redirect was followed")
	}
	resp, text := s.do("GET", s.request("client_id", host+"/other"), "")
	if resp.StatusCode != http.StatusBadRequest || strings.Contains(text, `href="http`) {
		t.Errorf("sign-in for a refused document = %s, want 400 and no way out", resp.Status)
	}
	plain := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sendJSON(w, good("http://"+r.Host+r.URL.Path)+"}")
	}))
	defer plain.Close()
	if c, err := s.documents.fetch(t.Context(), plain.URL+"/good"); err == nil {
		t.Errorf("fetch over plain http = %v, want an error", c)
	}
}

func TestDocumentURLsAreStrict(t *testing.T) {
	for id, want := range map[string]bool{
		"https://app.example/client.json":  true,
		"https://app.example:8443/a/b?c=d": true,
		"http://app.example/client.json":   false,
		"https://app.example":              false,
		"https://app.example/":             false,
		"https://app.example/a/../b":       false,
		"https://app.example/a/%2e%2e/b":   false,
		"https://app.example/a#b":          false,
		"https://user@app.example/a":       false,
		"https:///a":                       false,
		"HTTPS://app.example/a":            false,
		"https://app.example/a|b":          false,
		"https://app.example/a?b|c":        false,
		"https://app.example/a b":          false,
		"file:///etc/passwd":               false,
		"https://a.example/" + long(512):   false,
	} {
		if got := isDocumentURL(id); got != want {
			t.Errorf("isDocumentURL(%q) = %v, want %v", id, got, want)
		}
	}
}

func long(n int) string { return strings.Repeat("x", n) }

func TestDocumentsComeFromPublicAddressesOnly(t *testing.T) {
	for address, want := range map[string]bool{
		"93.184.215.14": true, "2606:2800:21f:cb07::1": true,
		"127.0.0.1": false, "127.9.9.9": false, "0.0.0.0": false, "0.1.2.3": false, "10.1.2.3": false, "172.16.0.1": false,
		"192.168.1.1": false, "169.254.169.254": false, "100.64.0.1": false, "192.0.0.8": false, "198.18.0.1": false,
		"192.0.2.1": false, "198.51.100.1": false, "203.0.113.1": false, "192.88.99.1": false,
		"224.0.0.1": false, "240.0.0.1": false, "255.255.255.255": false,
		"::1": false, "::": false, "fe80::1": false, "fd00::1": false, "ff02::1": false, "64:ff9b::7f00:1": false,
		"2002:7f00:1::": false, "2001::1": false, "2001:db8::1": false, "3fff::1": false, "fec0::1": false, "::ffff:127.0.0.1": false,
	} {
		if got := isPublic(netip.MustParseAddr(address)); got != want {
			t.Errorf("isPublic(%s) = %v, want %v", address, got, want)
		}
	}
	// The same through the dialer: no connection is made.
	s := start(t)
	var reached atomic.Int32
	host := documentHost(t, s, func(http.ResponseWriter, *http.Request) { reached.Add(1) })
	for _, id := range []string{host + "/client.json", strings.Replace(host, "127.0.0.1", "localhost", 1) + "/client.json",
		strings.Replace(host, "127.0.0.1", "[::ffff:127.0.0.1]", 1) + "/client.json"} {
		if _, err := s.documents.fetch(t.Context(), id); err == nil || !strings.Contains(err.Error(), "public addresses only") {
			t.Errorf("fetch(%s) = %v, want a refusal of its address", id, err)
		}
	}
	if reached.Load() != 0 {
		t.Error("a loopback server was reached")
	}
}

func TestDocumentFetchesAreFewAndIgnoreProxies(t *testing.T) {
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:1")
	s := start(t, onLoopback)
	arrived, leave := make(chan bool), make(chan bool)
	host := documentHost(t, s, func(w http.ResponseWriter, r *http.Request) {
		arrived <- true
		<-leave
	})
	done := make(chan error)
	for range cap(s.documents.slots) {
		go func() {
			_, err := s.documents.fetch(t.Context(), host+"/slow")
			done <- err
		}()
		<-arrived
	}
	if _, err := s.documents.fetch(t.Context(), host+"/slow"); err == nil || !strings.Contains(err.Error(), "too many") {
		t.Errorf("one fetch more than allowed = %v, want a refusal", err)
	}
	close(leave)
	for range cap(s.documents.slots) {
		<-done
	}
	if len(s.documents.slots) != 0 {
		t.Error("slots are not given back")
	}
	if s.documents.http.Timeout <= 0 || s.documents.http.Transport.(*http.Transport).Proxy != nil {
		t.Error("fetches have no time limit, or use a proxy")
	}
}
