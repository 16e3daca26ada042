-- How far a message has come stands in its own row where it is for one agent or
-- one role; only a message to everyone has deliveries, one for each agent. A
-- column with a default is written only where it says something else. Times are
-- microseconds since 1970; expires and due are nanoseconds of the awake clock. The
-- checks of the status are no IN, whose values are put into a table of their own
-- for each row that is written: a seventh of what a message costs.
CREATE TABLE board_message (
    seq          INTEGER PRIMARY KEY,
    run_id       TEXT NOT NULL,
    id           TEXT NOT NULL, -- chosen by the sender
    sender       TEXT NOT NULL,
    sender_role  TEXT NOT NULL,
    recipient    TEXT NOT NULL, -- an agent, '*' or, for a role, ''
    role         TEXT NOT NULL,
    type         TEXT NOT NULL,
    subject      TEXT NOT NULL,
    body         TEXT NOT NULL,
    contract_id  TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    created_at   INTEGER NOT NULL,
    status       TEXT NOT NULL DEFAULT 'pending' -- '': the deliveries say it
        CHECK (status = 'pending' OR status = 'delivered' OR status = 'read' OR status = 'processed' OR status = 'failed' OR status = ''),
    agent        TEXT NOT NULL DEFAULT '', -- who has it; '' while it is pending
    session      TEXT NOT NULL DEFAULT '',
    delivered_at INTEGER NOT NULL DEFAULT 0,
    payload      TEXT NOT NULL DEFAULT '', -- JSON or ''
    payload_hash TEXT NOT NULL DEFAULT '', -- of the blob that holds it, or ''
    in_reply_to  TEXT NOT NULL DEFAULT '',
    root         TEXT NOT NULL DEFAULT '', -- the id of the thread's first message; '' for that itself
    ttl          INTEGER NOT NULL DEFAULT 0,
    wants        INTEGER NOT NULL DEFAULT 0, -- 1: a response is required
    within       INTEGER NOT NULL DEFAULT 0,
    due          INTEGER NOT NULL DEFAULT 0, -- when it is overdue; 0: never, answered, or told
    expires      INTEGER NOT NULL DEFAULT 0, -- 0: never
    reason       TEXT NOT NULL DEFAULT '',
    read_at      INTEGER NOT NULL DEFAULT 0,
    processed_at INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run_id, id)
);

CREATE TABLE board_delivery (
    message      INTEGER NOT NULL, -- board_message.seq
    agent        TEXT NOT NULL,    -- who alone may have it
    run_id       TEXT NOT NULL,
    type         TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    expires      INTEGER NOT NULL,
    status       TEXT NOT NULL
        CHECK (status = 'pending' OR status = 'delivered' OR status = 'read' OR status = 'processed' OR status = 'failed'),
    session      TEXT NOT NULL DEFAULT '',
    delivered_at INTEGER NOT NULL DEFAULT 0,
    reason       TEXT NOT NULL DEFAULT '',
    read_at      INTEGER NOT NULL DEFAULT 0,
    processed_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (message, agent)
);

-- The heads of the queues: partial, so that their size is that of the backlog
-- and the first entry is the next message, however long the queue. A commit of
-- many messages writes as many of these pages as of all else: nothing is in the
-- index but what the order needs.
CREATE INDEX board_message_head ON board_message (run_id, recipient, role, priority DESC, seq) WHERE status = 'pending';
CREATE INDEX board_message_taken ON board_message (run_id, agent, session) WHERE status = 'delivered';
CREATE INDEX board_message_expires ON board_message (expires) WHERE expires > 0 AND status IN ('pending', 'delivered');
CREATE INDEX board_message_thread ON board_message (run_id, root, seq) WHERE in_reply_to <> '';
CREATE INDEX board_message_contract ON board_message (run_id, contract_id, seq) WHERE contract_id <> '';
CREATE INDEX board_message_due ON board_message (due) WHERE due > 0;
CREATE INDEX board_delivery_head ON board_delivery (run_id, agent, priority DESC, message, type) WHERE status = 'pending';
CREATE INDEX board_delivery_taken ON board_delivery (run_id, agent, session) WHERE status = 'delivered';
CREATE INDEX board_delivery_expires ON board_delivery (expires) WHERE expires > 0 AND status IN ('pending', 'delivered');

-- Who works, on what, and when it was last heard of. A row stays when its
-- agent has ended. Times are microseconds since 1970.
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
    started_at        INTEGER NOT NULL,
    last_activity_at  INTEGER NOT NULL,
    last_heartbeat_at INTEGER NOT NULL,
    completed_at      INTEGER NOT NULL DEFAULT 0, -- 0: lives
    heartbeat         INTEGER NOT NULL,           -- expected every so many nanoseconds
    missed            INTEGER NOT NULL DEFAULT 0,
    heartbeat_clock   INTEGER NOT NULL,           -- the awake clock at the last heartbeat, nanoseconds
    PRIMARY KEY (run_id, agent_id)
);

-- What agents disagree on. Evidence is the ids of the messages that show it; a
-- resolution names its proof.
CREATE TABLE board_conflict (
    seq        INTEGER PRIMARY KEY,
    run_id     TEXT NOT NULL,
    kind       TEXT NOT NULL CHECK (kind IN ('file_write', 'review_disagreement')),
    resource   TEXT NOT NULL, -- a file, or a contract
    agents     TEXT NOT NULL, -- JSON
    evidence   TEXT NOT NULL, -- JSON
    landing_failed INTEGER NOT NULL, -- 1: it is known from a landing, too, not from edits alone
    status     TEXT NOT NULL CHECK (status IN ('open', 'escalated', 'resolved')),
    escalated  TEXT NOT NULL DEFAULT '', -- the gate or the message that it went to
    decided_by TEXT NOT NULL DEFAULT '',
    how        TEXT NOT NULL DEFAULT '',
    proof_kind TEXT NOT NULL DEFAULT '',
    proof      TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    decided_at INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run_id, kind, resource, evidence)
);

-- Which files the contracts of a run have changed, each from its first turn
-- that did until the contract ends without landing. agent is who did it last.
CREATE TABLE board_edit (
    run_id      TEXT NOT NULL,
    path        TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    agent       TEXT NOT NULL,
    part        INTEGER NOT NULL, -- 1: the contract declares only symbols of the file
    PRIMARY KEY (run_id, path, contract_id)
);
CREATE INDEX board_edit_contract ON board_edit (run_id, contract_id);

-- The landings of a run in their order, from 1: what a contract that began on
-- one of them had before it.
CREATE TABLE board_landing (
    run_id      TEXT NOT NULL,
    n           INTEGER NOT NULL,
    commit_id   TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    PRIMARY KEY (run_id, n)
);
CREATE INDEX board_landing_contract ON board_landing (run_id, contract_id);
