package store

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
	"github.com/jackc/pgx/v5/pgxpool"
)

// Postgres is the store. It is safe for concurrent use.
type Postgres struct {
	pool *pgxpool.Pool
}

// The times a call may take, from the outside in: what gives up first is the
// one that knows most about it.
const (
	// acquireTimeout bounds the wait for a free connection.
	acquireTimeout = 5 * time.Second
	// statementTimeout is the database's own.
	statementTimeout = "10s"
	// lockTimeout bounds the wait for a lock, which keeps a connection: a row that
	// somebody locks for long must not take the whole pool with it.
	lockTimeout = "2s"
	// idleTimeout frees the locks of a transaction whose replica has died without
	// its connection noticing.
	idleTimeout = "10s"
	// writeTimeout bounds what goes on after the caller has left. It is longer than
	// the database's own, which ends a statement with a clean answer.
	writeTimeout = 15 * time.Second
	// cancelDelay lets a read that is about to end anyway do so: cancelling costs
	// its connection a tenth of a second, a finished one is free at once.
	cancelDelay = 50 * time.Millisecond
	// cancelPatience is how long a cancelled statement may take to stop before its
	// connection is given up.
	cancelPatience = 2 * time.Second
)

// Open prepares a store for the database at url. It does not connect: a server
// may start before its database does, and [Postgres.Ping] tells.
//
// The url is one that pgx reads, and carries the settings of the pool
// (pool_max_conns and so on) and of its sessions. These are set if it does not:
// application_name, connect_timeout, statement_timeout, lock_timeout and
// idle_in_transaction_session_timeout.
//
// Behind a transaction pooler the default needs one that knows prepared
// statements; default_query_exec_mode=cache_describe does with any. A pooler must
// also pass on, or be told to ignore, the session settings above.
func Open(ctx context.Context, url string, options ...Option) (*Postgres, error) {
	config, err := pgxpool.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("read database url: %w", err)
	}
	switch config.ConnConfig.DefaultQueryExecMode {
	case pgx.QueryExecModeExec, pgx.QueryExecModeSimpleProtocol:
		// They guess the types of parameters.
		return nil, errors.New("read database url: default_query_exec_mode must be cache_statement, cache_describe or describe_exec")
	}
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = acquireTimeout
	}
	setSession(config.ConnConfig.RuntimeParams)
	config.ConnConfig.BuildContextWatcherHandler = cancelPolitely
	if config.ConnConfig.DefaultQueryExecMode == pgx.QueryExecModeCacheStatement {
		config.AfterConnect = prepare
	}
	for _, option := range options {
		option(config)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &Postgres{pool: pool}, nil
}

// Close waits for the calls that are running and closes all connections.
func (p *Postgres) Close() { p.pool.Close() }

// Ping reports whether the database answers.
func (p *Postgres) Ping(ctx context.Context) error {
	return wrap("ping", p.read(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		return conn.Ping(ctx)
	}))
}

func setSession(params map[string]string) {
	defaults := map[string]string{
		"application_name":                    "mcp-cart",
		"statement_timeout":                   statementTimeout,
		"lock_timeout":                        lockTimeout,
		"idle_in_transaction_session_timeout": idleTimeout,
	}
	for name, value := range defaults {
		if _, ok := params[name]; !ok {
			params[name] = value
		}
	}
	// Not for the operator to choose. Lock first, then decide needs each statement
	// to see what was committed while it waited; and text is checked as UTF-8.
	params["default_transaction_isolation"] = "read committed"
	params["client_encoding"] = "UTF8"
}

// cancelPolitely asks the server to cancel what runs when a context ends. The
// default closes the connection, and many impatient clients then cost a new
// connection each.
func cancelPolitely(conn *pgconn.PgConn) ctxwatch.Handler {
	return &pgconn.CancelRequestContextWatcherHandler{
		Conn:               conn,
		CancelRequestDelay: cancelDelay,
		DeadlineDelay:      cancelPatience,
	}
}

// prepare has every statement planned before a connection's first call, so that
// the first, too, is one round trip.
func prepare(ctx context.Context, conn *pgx.Conn) error {
	for _, sql := range statements() {
		// Under its own text as name: that is how a query finds it.
		_, err := conn.Prepare(ctx, sql, sql)
		if _, ok := errors.AsType[*pgconn.PgError](err); ok {
			// The schema is not there yet. CheckSchema says so better than we could.
			return nil
		}
		if err != nil {
			return fmt.Errorf("prepare statements: %w", err)
		}
	}
	return nil
}

func statements() []string {
	return []string{
		searchProductsSQL,
		cartSQL, cartsSQL, lockUserSQL, createCartSQL, setItemSQL, discardCartSQL,
		redeemSQL, redeemedSQL, lockCartSQL, lockProductsSQL,
		takeStockSQL, insertOrderSQL, closeCartSQL,
		orderSQL, orderOfCartSQL, ordersSQL,
	}
}
