package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"example.com/mcp-cart/migrations"
)

// Migrate brings the database at url to the newest schema and returns the
// versions it applied. Any number of replicas may call it at once, on an empty
// database too: they take turns on a lock that the database frees if its holder
// dies. It needs a connection of its own to the server, not one through a
// transaction pooler.
func Migrate(ctx context.Context, url string) ([]int64, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, fmt.Errorf("migrate: read database url: %w", err)
	}
	if _, ok := config.RuntimeParams["lock_timeout"]; !ok {
		// A change of a table that waits for one long transaction makes everybody
		// else wait behind it. Better to fail and be run again.
		config.RuntimeParams["lock_timeout"] = "10s"
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()

	// Ask once a second, for five minutes: a migration may take its time.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, migrations.FS, goose.WithSessionLocker(locker))
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	results, err := provider.Up(ctx)
	if err != nil {
		return nil, fmt.Errorf("migrate: %w", err)
	}
	applied := make([]int64, len(results))
	for i, result := range results {
		applied[i] = result.Source.Version
	}
	return applied, nil
}

const checkSchemaSQL = `
SELECT max(version_id), current_setting('server_encoding') FROM goose_db_version WHERE is_applied`

// CheckSchema reports whether the database has the schema this program needs.
// A newer one is fine: while a release rolls out, replicas of the previous one
// go on, and migrations keep working for them. If not, the error wraps
// [ErrSchema] and says what to do.
func (p *Postgres) CheckSchema(ctx context.Context) error {
	want, err := migrations.Latest()
	if err != nil {
		return fmt.Errorf("check schema: %w", err)
	}
	var have int64
	var encoding string
	// Not through the pool: that all its connections are busy says nothing about
	// the database.
	conn, err := pgx.ConnectConfig(ctx, p.pool.Config().ConnConfig)
	if err == nil {
		err = conn.QueryRow(ctx, checkSchemaSQL).Scan(&have, &encoding)
		_ = conn.Close(ctx)
	}
	if pg, ok := errors.AsType[*pgconn.PgError](err); ok && pg.Code == "42P01" {
		return fmt.Errorf("%w: it is empty: run cartd migrate", ErrSchema)
	}
	switch {
	case err != nil:
		return fmt.Errorf("check schema: %w", classify(ctx, err))
	case have < want:
		return fmt.Errorf("%w: it has version %d, this program needs %d: run cartd migrate", ErrSchema, have, want)
	case encoding != "UTF8":
		// Another encoding would not refuse text that is not UTF-8.
		return fmt.Errorf("%w: its encoding is %s, not UTF8", ErrSchema, encoding)
	}
	return nil
}
