package main

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// authorization is a request to sign in that may be answered: client and
// redirect URI are good.
type authorization struct {
	client    *client
	redirect  string
	state     string
	scopes    []string
	challenge string
}

// authorize is the authorization endpoint. GET shows the sign-in page; POST is
// its form, sent to the same URL, so that every check is made again and
// nothing is kept between the two.
func (s *server) authorize(w http.ResponseWriter, r *http.Request) {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		s.showError(w, r, "This link is malformed.", "")
		return
	}
	a, err := s.addressee(r.Context(), query)
	if err != nil {
		// Never sent on: the address is not known to be the client's.
		s.log.InfoContext(r.Context(), "refused", "path", r.URL.Path, "err", err)
		s.showError(w, r, "The program that sent you here is not known to this server, or asks for an answer to an address that is not its own. If it registered here before, let it register again.", "")
		return
	}
	if err := s.readRequest(a, query); err != nil {
		s.refuse(w, r, a, err)
		return
	}
	if r.Method == http.MethodPost {
		s.decide(w, r, a)
		return
	}
	s.showSignIn(w, r, a, "")
}

// addressee finds who asks and where the answer goes.
func (s *server) addressee(ctx context.Context, query url.Values) (*authorization, error) {
	id, redirect := query.Get("client_id"), query.Get("redirect_uri")
	if len(query["client_id"]) > 1 || len(query["redirect_uri"]) > 1 {
		return nil, errors.New("client_id or redirect_uri sent more than once")
	}
	c := s.lookup(id)
	if c == nil {
		var err error
		if c, err = s.documents.fetch(ctx, id); err != nil {
			return nil, err
		}
	}
	if !c.allows(redirect) {
		return nil, errors.New("redirect_uri is not registered for this client")
	}
	return &authorization{client: c, redirect: redirect, state: query.Get("state")}, nil
}

var challengeForm = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

// readRequest reads what is asked for; its errors belong to the client.
func (s *server) readRequest(a *authorization, query url.Values) error {
	if err := checkForm(query); err != nil {
		return err
	}
	if query.Get("response_type") != "code" {
		return &oauthError{"unsupported_response_type", "want response_type=code"}
	}
	if mode := query.Get("response_mode"); mode != "" && mode != "query" {
		return &oauthError{"invalid_request", "want response_mode=query"}
	}
	a.challenge = query.Get("code_challenge")
	if query.Get("code_challenge_method") != "S256" || !challengeForm.MatchString(a.challenge) {
		return &oauthError{"invalid_request", "PKCE with code_challenge_method=S256 is required"}
	}
	if err := s.checkResource(query["resource"]); err != nil {
		return err
	}
	scopes, err := parseScope(query.Get("scope"))
	a.scopes = scopes
	return err
}

// decide acts on the person's answer.
func (s *server) decide(w http.ResponseWriter, r *http.Request, a *authorization) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	if err := r.ParseForm(); err != nil {
		s.showSignIn(w, r, a, "The form could not be read.")
		return
	}
	switch r.PostForm.Get("decision") {
	case "approve":
	case "deny":
		s.sendBack(w, r, a, url.Values{"error": {"access_denied"}})
		return
	default:
		s.showSignIn(w, r, a, "Approve or deny.")
		return
	}
	subject, err := userSubject(r.PostForm.Get("user"))
	if err != nil {
		s.showSignIn(w, r, a, "Please pick another name: "+err.Error()+".")
		return
	}
	code, err := s.grants.begin(grant{
		access:    access{subject: subject, clientID: a.client.id, scopes: a.scopes, authTime: time.Now()},
		redirect:  a.redirect,
		challenge: a.challenge,
	})
	if err != nil {
		s.sendBack(w, r, a, url.Values{"error": {"temporarily_unavailable"}, "error_description": {err.Error()}})
		return
	}
	s.sendBack(w, r, a, url.Values{"code": {code}})
}

// refuse tells the client of an error in its request. A browser is sent on by
// itself only to this machine or to an address the operator named: otherwise a
// link to us would be a link to wherever a stranger registered, so the person
// is shown where it leads and decides.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, a *authorization, err error) {
	oe := &oauthError{"server_error", "unexpected"}
	errors.As(err, &oe)
	s.log.InfoContext(r.Context(), "refused", "path", r.URL.Path, "client_id", a.client.id, "err", err)
	answer := url.Values{"error": {oe.code}, "error_description": {oe.description}}
	if a.client.trusted || isLoopbackHTTP(a.redirect) {
		s.sendBack(w, r, a, answer)
		return
	}
	s.showError(w, r, "The program's request cannot be granted: "+oe.description+".", s.callback(a, answer))
}

func (s *server) sendBack(w http.ResponseWriter, r *http.Request, a *authorization, answer url.Values) {
	http.Redirect(w, r, s.callback(a, answer), http.StatusSeeOther)
}

// callback is the redirect URI with the answer. iss (RFC 9207) is in every
// answer: it lets a client notice an answer from another server.
func (s *server) callback(a *authorization, answer url.Values) string {
	answer.Set("iss", s.signer.issuer)
	if a.state != "" {
		answer.Set("state", a.state)
	}
	separator := "?"
	if strings.Contains(a.redirect, "?") {
		separator = "&"
	}
	return a.redirect + separator + answer.Encode()
}
