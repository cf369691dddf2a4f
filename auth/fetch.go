package auth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

const (
	fetchTimeout = 5 * time.Second // for one request, body included
	maxDocument  = 256 << 10       // bytes; real key sets have 1 to 20 KiB
)

// fetcher reads documents of issuers. Its errors name no address: a log line
// that has one of them says the issuer, which is configured, and that is enough.
type fetcher struct {
	client         *http.Client
	allowHTTPHosts []string
}

func newFetcher(base *http.Client, allowHTTPHosts []string) fetcher {
	client := &http.Client{
		Timeout: fetchTimeout,
		// Keys come from where the configuration or the issuer says, not from
		// where an answer sends us on to.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	if base != nil {
		client.Transport = base.Transport
	}
	return fetcher{client: client, allowHTTPHosts: allowHTTPHosts}
}

// keySet fetches the keys of an issuer. A document without one usable key is
// a failure: an issuer that signs has keys.
func (f fetcher) keySet(ctx context.Context, issuer Issuer) (*keySet, error) {
	where := issuer.JWKSURL
	if where == "" {
		var err error
		if where, err = f.discover(ctx, issuer.URL); err != nil {
			return nil, fmt.Errorf("discover keys: %w", err)
		}
	}
	var document struct {
		Keys []jsontext.Value `json:"keys"`
	}
	if err := f.get(ctx, where, &document); err != nil {
		return nil, fmt.Errorf("fetch keys: %w", err)
	}
	return newKeySet(document.Keys)
}

// discover asks the issuer's metadata where its keys are: RFC 8414, or OpenID
// Connect Discovery in its two forms. A document that names another issuer, or
// this one in another spelling, is not this issuer's.
func (f fetcher) discover(ctx context.Context, issuer string) (string, error) {
	var errs []error
	for _, where := range metadataURLs(issuer) {
		var document struct {
			Issuer  string `json:"issuer"`
			JWKSURI string `json:"jwks_uri"`
		}
		err := f.get(ctx, where, &document)
		if err == nil && document.Issuer != issuer {
			err = errors.New("metadata names another issuer")
		}
		if err == nil {
			if _, err = parseTrusted(document.JWKSURI, f.allowHTTPHosts); err == nil {
				return document.JWKSURI, nil
			}
			err = fmt.Errorf("jwks_uri %w", err)
		}
		if ctx.Err() != nil {
			return "", ctx.Err()
		}
		errs = append(errs, err)
	}
	return "", errors.Join(errs...)
}

// metadataURLs are the places where metadata may be, best first. The issuer
// has been checked to be a URL.
func metadataURLs(issuer string) []string {
	u, err := url.Parse(issuer)
	if err != nil {
		return nil
	}
	path := strings.TrimSuffix(u.EscapedPath(), "/")
	base := u.Scheme + "://" + u.Host
	urls := []string{
		base + "/.well-known/oauth-authorization-server" + path,
		base + "/.well-known/openid-configuration" + path,
	}
	if path != "" {
		urls = append(urls, base+path+"/.well-known/openid-configuration")
	}
	return urls
}

// get reads one JSON document, within bounds of time and size.
func (f fetcher) get(ctx context.Context, where string, document any) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, where, nil)
	if err != nil {
		return errors.New("not an address")
	}
	r.Header.Set("Accept", "application/json")
	resp, err := f.client.Do(r)
	if err != nil {
		return withoutURL(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("status %d", resp.StatusCode)
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxDocument+1))
	switch {
	case err != nil:
		return withoutURL(err)
	case len(body) > maxDocument:
		return fmt.Errorf("more than %d bytes", maxDocument)
	case json.Unmarshal(body, document) != nil:
		return errors.New("not the JSON document expected")
	}
	return nil
}

// withoutURL drops the address that net/http puts in front.
func withoutURL(err error) error {
	var at *url.Error
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}
