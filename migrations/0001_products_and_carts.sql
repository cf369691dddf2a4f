-- Why: the catalogue, and the carts people fill from it.
--
-- A cart keeps its lines in its own row, as {"SKU": quantity}. So one statement
-- can lock, decide, write and return one consistent cart, and no product can have
-- two lines. Names and prices are not copied: they are the catalogue's until an
-- order takes its snapshot.

-- +goose Up

-- Text columns that are keys collate "C": their order is that of their bytes on
-- every database, which pages and lock order rely on.
--
-- A product is withdrawn by stock 0. If one is deleted all the same, carts show
-- its line without name and price, and cannot be ordered until it is removed.
CREATE TABLE products (
    -- ASCII only, so that no two SKUs look alike or are equal to Unicode's eyes only.
    sku              text COLLATE "C" PRIMARY KEY CHECK (sku ~ '^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$'),
    name             text   NOT NULL CHECK (char_length(name) BETWEEN 1 AND 200 AND octet_length(name) <= 800),
    -- At most 10^9: 100 lines of 999 pieces stay below 10^14, so no sum overflows
    -- bigint, and each is exact even as a float64 in somebody's JSON parser.
    unit_price_minor bigint NOT NULL CHECK (unit_price_minor BETWEEN 0 AND 1000000000),
    currency         text   NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    stock            integer NOT NULL CHECK (stock >= 0)
);

CREATE TABLE carts (
    user_id    uuid NOT NULL,
    -- The form a handle has when it is revealed. The redacted form, which is what
    -- a mistake would write here, does not fit it.
    handle     text COLLATE "C" NOT NULL CHECK (handle ~ '^cart_[0-9a-hjkmnp-tv-z]{30}$'),
    status     text NOT NULL DEFAULT 'open' CHECK (status IN ('open', 'ordered', 'discarded')),
    -- 100 lines of the longest SKU are about 7 KB.
    lines      jsonb NOT NULL DEFAULT '{}'
               CHECK (jsonb_typeof(lines) = 'object' AND octet_length(lines::text) <= 16384),
    -- Counts accepted changes. A checkout confirms the version it showed.
    version    bigint NOT NULL DEFAULT 1 CHECK (version >= 1),
    -- What became of an ordered cart, in its own row, where a caller that waited
    -- for the row's lock sees it. Such a row is kept: it is the note that answers
    -- "already ordered".
    order_id   text COLLATE "C" CHECK (order_id ~ '^ord_[0-9a-hjkmnp-tv-z]{30}$'),
    created_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    PRIMARY KEY (user_id, handle),
    CHECK ((status = 'ordered') = (order_id IS NOT NULL)),
    CHECK (expires_at - created_at <= interval '168 hours')
);

-- For the list of a user's carts, and for counting them against the quota however
-- many ordered ones a user has.
CREATE INDEX carts_open ON carts (user_id, created_at) WHERE status = 'open';

-- For the janitor.
CREATE INDEX carts_expiry ON carts (expires_at) WHERE status <> 'ordered';
