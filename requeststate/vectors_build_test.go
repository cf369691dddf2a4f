package requeststate

import (
	"crypto/hkdf"
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
	"time"
)

// vectorNow is the time at which the vectors' tokens are made and opened.
const vectorNow = 1_786_000_000_000

// buildVectors makes the known answers. Add to it freely; see [TestVectors].
func buildVectors(t *testing.T) vectorSet {
	b := &vectorBuilder{t: t, ring: mustRing(t, ringText(oldKey, newKey))}
	b.opening()
	b.refusedText()
	b.refusedClaims()
	b.refusedRequest()
	return vectorSet{
		Format:  "mcp-cart requestState v1",
		Keys:    []vectorKey{describeKey(t, oldKey), describeKey(t, newKey)},
		Vectors: b.made,
	}
}

type vectorBuilder struct {
	t    *testing.T
	ring *Ring
	made []vector
}

func (b *vectorBuilder) opening() {
	b.sealed("first round", "", nil)
	b.sealed("second round, other question", "", func(c *claims) {
		c.round, c.question = 2, "confirm"
		c.payload = []byte(`{"version":3,"total":4250}`)
	})
	b.sealed("last round, last millisecond", "", func(c *claims) {
		c.round, c.issued, c.expires, c.flowExpires = 8, vectorNow-299_999, vectorNow+1, vectorNow+1
	})
	b.sealed("issued 60 s ahead", "", func(c *claims) { c.issued = vectorNow + 60_000 })
	b.sealed("no payload", "", func(c *claims) { c.payload = nil })
	b.sealed("payload of one byte more", "", func(c *claims) { c.payload = []byte("1") })
	b.sealed("payload beyond ASCII", "", func(c *claims) { c.payload = []byte(`{"note":"Straße 7, 東京"}`) })
	b.sealedWith(b.ring.keys[1], "under the key that does not mint", "", nil)
	b.sealed("longest token", "", func(c *claims) {
		c.payload = nil
		c.payload = []byte(strings.Repeat("x", (MaxToken-len(prefix))/4*3-minSealed-len(c.encode())))
	})
}

// refusedText changes the text of a good token, or gives what never was one.
func (b *vectorBuilder) refusedText() {
	good := b.made[0].Token
	raw, err := decode64(strings.TrimPrefix(good, prefix))
	if err != nil {
		b.t.Fatal(err)
	}
	respell := func(change func([]byte) []byte) string {
		return prefix + encoding64.EncodeToString(change(append([]byte(nil), raw...)))
	}
	flip := func(i int) string { return respell(func(raw []byte) []byte { raw[i] ^= 1; return raw }) }
	b.text("empty", "", "malformed")
	b.text("prefix alone", prefix, "malformed")
	b.text("another prefix", "rs2."+good[len(prefix):], "malformed")
	b.text("no prefix", good[len(prefix):], "malformed")
	b.text("upper-case prefix", "RS1."+good[len(prefix):], "malformed")
	b.text("padding", good+"=", "malformed")
	b.text("line end after it", good+"\n", "malformed")
	b.text("line end inside", good[:30]+"\r\n"+good[30:], "malformed")
	b.text("blank before it", " "+good, "malformed")
	b.text("character of the standard alphabet", good[:30]+"+"+good[31:], "malformed")
	b.text("loose last bits", looseLastBits(b.made), "malformed")
	b.text("one character short", good[:len(good)-1], "malformed")
	b.text("shorter than its tag", respell(func(raw []byte) []byte { return raw[:minSealed-1] }), "malformed")
	b.text("longer than 4096", prefix+strings.Repeat("A", MaxToken-len(prefix)+1), "malformed")
	b.text("key id changed", flip(3), "unknown_key")
	b.text("nonce changed", flip(idSize), "seal")
	b.text("ciphertext changed", flip(headSize), "seal")
	b.text("tag changed", flip(len(raw)-1), "seal")
	b.text("one byte short", respell(func(raw []byte) []byte { return raw[:len(raw)-1] }), "seal")
	b.text("one byte more", respell(func(raw []byte) []byte { return append(raw, 0) }), "seal")
	b.text("another key's id", respell(func(raw []byte) []byte { copy(raw, b.ring.keys[1].id[:]); return raw }), "seal")
}

// looseLastBits finds a token that does not end on a full byte and sets a bit
// after its end, which many decoders do not look at.
func looseLastBits(made []vector) string {
	for _, v := range made {
		if token := v.Token; len(token)%4 != 0 {
			last := strings.IndexByte(alphabet64, token[len(token)-1])
			return token[:len(token)-1] + alphabet64[last|1:last|1+1]
		}
	}
	panic("every token ends on a full byte")
}

// refusedClaims seals claims that are wrong, under the right key.
func (b *vectorBuilder) refusedClaims() {
	b.sealed("version 2", "version", func(c *claims) { c.version = 2 })
	b.sealed("method forged", "method", func(c *claims) { c.method = "prompts/get" })
	b.sealed("tool forged", "tool", func(c *claims) { c.tool = "refund" })
	b.sealed("round 0", "round", func(c *claims) { c.round = 0 })
	b.sealed("round 9", "round", func(c *claims) { c.round = 9 })
	b.sealed("issued 60.001 s ahead", "issued_ahead", func(c *claims) { c.issued = vectorNow + 60_001 })
	b.sealed("round over", "expired", func(c *claims) { c.expires = vectorNow })
	b.sealed("flow over", "flow_expired", func(c *claims) { c.flowExpires = vectorNow })
	b.sealed("audience forged", "audience", func(c *claims) { c.audience[0] ^= 1 })
	b.sealed("principal forged", "principal", func(c *claims) { c.principal[0] ^= 1 })
	b.sealed("arguments forged", "arguments", func(c *claims) { c.arguments[0] ^= 1 })
	b.sealed("question forged", "question", func(c *claims) { c.question = "refund" })
	short := b.good()
	short.payload = nil
	text := short.encode()
	b.plaintext("claims cut short", "claims", text[:len(text)-1])
	b.plaintext("no claims", "version", nil)
}

// refusedRequest presents a good token with another request.
func (b *vectorBuilder) refusedRequest() {
	b.request("another resource", "audience", func(v *vectorBinding) { v.Audience += "/" })
	b.request("another issuer", "principal", func(v *vectorBinding) { v.Issuer = "https://id2.example" })
	b.request("another subject", "principal", func(v *vectorBinding) { v.Subject = "bob" })
	b.request("another client", "principal", func(v *vectorBinding) { v.ClientID = "phone" })
	b.request("another owner", "principal", func(v *vectorBinding) { v.Owner = strings.Repeat("b2", 16) })
	b.request("another method", "method", func(v *vectorBinding) { v.Method = "prompts/get" })
	b.request("another tool", "tool", func(v *vectorBinding) { v.Tool = "refund" })
	b.request("other arguments", "arguments", func(v *vectorBinding) { v.Arguments = `{"cart_id":"cart_2"}` })
	b.request("other questions", "question", func(v *vectorBinding) { v.Questions = []string{"confirm"} })
}

func (b *vectorBuilder) good() claims {
	c := goodClaims(b.t, time.UnixMilli(vectorNow))
	c.flow = FlowID([]byte("0123456789abcdef"))
	c.question = "shipping"
	return c
}

func (b *vectorBuilder) sealed(name, check string, change func(*claims)) {
	b.sealedWith(b.ring.mint, name, check, change)
}

func (b *vectorBuilder) sealedWith(k *key, name, check string, change func(*claims)) {
	c := b.good()
	if change != nil {
		change(&c)
	}
	made := vectorMade{Key: hex.EncodeToString(k.id[:]), Claims: describeClaims(c), Plaintext: hex.EncodeToString(c.encode())}
	var token string
	token, made.Nonce = b.seal(k, name, c.encode())
	b.add(vector{Name: name, Token: token, Check: check, Made: &made})
}

func (b *vectorBuilder) plaintext(name, check string, text []byte) {
	token, _ := b.seal(b.ring.mint, name, text)
	b.add(vector{Name: name, Token: token, Check: check})
}

// seal draws the nonce from the vector's name: a nonce for once.
func (b *vectorBuilder) seal(k *key, name string, text []byte) (token, nonce string) {
	sum := sha256.Sum256([]byte(name))
	token, err := sealWith(k, [nonceSize]byte(sum[:nonceSize]), text)
	if err != nil {
		b.t.Fatal(err)
	}
	return token, hex.EncodeToString(sum[:nonceSize])
}

func (b *vectorBuilder) text(name, token, check string) {
	b.add(vector{Name: name, Token: token, Check: check})
}

func (b *vectorBuilder) request(name, check string, change func(*vectorBinding)) {
	v := vector{Name: name, Token: b.made[0].Token, Check: check, Binding: describeBinding(alice())}
	change(&v.Binding)
	b.add(v)
}

func (b *vectorBuilder) add(v vector) {
	v.NowMS = vectorNow
	if v.Binding.Audience == "" {
		v.Binding = describeBinding(alice())
	}
	b.made = append(b.made, v)
}

func describeBinding(b Binding) vectorBinding {
	return vectorBinding{
		Audience: b.Audience, Issuer: b.Issuer, Subject: b.Subject, ClientID: b.ClientID,
		Owner: hex.EncodeToString(b.Owner[:]), Method: b.Method, Tool: b.Tool,
		Arguments: `{"cart_id":"cart_1"}`, Questions: b.Questions,
	}
}

func describeClaims(c claims) vectorClaims {
	return vectorClaims{
		Version: c.version, Method: c.method, Tool: c.tool, Round: c.round,
		Issued: c.issued, Expires: c.expires, FlowExpires: c.flowExpires,
		Flow: c.flow.String(), Question: c.question,
		Audience:  hex.EncodeToString(c.audience[:]),
		Principal: hex.EncodeToString(c.principal[:]),
		Arguments: hex.EncodeToString(c.arguments[:]),
		Payload:   string(c.payload),
	}
}

func describeKey(t *testing.T, line string) vectorKey {
	t.Helper()
	id, text, _ := strings.Cut(line, " ")
	s, err := parseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	subkey, err := hkdf.Key(sha256.New, s[:], nil, "mcp-cart requestState v1", 32)
	if err != nil {
		t.Fatal(err)
	}
	return vectorKey{ID: id, Secret: text, Subkey: hex.EncodeToString(subkey)}
}
