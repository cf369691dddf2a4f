package store

import (
	"context"
	"errors"
	"fmt"

	"example.com/mcp-cart/requeststate"
	"github.com/jackc/pgx/v5"
)

// Redeemed returns a [*requeststate.RedeemedError] if the owner's flow was
// redeemed, and nil if not. It is there to say so early: what it answers may
// change the next moment, and only [Tx.RedeemOnce] decides.
func (p *Postgres) Redeemed(ctx context.Context, owner [16]byte, flow requeststate.FlowID) error {
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
