-- Why: what was bought, as it was confirmed. An order is a snapshot: names and
-- prices are copied, so that it still says in years what was agreed. It outlives
-- the cart it came from.

-- +goose Up
CREATE TABLE orders (
    user_id        uuid NOT NULL,
    order_id       text COLLATE "C" NOT NULL CHECK (order_id ~ '^ord_[0-9a-hjkmnp-tv-z]{30}$'),
    cart_handle    text COLLATE "C" NOT NULL,
    -- [{"sku", "name", "quantity", "unit_price_minor"}, …] in the order of the SKUs
    lines          jsonb NOT NULL
                   CHECK (jsonb_typeof(lines) = 'array' AND jsonb_array_length(lines) BETWEEN 1 AND 100),
    shipping       text   NOT NULL CHECK (shipping ~ '^[a-z_]{1,32}$'),
    shipping_minor bigint NOT NULL CHECK (shipping_minor BETWEEN 0 AND 1000000000),
    -- The lines and the shipping, exactly: the sum the person confirmed.
    total_minor    bigint NOT NULL CHECK (total_minor BETWEEN shipping_minor AND 100000000000000),
    currency       text   NOT NULL CHECK (currency ~ '^[A-Z]{3}$'),
    placed_at      timestamptz NOT NULL,
    PRIMARY KEY (user_id, order_id),
    -- The last line of defence: whatever else goes wrong, a cart is bought once.
    UNIQUE (user_id, cart_handle)
);

-- For the pages of a user's orders, newest first.
CREATE INDEX orders_newest ON orders (user_id, placed_at, order_id);
