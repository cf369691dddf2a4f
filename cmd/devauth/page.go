package main

import (
	"embed"
	"html/template"
	"net/http"
	"net/url"
)

//go:embed page.html style.css
var assets embed.FS

// page is what page.html shows: the sign-in form, or an error.
type page struct {
	Problem string // why the form or the request was not accepted

	// Sign-in; Client is nil on the error page.
	Client   *pageClient
	Action   string
	User     string
	Scopes   []string
	Audience string

	Back     string // error page: the client's address with the error, to be clicked
	BackHost string
}

type pageClient struct {
	Name, ID, Host string
	Local          bool // the answer goes to this machine
	SelfNamed      bool // nobody but the client vouches for its name
}

func (s *server) showSignIn(w http.ResponseWriter, r *http.Request, a *authorization, problem string) {
	w.Header().Set("Content-Security-Policy", pageCSP(originOf(a.redirect)))
	status := http.StatusOK
	if problem != "" {
		status = http.StatusBadRequest
	}
	name := a.client.name
	if name == "" {
		name = "A program without a name"
	}
	s.render(w, r, status, page{
		Problem: problem,
		Client: &pageClient{
			Name: name, ID: a.client.id, Host: hostOf(a.redirect),
			Local: isLoopbackHTTP(a.redirect), SelfNamed: !a.client.trusted,
		},
		Action:   r.URL.RequestURI(),
		User:     r.PostForm.Get("user"),
		Scopes:   scopeWords(a.scopes),
		Audience: s.signer.audience,
	})
}

// showError shows a request that cannot go on; back, if any, is a link that
// the person may follow.
func (s *server) showError(w http.ResponseWriter, r *http.Request, problem, back string) {
	s.render(w, r, http.StatusBadRequest, page{Problem: problem, Back: back, BackHost: hostOf(back)})
}

func (s *server) render(w http.ResponseWriter, r *http.Request, status int, p page) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	if err := s.page.Execute(w, p); err != nil {
		s.log.InfoContext(r.Context(), "page not sent", "err", err)
	}
}

func parsePage() (*template.Template, error) { return template.ParseFS(assets, "page.html") }

func (s *server) style(w http.ResponseWriter, r *http.Request) {
	http.ServeFileFS(w, r, assets, "style.css")
}

func hostOf(uri string) string {
	u, err := url.Parse(uri)
	if err != nil {
		return ""
	}
	return u.Host
}
