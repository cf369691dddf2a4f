package requeststate

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

// TestSecretsPrintAsNothing prints everything that holds a key or a payload, in
// every way a log line or a panic might.
func TestSecretsPrintAsNothing(t *testing.T) {
	s := newSealer(t, oldKey)
	token, err := s.Begin(alice(), "confirm", quote{Note: "12 Elm Street"})
	if err != nil {
		t.Fatal(err)
	}
	raw, err := parseSecret(strings.Fields(oldKey)[1])
	if err != nil {
		t.Fatal(err)
	}
	ring := s.keys.ring.Load()
	ticket := open(t, s, token)
	for name, value := range map[string]any{
		"secret": raw, "pointer to secret": &raw, "secrets": []secret{raw},
		"in a struct": struct{ S secret }{raw}, "as a map key": map[secret]bool{raw: true},
		"ring": ring, "ring value": *ring, "key": ring.mint, "keys": s.keys, "sealer": s,
		"ticket": ticket, "ticket value": *ticket, "tickets": []*Ticket{ticket},
	} {
		for _, hidden := range hiddenForms(raw[:], "12 Elm Street") {
			if text := printed(t, value); strings.Contains(text, hidden) {
				t.Errorf("%s prints %q", name, hidden)
			}
		}
	}
}

func TestRingAndTicketPrintTheirKind(t *testing.T) {
	s := newSealer(t, oldKey)
	for want, value := range map[string]any{"[key ring]": s.keys.ring.Load(), "[ticket]": open(t, s, begin(t, s))} {
		if got := fmt.Sprintf("%+v", value); got != want {
			t.Errorf("Sprintf = %q, want %q", got, want)
		}
	}
}

func printed(t *testing.T, value any) string {
	t.Helper()
	var b bytes.Buffer
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d", "%o", "%b"} {
		fmt.Fprintf(&b, verb+"\n", value)
	}
	slog.New(slog.NewTextHandler(&b, nil)).Info("m", "v", value)
	slog.New(slog.NewJSONHandler(&b, nil)).Info("m", "v", value)
	text, err := json.Marshal(value)
	if err == nil { // not everything can be written as JSON
		b.Write(text)
	}
	return b.String()
}

// hiddenForms gives what printing some bytes and a text could look like.
func hiddenForms(raw []byte, text string) []string {
	part := raw[1:7]
	return []string{
		hex.EncodeToString(part), strings.ToUpper(hex.EncodeToString(part)), string(part),
		base64.StdEncoding.EncodeToString(raw[:6]), "1 2 3 4 5 6", "1,2,3,4,5,6",
		"0x1, 0x2, 0x3", text, hex.EncodeToString([]byte(text)),
	}
}
