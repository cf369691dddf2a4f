package localpg

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// CreateDatabase makes an empty database and returns its connection string and
// the function that drops it, connections and all. Every database has the same
// encoding and collation, however the server was found: a test that sorts must
// not depend on the machine's locale.
func (s *Server) CreateDatabase(ctx context.Context) (string, func(context.Context) error, error) {
	// Letters and digits only, so that the name needs no quoting.
	name := "mcp_cart_" + strings.ToLower(rand.Text())
	address, err := withDatabase(s.url, name)
	if err != nil {
		return "", nil, fmt.Errorf("create database: %w", err)
	}
	if err := s.exec(ctx, "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING 'UTF8' LC_COLLATE 'C' LC_CTYPE 'C'"); err != nil {
		return "", nil, fmt.Errorf("create database: %w", err)
	}
	drop := func(ctx context.Context) error {
		if err := s.exec(ctx, "DROP DATABASE IF EXISTS "+name+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("drop database: %w", err)
		}
		return nil
	}
	return address, drop, nil
}

// exec runs one statement on a connection of its own, in the simple protocol:
// CREATE DATABASE must not run inside a transaction.
func (s *Server) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.url)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol)
	return err
}

// checkVersion refuses a server that is too old, before a migration says so
// in words that do not help.
func checkVersion(ctx context.Context, address string) error {
	conn, err := pgx.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	var version int
	if err := conn.QueryRow(ctx, "SELECT current_setting('server_version_num')::int").Scan(&version); err != nil {
		return fmt.Errorf("ask for the version: %w", err)
	}
	if major := version / 10000; major < minMajor {
		return fmt.Errorf("the server is PostgreSQL %d; %d or later is needed", major, minMajor)
	}
	return nil
}

// withDatabase returns the same connection string for another database. Both
// spellings that pgx reads are known: a URL, and "key=value" words, where the
// last dbname counts.
func withDatabase(address, name string) (string, error) {
	if !strings.HasPrefix(address, "postgres://") && !strings.HasPrefix(address, "postgresql://") {
		return address + " dbname=" + name, nil
	}
	u, err := url.Parse(address)
	if err != nil {
		// The parser's own message quotes the URL, and so the password.
		return "", fmt.Errorf("the connection string is not a URL")
	}
	query := u.Query()
	query.Del("dbname")
	query.Del("database")
	u.RawQuery = query.Encode()
	u.Path, u.RawPath = "/"+name, ""
	return u.String(), nil
}
