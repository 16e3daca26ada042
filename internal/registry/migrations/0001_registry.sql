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
);

-- What a person asked of a run; sessions read it between turns.
CREATE TABLE controls (
    run_id    TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    pause     INTEGER NOT NULL,
    cancel    INTEGER NOT NULL,
    by_whom   TEXT NOT NULL,
    hand_over INTEGER NOT NULL DEFAULT 0 -- the pause is that of a host which hands its runs over
);

-- What the overseer did about an agent because of an event, once; what it ordered a
-- session to do, the session reads between turns.
CREATE TABLE interventions (
    run_id     TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    event_id   INTEGER NOT NULL, -- that showed it
    behaviour  TEXT NOT NULL,
    session_id TEXT NOT NULL,
    action     TEXT NOT NULL, -- log, nudge, pause, escalate or halt
    reason     TEXT NOT NULL,
    by_whom    TEXT NOT NULL, -- empty: the overseer's detectors
    PRIMARY KEY (run_id, event_id, behaviour, by_whom)
);
CREATE INDEX interventions_session ON interventions (run_id, session_id) WHERE action IN ('pause', 'escalate', 'halt');

CREATE TABLE contracts (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    id     TEXT NOT NULL,
    seq    INTEGER NOT NULL, -- order of creation in the run
    status TEXT NOT NULL,
    stage  TEXT NOT NULL,
    completed_at INTEGER NOT NULL DEFAULT 0, -- Unix nanoseconds, UTC
    doc    TEXT NOT NULL,
    PRIMARY KEY (run_id, id)
);
CREATE INDEX contracts_run ON contracts (run_id, seq);
-- What failed for good is looked up over all runs: similar work begins on a
-- stronger model.
CREATE INDEX contracts_failed ON contracts (run_id) WHERE status = 'failed';
CREATE INDEX contracts_ended ON contracts (completed_at) WHERE completed_at > 0;

-- What contracts of any run came to, for the success rates of the repository and for
-- estimates. No run owns it: it stays where its run is removed.
CREATE TABLE outcomes (
    run_id      TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    ended_at    INTEGER NOT NULL, -- Unix nanoseconds, UTC
    doc         TEXT NOT NULL,    -- agency.Outcome
    PRIMARY KEY (run_id, contract_id)
);
CREATE INDEX outcomes_ended ON outcomes (ended_at);

-- Steps that have advanced a contract, so that none does so twice.
CREATE TABLE contract_steps (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step   TEXT NOT NULL,
    PRIMARY KEY (run_id, step)
);

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
);
CREATE INDEX gates_run ON gates (run_id, seq);
CREATE INDEX gates_open ON gates (run_id) WHERE verb = '';

-- Reviews in the order in which they were given; step is the one that did.
CREATE TABLE reviews (
    run_id      TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step        TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    contract_id TEXT NOT NULL,
    doc         TEXT NOT NULL, -- agency.Review
    PRIMARY KEY (run_id, step)
);
CREATE INDEX reviews_run ON reviews (run_id, seq);

-- What the manager says at the end of a run: agency.ManagerWords. All else of
-- a report is measured from the other records.
CREATE TABLE reports (
    run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    words  TEXT NOT NULL
);
