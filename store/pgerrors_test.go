package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

func TestDatabaseErrorsBecomeOurs(t *testing.T) {
	over, cancel := context.WithCancel(t.Context())
	cancel()
	late, cancel := context.WithTimeout(t.Context(), -1)
	defer cancel()
	state := func(code string) error { return &pgconn.PgError{Code: code, Message: "m"} }
	own := errors.New("one of ours")
	tests := []struct {
		ctx  context.Context
		err  error
		want error
	}{
		{t.Context(), state("22021"), ErrInvalidText},
		{t.Context(), state("22P05"), ErrInvalidText},
		{t.Context(), state("23505"), ErrExists},
		{t.Context(), state("40001"), ErrBusy},
		{t.Context(), state("40P01"), ErrBusy},
		{t.Context(), state("55P03"), ErrBusy},
		{t.Context(), state("57014"), ErrBusy},
		{t.Context(), state("25P03"), ErrBusy},
		{t.Context(), state("08006"), ErrUnavailable},
		{t.Context(), state("25006"), ErrUnavailable},
		{t.Context(), state("28P01"), ErrUnavailable},
		{t.Context(), state("53300"), ErrUnavailable},
		{t.Context(), state("53100"), ErrUnavailable},
		{t.Context(), state("57P01"), ErrUnavailable},
		{t.Context(), state("57P03"), ErrUnavailable},
		{t.Context(), state("58030"), ErrUnavailable},
		{t.Context(), &pgconn.ConnectError{}, ErrUnavailable},
		{t.Context(), io.ErrUnexpectedEOF, ErrUnavailable},
		{t.Context(), pgconn.ErrConnClosed, ErrUnavailable},
		{t.Context(), context.DeadlineExceeded, ErrBusy},
		{over, state("57014"), context.Canceled},
		{over, io.EOF, context.Canceled},
		{late, state("57014"), ErrBusy},
		{over, own, own},
	}
	for _, test := range tests {
		err := fmt.Errorf("operation: %w", test.err)
		if got := classify(test.ctx, err); !errors.Is(got, test.want) || !errors.Is(got, test.err) {
			t.Errorf("classify(%v) = %v, want %v around it", test.err, got, test.want)
		}
	}
}

// What is not known to be harmless stays internal: it must not look like
// anything that is shown to a caller.
func TestUnknownErrorsStayInternal(t *testing.T) {
	shown := []error{ErrUnknown, ErrExpired, ErrBusy, ErrUnavailable, ErrInvalidText, ErrExists, context.Canceled}
	for _, err := range []error{
		&pgconn.PgError{Code: "23514"}, &pgconn.PgError{Code: "42P01"}, &pgconn.PgError{Code: "XX000"},
		&pgconn.PgError{Code: ""}, errors.New("scan"),
	} {
		got := classify(t.Context(), err)
		for _, kind := range shown {
			if errors.Is(got, kind) {
				t.Errorf("classify(%v) = %v, want it as it is", err, got)
			}
		}
	}
	if err := classify(t.Context(), nil); err != nil {
		t.Errorf("classify(nil) = %v", err)
	}
}
