-- The history of each run. Rows are only ever added, by the host that owns
-- the run.
CREATE TABLE flow_journal (
    run_id TEXT NOT NULL,
    seq    INTEGER NOT NULL,
    kind   TEXT NOT NULL,
    key    TEXT NOT NULL,
    body   TEXT NOT NULL, -- the record as JSON; empty when it is in the blob
    blob   TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
);

-- Results of activities that ended while their run was being stopped: used
-- instead of a second execution, when the run goes on and comes to them.
CREATE TABLE flow_kept (
    run_id TEXT NOT NULL,
    key    TEXT NOT NULL,
    hash   TEXT NOT NULL,
    body   TEXT NOT NULL,
    blob   TEXT NOT NULL,
    PRIMARY KEY (run_id, key)
);

-- How much of a running timer has passed, written now and then.
CREATE TABLE flow_timer (
    run_id  TEXT NOT NULL,
    key     TEXT NOT NULL,
    elapsed INTEGER NOT NULL, -- nanoseconds
    PRIMARY KEY (run_id, key)
);

CREATE TABLE flow_signal (
    seq     INTEGER PRIMARY KEY,
    run_id  TEXT NOT NULL,
    id      TEXT NOT NULL,
    name    TEXT NOT NULL,
    payload TEXT NOT NULL,
    UNIQUE (run_id, id)
);
CREATE INDEX flow_signal_order ON flow_signal (run_id, seq);
