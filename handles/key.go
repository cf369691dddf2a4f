package handles

import (
	"fmt"
	"log/slog"
)

// Key addresses one thing of one user. It is the only way to ask the store for
// anything that belongs to someone, and it has one constructor, so a load that
// names no owner does not compile.
type Key struct {
	owner  [16]byte
	handle Handle
}

// NewKey binds a handle, which anyone may have sent, to the user whose token
// came with it. The owner must come from the verified token and from nowhere
// else.
func NewKey(owner [16]byte, h Handle) Key { return Key{owner, h} }

// Owner returns the id of the user.
func (k Key) Owner() [16]byte { return k.owner }

// Handle returns the handle.
func (k Key) Handle() Handle { return k.handle }

// IsZero reports whether the key lacks its owner or its handle. No verified
// user has the id of sixteen zero bytes, so that one means that somebody forgot
// to set it; a store refuses such a key.
func (k Key) IsZero() bool { return k.owner == [16]byte{} || k.handle.IsZero() }

// String returns the owner's pseudonym and the redacted handle.
func (k Key) String() string { return fmt.Sprintf("%x/%s", k.owner, k.handle) }

// Format prints the redacted form whatever the verb is.
func (k Key) Format(f fmt.State, _ rune) { fmt.Fprint(f, k.String()) }

// LogValue returns the redacted form.
func (k Key) LogValue() slog.Value { return slog.StringValue(k.String()) }

// MarshalText returns the redacted form.
func (k Key) MarshalText() ([]byte, error) { return []byte(k.String()), nil }
