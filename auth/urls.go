package auth

import (
	"errors"
	"net/netip"
	"net/url"
	"slices"
	"strings"
)

// parseURL reads an absolute http(s) URL that identifies something. Query,
// fragment and user have no business in one, and quotes would end up in headers.
func parseURL(text string) (*url.URL, error) {
	for _, c := range []byte(text) {
		if c <= ' ' || c > '~' || strings.IndexByte(`"\<>^{|}`+"`", c) >= 0 {
			return nil, errors.New("has a character that no URL has")
		}
	}
	u, err := url.Parse(text)
	switch {
	case err != nil:
		return nil, errors.New("is not a URL")
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("must begin with https:// (or http:// where that is allowed)")
	case u.Hostname() == "":
		return nil, errors.New("has no host")
	case u.User != nil || u.RawQuery != "" || u.ForceQuery || strings.Contains(text, "#"):
		return nil, errors.New("must have no user, query or fragment")
	}
	return u, nil
}

// parseTrusted reads a URL that keys or issuers are trusted by. Without TLS
// anybody on the way could answer with keys of their own, so http is for the
// loopback and for hosts that the operator names one by one.
func parseTrusted(text string, allowHTTPHosts []string) (*url.URL, error) {
	u, err := parseURL(text)
	if err != nil {
		return nil, err
	}
	if u.Scheme == "http" && !isLoopback(u.Hostname()) && !slices.Contains(allowHTTPHosts, u.Hostname()) {
		return nil, errors.New("uses http, which is only for loopback and hosts allowed by name")
	}
	return u, nil
}

func isLoopback(host string) bool {
	addr, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && addr.IsLoopback()
}
