package auth

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"log/slog"
	"time"
)

// Kind tells people from programs.
type Kind string

const (
	// User is a person who signed in somewhere.
	User Kind = "user"
	// Client is a program that acts for itself: its subject is its own client
	// id, which is how RFC 9068 marks the client credentials grant.
	Client Kind = "client"
)

// Principal is who is calling, as a verified token says it.
type Principal struct {
	Kind     Kind
	Issuer   string // exactly as configured; never empty
	Subject  string // the issuer's name for the caller; never empty
	ClientID string // the program that holds the token; never empty
	Scopes   Scopes
	Expires  time.Time // when the token ends
}

// UserID names the owner of carts, orders and transactions. The client is not
// part of it: what a person made follows them from one client to another. It
// is a pseudonym, so that no name or address ever becomes a key in a database.
//
// Each part is preceded by its length: no choice of issuer and subject can
// spell the same bytes as another choice.
func (p Principal) UserID() [16]byte {
	var parts []byte
	for _, part := range []string{string(p.Kind), p.Issuer, p.Subject} {
		parts = binary.BigEndian.AppendUint32(parts, uint32(len(part)))
		parts = append(parts, part...)
	}
	sum := sha256.Sum256(parts)
	return [16]byte(sum[:16])
}

// String shows the pseudonym only; logs and error texts travel further than
// the subject of a token may.
func (p Principal) String() string {
	id := p.UserID()
	return fmt.Sprintf("%s:%x-%x-%x-%x-%x", p.Kind, id[:4], id[4:6], id[6:8], id[8:10], id[10:])
}

// GoString is [Principal.String], for %#v.
func (p Principal) GoString() string { return p.String() }

// LogValue is [Principal.String], for slog.
func (p Principal) LogValue() slog.Value { return slog.StringValue(p.String()) }
