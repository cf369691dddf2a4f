package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"example.com/mcp-cart/handles"
)

// A quota counts rows, and a statement counts what was there when it began, not
// when it got its lock. So the lock is a statement of its own, which the counting
// one begins after. Both are sent together, as one implicit transaction.
const lockUserSQL = `SELECT pg_advisory_xact_lock(hashtextextended($1::uuid::text, 0))`

const createCartSQL = `
INSERT INTO carts (user_id, handle, created_at, expires_at)
SELECT $1, $2, t.now, t.now + interval '24 hours'
FROM (SELECT clock_timestamp() AS now) t
WHERE (SELECT count(*) FROM carts
       WHERE user_id = $1 AND status = 'open' AND expires_at > clock_timestamp()) < $3
RETURNING 'ok', NULL::text, handle, version, created_at, expires_at,
          NULL::text, NULL::int, NULL::text, NULL::bigint, NULL::text, NULL::int`

// CreateCart makes an empty cart under a newly minted handle. Errors: [ErrQuota].
func (p *Postgres) CreateCart(ctx context.Context, key handles.Key) (Cart, error) {
	if err := checkKey(key, handles.Cart); err != nil {
		return Cart{}, fmt.Errorf("create cart: %w", err)
	}
	var batch pgx.Batch
	batch.Queue(lockUserSQL, key.Owner())
	batch.Queue(createCartSQL, key.Owner(), key.Handle().Reveal(), MaxOpenCarts)
	var carts []Cart
	err := p.write(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		results := conn.SendBatch(ctx, &batch)
		defer results.Close()
		if _, err := results.Exec(); err != nil {
			return err
		}
		rows, _ := results.Query()
		var err error
		if carts, err = collectCarts(rows); err != nil {
			return err
		}
		// The batch commits here.
		return results.Close()
	})
	if err != nil {
		return Cart{}, fmt.Errorf("create cart: %w", err)
	}
	if len(carts) == 0 {
		return Cart{}, fmt.Errorf("create cart: %w", ErrQuota)
	}
	return carts[0], nil
}

// The lock (l) comes before the decision (d), in a part of its own: within the
// part that locks, the database may judge a condition before it has waited.
// Prices of the answer are those of the moment the statement began.
const setItemSQL = `
WITH l AS MATERIALIZED (
	SELECT status, order_id, lines, expires_at
	FROM carts WHERE user_id = $1 AND handle = $2 FOR UPDATE
), d AS MATERIALIZED (
	SELECT l.order_id, CASE
		WHEN l.status = 'ordered' THEN 'ordered'
		WHEN l.status <> 'open' THEN 'unknown'
		WHEN l.expires_at <= clock_timestamp() THEN 'expired'
		WHEN p.sku IS NULL AND NOT ($4::int = 0 AND l.lines ? $3::text) THEN 'unknown_product'
		WHEN $4::int = 0 OR l.lines ? $3::text THEN 'ok'
		WHEN (SELECT count(*) FROM jsonb_object_keys(l.lines)) >= $5::int THEN 'too_many_lines'
		WHEN EXISTS (SELECT FROM jsonb_object_keys(l.lines) AS k JOIN products other ON other.sku = k
		             WHERE other.currency <> p.currency) THEN 'mixed_currency'
		ELSE 'ok' END AS verdict,
		coalesce((l.lines ->> $3::text)::int, 0) <> $4::int AS changes
	FROM l LEFT JOIN products p ON p.sku = $3::text
), u AS (
	UPDATE carts c
	SET lines = CASE $4::int WHEN 0 THEN c.lines - $3::text
	                         ELSE c.lines || jsonb_build_object($3::text, $4::int) END,
	    version = c.version + d.changes::int,
	    expires_at = CASE WHEN d.changes THEN least(clock_timestamp() + interval '24 hours', c.created_at + interval '168 hours')
	                      ELSE c.expires_at END
	FROM d WHERE c.user_id = $1 AND c.handle = $2 AND d.verdict = 'ok'
	RETURNING c.handle, c.version, c.lines, c.created_at, c.expires_at
)
SELECT d.verdict, d.order_id, u.handle, u.version, u.created_at, u.expires_at,
       i.key, i.value::int, p.name, p.unit_price_minor, p.currency, p.stock
FROM d
LEFT JOIN u ON true
LEFT JOIN LATERAL jsonb_each(u.lines) i ON true
LEFT JOIN products p ON p.sku = i.key
ORDER BY i.key COLLATE "C"`

// SetItem sets how many of a product are in the cart; 0 removes it. The quantity
// is absolute, so to send the same again is safe: what is so already is no change,
// which would move the version, and have a person who is asked to confirm the cart
// asked again, and extend its life. It does not reserve stock. Errors: [ErrUnknown],
// [ErrExpired], [*OrderedError], [ErrUnknownProduct], [ErrTooManyLines],
// [ErrMixedCurrency], [ErrQuantity], [ErrInvalidText].
func (p *Postgres) SetItem(ctx context.Context, key handles.Key, sku string, quantity int) (Cart, error) {
	if err := checkKey(key, handles.Cart); err != nil {
		return Cart{}, fmt.Errorf("set item: %w", err)
	}
	if quantity < 0 || quantity > MaxQuantity {
		return Cart{}, fmt.Errorf("set item: %w", ErrQuantity)
	}
	var cart Cart
	err := p.write(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		rows, _ := conn.Query(ctx, setItemSQL, key.Owner(), key.Handle().Reveal(), sku, quantity, MaxLines)
		var err error
		cart, err = collectCart(rows)
		return err
	})
	return cart, wrap("set item", err)
}

// What was in a discarded cart is forgotten at once; the janitor takes the row.
const discardCartSQL = `
WITH l AS MATERIALIZED (
	SELECT status, order_id, expires_at
	FROM carts WHERE user_id = $1 AND handle = $2 FOR UPDATE
), d AS MATERIALIZED (
	SELECT l.order_id, CASE
		WHEN l.status = 'ordered' THEN 'ordered'
		WHEN l.status <> 'open' THEN 'unknown'
		WHEN l.expires_at <= clock_timestamp() THEN 'expired'
		ELSE 'ok' END AS verdict
	FROM l
), u AS (
	UPDATE carts c
	SET status = 'discarded', lines = '{}', version = c.version + 1, expires_at = clock_timestamp()
	FROM d WHERE c.user_id = $1 AND c.handle = $2 AND d.verdict = 'ok'
)
SELECT d.verdict, d.order_id FROM d`

// DiscardCart throws the cart away. From then on it is unknown to its owner as
// it is to everybody else. Errors: [ErrUnknown], [ErrExpired], [*OrderedError].
func (p *Postgres) DiscardCart(ctx context.Context, key handles.Key) error {
	if err := checkKey(key, handles.Cart); err != nil {
		return fmt.Errorf("discard cart: %w", err)
	}
	return wrap("discard cart", p.write(ctx, func(ctx context.Context, conn *pgx.Conn) error {
		var decided string
		var orderID *string
		err := conn.QueryRow(ctx, discardCartSQL, key.Owner(), key.Handle().Reveal()).Scan(&decided, &orderID)
		if errors.Is(err, pgx.ErrNoRows) {
			return ErrUnknown
		}
		if err != nil {
			return err
		}
		return verdict(decided, orderID)
	}))
}
