-- Why: a sealed request state can be sent again and again while it lives. The row
-- that says a flow has been used is written in the transaction of the effect it
-- guards, so both exist or neither does, and the primary key lets only one exist.

-- +goose Up
CREATE TABLE redemptions (
    user_id     uuid  NOT NULL,
    flow_id     bytea NOT NULL CHECK (octet_length(flow_id) = 16),
    outcome     text  NOT NULL CHECK (outcome ~ '^[a-z_]{1,32}$'),
    -- What the outcome made, such as an order's id; empty if nothing.
    ref         text  NOT NULL CHECK (octet_length(ref) <= 64),
    redeemed_at timestamptz NOT NULL,
    -- Later than any state of the flow can live, so that a row is never gone
    -- while there is something left to replay.
    keep_until  timestamptz NOT NULL CHECK (keep_until > redeemed_at),
    PRIMARY KEY (user_id, flow_id)
);

-- For the janitor.
CREATE INDEX redemptions_keep_until ON redemptions (keep_until);
