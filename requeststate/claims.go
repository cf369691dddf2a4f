package requeststate

import (
	"encoding/binary"
	"encoding/hex"
	"time"
)

// FlowID names a flow: all rounds that began with one call. It is random, sealed,
// and the same in every round, so it is what a redemption is recorded under.
type FlowID [16]byte

// String returns the flow id in hex. It is a name and opens nothing.
func (f FlowID) String() string { return hex.EncodeToString(f[:]) }

const version = 1

// The limits. A person answers a form in five minutes or has gone; what was shown
// half an hour ago is not what is agreed to now.
const (
	roundLife = 5 * time.Minute
	flowLife  = 30 * time.Minute
	maxRounds = 8
	maxAhead  = time.Minute // how far replicas' clocks may be apart
)

// claims is what a token says under its seal. Times are milliseconds since 1970.
type claims struct {
	version byte
	bound
	round       byte
	issued      int64
	expires     int64
	flowExpires int64
	flow        FlowID
	question    string
	payload     []byte
}

// encode writes the claims in a fixed order and with fixed or counted lengths. In
// JSON a value has many spellings and a decoder has opinions about them; here
// each value has one, and each text is one value or an error.
func (c *claims) encode() []byte {
	b := make([]byte, 0, 512)
	b = append(b, c.version)
	b = appendName(b, c.method)
	b = appendName(b, c.tool)
	b = append(b, c.round)
	b = binary.BigEndian.AppendUint64(b, uint64(c.issued))
	b = binary.BigEndian.AppendUint64(b, uint64(c.expires))
	b = binary.BigEndian.AppendUint64(b, uint64(c.flowExpires))
	b = append(b, c.flow[:]...)
	b = appendName(b, c.question)
	b = append(b, c.audience[:]...)
	b = append(b, c.principal[:]...)
	b = append(b, c.arguments[:]...)
	return append(b, c.payload...)
}

func appendName(b []byte, name string) []byte { return append(append(b, byte(len(name))), name...) }

func decodeClaims(plaintext []byte) (*claims, error) {
	r := reader{rest: plaintext}
	c := &claims{version: r.byte()}
	// Nothing more is read of another version: its fields may lie elsewhere.
	if c.version != version {
		return nil, ErrVersion
	}
	c.method = r.name()
	c.tool = r.name()
	c.round = r.byte()
	c.issued = r.int64()
	c.expires = r.int64()
	c.flowExpires = r.int64()
	copy(c.flow[:], r.take(len(c.flow)))
	c.question = r.name()
	copy(c.audience[:], r.take(len(c.audience)))
	copy(c.principal[:], r.take(len(c.principal)))
	copy(c.arguments[:], r.take(len(c.arguments)))
	if r.short {
		return nil, ErrClaims
	}
	c.payload = r.rest
	return c, nil
}

// reader takes bytes from the front, and notes once there were too few.
type reader struct {
	rest  []byte
	short bool
}

func (r *reader) take(n int) []byte {
	if n > len(r.rest) {
		r.short = true
		return make([]byte, n)
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *reader) byte() byte   { return r.take(1)[0] }
func (r *reader) name() string { return string(r.take(int(r.byte()))) }
func (r *reader) int64() int64 { return int64(binary.BigEndian.Uint64(r.take(8))) }

// check compares what was sealed with the request at hand. The seal says that we
// wrote these claims; only this says that they are about this request. The flow
// id is not compared, there is nothing to compare it with: redemption guards it.
func (c *claims) check(want bound, b *Binding, now time.Time) error {
	ms := now.UnixMilli()
	switch {
	case c.method != want.method:
		return ErrMethod
	case c.tool != want.tool:
		return ErrTool
	case c.round < 1 || c.round > maxRounds:
		return ErrRound
	case c.issued > ms+maxAhead.Milliseconds():
		return ErrIssuedAhead
	case c.expires <= ms:
		return ErrExpired
	case c.flowExpires <= ms:
		return ErrFlowExpired
	case c.audience != want.audience:
		return ErrAudience
	case c.principal != want.principal:
		return ErrPrincipal
	case c.arguments != want.arguments:
		return ErrArguments
	case !b.asks(c.question):
		return ErrQuestion
	}
	return nil
}
