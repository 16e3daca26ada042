-- +goose Up
-- The tables as they were, but for the checks of the status: the values of an IN
-- are put into a table of their own for each row that is written, which was a
-- seventh of what a message costs.
CREATE TABLE board_mail (
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
) STRICT;

CREATE TABLE board_copy (
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
) STRICT, WITHOUT ROWID;

INSERT INTO board_mail SELECT * FROM board_message;
INSERT INTO board_copy SELECT * FROM board_delivery;
DROP TABLE board_message;
DROP TABLE board_delivery;
ALTER TABLE board_mail RENAME TO board_message;
ALTER TABLE board_copy RENAME TO board_delivery;

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
