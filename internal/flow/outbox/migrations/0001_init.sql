-- The signals that were decided and that the engine has not taken yet.
CREATE TABLE flow_outbox (
    seq     INTEGER PRIMARY KEY,
    run_id  TEXT NOT NULL,
    id      TEXT NOT NULL,
    name    TEXT NOT NULL,
    payload TEXT NOT NULL
);
