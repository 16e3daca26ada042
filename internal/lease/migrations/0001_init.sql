-- +goose Up
-- A row stays when its lease is released, so that n never repeats.
CREATE TABLE lease (
    name    TEXT PRIMARY KEY,
    holder  TEXT NOT NULL,    -- empty: released
    epoch   INTEGER NOT NULL,
    n       INTEGER NOT NULL,
    ttl     INTEGER NOT NULL, -- nanoseconds
    expires INTEGER NOT NULL  -- nanoseconds of the host's monotonic clock in this epoch
) WITHOUT ROWID;
