package store

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// read runs f on a connection. When ctx ends, what f runs is cancelled.
func (p *Postgres) read(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	return p.withConn(ctx, func(conn *pgx.Conn) error {
		return classify(ctx, f(ctx, conn))
	})
}

// write runs f on a connection. The caller can leave while it waits for one;
// from then on f runs to its end or to its own deadline.
func (p *Postgres) write(ctx context.Context, f func(context.Context, *pgx.Conn) error) error {
	return p.withConn(ctx, func(conn *pgx.Conn) error {
		ctx, cancel := detached(ctx)
		defer cancel()
		return classify(ctx, f(ctx, conn))
	})
}

func (p *Postgres) withConn(ctx context.Context, f func(*pgx.Conn) error) error {
	bounded, cancel := context.WithTimeout(ctx, acquireTimeout)
	conn, err := p.pool.Acquire(bounded)
	cancel()
	if err != nil {
		return classify(ctx, fmt.Errorf("acquire connection: %w", err))
	}
	defer conn.Release()
	err = f(conn.Conn())
	if stalePlan(err) {
		// The next connection prepares its statements against the new schema.
		_ = conn.Conn().Close(ctx)
	}
	return err
}

// detached returns a context that keeps ctx's values but neither its end nor its
// deadline. A write runs on it, so that a caller that hangs up cannot stop it
// between the moment it was sent and the moment its outcome is known.
func detached(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), writeTimeout)
}

// wrap adds the operation to an error, if there is one.
func wrap(operation string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", operation, err)
}
