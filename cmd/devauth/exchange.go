package main

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"mime"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
)

// token is the token endpoint.
func (s *server) token(w http.ResponseWriter, r *http.Request) {
	answer, err := s.exchange(w, r)
	if err != nil {
		s.writeError(w, r, err)
		return
	}
	writeJSON(w, http.StatusOK, answer)
}

func (s *server) exchange(w http.ResponseWriter, r *http.Request) (map[string]any, error) {
	r.Body = http.MaxBytesReader(w, r.Body, 16<<10)
	media, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
	// The form is read whatever the client authenticates with; only the body
	// counts, since a URL travels through logs.
	if media != "application/x-www-form-urlencoded" || r.ParseForm() != nil {
		return nil, &oauthError{"invalid_request", "want a form of at most 16 KiB"}
	}
	form := r.PostForm
	if err := checkForm(form); err != nil {
		return nil, err
	}
	c, err := s.authenticate(r)
	if err != nil {
		return nil, err
	}
	if err := s.checkResource(form["resource"]); err != nil {
		return nil, err
	}
	switch form.Get("grant_type") {
	case "authorization_code":
		return s.exchangeCode(c, form)
	case "refresh_token":
		return s.refresh(c, form)
	case "client_credentials":
		return s.clientCredentials(c, form)
	default:
		return nil, &oauthError{"unsupported_grant_type", "want authorization_code, refresh_token or client_credentials"}
	}
}

// checkForm refuses a parameter that is sent twice: two readers of such a
// request may see two different ones. resource alone may repeat (RFC 8707).
func checkForm(form url.Values) error {
	for name, values := range form {
		if len(values) > 1 && name != "resource" {
			return &oauthError{"invalid_request", "a parameter is sent more than once"}
		}
	}
	return nil
}

func (s *server) checkResource(resources []string) error {
	for _, resource := range resources {
		if resource != s.signer.audience {
			return &oauthError{"invalid_target", "tokens are for " + s.signer.audience + " only"}
		}
	}
	return nil
}

// authenticate finds the client that speaks: by HTTP Basic or in the form for
// one with a secret, by its mere id for a public one.
func (s *server) authenticate(r *http.Request) (*client, error) {
	id, secret := r.PostForm.Get("client_id"), r.PostForm.Get("client_secret")
	if r.Header.Get("Authorization") != "" {
		user, password, ok := r.BasicAuth()
		user, err1 := url.QueryUnescape(user) // RFC 6749 section 2.3.1
		password, err2 := url.QueryUnescape(password)
		if !ok || err1 != nil || err2 != nil {
			return nil, &oauthError{"invalid_client", "only HTTP Basic is understood"}
		}
		if id != "" && id != user || secret != "" {
			return nil, &oauthError{"invalid_request", "two ways of client authentication at once"}
		}
		id, secret = user, password
	}
	c := s.lookup(id)
	if c == nil && isDocumentURL(id) {
		// The code or refresh token is bound to this id, which was looked at
		// when the person signed in.
		c = &client{id: id}
	}
	if c == nil || !c.secretIs(secret) {
		return nil, &oauthError{"invalid_client", "unknown client or wrong secret"}
	}
	return c, nil
}

func (s *server) exchangeCode(c *client, form url.Values) (map[string]any, error) {
	granted, refresh, err := s.grants.redeem(form.Get("code"), func(g *grant) error {
		redirect := form.Get("redirect_uri")
		if g.redeemed || g.clientID != c.id || redirect != "" && redirect != g.redirect {
			return &oauthError{"invalid_grant", "the code was made for another client or redirect_uri"}
		}
		if !verifies(form.Get("code_verifier"), g.challenge) {
			return &oauthError{"invalid_grant", "code_verifier does not fit"}
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return s.answer(granted, refresh)
}

var verifierForm = regexp.MustCompile(`^[A-Za-z0-9._~-]{43,128}$`)

// verifies is PKCE with S256.
func verifies(verifier, challenge string) bool {
	if !verifierForm.MatchString(verifier) {
		return false
	}
	sum := sha256.Sum256([]byte(verifier))
	got := base64.RawURLEncoding.EncodeToString(sum[:])
	return subtle.ConstantTimeCompare([]byte(got), []byte(challenge)) == 1
}

// refresh may narrow the scope of the access token; the grant keeps its own.
func (s *server) refresh(c *client, form url.Values) (map[string]any, error) {
	var narrowed []string
	granted, refresh, err := s.grants.redeem(form.Get("refresh_token"), func(g *grant) error {
		if !g.redeemed || g.clientID != c.id {
			return &oauthError{"invalid_grant", "not a refresh token of this client"}
		}
		narrowed = g.scopes
		if form.Get("scope") == "" {
			return nil
		}
		scopes, err := parseScope(form.Get("scope"))
		if err != nil {
			return err
		}
		if slices.ContainsFunc(scopes, func(scope string) bool { return !slices.Contains(g.scopes, scope) }) {
			return &oauthError{"invalid_scope", "more than was granted: sign in again for it"}
		}
		narrowed = scopes
		return nil
	})
	if err != nil {
		return nil, err
	}
	granted.scopes = narrowed
	return s.answer(granted, refresh)
}

// clientCredentials speaks for the program itself: its subject is its id.
func (s *server) clientCredentials(c *client, form url.Values) (map[string]any, error) {
	if c.secret == "" {
		return nil, &oauthError{"unauthorized_client", "client credentials need a client with a secret"}
	}
	scopes, err := parseScope(form.Get("scope"))
	if err != nil {
		return nil, err
	}
	return s.answer(access{subject: c.id, clientID: c.id, scopes: scopes}, "")
}

func (s *server) answer(a access, refresh string) (map[string]any, error) {
	token, err := s.signer.sign(a)
	if err != nil {
		return nil, err
	}
	answer := map[string]any{
		"access_token": token,
		"token_type":   "Bearer",
		"expires_in":   int(s.signer.ttl.Seconds()),
		"scope":        strings.Join(a.scopes, " "),
	}
	if refresh != "" {
		answer["refresh_token"] = refresh
	}
	s.log.Info("token issued", "sub", a.subject, "client_id", a.clientID, "scope", answer["scope"])
	return answer, nil
}
