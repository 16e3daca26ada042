-- Execution tokens. Who holds one is a lease; here is who waits, first come
-- first served. Times are microseconds since 1970.
CREATE TABLE board_token (
    run_id      TEXT NOT NULL,
    type        TEXT NOT NULL,
    scope       TEXT NOT NULL,
    released_at INTEGER NOT NULL DEFAULT 0, -- last
    PRIMARY KEY (run_id, type, scope)
);

CREATE TABLE board_token_wait (
    seq          INTEGER PRIMARY KEY,
    run_id       TEXT NOT NULL,
    type         TEXT NOT NULL,
    scope        TEXT NOT NULL,
    agent_id     TEXT NOT NULL,
    hold         INTEGER NOT NULL, -- nanoseconds
    requested_at INTEGER NOT NULL,
    UNIQUE (run_id, type, scope, agent_id)
);
