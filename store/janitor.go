package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5"
)

// sweepBatch is how many rows one statement deletes: few enough to be over
// before anybody waits for it. The statements have it as a literal, which tells
// the planner to look up each row by its key.
const sweepBatch = 500

// Expired rows are useless whether or not they are deleted, so there is no hurry
// and no need to be complete: a row that is locked is left for the next time,
// which also lets any number of replicas sweep at once. FOR UPDATE judges the
// condition again on the row it has locked, and from then on nobody can extend
// it. The condition is on the time the statement began, which an index can find
// and which is never later than the clock's.
const (
	sweepCartsSQL = `
WITH doomed AS MATERIALIZED (
	SELECT user_id, handle FROM carts
	WHERE status <> 'ordered' AND expires_at <= statement_timestamp()
	ORDER BY expires_at LIMIT 500 FOR UPDATE SKIP LOCKED
)
DELETE FROM carts c USING doomed d
WHERE c.user_id = d.user_id AND c.handle = d.handle`

	sweepRedemptionsSQL = `
WITH doomed AS MATERIALIZED (
	SELECT user_id, flow_id FROM redemptions
	WHERE keep_until <= statement_timestamp()
	ORDER BY keep_until LIMIT 500 FOR UPDATE SKIP LOCKED
)
DELETE FROM redemptions r USING doomed d
WHERE r.user_id = d.user_id AND r.flow_id = d.flow_id`
)

// Swept counts the rows that a sweep deleted.
type Swept struct {
	Carts       int64
	Redemptions int64
}

// Janitor deletes what has expired. Every replica may run one.
type Janitor struct {
	store    *Postgres
	interval time.Duration
	log      *slog.Logger
}

// NewJanitor makes a janitor that sweeps about once in an interval.
func NewJanitor(store *Postgres, interval time.Duration, log *slog.Logger) (*Janitor, error) {
	if store == nil || log == nil {
		return nil, errors.New("new janitor: it needs a store and a log")
	}
	if interval <= 0 {
		return nil, fmt.Errorf("new janitor: interval %v is not positive", interval)
	}
	return &Janitor{store, interval, log}, nil
}

// Run sweeps until ctx ends and returns nil then. A sweep that fails is logged:
// nothing depends on it, and the next one makes up for it.
func (j *Janitor) Run(ctx context.Context) error {
	for {
		// Replicas that start together should not sweep together.
		wait := time.NewTimer(j.interval/2 + rand.N(j.interval))
		select {
		case <-ctx.Done():
			wait.Stop()
			return nil
		case <-wait.C:
		}
		swept, err := j.SweepOnce(ctx)
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			j.log.WarnContext(ctx, "sweep", "err", err)
		case swept != Swept{}:
			j.log.InfoContext(ctx, "swept", "carts", swept.Carts, "redemptions", swept.Redemptions)
		}
	}
}

// SweepOnce deletes everything that has expired, batch by batch, and returns
// what it deleted, which after an error is not everything.
func (j *Janitor) SweepOnce(ctx context.Context) (Swept, error) {
	var swept Swept
	var err error
	if swept.Carts, err = j.sweep(ctx, sweepCartsSQL); err != nil {
		return swept, fmt.Errorf("sweep carts: %w", err)
	}
	if swept.Redemptions, err = j.sweep(ctx, sweepRedemptionsSQL); err != nil {
		return swept, fmt.Errorf("sweep redemptions: %w", err)
	}
	return swept, nil
}

func (j *Janitor) sweep(ctx context.Context, sql string) (int64, error) {
	var total int64
	for {
		var n int64
		err := j.store.write(ctx, func(ctx context.Context, conn *pgx.Conn) error {
			tag, err := conn.Exec(ctx, sql)
			n = tag.RowsAffected()
			return err
		})
		total += n
		if err != nil || n < sweepBatch {
			return total, err
		}
	}
}
