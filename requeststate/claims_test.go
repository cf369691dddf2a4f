package requeststate

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// forge seals claims of alice's first round, changed, under the right key.
func forge(t testing.TB, s *Sealer, now time.Time, change func(*claims)) string {
	t.Helper()
	c := goodClaims(t, now)
	if change != nil {
		change(&c)
	}
	token, err := seal(s.keys.ring.Load(), c.encode())
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func goodClaims(t testing.TB, now time.Time) claims {
	t.Helper()
	b := alice()
	to, err := b.bound()
	if err != nil {
		t.Fatal(err)
	}
	return claims{
		version:     version,
		bound:       to,
		round:       1,
		issued:      now.UnixMilli(),
		expires:     now.Add(roundLife).UnixMilli(),
		flowExpires: now.Add(flowLife).UnixMilli(),
		flow:        FlowID{1, 2, 3},
		question:    "confirm",
		payload:     []byte(`{}`),
	}
}

// TestForgedClaimIsRefusedForItself changes one claim at a time under the right
// key, so nothing but the check of that claim can refuse it.
func TestForgedClaimIsRefusedForItself(t *testing.T) {
	s := newSealer(t, oldKey)
	now := time.UnixMilli(1_786_000_000_000)
	ms := now.UnixMilli()
	for name, tt := range map[string]struct {
		change func(*claims)
		want   error
	}{
		"version 0":        {func(c *claims) { c.version = 0 }, ErrVersion},
		"version 2":        {func(c *claims) { c.version = 2 }, ErrVersion},
		"method":           {func(c *claims) { c.method = "prompts/get" }, ErrMethod},
		"tool":             {func(c *claims) { c.tool = "checkou" }, ErrTool},
		"round 0":          {func(c *claims) { c.round = 0 }, ErrRound},
		"round 9":          {func(c *claims) { c.round = maxRounds + 1 }, ErrRound},
		"issued ahead":     {func(c *claims) { c.issued = ms + 60_001 }, ErrIssuedAhead},
		"expired":          {func(c *claims) { c.expires = ms }, ErrExpired},
		"flow expired":     {func(c *claims) { c.flowExpires = ms }, ErrFlowExpired},
		"audience":         {func(c *claims) { c.audience[31] ^= 1 }, ErrAudience},
		"principal":        {func(c *claims) { c.principal[0] ^= 1 }, ErrPrincipal},
		"arguments":        {func(c *claims) { c.arguments[0] ^= 1 }, ErrArguments},
		"another question": {func(c *claims) { c.question = "refund" }, ErrQuestion},
		"no question":      {func(c *claims) { c.question = "" }, ErrQuestion},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := s.openAt(alice(), forge(t, s, now, tt.change), now)
			wantRefused(t, err, tt.want)
		})
	}
	for name, change := range map[string]func(*claims){
		"unchanged":                 nil,
		"round 8":                   func(c *claims) { c.round = maxRounds },
		"issued 60 s ahead":         func(c *claims) { c.issued = ms + 60_000 },
		"expires in 1 ms":           func(c *claims) { c.expires = ms + 1 },
		"flow expires in 1 ms":      func(c *claims) { c.flowExpires = ms + 1 },
		"another flow":              func(c *claims) { c.flow[0] ^= 1 },
		"the tool's other question": func(c *claims) { c.question = "shipping" },
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := s.openAt(alice(), forge(t, s, now, change), now); err != nil {
				t.Errorf("Open = %v (%s), want a ticket", err, Check(err))
			}
		})
	}
}

func TestClaimsCutShortAreRefused(t *testing.T) {
	s := newSealer(t, oldKey)
	now := time.UnixMilli(1_786_000_000_000)
	c := goodClaims(t, now)
	c.payload = nil
	plaintext := c.encode()
	for n := range plaintext {
		token, err := seal(s.keys.ring.Load(), plaintext[:n])
		if err != nil {
			t.Fatal(err)
		}
		want := ErrClaims
		if n == 0 {
			want = ErrVersion
		}
		_, err = s.openAt(alice(), token, now)
		wantRefused(t, err, want)
	}
}

func drawClaims(rt *rapid.T) claims {
	name := rapid.StringN(0, -1, maxName)
	hash := rapid.Custom(func(rt *rapid.T) digest {
		return digest(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(rt, "digest"))
	})
	return claims{
		version: version,
		bound: bound{
			method: name.Draw(rt, "method"), tool: name.Draw(rt, "tool"),
			audience: hash.Draw(rt, "audience"), principal: hash.Draw(rt, "principal"), arguments: hash.Draw(rt, "arguments"),
		},
		round:       rapid.Byte().Draw(rt, "round"),
		issued:      rapid.Int64().Draw(rt, "issued"),
		expires:     rapid.Int64().Draw(rt, "expires"),
		flowExpires: rapid.Int64().Draw(rt, "flow expires"),
		flow:        FlowID(rapid.SliceOfN(rapid.Byte(), 16, 16).Draw(rt, "flow")),
		question:    name.Draw(rt, "question"),
		payload:     rapid.SliceOf(rapid.Byte()).Draw(rt, "payload"),
	}
}

func TestClaimsDecodeAsTheyWereEncoded(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		c := drawClaims(rt)
		text := c.encode()
		got, err := decodeClaims(text)
		if err != nil {
			rt.Fatalf("decodeClaims = %v", err)
		}
		if got.bound != c.bound || got.round != c.round || got.issued != c.issued || got.expires != c.expires ||
			got.flowExpires != c.flowExpires || got.flow != c.flow || got.question != c.question ||
			!bytes.Equal(got.payload, c.payload) {
			rt.Errorf("decodeClaims = %+v, want %+v", got, c)
		}
		if !bytes.Equal(got.encode(), text) {
			rt.Errorf("encode after decode = %x, want %x", got.encode(), text)
		}
	})
}

func TestWhatIsSealedIsWhatOpens(t *testing.T) {
	s := newSealer(t, oldKey, newKey)
	rapid.Check(t, func(rt *rapid.T) {
		b := alice()
		text := rapid.StringN(0, -1, 200)
		b.Arguments = checkoutArgs{CartID: text.Draw(rt, "cart"), Tags: rapid.SliceOfN(text, 0, 4).Draw(rt, "tags")}
		b.Subject = rapid.StringN(1, -1, 300).Draw(rt, "subject")
		want := quote{Version: rapid.Int64().Draw(rt, "version"), Note: text.Draw(rt, "note")}
		token, err := s.Begin(b, "confirm", want)
		if err != nil {
			rt.Fatalf("Begin = %v", err)
		}
		ticket, err := s.Open(b, token)
		if err != nil {
			rt.Fatalf("Open = %v (%s)", err, Check(err))
		}
		var got quote
		if err := ticket.Payload(&got); err != nil || got != want {
			rt.Errorf("Payload = %+v, %v, want %+v", got, err, want)
		}
		b.Subject += "'"
		if _, err := s.Open(b, token); !errors.Is(err, ErrPrincipal) {
			rt.Errorf("Open by another = %v, want ErrPrincipal", err)
		}
	})
}
