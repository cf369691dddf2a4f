// Package requeststate seals what a multi-round request must remember into a
// token that travels with the client, so that the server keeps nothing between
// two rounds and any replica can answer the next one.
//
// A request that needs an answer from a person ends with a question and a
// token ([Sealer.Begin]). The client repeats the request with the answer and
// the token, [Sealer.Open] gives a [Ticket], and the ticket leads either to the
// next question ([Ticket.Continue]) or, once, to the effect ([Ticket.Redeem]).
//
// The laws:
//
//   - A token opens only for the same principal and the same client, for the
//     same method and tool with the same arguments, at the same resource, in
//     time: five minutes for a round, thirty minutes and eight rounds for a flow.
//   - Exactly one text opens. There is no second spelling of a token, and what a
//     client changes in it is refused, never ignored and never half believed.
//   - Opening consumes nothing. Whoever presents a token that is not theirs
//     learns nothing and spoils nothing.
//   - Once means once, and only the database can promise it. Redeem records the
//     flow through a [Redeemer], in the transaction of the effect. An effect that
//     asks for a [Redeemed] cannot be written without one.
//   - A flow keeps its identity and its end from round to round. However it is
//     forked or replayed it is one flow, and is redeemed once.
//   - Every refusal reads the same. The reason is for the log and the metrics,
//     and must be asked for: [Reason], [Check].
//   - Secrets print as nothing, and there is nothing to configure about the
//     cryptography.
//
// # Keys
//
// All replicas share a key ring, a text of lines
//
//	ID BASE64URL-OF-32-BYTES [mint]
//
// in which exactly one line says mint: that key seals, every key opens. ID is 8
// lower-case hex digits and no secret. [NewKeyLine] draws such a line, [ParseRing]
// reads the text, and [Keys.Watch] follows a file. To rotate, add the new key
// without mint on every replica, then move mint to it everywhere, wait for as
// long as a flow can live, then remove the old key. Removing a key ends the
// flows it sealed at once, which is what to do with a key that has leaked.
//
// # Format
//
// FORMAT.md describes a token to the byte, and testdata/vectors.json holds tokens
// with everything that goes into them, and tokens to refuse, each with the
// reason, for whoever writes this in another language.
//
// # To use it elsewhere
//
// Copy the folder; it needs the standard library and golang.org/x/crypto (its
// tests also need pgregory.net/rapid, and name the import path twice). Replace the
// one name in it that is ours, the string in deriveAEAD, so that tokens of two
// services never meet, and remake the vectors. Implement [Redeemer] on your
// transaction: insert (owner, flow, outcome, ref) under a unique key (owner, flow),
// and give back what stands there if it is taken.
package requeststate
