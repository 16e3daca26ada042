-- +goose Up
-- One row: the awake clock stands at base plus the host's monotonic clock, and
-- never before tick, where it was seen last. Nanoseconds.
CREATE TABLE lease_clock (
    base INTEGER NOT NULL,
    tick INTEGER NOT NULL
) STRICT;
INSERT INTO lease_clock VALUES (0, 0);
