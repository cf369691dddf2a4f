package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A hostList is the set of Host values this server answers to. A page in a
// browser can make a name of its own resolve to our address, but not make the
// browser send another name. Forwarding headers are never looked at: anyone can
// send them.
type hostList struct{ hosts, hostPorts []string }

// newHostList takes entries of the form host, for any port, and host:port. IPv6
// addresses stand in brackets.
func newHostList(entries []string) (*hostList, error) {
	if len(entries) == 0 {
		return nil, fmt.Errorf("allowed hosts: none given")
	}
	list := new(hostList)
	for _, e := range entries {
		host, port, ok := splitHost(e)
		e = strings.ToLower(e)
		switch {
		case !ok:
			return nil, fmt.Errorf("allowed hosts: %q is neither host nor host:port", e)
		case port == "":
			list.hosts = append(list.hosts, host)
		default:
			list.hostPorts = append(list.hostPorts, e)
		}
	}
	return list, nil
}

func (l *hostList) allows(hostport string) bool {
	host, _, ok := splitHost(hostport)
	return ok && (slices.Contains(l.hosts, host) || slices.Contains(l.hostPorts, strings.ToLower(hostport)))
}

// splitHost takes a Host value apart, in lower case. It knows no other spelling
// of a host: a name with a trailing dot, or an address written differently, is
// another name.
func splitHost(hostport string) (host, port string, ok bool) {
	host = strings.ToLower(hostport)
	if i := strings.LastIndexByte(host, ':'); i >= 0 && !strings.HasSuffix(host, "]") {
		host, port = host[:i], host[i+1:]
		if n, err := strconv.ParseUint(port, 10, 16); err != nil || n == 0 || strconv.FormatUint(n, 10) != port {
			return "", "", false
		}
	}
	if inner, bracketed := strings.CutPrefix(host, "["); bracketed {
		inner, closed := strings.CutSuffix(inner, "]")
		ip := net.ParseIP(inner)
		return host, port, closed && ip != nil && strings.Contains(inner, ":")
	}
	return host, port, host != "" && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789-._") == "" && !strings.HasSuffix(host, ".")
}

// checkHost refuses requests for other hosts. In a request whose target is a
// whole URL, the URL's host is the one that counts (RFC 9112, section 3.2.2).
func (l *hostList) checkHost(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !l.allows(r.Host) {
			refuse(http.StatusMisdirectedRequest, jsonrpc.CodeInvalidRequest, "host",
				"Invalid Request: this server does not answer to the host named in the request").turnAway(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// An originList is the set of origins whose pages may call this server.
type originList []string

// newOriginList takes origins as browsers write them: scheme, host and, unless
// it is the scheme's own, port. They are compared as text, so another spelling
// would never match; it is refused here rather than ignored.
func newOriginList(origins []string) (originList, error) {
	for _, o := range origins {
		u, err := url.Parse(o)
		if err != nil {
			return nil, fmt.Errorf("allowed origins: %q is not an origin: %w", o, err)
		}
		host, port, ok := splitHost(u.Host)
		ownPort := u.Scheme == "https" && port == "443" || u.Scheme == "http" && port == "80"
		if !ok || host == "" || ownPort || u.Scheme != "https" && u.Scheme != "http" || o != u.Scheme+"://"+strings.ToLower(u.Host) {
			return nil, fmt.Errorf("allowed origins: %q is not written as a browser writes an origin (https://host or https://host:port)", o)
		}
	}
	return slices.Clone(origins), nil
}

// checkOrigin refuses requests made by pages of other origins, with a token or
// without (specification, basic/transports/streamable-http, "Security &
// Endpoint"). What is not a browser sends no Origin.
func (l originList) checkOrigin(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		sent := r.Header.Values("Origin")
		if len(sent) > 1 || len(sent) == 1 && !slices.Contains(l, sent[0]) {
			refuse(http.StatusForbidden, jsonrpc.CodeInvalidRequest, "origin",
				"Invalid Request: pages of this origin may not call this server").turnAway(w, r)
			return
		}
		next.ServeHTTP(w, r)
	})
}
