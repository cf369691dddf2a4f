// Package auth answers one question about a request: who is calling? It knows
// nothing of carts or tools. A [Verifier] turns the bearer token of a request
// into a [Principal]; a [Challenges] value says to a client what is missing;
// [NewMetadata] says where tokens come from.
//
// Its laws:
//
//   - Identity comes from a verified token only: signed by a key that the
//     token's own issuer publishes, meant for this server, of the right kind,
//     and in time. What cannot be established is refused, never guessed.
//   - Issuer and subject together name a user. Neither is ever empty, and
//     neither is normalised: they are compared byte for byte.
//   - A request never causes a fetch from a place it names. Keys come from the
//     issuers of the configuration, in the background, and a token whose key is
//     known is verified without any network.
//   - The outside learns that a token is not good, never why. The reason is a
//     short constant code ([Reason]) for logs and metrics; no error text holds a
//     piece of a token.
//   - An issuer that cannot be reached is no reason to send people back to sign
//     in: the last good keys stay in use, and before the first ones the answer is
//     [ErrUnavailable] ("try again"), not "your token is bad".
//
// Three files to read for the whole story: verifier.go (the checks, in order),
// claims.go (what a token must say), keys.go (where keys come from and when they
// are fetched again). The folder can be copied into another project as it is;
// the scopes of the cart in scopes.go and challenge.go, and the realm there, are the
// only lines to change.
package auth
