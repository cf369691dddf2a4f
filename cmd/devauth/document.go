package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"time"
)

const maxDocument = 8 << 10

// documents fetches client ID metadata documents. The URL comes from whoever
// made the link, so a fetch is kept from reaching inside this network and from
// costing much: public addresses only, no proxy, no redirect, few at a time,
// little time, little text.
type documents struct {
	http  *http.Client
	slots chan struct{}
}

func newDocuments(loopback bool) *documents {
	dialer := &net.Dialer{
		Timeout: 3 * time.Second,
		// Control sees the address that is really dialled, after the name was
		// resolved: a name that changes its mind in between gains nothing.
		Control: func(_, address string, _ syscall.RawConn) error {
			ap, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("dial metadata document: %w", err)
			}
			if ip := ap.Addr(); !isPublic(ip) && !(loopback && ip.IsLoopback()) {
				return errors.New("metadata documents are fetched from public addresses only")
			}
			return nil
		},
	}
	return &documents{
		slots: make(chan struct{}, 4),
		http: &http.Client{
			Timeout:       5 * time.Second,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
			Transport: &http.Transport{
				Proxy:                  nil, // a proxy would dial for us, past the check
				DialContext:            dialer.DialContext,
				DisableKeepAlives:      true,
				MaxResponseHeaderBytes: maxDocument,
			},
		},
	}
}

// isPublic is an allow-list where the internet has one (IPv6 2000::/3) and
// leaves out the ranges that are special, or carry an IPv4 address within.
func isPublic(ip netip.Addr) bool {
	special := []string{
		"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24", "198.18.0.0/15",
		"198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4", "2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20",
	}
	if !ip.IsGlobalUnicast() || ip.IsPrivate() || ip.Is6() && !netip.MustParsePrefix("2000::/3").Contains(ip) {
		return false
	}
	return !slices.ContainsFunc(special, func(p string) bool { return netip.MustParsePrefix(p).Contains(ip) })
}

// isDocumentURL says whether a client id may name a metadata document.
func isDocumentURL(id string) bool {
	u, err := url.Parse(id)
	if err != nil || len(id) > 512 || u.Scheme != "https" || !isHTTPURL(id) || u.String() != id || checkClientID(id) != nil {
		return false
	}
	dots := func(segment string) bool { return segment == "." || segment == ".." }
	return len(u.Path) > 1 && !slices.ContainsFunc(strings.Split(u.Path, "/"), dots)
}

// fetch gets the client that the document at id describes.
func (d *documents) fetch(ctx context.Context, id string) (*client, error) {
	if !isDocumentURL(id) {
		return nil, errors.New("unknown client")
	}
	select {
	case d.slots <- struct{}{}:
		defer func() { <-d.slots }()
	default:
		return nil, errors.New("too many metadata documents at once")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, id, nil)
	if err != nil {
		return nil, fmt.Errorf("fetch client metadata: %w", err)
	}
	req.Header.Set("Accept", "application/json")
	resp, err := d.http.Do(req)
	if err != nil {
		return nil, fmt.Errorf("fetch client metadata: %w", err)
	}
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode != http.StatusOK || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return nil, fmt.Errorf("fetch client metadata: status %d, media type %q", resp.StatusCode, media)
	}
	text, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument)) // a longer one, cut here, is no JSON
	if err != nil {
		return nil, fmt.Errorf("fetch client metadata: %w", err)
	}
	return readDocument(id, text)
}

// readDocument refuses a document that is not this client's own, and one that
// wants to prove itself by a secret: a public document cannot hold one.
func readDocument(id string, text []byte) (*client, error) {
	var doc struct {
		ID        string          `json:"client_id"`
		Name      string          `json:"client_name"`
		Redirects []string        `json:"redirect_uris"`
		Method    string          `json:"token_endpoint_auth_method"`
		Secret    json.RawMessage `json:"client_secret"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("client metadata: %w", err)
	}
	doc.Name = displayName(doc.Name)
	doc.Redirects = slices.DeleteFunc(doc.Redirects, func(uri string) bool { return checkRedirect(uri) != nil })
	switch {
	case doc.ID != id:
		return nil, errors.New("client metadata: client_id is not the document's URL")
	case doc.Name == "" || len(doc.Redirects) == 0:
		return nil, errors.New("client metadata: no client_name or no usable redirect_uris")
	case doc.Method != "" && doc.Method != "none" || doc.Secret != nil:
		return nil, errors.New("client metadata: only token_endpoint_auth_method none is served")
	}
	return &client{id: id, name: doc.Name, redirects: doc.Redirects}, nil
}
