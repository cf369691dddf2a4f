package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"

	"github.com/jackc/pgx/v5/pgconn"
)

// classify turns an error of the database or of the way to it into one of ours,
// with the original wrapped inside for the log. It is the only place that knows
// SQLSTATEs. What it does not know stays as it is, an internal error.
func classify(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	kind := kindOf(err)
	if kind != nil && ctx.Err() != nil {
		// The caller left or its time ran out, and the database's or the driver's
		// error is only the echo of that.
		kind = ErrBusy
		if errors.Is(ctx.Err(), context.Canceled) {
			kind = context.Canceled
		}
	}
	if kind == nil || errors.Is(err, kind) {
		return err
	}
	return fmt.Errorf("%w: %w", kind, err)
}

func kindOf(err error) error {
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok {
		return kindOfState(pg.Code)
	}
	switch {
	case pgconn.Timeout(err), errors.Is(err, context.DeadlineExceeded):
		return ErrBusy
	case errors.Is(err, context.Canceled):
		return context.Canceled
	case lostConnection(err):
		return ErrUnavailable
	}
	return nil
}

func kindOfState(state string) error {
	switch state {
	case "22021", "22P05": // character not in repertoire, untranslatable character
		return ErrInvalidText
	case "23505": // unique violation: somebody minted a handle that is taken
		return ErrExists
	case "40001", "40P01", // serialization failure, deadlock
		"55P03",          // lock not available
		"25P03",          // idle in a transaction for too long
		"57014",          // cancelled: statement_timeout, or a deadline of ours
		"0A000", "26000": // a cached plan that a migration has overtaken, see withConn
		return ErrBusy
	case "25006": // read-only transaction: a failover is under way
		return ErrUnavailable
	}
	switch state[:min(2, len(state))] {
	case "08", // connection exception
		"28", // invalid authorization
		"53", // insufficient resources: too many connections, disk full
		"57", // operator intervention: shutdown, crash, starting up
		"58": // system error
		return ErrUnavailable
	}
	return nil
}

func lostConnection(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true
	}
	if _, ok := errors.AsType[net.Error](err); ok {
		return true
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) ||
		errors.Is(err, pgconn.ErrConnClosed) || pgconn.SafeToRetry(err)
}

// stalePlan reports that the connection holds a prepared statement that a
// migration has made useless, or none where it believes to have one.
func stalePlan(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "0A000" || pg.Code == "26000")
}
