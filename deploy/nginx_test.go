// Package deploy_test checks the proxy's configuration: what it says, on every
// machine, and what it does, where nginx is installed.
package deploy_test

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestConfigurationNeverRepeatsACall(t *testing.T) {
	conf := directives(t)
	for _, forbidden := range []string{"non_idempotent", "proxy_intercept_errors on", "proxy_buffering on", "http_500", "http_502", "http_503"} {
		if strings.Contains(conf, forbidden) {
			t.Errorf("nginx.conf says %q", forbidden)
		}
	}
	for _, wanted := range []string{"proxy_next_upstream error timeout;", "proxy_intercept_errors off;", "proxy_buffering off;", "proxy_set_header Host $http_host;"} {
		if !strings.Contains(conf, wanted) {
			t.Errorf("nginx.conf does not say %q", wanted)
		}
	}
}

func TestProxyLetsGoOfIdleConnectionsFirst(t *testing.T) {
	proxy := duration(t, directives(t), `keepalive_timeout (\d+)(s);`)
	source, err := os.ReadFile("../cmd/cartd/serve.go")
	if err != nil {
		t.Fatal(err)
	}
	server := duration(t, string(source), `idleTimeout\s+= (\d+) \* time\.(Minute|Second)`)
	if proxy >= server {
		t.Errorf("nginx keeps idle connections %v, cartd %v: want nginx's shorter", proxy, server)
	}
}

func duration(t *testing.T, text, pattern string) time.Duration {
	t.Helper()
	m := regexp.MustCompile(pattern).FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("nothing matches %s", pattern)
	}
	d, err := time.ParseDuration(m[1] + map[string]string{"s": "s", "Second": "s", "Minute": "m"}[m[2]])
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// directives is nginx.conf without its comments.
func directives(t *testing.T) string {
	t.Helper()
	conf, err := os.ReadFile("nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	return regexp.MustCompile(`(?m)#.*$`).ReplaceAllString(string(conf), "")
}

// withProxy runs the test with a proxy in front of the replicas, on a machine
// that has nginx. .ci/run installs it.
func withProxy(t *testing.T, replicas []string, test func(t *testing.T, url string)) {
	t.Helper()
	nginx, err := exec.LookPath("nginx")
	if err != nil {
		if nginx = "/usr/sbin/nginx"; exec.Command(nginx, "-v").Run() != nil {
			t.Log("there is no nginx here to try the configuration with")
			return
		}
	}
	test(t, startProxy(t, nginx, replicas))
}

// startProxy returns the proxy's URL once it answers.
func startProxy(t *testing.T, nginx string, replicas []string) string {
	t.Helper()
	dir, address := t.TempDir(), freeAddress(t)
	conf, err := os.ReadFile("nginx.conf")
	if err != nil {
		t.Fatal(err)
	}
	var upstream strings.Builder
	for _, replica := range replicas {
		upstream.WriteString("server " + replica + ";\n")
	}
	if err := os.Mkdir(filepath.Join(dir, "site"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"nginx.conf": string(conf), "site/listen.conf": "listen " + address + ";\n", "site/upstream.conf": upstream.String(),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(nginx, "-e", "stderr", "-p", dir, "-c", filepath.Join(dir, "nginx.conf"))
	var complaint strings.Builder
	cmd.Stderr = &complaint
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("nginx said:\n%s", &complaint)
		}
	})
	awaitAnswer(t, address)
	return "http://" + address
}

func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func awaitAnswer(t *testing.T, address string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		conn, err := net.Dial("tcp", address)
		if err == nil {
			conn.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("nginx does not answer: %v", err)
		}
	}
}

// replica is a server in place of cartd.
func replica(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.Listener.Addr().String()
}

func post(t *testing.T, url, body string, header http.Header) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+"/mcp", strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		req.Header[name] = values
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatalf("POST: %v", err)
	}
	t.Cleanup(func() { resp.Body.Close() })
	return resp
}

func TestCallWhoseReplicaDiesIsNotRepeated(t *testing.T) {
	var calls atomic.Int32
	dies := func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		calls.Add(1) // the effect has happened; its answer never comes
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			conn.Close()
		}
	}
	withProxy(t, []string{replica(t, dies), replica(t, dies), replica(t, dies)}, func(t *testing.T, url string) {
		resp := post(t, url, "{}", nil)
		if got := calls.Load(); got != 1 {
			t.Errorf("replicas saw %d calls, want 1", got)
		}
		if resp.StatusCode != http.StatusBadGateway {
			t.Errorf("status = %d, want 502", resp.StatusCode)
		}
		wantJSONRPCError(t, resp)
	})
}

func wantJSONRPCError(t *testing.T, resp *http.Response) {
	t.Helper()
	var body struct {
		JSONRPC string
		Error   struct{ Code int }
	}
	if err := json.NewDecoder(resp.Body).Decode(&body); err != nil || body.JSONRPC != "2.0" || body.Error.Code == 0 {
		t.Errorf("body = %+v, %v, want a JSON-RPC error", body, err)
	}
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("Content-Type = %q, want application/json", got)
	}
}

func TestReplicaThatIsAwayIsPassedOver(t *testing.T) {
	works := replica(t, func(w http.ResponseWriter, r *http.Request) {})
	withProxy(t, []string{freeAddress(t), works, freeAddress(t)}, func(t *testing.T, url string) {
		for range 10 {
			if got := post(t, url, "{}", nil).StatusCode; got != http.StatusOK {
				t.Errorf("status = %d, want 200", got)
			}
		}
	})
}

func TestErrorsOfTheServerArriveAsTheyAre(t *testing.T) {
	for _, status := range []int{400, 401, 403, 404, 413, 421, 429, 500, 502, 503, 504} {
		answers := replica(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("WWW-Authenticate", `Bearer scope="a b"`)
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "the server's own words")
		})
		withProxy(t, []string{answers}, func(t *testing.T, url string) {
			resp := post(t, url, "{}", nil)
			body, _ := io.ReadAll(resp.Body)
			if resp.StatusCode != status || string(body) != "the server's own words" || resp.Header.Get("WWW-Authenticate") != `Bearer scope="a b"` {
				t.Errorf("answer = %d %q %v, want %d as the server gave it", resp.StatusCode, body, resp.Header, status)
			}
		})
	}
}

func TestStreamIsNotHeldBack(t *testing.T) {
	seen := make(chan struct{})
	streams := replica(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "data: first\n\n")
		_ = http.NewResponseController(w).Flush()
		select {
		case <-seen: // the client has the first event while we are still here
			_, _ = io.WriteString(w, "data: last\n\n")
		case <-r.Context().Done():
		}
	})
	withProxy(t, []string{streams}, func(t *testing.T, url string) {
		lines := bufio.NewScanner(post(t, url, "{}", nil).Body)
		if !lines.Scan() || lines.Text() != "data: first" {
			t.Fatalf("first line = %q", lines.Text())
		}
		close(seen)
		for lines.Scan() && lines.Text() != "data: last" {
			continue
		}
		if lines.Text() != "data: last" {
			t.Errorf("the stream ended with %q", lines.Text())
		}
	})
}

func TestRequestArrivesAsItWasSent(t *testing.T) {
	type request struct {
		host   string
		header http.Header
		length int
	}
	got := make(chan request, 1)
	records := replica(t, func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- request{r.Host, r.Header, len(body)}
	})
	withProxy(t, []string{records}, func(t *testing.T, url string) {
		token := "Bearer " + strings.Repeat("x", 12<<10)
		resp := post(t, url, strings.Repeat("x", 300<<10), http.Header{
			"Authorization": {token}, "Mcp-Method": {"tools/call", "tools/list"}, "Mcp-Param-Unheard-Of": {"=?base64?eA==?="},
		})
		if resp.StatusCode != http.StatusOK {
			t.Fatalf("status = %d, want 200", resp.StatusCode)
		}
		r := <-got
		if want := strings.TrimPrefix(url, "http://"); r.host != want {
			t.Errorf("Host = %s, want %s", r.host, want)
		}
		if r.length != 300<<10 {
			t.Errorf("body has %d bytes, want %d", r.length, 300<<10)
		}
		if r.header.Get("Authorization") != token || len(r.header["Mcp-Method"]) != 2 || r.header.Get("Mcp-Param-Unheard-Of") == "" {
			t.Errorf("headers are not those that were sent: %v", r.header)
		}
	})
}

func TestBodyTooLargeForTheProxyIsRefusedInJSON(t *testing.T) {
	works := replica(t, func(w http.ResponseWriter, r *http.Request) {})
	withProxy(t, []string{works}, func(t *testing.T, url string) {
		resp := post(t, url, strings.Repeat("x", 2<<20), nil)
		if resp.StatusCode != http.StatusRequestEntityTooLarge {
			t.Errorf("status = %d, want 413", resp.StatusCode)
		}
		wantJSONRPCError(t, resp)
	})
}
