// Package store keeps carts, orders and redemptions in PostgreSQL. Every SQL
// statement stands next to the method that runs it.
//
// The laws:
//
//   - What belongs to a user is addressed by a [handles.Key] or by the user's id,
//     never by a handle alone: somebody else's handle addresses nothing. Unknown,
//     foreign and discarded are one answer, [ErrUnknown].
//   - Who may, whether it is still alive, and whether it fits the bounds is decided
//     by the statement that writes, after it holds the row's lock, on the
//     database's clock. A condition judged before a lock was waited for is not
//     judged again after it, so each statement first locks (l), then decides (d),
//     then writes (u).
//   - A cart call is one round trip. An effect that must happen once is one
//     transaction together with its redemption, see [Postgres.InTx].
//   - A read ends when its caller goes away. A write that has been sent runs to its
//     end, within a deadline of its own, so a caller that hangs up neither halves
//     it nor costs a connection.
//   - What a caller may be told are the errors in errors.go, with the database's
//     wrapped inside for the log. Any other error is a fault, and not to be shown.
//
// [Postgres] keeps nothing between calls but its connections, so any number of
// replicas can share one database.
package store
