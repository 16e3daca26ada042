-- The shared state: every version of a key is a row that is never changed, the
-- head of the key says which one counts and until when.
CREATE TABLE board_state (
    id         INTEGER PRIMARY KEY GENERATED ALWAYS AS IDENTITY, -- rises in commit order: what events go by
    namespace  TEXT NOT NULL, -- global, run, contract or agent
    run_id     TEXT NOT NULL, -- '' in the namespace global
    of_id      TEXT NOT NULL, -- the contract or agent, '' in the other namespaces
    key        TEXT NOT NULL,
    version    INTEGER NOT NULL,
    previous   INTEGER NOT NULL, -- id of the version before, 0: none
    deleted    INTEGER NOT NULL,
    type       TEXT NOT NULL,
    value      TEXT NOT NULL, -- JSON; '' where deleted
    author     TEXT NOT NULL,
    token      TEXT NOT NULL, -- the client's id of the write, or ''
    created_at INTEGER NOT NULL,
    UNIQUE (namespace, run_id, of_id, key, version)
);
CREATE UNIQUE INDEX board_state_token ON board_state (namespace, run_id, of_id, key, token) WHERE token <> '';
CREATE INDEX board_state_run ON board_state (run_id);

CREATE TABLE board_state_head (
    namespace TEXT NOT NULL,
    run_id    TEXT NOT NULL,
    of_id     TEXT NOT NULL,
    key       TEXT NOT NULL,
    id        INTEGER NOT NULL, -- of the version that counts
    expires   INTEGER NOT NULL, -- nanoseconds of the awake clock; 0: never
    PRIMARY KEY (namespace, run_id, of_id, key)
);
CREATE INDEX board_state_expires ON board_state_head (expires) WHERE expires > 0;
