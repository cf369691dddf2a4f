package requeststate

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
)

// Keys for tests. They stand in the repository and are worth nothing.
var (
	oldKey = testKey("0a0b0c0d", 0x00)
	newKey = testKey("f0f1f2f3", 0x20)
)

// testKey is a ring line whose secret counts up from first.
func testKey(id string, first byte) string {
	var raw [32]byte
	for i := range raw {
		raw[i] = first + byte(i)
	}
	return id + " " + base64.RawURLEncoding.EncodeToString(raw[:])
}

// ringText joins ring lines; the first of them mints.
func ringText(lines ...string) string {
	return lines[0] + " mint\n" + strings.Join(lines[1:], "\n") + "\n"
}

func mustRing(t testing.TB, text string) *Ring {
	t.Helper()
	ring, err := ParseRing(text)
	if err != nil {
		t.Fatalf("ParseRing = %v", err)
	}
	return ring
}

func newSealer(t testing.TB, lines ...string) *Sealer {
	t.Helper()
	keys, err := NewKeys(mustRing(t, ringText(lines...)))
	if err != nil {
		t.Fatalf("NewKeys = %v", err)
	}
	s, err := NewSealer(keys)
	if err != nil {
		t.Fatalf("NewSealer = %v", err)
	}
	return s
}

type checkoutArgs struct {
	CartID string   `json:"cart_id"`
	Note   string   `json:"note,omitempty"`
	Tags   []string `json:"tags,omitempty"`
}

type quote struct {
	Version int64  `json:"version"`
	Total   int64  `json:"total"`
	Note    string `json:"note,omitempty"`
}

func alice() Binding {
	return Binding{
		Audience:  "https://shop.example/mcp",
		Issuer:    "https://id.example",
		Subject:   "alice",
		ClientID:  "desktop",
		Owner:     [16]byte{15: 0xa1},
		Method:    "tools/call",
		Tool:      "checkout",
		Arguments: checkoutArgs{CartID: "cart_1"},
		Questions: []string{"shipping", "confirm"},
	}
}

func begin(t testing.TB, s *Sealer) string {
	t.Helper()
	token, err := s.Begin(alice(), "shipping", quote{Version: 3, Total: 4250})
	if err != nil {
		t.Fatalf("Begin = %v", err)
	}
	return token
}

func open(t testing.TB, s *Sealer, token string) *Ticket {
	t.Helper()
	ticket, err := s.Open(alice(), token)
	if err != nil {
		t.Fatalf("Open = %v (%s)", err, Check(err))
	}
	return ticket
}

// wantRefused asserts the reason that stays inside and the error that may not
// say it.
func wantRefused(t testing.TB, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("Open = %v (%q), want check %q", err, Check(err), Check(want))
		return
	}
	if !errors.Is(err, ErrInvalid) || err.Error() != ErrInvalid.Error() {
		t.Errorf("outward error = %q, want %q", err, ErrInvalid)
	}
}

// ledger is a Redeemer that keeps redemptions in memory.
type ledger struct {
	mu   sync.Mutex
	rows map[string]RedeemedError
	keep time.Time
	err  error
}

func (l *ledger) RedeemOnce(_ context.Context, owner [16]byte, flow FlowID, outcome, ref string, keepUntil time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.err != nil {
		return l.err
	}
	row := fmt.Sprintf("%x/%s", owner, flow)
	if was, ok := l.rows[row]; ok {
		return &was
	}
	if l.rows == nil {
		l.rows = make(map[string]RedeemedError)
	}
	l.rows[row] = RedeemedError{Outcome: outcome, Ref: ref}
	l.keep = keepUntil
	return nil
}
