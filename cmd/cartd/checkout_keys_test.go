package main

import (
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"example.com/mcp-cart/requeststate"
)

// A ringKey is one key of a ring, in its parts.
type ringKey struct{ id, secret string }

func newRingKey() ringKey {
	fields := strings.Fields(requeststate.NewKeyLine())
	return ringKey{fields[0], fields[1]}
}

// newKey makes a key whose secret no log may hold.
func (s *shop) newKey() ringKey {
	k := newRingKey()
	s.secret("a key", k.secret[:10])
	return k
}

// line is the key in a ring, which seals with it if mint is "mint".
func (k ringKey) line(mint string) string {
	return strings.TrimSpace(k.id+" "+k.secret+" "+mint) + "\n"
}

// A keyed replica has a key file of its own, and an operator's port.
type keyed struct {
	*replica
	file    string
	metrics string
}

func (s *shop) openKeyed(t testing.TB, ring string) *keyed {
	t.Helper()
	k := &keyed{file: filepath.Join(t.TempDir(), "keys")}
	k.setRing(t, ring)
	k.replica = s.open(t, map[string]string{"REQUEST_STATE_KEYS": "", "REQUEST_STATE_KEYS_FILE": k.file, "METRICS_ADDR": "127.0.0.1:0"})
	var addrs [][]string
	eventually(t, "both ports are open", func() bool {
		addrs = listening.FindAllStringSubmatch(k.out.String(), -1)
		return len(addrs) == 2
	})
	// Which of the two listens first is not fixed.
	public, operator := "http://"+addrs[0][1], "http://"+addrs[1][1]
	if k.url = public; k.get(t, "/metrics") == http.StatusOK {
		public, operator = operator, public
	}
	k.url, k.metrics = public, operator+"/metrics"
	return k
}

// setRing replaces the file as one should: in one move.
func (k *keyed) setRing(t testing.TB, ring string) {
	t.Helper()
	if err := os.WriteFile(k.file+".new", []byte(ring), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(k.file+".new", k.file); err != nil {
		t.Fatal(err)
	}
}

// hup sends SIGHUP.
func (p *process) hup(t testing.TB) {
	t.Helper()
	p.signal(t, syscall.SIGHUP)
}

// hangUp sends SIGHUP and waits until that had the ring loaded.
func (k *keyed) hangUp(t testing.TB) {
	t.Helper()
	before := len(k.out.String())
	k.hup(t)
	eventually(t, "SIGHUP has the ring loaded", func() bool {
		return strings.Contains(k.out.String()[before:], "requestState keys loaded")
	})
}

var keyInfo = regexp.MustCompile(`(?m)^requeststate_key_info\{id="([0-9a-f]{8})",mint="(true|false)"\} 1$`)

// wantKeys waits until the operator's port shows these keys and no others, each
// by its id, followed by " mint" for the one that seals.
func (k *keyed) wantKeys(t testing.TB, want ...string) {
	t.Helper()
	slices.Sort(want)
	eventually(t, "the metrics show the keys "+strings.Join(want, ", "), func() bool {
		var keys []string
		for _, m := range keyInfo.FindAllStringSubmatch(k.scrape(t), -1) {
			key := m[1]
			if m[2] == "true" {
				key += " mint"
			}
			keys = append(keys, key)
		}
		slices.Sort(keys)
		return slices.Equal(keys, want)
	})
}

func (k *keyed) scrape(t testing.TB) string {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, k.metrics, nil)
	if err != nil {
		t.Fatal(err)
	}
	got := k.site.send(req)
	if got.status != http.StatusOK {
		t.Fatalf("metrics = %d %v", got.status, got.err)
	}
	return got.body
}

// metric sums up the samples of a metric whose labels hold this text.
func (k *keyed) metric(t testing.TB, name, labels string) (sum float64) {
	t.Helper()
	for sample := range strings.Lines(k.scrape(t)) {
		if !strings.HasPrefix(sample, name+"{") || !strings.Contains(sample, labels) {
			continue
		}
		_, value, _ := strings.Cut(strings.TrimSpace(sample), "} ")
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			t.Fatalf("%s: %v", sample, err)
		}
		sum += n
	}
	return sum
}
