-- +goose Up
-- Who works, on what, and when it was last heard of. A row stays when its
-- agent has ended. Times are microseconds since 1970, beat is the awake clock.
CREATE TABLE board_agent (
    run_id            TEXT NOT NULL,
    agent_id          TEXT NOT NULL,
    role              TEXT NOT NULL,
    name              TEXT NOT NULL,
    contract_id       TEXT NOT NULL,
    status            TEXT NOT NULL,
    activity          TEXT NOT NULL DEFAULT '',
    turns             INTEGER NOT NULL DEFAULT 0,
    tokens            INTEGER NOT NULL DEFAULT 0,
    files             INTEGER NOT NULL DEFAULT 0,
    tool_calls        INTEGER NOT NULL DEFAULT 0,
    errors            INTEGER NOT NULL DEFAULT 0,
    last_tool         TEXT NOT NULL DEFAULT '',
    last_file         TEXT NOT NULL DEFAULT '',
    progress          REAL NOT NULL DEFAULT 0,
    started_at        INTEGER NOT NULL,
    last_activity_at  INTEGER NOT NULL,
    last_heartbeat_at INTEGER NOT NULL,
    completed_at      INTEGER NOT NULL DEFAULT 0, -- 0: lives
    heartbeat         INTEGER NOT NULL,           -- expected every so many nanoseconds
    missed            INTEGER NOT NULL DEFAULT 0,
    beat              INTEGER NOT NULL,           -- nanoseconds
    PRIMARY KEY (run_id, agent_id)
) STRICT, WITHOUT ROWID;
