package server

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// metrics count requests by what was called and how it ended. The labels are
// names from the tables of this package and reasons from its code, never
// anything a client sent.
type metrics struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
}

func newMetrics(r prometheus.Registerer) (*metrics, error) {
	m := &metrics{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{
			Name: "mcp_requests_total",
			Help: "Requests to /mcp by method, tool and outcome (ok, or the reason of the refusal or error).",
		}, []string{"method", "tool", "outcome"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name:    "mcp_request_seconds",
			Help:    "Time from the end of a request's headers to the end of its answer.",
			Buckets: prometheus.ExponentialBuckets(0.0005, 2.5, 10),
		}, []string{"method", "tool"}),
	}
	for _, c := range []prometheus.Collector{m.requests, m.seconds} {
		if err := r.Register(c); err != nil {
			return nil, err
		}
	}
	return m, nil
}

func (m *metrics) observe(t *trace, took time.Duration) {
	m.requests.WithLabelValues(t.method, t.tool, t.outcome).Inc()
	m.seconds.WithLabelValues(t.method, t.tool).Observe(took.Seconds())
}
