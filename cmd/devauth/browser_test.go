package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

const (
	audience = "http://127.0.0.1:8080/mcp"
	secret   = "0123456789abcdef:%+ /"
	callback = "http://127.0.0.1:7000/callback"
	verifier = "correct-horse-battery-staple-correct-horse-battery"
)

// running is a server on a real socket and a client that, like a browser
// driven by a test, shows redirects instead of following them.
type running struct {
	*server
	t       *testing.T
	http    *http.Client
	log     *logBuffer
	keyFile string
}

func start(t *testing.T, options ...func(*config)) *running {
	t.Helper()
	ts := httptest.NewUnstartedServer(nil)
	t.Cleanup(ts.Close)
	c := config{
		issuer: "http://" + ts.Listener.Addr().String(), audience: audience, ttl: 15 * time.Minute,
		keyFile: filepath.Join(t.TempDir(), "key.pem"),
		clients: list{"robot:" + secret, "r+b%t:" + secret}, publicClients: list{"app=" + callback, "web=https://app.example/cb?a=b"},
	}
	for _, option := range options {
		option(&c)
	}
	log := &logBuffer{}
	s, err := newServer(c, slog.New(slog.NewTextHandler(log, nil)))
	if err != nil {
		t.Fatalf("newServer = %v", err)
	}
	ts.Config.Handler = s.routes()
	ts.Start()
	showRedirects := func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &running{server: s, t: t, http: &http.Client{CheckRedirect: showRedirects}, log: log, keyFile: c.keyFile}
}

// logBuffer may be written and read at once.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// request is a good authorization request, with changes: "name", "value", …;
// an empty value takes the parameter out.
func (s *running) request(changes ...string) string {
	return s.signer.issuer + "/authorize?" + changed(url.Values{
		"response_type": {"code"}, "client_id": {"app"}, "redirect_uri": {callback}, "state": {"st&te"},
		"scope": {"cart:read order:place"}, "resource": {audience},
		"code_challenge": {challengeOf(verifier)}, "code_challenge_method": {"S256"},
	}, changes).Encode()
}

func changed(v url.Values, changes []string) url.Values {
	for i := 0; i < len(changes); i += 2 {
		v.Set(changes[i], changes[i+1])
		if changes[i+1] == "" {
			v.Del(changes[i])
		}
	}
	return v
}

func challengeOf(verifier string) string {
	sum := sha256.Sum256([]byte(verifier))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// do sends a request; headers are "Name", "value", ….
func (s *running) do(method, target, body string, headers ...string) (*http.Response, string) {
	s.t.Helper()
	req, err := http.NewRequest(method, target, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
		if headers[i] == "Host" {
			req.Host = headers[i+1]
		}
	}
	resp, err := s.http.Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return resp, string(text)
}

// browser opens target, fills in the form that is shown and submits it as a
// browser would. It returns the answer to whichever request came last.
func (s *running) browser(target, user, decision string) (*http.Response, string) {
	s.t.Helper()
	resp, text := s.do("GET", target, "")
	action := regexp.MustCompile(`<form method="post" action="([^"]+)"`).FindStringSubmatch(text)
	if action == nil {
		return resp, text
	}
	base, err := url.Parse(target)
	if err != nil {
		s.t.Fatal(err)
	}
	to, err := base.Parse(html.UnescapeString(action[1]))
	if err != nil {
		s.t.Fatal(err)
	}
	form := url.Values{"user": {user}, "decision": {decision}}.Encode()
	return s.do("POST", to.String(), form, "Content-Type", "application/x-www-form-urlencoded",
		"Origin", s.signer.issuer, "Sec-Fetch-Site", "same-origin")
}

// code signs in as user and returns the answer that the client would get.
func (s *running) code(user string, changes ...string) url.Values {
	s.t.Helper()
	resp, text := s.browser(s.request(changes...), user, "approve")
	location, err := resp.Location()
	if err != nil {
		s.t.Fatalf("sign-in answered %s without Location: %s", resp.Status, text)
	}
	return location.Query()
}

type answer struct {
	Status      int
	Header      http.Header
	AccessToken string `json:"access_token"`
	Refresh     string `json:"refresh_token"`
	TokenType   string `json:"token_type"`
	ExpiresIn   int    `json:"expires_in"`
	Scope       string
	Error       string
}

func (s *running) post(form url.Values, headers ...string) answer {
	s.t.Helper()
	headers = append([]string{"Content-Type", "application/x-www-form-urlencoded"}, headers...)
	resp, text := s.do("POST", s.signer.issuer+"/token", form.Encode(), headers...)
	a := answer{Status: resp.StatusCode, Header: resp.Header}
	if err := json.Unmarshal([]byte(text), &a); err != nil {
		s.t.Fatalf("token answer %q: %v", text, err)
	}
	return a
}

func (s *running) exchangeCode(code string, changes ...string) answer {
	s.t.Helper()
	return s.post(changed(url.Values{
		"grant_type": {"authorization_code"}, "code": {code}, "client_id": {"app"}, "redirect_uri": {callback},
		"code_verifier": {verifier}, "resource": {audience},
	}, changes))
}

func (s *running) useRefresh(token string, changes ...string) answer {
	s.t.Helper()
	return s.post(changed(url.Values{
		"grant_type": {"refresh_token"}, "refresh_token": {token}, "client_id": {"app"}, "resource": {audience},
	}, changes))
}

// claims verifies an access token with the published key only.
func (s *running) claims(token string) jwt.MapClaims {
	s.t.Helper()
	_, text := s.do("GET", s.signer.issuer+"/jwks.json", "")
	claims := jwt.MapClaims{}
	_, err := jwt.ParseWithClaims(token, claims, keyFrom(text), jwt.WithValidMethods([]string{"ES256"}),
		jwt.WithIssuer(s.signer.issuer), jwt.WithAudience(audience), jwt.WithExpirationRequired())
	if err != nil {
		s.t.Fatalf("access token does not verify: %v", err)
	}
	return claims
}
