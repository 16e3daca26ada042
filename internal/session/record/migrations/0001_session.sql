CREATE TABLE session (
    id          TEXT PRIMARY KEY,
    run_id      TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    attempt     INTEGER NOT NULL,
    role        TEXT NOT NULL,
    agent       TEXT NOT NULL,
    tier        TEXT NOT NULL,
    model       TEXT NOT NULL, -- first of the list: provider/model
    system      TEXT NOT NULL, -- blob: the rendered system prompt, never rendered again
    tools       TEXT NOT NULL, -- blob: the tools as they were offered, JSON
    max_output  INTEGER NOT NULL,
    state       TEXT NOT NULL, -- JSON: the runtime's
    epoch       INTEGER NOT NULL DEFAULT 1, -- of the conversation
    parts       INTEGER NOT NULL DEFAULT 0, -- parts that have ended
    created_at  INTEGER NOT NULL
);
CREATE INDEX session_run ON session (run_id, contract_id);

CREATE TABLE session_part (
    session_id TEXT NOT NULL,
    part       INTEGER NOT NULL,
    outcome    TEXT NOT NULL, -- JSON
    ended_at   INTEGER NOT NULL,
    PRIMARY KEY (session_id, part)
);

CREATE TABLE session_turn (
    session_id TEXT NOT NULL,
    turn       INTEGER NOT NULL,
    try        INTEGER NOT NULL, -- of the request; each has a reservation of its own
    phase      TEXT NOT NULL,    -- asked, answered, settled
    model      TEXT NOT NULL DEFAULT '', -- that answered: provider/model
    stop       TEXT NOT NULL DEFAULT '',
    said       INTEGER NOT NULL DEFAULT 0, -- whether the answer is a message of the transcript
    tokens_in  INTEGER NOT NULL DEFAULT 0,
    tokens_cached INTEGER NOT NULL DEFAULT 0,
    tokens_write  INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    cost       INTEGER NOT NULL DEFAULT 0, -- billionths of a dollar
    unpriced   INTEGER NOT NULL DEFAULT 0,
    estimated  INTEGER NOT NULL DEFAULT 0, -- the provider gave no counts: bytes were counted
    PRIMARY KEY (session_id, turn)
);

CREATE TABLE session_message (
    session_id TEXT NOT NULL,
    seq        INTEGER NOT NULL,
    turn       INTEGER NOT NULL,
    blob       TEXT NOT NULL,
    copied     INTEGER NOT NULL DEFAULT 0, -- an epoch took it over from the one before
    PRIMARY KEY (session_id, seq)
);

-- Calls of the open turn that have begun and not ended: how often. A row is
-- there before the call runs, so that one that ends the host is known.
CREATE TABLE session_try (
    session_id TEXT NOT NULL,
    turn       INTEGER NOT NULL,
    idx        INTEGER NOT NULL,
    tries      INTEGER NOT NULL,
    PRIMARY KEY (session_id, turn, idx)
);

-- A session's conversation is sent in epochs: within one, each request only
-- appends. The messages of an epoch are those from its first seq on.
CREATE TABLE session_compaction (
    session_id TEXT NOT NULL,
    epoch      INTEGER NOT NULL, -- from 2; the first needs no row
    turn       INTEGER NOT NULL, -- settled when it began
    cause      TEXT NOT NULL,    -- near, overflow
    first_seq  INTEGER NOT NULL, -- of its messages
    summarised INTEGER NOT NULL, -- messages that the summary stands for
    bytes_before INTEGER NOT NULL,
    bytes_after  INTEGER NOT NULL,
    summary    TEXT NOT NULL,    -- blob
    written_by TEXT NOT NULL,    -- model, harness
    model      TEXT NOT NULL DEFAULT '',
    tokens_in  INTEGER NOT NULL DEFAULT 0,
    tokens_cached INTEGER NOT NULL DEFAULT 0,
    tokens_write  INTEGER NOT NULL DEFAULT 0,
    tokens_out INTEGER NOT NULL DEFAULT 0,
    cost       INTEGER NOT NULL DEFAULT 0, -- billionths of a dollar
    unpriced   INTEGER NOT NULL DEFAULT 0,
    began_at   INTEGER NOT NULL,
    PRIMARY KEY (session_id, epoch)
);

-- What a provider has shown to be the most that a model takes.
CREATE TABLE session_window (
    run_id TEXT NOT NULL,
    model  TEXT NOT NULL, -- provider/model
    tokens INTEGER NOT NULL,
    PRIMARY KEY (run_id, model)
);
