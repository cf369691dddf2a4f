package main

import (
	"fmt"
	"net/http"
	"runtime/debug"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"example.com/mcp-cart/auth"
	"example.com/mcp-cart/server"
)

// operatorHandler is for METRICS_ADDR, which is not meant for clients: metrics,
// and in words what /readyz on the main port answers with a status alone.
func operatorHandler(srv *server.Server, verifier *auth.Verifier, registry *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{}))
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		if err := srv.Ready(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintln(w, "not ready:", err)
		} else {
			fmt.Fprintln(w, "ready")
		}
		for _, i := range verifier.Status() {
			fmt.Fprintf(w, "issuer %s: %d keys, fetched %s, last error: %v\n", i.Issuer, i.Keys, i.Fetched.UTC().Format("2006-01-02T15:04:05Z"), i.Err)
		}
	})
	return mux
}

// version is the module version or the commit that this binary was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			return s.Value
		}
	}
	return info.Main.Version
}
