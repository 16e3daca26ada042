-- +goose Up
-- One row a run; doc is agency.Run without state and reason, copy is the
-- configuration as it was when the run started.
CREATE TABLE runs (
    id          TEXT PRIMARY KEY,
    state       TEXT NOT NULL,
    reason      TEXT NOT NULL DEFAULT '',
    doc         TEXT NOT NULL,
    copy        TEXT NOT NULL,
    merged      TEXT NOT NULL DEFAULT '',
    created_at  INTEGER NOT NULL, -- Unix nanoseconds, UTC
    finished_at INTEGER NOT NULL DEFAULT 0
) STRICT, WITHOUT ROWID;

-- What a person asked of a run; sessions read it between turns.
CREATE TABLE controls (
    run_id    TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    pause     INTEGER NOT NULL,
    cancel    INTEGER NOT NULL,
    by_whom   TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE contracts (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    id     TEXT NOT NULL,
    seq    INTEGER NOT NULL, -- order of creation in the run
    status TEXT NOT NULL,
    stage  TEXT NOT NULL,
    doc    TEXT NOT NULL,
    PRIMARY KEY (run_id, id)
) STRICT, WITHOUT ROWID;
CREATE INDEX contracts_status ON contracts (run_id, status);

-- Steps that have advanced a contract, so that none does so twice.
CREATE TABLE contract_steps (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step   TEXT NOT NULL,
    PRIMARY KEY (run_id, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE gates (
    id         TEXT PRIMARY KEY,
    run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq        INTEGER NOT NULL,
    kind       TEXT NOT NULL,
    doc        TEXT NOT NULL,              -- agency.Gate without its decision
    verb       TEXT NOT NULL DEFAULT '',   -- empty while open
    decision   TEXT NOT NULL DEFAULT '',
    expired_at INTEGER NOT NULL DEFAULT 0, -- when the deadline passed, if it did
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX gates_run ON gates (run_id, seq);
CREATE INDEX gates_open ON gates (run_id) WHERE verb = '';
