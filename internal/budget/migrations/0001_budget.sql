-- The budget tree of a run: the root is "run", below it stages or tiers, contracts
-- and sessions.
-- Limits of 0 are none. Money is in billionths of a dollar, wall in nanoseconds.
CREATE TABLE budget_nodes (
    run_id          TEXT NOT NULL,
    node            TEXT NOT NULL,
    parent          TEXT NOT NULL, -- empty for the root
    limit_money     INTEGER NOT NULL,
    limit_tokens    INTEGER NOT NULL,
    limit_wall      INTEGER NOT NULL,
    spent_money     INTEGER NOT NULL DEFAULT 0,
    spent_tokens    INTEGER NOT NULL DEFAULT 0,
    spent_wall      INTEGER NOT NULL DEFAULT 0,
    reserved_money  INTEGER NOT NULL DEFAULT 0,
    reserved_tokens INTEGER NOT NULL DEFAULT 0,
    warned          INTEGER NOT NULL DEFAULT 0, -- thresholds that were told
    told            INTEGER NOT NULL DEFAULT 0, -- that nothing is left
    PRIMARY KEY (run_id, node)
);

-- One row a model request: reserved before it is sent, settled after the
-- answer, or charged in full when a crash lost the answer.
CREATE TABLE budget_requests (
    n           INTEGER PRIMARY KEY, -- the order in which they were reserved
    run_id      TEXT NOT NULL,
    key         TEXT NOT NULL,
    node        TEXT NOT NULL,
    state       TEXT NOT NULL, -- reserved, settled, lost, released
    epoch       INTEGER NOT NULL,
    at          INTEGER NOT NULL DEFAULT 0, -- when it was reserved, then when it was settled or charged
    money       INTEGER NOT NULL, -- reserved, then spent
    tokens      INTEGER NOT NULL,
    tokens_in     INTEGER NOT NULL DEFAULT 0,
    tokens_cached INTEGER NOT NULL DEFAULT 0,
    tokens_write  INTEGER NOT NULL DEFAULT 0,
    tokens_out    INTEGER NOT NULL DEFAULT 0,
    unpriced    INTEGER NOT NULL DEFAULT 0,
    estimated   INTEGER NOT NULL DEFAULT 0, -- the provider gave no counts: bytes were counted
    agent       TEXT NOT NULL,
    role        TEXT NOT NULL,
    tier        TEXT NOT NULL,
    model       TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    UNIQUE (run_id, key)
);
CREATE INDEX budget_reserved ON budget_requests (run_id, epoch) WHERE state = 'reserved';

-- Who waits until others have settled, because its request does not fit beside
-- what they hold. Who is first is asked first.
CREATE TABLE budget_waiting (
    n        INTEGER PRIMARY KEY, -- the order in which they came
    run_id   TEXT NOT NULL,
    node     TEXT NOT NULL, -- that asks
    held_at  TEXT NOT NULL, -- whose limit is held
    priority INTEGER NOT NULL,
    epoch    INTEGER NOT NULL,
    UNIQUE (run_id, node)
);
