// Package handles mints, parses and prints the names by which a client refers
// to something the server keeps for it: a cart, an order, a stock transaction.
//
// A handle is a name, not a key. A tool mints it, a model carries it through a
// conversation as an ordinary argument, and it may be seen by anyone who reads
// along. So it grants nothing: whatever it names is addressed by the pair of
// user id and handle, a [Key], and the user id comes from a verified token.
//
// The laws:
//
//   - A handle carries 128 bits from the system's secure random source and no
//     structure: nothing can be read from it or guessed about another.
//   - Exactly one text names it. There is no second spelling (no upper case, no
//     look-alike letters, no white space), so text can be compared and stored.
//   - A mistyped or invented handle is told from a real one without a database,
//     by its checksum. The checksum is no secret and proves nothing.
//   - A handle prints redacted, as cart_…7f3k, in every fmt verb, in slog, in
//     JSON and as text. Showing it takes a word: [Handle.Reveal].
//   - Only [NewKey] makes a Key. A store whose methods take a Key cannot be asked
//     for something without saying whose it is.
//
// The text of a handle is
//
//	cart _ 26 characters: 128 random bits  4 characters: checksum
//
// in lower-case Crockford base32, an alphabet without i, l, o and u.
//
// To use it elsewhere copy the folder, which needs only the standard library,
// and put your own kinds in the place of [Cart] and [Order].
package handles
