package requeststate

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

func TestRingIsRead(t *testing.T) {
	old := []KeyInfo{{ID: "0a0b0c0d", Mint: true}}
	both := []KeyInfo{{ID: "0a0b0c0d"}, {ID: "f0f1f2f3", Mint: true}}
	for name, tt := range map[string]struct {
		text string
		want []KeyInfo
	}{
		"one key":              {oldKey + " mint", old},
		"a line end":           {oldKey + " mint\n", old},
		"two keys":             {oldKey + "\n" + newKey + " mint\n", both},
		"comments and blanks":  {"# keys\n\n \t \n  # more\n" + oldKey + "\n" + newKey + " mint # since May\n", both},
		"a comment, no blank":  {oldKey + " mint #since May", old},
		"tabs and blanks":      {"\t" + strings.Replace(oldKey, " ", "\t  ", 1) + "  mint \t\n", old},
		"carriage returns":     {oldKey + "\r\n" + newKey + " mint\r\n", both},
		"a commented-out mint": {"#" + newKey + " mint\n" + oldKey + " mint\n", old},
	} {
		t.Run(name, func(t *testing.T) {
			ring, err := ParseRing(tt.text)
			if err != nil {
				t.Fatalf("ParseRing = %v", err)
			}
			if got := ring.IDs(); !slices.Equal(got, tt.want) {
				t.Errorf("IDs = %v, want %v", got, tt.want)
			}
		})
	}
}

func TestBadRingIsRefused(t *testing.T) {
	secret := strings.Fields(oldKey)[1]
	for name, tt := range map[string]struct{ text, want string }{
		"empty":                  {"", "there is no key"},
		"comments only":          {"# nothing\n\n", "there is no key"},
		"no mint":                {oldKey + "\n" + newKey, "no key says mint"},
		"two mints":              {oldKey + " mint\n" + newKey + " mint", "second key says mint"},
		"a repeated id":          {oldKey + " mint\n" + testKey("0a0b0c0d", 0x20), "id is there twice"},
		"a repeated line":        {oldKey + " mint\n" + oldKey, "id is there twice"},
		"one key under two ids":  {oldKey + " mint\n" + testKey("00000000", 0x00), "under two ids"},
		"no secret":              {"0a0b0c0d mint", "3 bytes"},
		"id alone":               {"0a0b0c0d", "want ID KEY"},
		"key alone":              {secret, "want ID KEY"},
		"the wrong way round":    {secret + " 0a0b0c0d mint", "8 lower-case hex digits"},
		"a short id":             {"0a0b0c " + secret + " mint", "8 lower-case hex digits"},
		"a long id":              {"0a0b0c0d0e " + secret + " mint", "8 lower-case hex digits"},
		"an upper-case id":       {"0A0b0c0d " + secret + " mint", "8 lower-case hex digits"},
		"an id of other letters": {"0a0b0c0g " + secret + " mint", "8 lower-case hex digits"},
		"another last word":      {oldKey + " MINT", "want ID KEY"},
		"a fourth word":          {oldKey + " mint mint", "want ID KEY"},
		"a short key":            {"0a0b0c0d " + secret[:42] + " mint", "base64url"},
		"a key of 31 bytes":      {"0a0b0c0d AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHg mint", "31 bytes"},
		"a key of 33 bytes":      {"0a0b0c0d " + secret + "A mint", "33 bytes"},
		"a padded key":           {"0a0b0c0d " + secret + "= mint", "base64url"},
		"standard base64":        {"0a0b0c0d " + strings.Repeat("+/", 21) + "8 mint", "base64url"},
		"loose last bits":        {"0a0b0c0d " + secret[:42] + "9 mint", "base64url"},
		"a key of zeros":         {"0a0b0c0d " + strings.Repeat("A", 43) + " mint", "all zeros"},
		"another blank":          {strings.Replace(oldKey, " ", "\u00a0", 1) + " mint", "hex digits"},
		"a return inside":        {"0a0b0c0d " + secret[:20] + "\r" + secret[20:] + " mint", "base64url"},
		"a byte order mark":      {"\ufeff" + oldKey + " mint", "hex digits"},
		"a NUL":                  {oldKey + " mint\x00", "want ID KEY"},
		"good and then junk":     {oldKey + " mint\njunk\n", "line 2"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ParseRing(tt.text)
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Fatalf("ParseRing = %v, want an error with %q", err, tt.want)
			}
			for _, word := range strings.Fields(tt.text) {
				if len(word) > 12 && strings.Contains(err.Error(), word) {
					t.Errorf("error %q quotes the ring", err)
				}
			}
		})
	}
}

func TestNewKeyLineIsARing(t *testing.T) {
	seen := make(map[string]bool)
	for range 100 {
		line := NewKeyLine()
		if !regexp.MustCompile(`^[0-9a-f]{8} [A-Za-z0-9_-]{43} mint$`).MatchString(line) || seen[line] {
			t.Fatalf("NewKeyLine = a line of %d bytes, want a new ID KEY mint", len(line))
		}
		seen[line] = true
		mustRing(t, line)
	}
}

// TestRotationRefusesNobody walks a rotation: at each step some replicas are a
// step ahead of others, and all must open what any of them seals.
func TestRotationRefusesNobody(t *testing.T) {
	onlyOld := newSealer(t, oldKey)
	accepts := newSealer(t, oldKey, newKey)
	mints := newSealer(t, newKey, oldKey)
	onlyNew := newSealer(t, newKey)
	for name, tt := range map[string]struct {
		from, to *Sealer
		want     error
	}{
		"accept, still old":       {accepts, onlyOld, nil},
		"old, already accepting":  {onlyOld, accepts, nil},
		"mint, accepting":         {mints, accepts, nil},
		"accepting, minting":      {accepts, mints, nil},
		"new alone, minting":      {onlyNew, mints, nil},
		"minting, new alone":      {mints, onlyNew, nil},
		"minted before accepted":  {mints, onlyOld, ErrUnknownKey},
		"removed before it ended": {accepts, onlyNew, ErrUnknownKey},
		"never rolled":            {onlyNew, onlyOld, ErrUnknownKey},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := tt.to.Open(alice(), begin(t, tt.from))
			if tt.want == nil && err != nil {
				t.Errorf("Open = %v (%s), want a ticket", err, Check(err))
			}
			if tt.want != nil {
				wantRefused(t, err, tt.want)
			}
		})
	}
}

func TestNextRoundIsSealedWithTheNewKey(t *testing.T) {
	s := newSealer(t, oldKey)
	ticket := open(t, s, begin(t, s))
	if err := s.keys.Reload(mustRing(t, ringText(newKey, oldKey))); err != nil {
		t.Fatal(err)
	}
	token, err := ticket.Continue("confirm", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.keys.Reload(mustRing(t, ringText(newKey))); err != nil {
		t.Fatal(err)
	}
	open(t, s, token)
}

func TestRemovedKeyEndsItsFlowsAtOnce(t *testing.T) {
	s := newSealer(t, oldKey, newKey)
	token := begin(t, s)
	open(t, s, token)
	if err := s.keys.Reload(mustRing(t, ringText(newKey))); err != nil {
		t.Fatal(err)
	}
	_, err := s.Open(alice(), token)
	wantRefused(t, err, ErrUnknownKey)
}

// TestSameIDOtherSecretDoesNotOpen is another environment that happens to use
// the same key id.
func TestSameIDOtherSecretDoesNotOpen(t *testing.T) {
	token := begin(t, newSealer(t, testKey("0a0b0c0d", 0x40)))
	_, err := newSealer(t, oldKey).Open(alice(), token)
	wantRefused(t, err, ErrSeal)
}

func TestReloadUnderLoadRefusesNobody(t *testing.T) {
	s := newSealer(t, oldKey, newKey)
	rings := []*Ring{mustRing(t, ringText(newKey, oldKey)), mustRing(t, ringText(oldKey, newKey))}
	done := make(chan struct{})
	var load sync.WaitGroup
	for range 4 {
		load.Go(func() {
			for range 200 {
				token, err := s.Begin(alice(), "shipping", nil)
				if err == nil {
					_, err = s.Open(alice(), token)
				}
				if err != nil {
					t.Errorf("under reload: %v (%s), want nil", err, Check(err))
				}
			}
		})
	}
	var reload sync.WaitGroup
	reload.Go(func() {
		for i := 0; ; i++ {
			select {
			case <-done:
				return
			default:
				if err := s.keys.Reload(rings[i%2]); err != nil || len(s.keys.IDs()) != 2 {
					t.Errorf("Reload = %v, IDs = %v, want nil and two", err, s.keys.IDs())
				}
			}
		}
	})
	load.Wait()
	close(done)
	reload.Wait()
}

func TestNoSealerWithoutKeys(t *testing.T) {
	if _, err := NewKeys(nil); err == nil {
		t.Errorf("NewKeys(nil) = nil error, want an error")
	}
	if _, err := NewKeys(new(Ring)); err == nil {
		t.Errorf("NewKeys of an empty ring = nil error, want an error")
	}
	for _, keys := range []*Keys{nil, new(Keys)} {
		if _, err := NewSealer(keys); err == nil {
			t.Errorf("NewSealer without keys = nil error, want an error")
		}
	}
	keys, err := NewKeys(mustRing(t, ringText(oldKey)))
	if err != nil {
		t.Fatal(err)
	}
	if err := keys.Reload(nil); err == nil || errors.Is(err, ErrInvalid) || len(keys.IDs()) != 1 {
		t.Errorf("Reload(nil) = %v, want an error and the old ring", err)
	}
}
