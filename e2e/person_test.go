//go:build e2e

package e2e_test

import (
	"errors"
	"fmt"
	"html"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"
)

// A person signs in at the authorization server's page as a browser without
// JavaScript does: follows redirects, keeps cookies, fills in forms. It knows
// the pages of both servers by their fields.
type person struct {
	name string
	http *http.Client

	mu    sync.Mutex
	asked []string // the scope of each sign-in
}

func newPerson(name string) *person {
	jar, err := cookiejar.New(nil)
	if err != nil {
		panic(err) // it never is one
	}
	return &person{name: name, http: &http.Client{
		Jar: jar, Timeout: patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// scopes are those that were asked for, one entry for each sign-in.
func (p *person) scopes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.asked...)
}

// signIn opens the URL that a client would open in a browser, signs in, agrees,
// and returns the URL that the browser is sent to with the code.
func (p *person) signIn(authorize string) (*url.URL, error) {
	at, err := url.Parse(authorize)
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.asked = append(p.asked, at.Query().Get("scope"))
	p.mu.Unlock()
	server := at.Host
	resp, err := p.http.Get(authorize)
	for range 20 {
		if err != nil {
			return nil, err
		}
		body, readErr := io.ReadAll(resp.Body)
		resp.Body.Close()
		if readErr != nil {
			return nil, readErr
		}
		at = resp.Request.URL
		if next, err := resp.Location(); err == nil {
			if next.Host != server {
				return next, nil
			}
			resp, err = p.http.Get(next.String())
			if err != nil {
				return nil, err
			}
			continue
		}
		resp, err = p.fillIn(at, string(body))
	}
	return nil, fmt.Errorf("signing in as %s: no end of pages, the last is %s", p.name, at)
}

var (
	formAction  = regexp.MustCompile(`<form [^>]*action="([^"]+)"`)
	hiddenField = regexp.MustCompile(`<input type="hidden" name="([^"]+)" value="([^"]*)"`)
)

// fillIn sends the one form of the page.
func (p *person) fillIn(at *url.URL, page string) (*http.Response, error) {
	action := formAction.FindStringSubmatch(page)
	if action == nil {
		return nil, fmt.Errorf("signing in as %s: no form at %s: %s", p.name, at, page)
	}
	target, err := at.Parse(html.UnescapeString(action[1]))
	if err != nil {
		return nil, err
	}
	form := url.Values{}
	for _, field := range hiddenField.FindAllStringSubmatch(page, -1) {
		form.Set(html.UnescapeString(field[1]), html.UnescapeString(field[2]))
	}
	if strings.Contains(page, `name="user"`) { // devauth
		form.Set("user", p.name)
		form.Set("decision", "approve")
	}
	if strings.Contains(page, `name="login"`) { // oidc-provider; its second page has a button only
		form.Set("login", p.name)
		form.Set("password", "any")
	}
	return p.http.PostForm(target.String(), form)
}

// deliver takes the browser on to the client, which listens there. Some begin to
// when they have shown the address to open, and a person is slower than that.
func (p *person) deliver(redirect *url.URL) error {
	deadline := time.Now().Add(patience)
	resp, err := p.http.Get(redirect.String())
	for errors.Is(err, syscall.ECONNREFUSED) && time.Now().Before(deadline) {
		time.Sleep(20 * time.Millisecond)
		resp, err = p.http.Get(redirect.String())
	}
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the client answers %s to its callback", resp.Status)
	}
	return nil
}
