package requeststate

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func TestReasonIsOneOfAFew(t *testing.T) {
	for _, tt := range []struct {
		err           error
		reason, check string
	}{
		{ErrMalformed, "malformed", "malformed"},
		{ErrUnknownKey, "unknown_key", "unknown_key"},
		{ErrSeal, "seal", "seal"},
		{ErrVersion, "malformed", "version"},
		{ErrClaims, "malformed", "claims"},
		{ErrMethod, "request", "method"},
		{ErrTool, "request", "tool"},
		{ErrRound, "expired", "round"},
		{ErrIssuedAhead, "expired", "issued_ahead"},
		{ErrExpired, "expired", "expired"},
		{ErrFlowExpired, "expired", "flow_expired"},
		{ErrAudience, "audience", "audience"},
		{ErrPrincipal, "principal", "principal"},
		{ErrArguments, "request", "arguments"},
		{ErrQuestion, "request", "question"},
		{ErrPayload, "malformed", "payload"},
		{&RedeemedError{Outcome: "ordered"}, "redeemed", "redeemed"},
		{ErrFlowEnded, "", ""},
		{ErrTooLarge, "", ""},
		{errors.New("other"), "", ""},
		{nil, "", ""},
	} {
		if Reason(tt.err) != tt.reason || Check(tt.err) != tt.check {
			t.Errorf("Reason, Check = %q, %q, want %q, %q", Reason(tt.err), Check(tt.err), tt.reason, tt.check)
		}
		if tt.err == nil {
			continue
		}
		wrapped := fmt.Errorf("checkout: %w", tt.err)
		if Reason(wrapped) != tt.reason || Check(wrapped) != tt.check {
			t.Errorf("Reason of a wrapped %q = %q, want %q", tt.check, Reason(wrapped), tt.reason)
		}
	}
}

func TestRefusalsDifferInTheLogOnly(t *testing.T) {
	if ErrSeal.Error() != ErrExpired.Error() || errors.Is(ErrSeal, ErrExpired) {
		t.Errorf("refusals: %q and %q, want one text and two errors", ErrSeal, ErrExpired)
	}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("refused", "err", ErrExpired)
	if !strings.Contains(log.String(), "expired") {
		t.Errorf("log = %s, want the check", &log)
	}
}
