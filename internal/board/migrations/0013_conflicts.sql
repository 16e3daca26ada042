-- +goose Up
-- What agents disagree on. Evidence is the ids of the messages that show it; a
-- resolution names its proof.
CREATE TABLE board_conflict (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id     TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('file_write', 'review_disagreement')),
    resource   TEXT NOT NULL, -- a file, or a contract
    agents     TEXT NOT NULL, -- JSON
    evidence   TEXT NOT NULL, -- JSON
    status     TEXT NOT NULL CHECK (status IN ('open', 'escalated', 'resolved')),
    escalated  TEXT NOT NULL DEFAULT '', -- the gate or the message that it went to
    decided_by TEXT NOT NULL DEFAULT '',
    how        TEXT NOT NULL DEFAULT '',
    proof_kind TEXT NOT NULL DEFAULT '',
    proof      TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    decided_at INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run_id, kind, resource, evidence)
) STRICT;
