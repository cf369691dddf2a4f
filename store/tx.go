package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// Tx is one transaction, for an effect and the redemption that guards it. It
// implements requeststate.Redeemer.
type Tx struct {
	tx       pgx.Tx
	redeemed *redemption // what RedeemOnce recorded in it, nil before
}

// A transaction that loses against others is run again, so often and no more.
const (
	maxAttempts  = 6
	firstBackoff = 10 * time.Millisecond
)

// InTx runs do in a transaction, which is committed if do returns nil and rolled
// back otherwise. After a deadlock or a serialization failure it runs do again,
// from the start and on fresh data, so do must keep nothing from a run that
// failed. Its context is the one to use inside: once the transaction has begun, a
// caller that hangs up does not stop it.
//
// If COMMIT fails, InTx finds out what became of it before it returns: an error
// of the connection does not say, and neither does that of a session that was
// ended, perhaps after it had committed. Its errors are those of do, [ErrBusy] and
// [ErrUnavailable]. Unless one of these two was met while finding out, nothing has
// happened; if it was, the redemption tells whoever tries again.
func (p *Postgres) InTx(ctx context.Context, do func(context.Context, *Tx) error) error {
	backoff := firstBackoff
	for attempt := 1; ; attempt++ {
		err := p.inTxOnce(ctx, do)
		if attempt == maxAttempts || !lostAgainstOthers(err) {
			return err
		}
		// Whoever won may still be at it. Losers that come back one by one do not
		// meet again.
		wait := time.NewTimer(backoff/2 + rand.N(backoff))
		select {
		case <-ctx.Done():
			wait.Stop()
			return err
		case <-wait.C:
		}
		backoff *= 2
	}
}

func (p *Postgres) inTxOnce(ctx context.Context, do func(context.Context, *Tx) error) error {
	var tx Tx
	committing := false
	err := p.write(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var err error
		if tx.tx, err = conn.Begin(ctx); err != nil {
			return fmt.Errorf("begin: %w", err)
		}
		// After COMMIT this does nothing.
		defer func() { _ = tx.tx.Rollback(ctx) }()
		if err := do(ctx, &tx); err != nil {
			return err
		}
		committing = true
		return wrap("commit", tx.tx.Commit(ctx))
	})
	if err == nil || !committing || tx.redeemed == nil {
		return err
	}
	committed, settleErr := p.settle(ctx, *tx.redeemed)
	switch {
	case settleErr != nil:
		return fmt.Errorf("find out what became of a commit: %w", settleErr)
	case committed:
		return nil
	}
	return err
}

// lostAgainstOthers reports that a transaction was rolled back only because of
// what others did at the same time.
func lostAgainstOthers(err error) bool {
	pg, ok := errors.AsType[*pgconn.PgError](err)
	return ok && (pg.Code == "40001" || pg.Code == "40P01")
}
