package store

import (
	"context"
	"net"
	"sync/atomic"

	"github.com/jackc/pgx/v5/pgxpool"
)

// Option changes how a store reaches its database.
type Option func(*pgxpool.Config)

// WithDial makes every connection with dial.
func WithDial(dial func(ctx context.Context, network, address string) (net.Conn, error)) Option {
	return func(config *pgxpool.Config) { config.ConnConfig.DialFunc = dial }
}

// CountRoundTrips adds to n each time something is sent and then waited for.
// That is what a call costs on a real network, whatever it is called in the
// driver: preparing, BEGIN and COMMIT count, statements in one batch count once.
// It counts on connections made with whatever [WithDial] an earlier option set.
func CountRoundTrips(n *atomic.Int64) Option {
	return func(config *pgxpool.Config) {
		dial := config.ConnConfig.DialFunc
		config.ConnConfig.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			if err != nil {
				return nil, err
			}
			return &countingConn{Conn: conn, trips: n}, nil
		}
	}
}

type countingConn struct {
	net.Conn
	trips *atomic.Int64
	sent  atomic.Bool
}

func (c *countingConn) Write(b []byte) (int, error) {
	c.sent.Store(true)
	return c.Conn.Write(b)
}

// Read counts when an answer has come: the driver may begin to wait for one
// before it sends.
func (c *countingConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.sent.CompareAndSwap(true, false) {
		c.trips.Add(1)
	}
	return n, err
}
