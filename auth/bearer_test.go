package auth_test

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/mcp-cart/auth"
)

func TestBearerToken(t *testing.T) {
	long := strings.Repeat("a", 8<<10)
	tests := map[string]struct {
		values []string
		want   string
		reason string
	}{
		"the usual":               {[]string{"Bearer abc.def-_~+/=="}, "abc.def-_~+/==", "ok"},
		"scheme in lower case":    {[]string{"bearer abc"}, "abc", "ok"},
		"scheme in mixed case":    {[]string{"bEaReR abc"}, "abc", "ok"},
		"more than one space":     {[]string{"Bearer   abc"}, "abc", "ok"},
		"as long as may be":       {[]string{"Bearer " + long}, long, "ok"},
		"no header":               {nil, "", "no_token"},
		"empty header":            {[]string{""}, "", "no_token"},
		"another scheme":          {[]string{"Basic YTpi"}, "", "no_token"},
		"scheme that begins well": {[]string{"BearerX abc"}, "", "no_token"},
		"token without scheme":    {[]string{"abc"}, "", "no_token"},
		"two headers":             {[]string{"Bearer abc", "Bearer abc"}, "", "header"},
		"two headers, one empty":  {[]string{"", "Bearer abc"}, "", "header"},
		"two schemes":             {[]string{"Bearer abc", "Basic YTpi"}, "", "header"},
		"scheme only":             {[]string{"Bearer"}, "", "header"},
		"scheme and blank":        {[]string{"Bearer "}, "", "header"},
		"two tokens":              {[]string{"Bearer a b"}, "", "header"},
		"two in a list":           {[]string{"Bearer a, Bearer b"}, "", "header"},
		"parameters":              {[]string{`Bearer token="a"`}, "", "header"},
		"= inside":                {[]string{"Bearer a=b"}, "", "header"},
		"= only":                  {[]string{"Bearer =="}, "", "header"},
		"tab":                     {[]string{"Bearer\tabc"}, "", "no_token"},
		"tab before the token":    {[]string{"Bearer \tabc"}, "", "header"},
		"letters beyond ASCII":    {[]string{"Bearer abc\u0456"}, "", "header"},
		"NUL":                     {[]string{"Bearer abc\x00"}, "", "header"},
		"too long":                {[]string{"Bearer " + long + "a"}, "", "size"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := auth.BearerToken(http.Header{"Authorization": tt.values})
			if got != tt.want || auth.Reason(err) != tt.reason {
				t.Errorf("BearerToken = %q, %v, want %q (%s)", got, err, tt.want, tt.reason)
			}
			if bad := errors.Is(err, auth.ErrInvalidToken); bad != (tt.reason == "header" || tt.reason == "size") {
				t.Errorf("BearerToken error %v is ErrInvalidToken: %v", err, bad)
			}
		})
	}
}

// TestTokenElsewhereIsNoToken: the function sees headers only, so a token in a
// query or a body cannot be taken for one.
func TestTokenElsewhereIsNoToken(t *testing.T) {
	r := &http.Request{
		URL:    &url.URL{Path: "/mcp", RawQuery: "access_token=abc"},
		Header: http.Header{"X-Authorization": {"Bearer abc"}, "Access_token": {"abc"}, "Cookie": {"access_token=abc"}, "Proxy-Authorization": {"Bearer abc"}},
	}
	if got, err := auth.BearerToken(r.Header); !errors.Is(err, auth.ErrNoToken) {
		t.Errorf("BearerToken = %q, %v, want ErrNoToken", got, err)
	}
}
