-- What is held is a row; lease_last.n rises over all keys, so that no token repeats.
CREATE TABLE lease_held (
    kind   TEXT NOT NULL, -- of thing, as its owner calls it
    run_id TEXT NOT NULL,
    name   TEXT NOT NULL,
    holder TEXT NOT NULL,
    label  TEXT NOT NULL,
    note   TEXT NOT NULL,
    since  INTEGER NOT NULL, -- microseconds since 1970
    epoch  INTEGER NOT NULL,
    n      INTEGER NOT NULL,
    PRIMARY KEY (kind, run_id, name)
);
CREATE TABLE lease_last (n INTEGER NOT NULL);
INSERT INTO lease_last VALUES (0);

-- One row: the awake clock stands at base plus the host's monotonic clock, and
-- never before tick, where it was seen last. Nanoseconds.
CREATE TABLE lease_clock (
    base INTEGER NOT NULL,
    tick INTEGER NOT NULL
);
INSERT INTO lease_clock VALUES (0, 0);
