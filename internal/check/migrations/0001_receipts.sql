-- One row for each check that a run made or took over. detail is a blob: tests
-- and output.
CREATE TABLE receipts (
    id          TEXT    NOT NULL PRIMARY KEY,
    run_id      TEXT    NOT NULL,
    n           INTEGER NOT NULL, -- counts the receipts of a run
    contract_id TEXT    NOT NULL,
    agent_id    TEXT    NOT NULL,
    stage       TEXT    NOT NULL, -- work, base, claim, landing or target
    kind        TEXT    NOT NULL,
    command     TEXT    NOT NULL,
    tree        TEXT    NOT NULL,
    env         TEXT    NOT NULL,
    exit_code   INTEGER NOT NULL,
    cause       TEXT    NOT NULL, -- why it did not end by itself, or its results are not whole
    unread      TEXT    NOT NULL DEFAULT '', -- the report that could not be read, and why
    duration    REAL    NOT NULL, -- seconds
    cpu         REAL    NOT NULL DEFAULT 0, -- what it took of the processors, in seconds; of one that was taken over nothing
    passed      INTEGER NOT NULL,
    failed      INTEGER NOT NULL,
    skipped     INTEGER NOT NULL,
    parsed      INTEGER NOT NULL,
    reusable    INTEGER NOT NULL, -- the command came to its own end and nothing of it is missing
    copy_of     TEXT    NOT NULL, -- the receipt that was taken over instead of running again
    detail      TEXT    NOT NULL,
    at          INTEGER NOT NULL,
    UNIQUE (run_id, n)
);

-- The key under which a check need not run again.
CREATE INDEX receipts_key ON receipts (tree, command, env, reusable, at);
