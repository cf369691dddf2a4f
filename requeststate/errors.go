package requeststate

import (
	"errors"
	"log/slog"
)

// ErrInvalid is what every refused token gives. Whatever was wrong with it, the
// text is this one: a caller who shows it by mistake shows nothing.
var ErrInvalid = errors.New("request state is not valid")

// ErrFlowEnded is what [Ticket.Continue] gives when the flow has had its last
// round or its time is over. The request has to be started again.
var ErrFlowEnded = errors.New("request state: the flow has ended, the request must be started again")

// ErrTooLarge is what sealing gives when the token would be longer than [MaxToken].
var ErrTooLarge = errors.New("request state: the payload is too large to travel in a token")

// The refusals, in the order in which they are looked for. Each wraps [ErrInvalid].
var (
	ErrMalformed   error = &refusal{"malformed", "malformed"}     // not the one spelling of a token
	ErrUnknownKey  error = &refusal{"unknown_key", "unknown_key"} // sealed under a key that is not in the ring
	ErrSeal        error = &refusal{"seal", "seal"}               // changed, or never ours
	ErrVersion     error = &refusal{"version", "malformed"}       // claims of another version
	ErrClaims      error = &refusal{"claims", "malformed"}        // claims that do not decode
	ErrMethod      error = &refusal{"method", "request"}          // of another method
	ErrTool        error = &refusal{"tool", "request"}            // of another tool
	ErrRound       error = &refusal{"round", "expired"}           // no round of a flow
	ErrIssuedAhead error = &refusal{"issued_ahead", "expired"}    // from the future: some replica's clock is wrong
	ErrExpired     error = &refusal{"expired", "expired"}         // the round is over
	ErrFlowExpired error = &refusal{"flow_expired", "expired"}    // the flow is over
	ErrAudience    error = &refusal{"audience", "audience"}       // of another resource
	ErrPrincipal   error = &refusal{"principal", "principal"}     // of another person or client
	ErrArguments   error = &refusal{"arguments", "request"}       // of another call of this tool
	ErrQuestion    error = &refusal{"question", "request"}        // asked something this tool does not ask
	ErrPayload     error = &refusal{"payload", "malformed"}       // payload that does not decode as what is expected
)

// refusal is one reason to refuse a token. Its check says exactly which, its
// reason is the coarser word that a metric counts.
type refusal struct{ check, reason string }

// Error is the same for every refusal: which check failed would tell whoever
// forges tokens how far they have come.
func (*refusal) Error() string { return ErrInvalid.Error() }

// Unwrap makes every refusal an [ErrInvalid].
func (*refusal) Unwrap() error { return ErrInvalid }

// LogValue shows the check, since a log is where it belongs.
func (r *refusal) LogValue() slog.Value {
	return slog.StringValue(r.Error() + ": " + r.check)
}

// RedeemedError says that a flow was redeemed before, and what came of it. Only
// the rightful owner's ticket can meet it, so it may be shown.
type RedeemedError struct{ Outcome, Ref string }

// Error names the earlier outcome.
func (e *RedeemedError) Error() string {
	return "request state was already redeemed: " + e.Outcome
}

// Reason gives the word under which a metric counts an error of this package:
// malformed, unknown_key, seal, expired, audience, principal, request or
// redeemed. It is empty for every other error.
func Reason(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.reason
	}
	if _, ok := errors.AsType[*RedeemedError](err); ok {
		return "redeemed"
	}
	return ""
}

// Check gives the exact check that an error of this package stands for, for the
// log: where [Reason] says request, Check says method, tool, arguments or question.
func Check(err error) string {
	if r, ok := errors.AsType[*refusal](err); ok {
		return r.check
	}
	return Reason(err)
}
