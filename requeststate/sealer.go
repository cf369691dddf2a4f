package requeststate

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// A Sealer makes tokens and opens them. It is safe for concurrent use and keeps
// nothing about any of them.
type Sealer struct {
	keys *Keys
}

// NewSealer makes a Sealer that uses whatever ring the keys hold at the time.
func NewSealer(keys *Keys) (*Sealer, error) {
	if keys == nil || keys.ring.Load() == nil {
		return nil, errors.New("new sealer: no keys")
	}
	return &Sealer{keys: keys}, nil
}

// Begin starts a flow: it returns the token that goes with its first question.
// The question is one of the binding's. The payload is sealed as encoding/json
// writes it, and comes back in [Ticket.Payload].
func (s *Sealer) Begin(b Binding, question string, payload any) (string, error) {
	to, err := b.bound()
	if err != nil {
		return "", fmt.Errorf("begin flow: %w", err)
	}
	c := claims{
		version:     version,
		bound:       to,
		flowExpires: time.Now().Add(flowLife).UnixMilli(),
	}
	rand.Read(c.flow[:])
	return s.round(c, &b, question, payload)
}

// round seals the round after the one in c.
func (s *Sealer) round(c claims, b *Binding, question string, payload any) (string, error) {
	if !b.asks(question) {
		return "", fmt.Errorf("seal round: the binding does not list the question %q", question)
	}
	text, err := json.Marshal(payload)
	if err != nil {
		return "", fmt.Errorf("seal round: payload: %w", err)
	}
	now := time.Now()
	c.round++
	c.issued = now.UnixMilli()
	c.expires = now.Add(roundLife).UnixMilli()
	c.question = question
	c.payload = text
	return seal(s.keys.ring.Load(), c.encode())
}

// Open opens a token that came with a request. Every token that is not exactly
// right for the binding is refused with an error that is an [ErrInvalid] and says
// no more; [Reason] and [Check] do. Any other error means that the binding itself
// is incomplete, a mistake of the caller's.
//
// Opening changes nothing and consumes nothing.
func (s *Sealer) Open(b Binding, token string) (*Ticket, error) {
	return s.openAt(b, token, time.Now())
}

func (s *Sealer) openAt(b Binding, token string, now time.Time) (*Ticket, error) {
	want, err := b.bound()
	if err != nil {
		return nil, fmt.Errorf("open request state: %w", err)
	}
	plaintext, err := unseal(s.keys.ring.Load(), token)
	if err != nil {
		return nil, err
	}
	c, err := decodeClaims(plaintext)
	if err != nil {
		return nil, err
	}
	if err := c.check(want, &b, now); err != nil {
		return nil, err
	}
	return &Ticket{sealer: s, binding: b, claims: *c}, nil
}
