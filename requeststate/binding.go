package requeststate

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
)

// Binding says to what a token is bound. A token made under one binding opens
// only under an equal one, so both are filled from the request at hand: identity
// from the verified access token, the rest from the decoded call.
//
// The JSON-RPC id is no part of it. The repeated request must have another one.
type Binding struct {
	// Audience is the canonical URL of the resource the request was made to.
	Audience string

	// Issuer, Subject and ClientID say who calls, and through which client.
	Issuer, Subject, ClientID string

	// Owner is the user id under which redemptions are recorded. It is bound as
	// well: were it to change between rounds, one flow could be redeemed twice.
	Owner [16]byte

	// Method and Tool say what is called.
	Method, Tool string

	// Arguments are the decoded arguments, defaults filled in: a struct of plain
	// data. Its value is bound and not the text it came from, so a client may
	// order and spell its JSON anew.
	//
	// The struct is digested as encoding/json writes it, so that must show all of
	// it. Unexported, embedded and "-" fields, interfaces, and types that marshal
	// themselves are refused. The last of these may hide a part (a handle that
	// prints redacted would bind only what it prints), or keep the spelling, as
	// json.RawMessage does. Strings must be valid UTF-8, as decoded JSON is.
	Arguments any

	// Questions are the keys of all input requests the tool knows, constants that
	// stand for the question and the schema of its answer. A token that asked
	// anything else is refused.
	Questions []string
}

type digest = [sha256.Size]byte

// bound is what a token keeps of a [Binding].
type bound struct {
	method, tool                   string
	audience, principal, arguments digest
}

// maxName bounds each name in the claims, whose length is written in one byte.
const maxName = 255

func (b *Binding) bound() (bound, error) {
	if err := b.check(); err != nil {
		return bound{}, fmt.Errorf("binding: %w", err)
	}
	arguments, err := digestArguments(b.Arguments)
	if err != nil {
		return bound{}, fmt.Errorf("binding: arguments: %w", err)
	}
	return bound{
		method:    b.Method,
		tool:      b.Tool,
		audience:  sha256.Sum256([]byte(b.Audience)),
		principal: b.digestPrincipal(),
		arguments: arguments,
	}, nil
}

// check refuses a binding with a part left out: the empty subject is a subject
// that everybody shares.
func (b *Binding) check() error {
	switch {
	case b.Audience == "":
		return errors.New("no audience")
	case b.Issuer == "", b.Subject == "", b.ClientID == "":
		return errors.New("no issuer, subject or client id")
	case b.Owner == [16]byte{}:
		return errors.New("no owner")
	case b.Method == "", b.Tool == "", len(b.Method) > maxName, len(b.Tool) > maxName:
		return errors.New("method or tool missing or too long")
	case len(b.Questions) == 0:
		return errors.New("no questions")
	}
	for _, q := range b.Questions {
		if q == "" || len(q) > maxName {
			return errors.New("a question key is empty or too long")
		}
	}
	return nil
}

func (b *Binding) asks(question string) bool { return slices.Contains(b.Questions, question) }

// digestPrincipal writes the length of each part before the part, so that no two
// principals give the same bytes ("ab"+"c" and "a"+"bc").
func (b *Binding) digestPrincipal() digest {
	text := make([]byte, 0, 256)
	for _, part := range []string{b.Issuer, b.Subject, b.ClientID} {
		text = binary.BigEndian.AppendUint32(text, uint32(len(part)))
		text = append(text, part...)
	}
	return sha256.Sum256(append(text, b.Owner[:]...))
}
