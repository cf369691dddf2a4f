package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"example.com/mcp-cart/requeststate"
)

// redemption is a row of the table.
type redemption struct {
	owner        [16]byte
	flow         requeststate.FlowID
	outcome, ref string
	keepUntil    time.Time
}

// The insertion waits for another that is under way for the same flow, and the
// primary key lets one of them through. What stands there is read by a statement
// of its own, which begins after that wait and so sees it.
const (
	redeemSQL = `
INSERT INTO redemptions (user_id, flow_id, outcome, ref, redeemed_at, keep_until)
VALUES ($1, $2, $3, $4, clock_timestamp(), $5)
ON CONFLICT (user_id, flow_id) DO NOTHING`

	redeemedSQL = `SELECT outcome, ref FROM redemptions WHERE user_id = $1 AND flow_id = $2`
)

// RedeemOnce records, in this transaction, that the owner's flow was redeemed. If
// it was before, the error is a [*requeststate.RedeemedError].
func (t *Tx) RedeemOnce(ctx context.Context, owner [16]byte, flow requeststate.FlowID, outcome, ref string, keepUntil time.Time) error {
	if err := checkOwner(owner); err != nil {
		return fmt.Errorf("redeem: %w", err)
	}
	r := redemption{owner, flow, outcome, ref, keepUntil}
	inserted, before, err := r.record(ctx, t.tx)
	if err != nil {
		return fmt.Errorf("redeem: %w", err)
	}
	if !inserted {
		return &before
	}
	t.redeemed = &r
	return nil
}

// record inserts the row, or returns what stands in its place.
func (r redemption) record(ctx context.Context, tx pgx.Tx) (inserted bool, before requeststate.RedeemedError, err error) {
	var batch pgx.Batch
	batch.Queue(redeemSQL, r.owner, r.flow[:], r.outcome, r.ref, r.keepUntil)
	batch.Queue(redeemedSQL, r.owner, r.flow[:])
	results := tx.SendBatch(ctx, &batch)
	defer results.Close()
	tag, err := results.Exec()
	if err != nil {
		return false, before, err
	}
	if err := results.QueryRow().Scan(&before.Outcome, &before.Ref); err != nil {
		return false, before, err
	}
	return tag.RowsAffected() == 1, before, results.Close()
}

// settle finds out whether a transaction that recorded r has committed, after
// its COMMIT brought no answer. The COMMIT may still be running, so it is not
// enough to look: settle records r as well, which waits for the other one's end,
// looks at what stands there, and takes its own record back. For as long as it
// may take, the caller waits, even if its own caller has left.
func (p *Postgres) settle(ctx context.Context, r redemption) (committed bool, err error) {
	err = p.write(context.WithoutCancel(ctx), func(ctx context.Context, conn *pgx.Conn) error {
		tx, err := conn.Begin(ctx)
		if err != nil {
			return err
		}
		defer func() { _ = tx.Rollback(ctx) }()
		inserted, before, err := r.record(ctx, tx)
		// The ref names what this very call was about to make, so another call's
		// redemption of the same flow is not taken for it.
		committed = !inserted && before == requeststate.RedeemedError{Outcome: r.outcome, Ref: r.ref}
		return err
	})
	return committed && err == nil, err
}

// EarlierOutcome returns a [*requeststate.RedeemedError] if the owner's flow was
// redeemed, and nil if not. It is there to say so early: what it answers may
// change the next moment, and only [Tx.RedeemOnce] decides.
func (p *Postgres) EarlierOutcome(ctx context.Context, owner [16]byte, flow requeststate.FlowID) error {
	if err := checkOwner(owner); err != nil {
		return fmt.Errorf("look up redemption: %w", err)
	}
	return wrap("look up redemption", p.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var before requeststate.RedeemedError
		err := conn.QueryRow(ctx, redeemedSQL, owner, flow[:]).Scan(&before.Outcome, &before.Ref)
		switch {
		case errors.Is(err, pgx.ErrNoRows):
			return nil
		case err != nil:
			return err
		}
		return &before
	}))
}
