-- +goose Up
-- A message is what was said; a delivery is how far it has come with one
-- recipient. Claiming looks only at deliveries, whose rows are small. Times are
-- microseconds since 1970; expires and due are nanoseconds of the awake clock.
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
    payload      TEXT NOT NULL, -- JSON or ''
    payload_hash TEXT NOT NULL, -- of the blob that holds it, or ''
    contract_id  TEXT NOT NULL,
    in_reply_to  TEXT NOT NULL,
    root         TEXT NOT NULL, -- the id of the thread's first message
    priority     INTEGER NOT NULL,
    ttl          INTEGER NOT NULL,
    wants        INTEGER NOT NULL, -- 1: a response is required
    within       INTEGER NOT NULL,
    due          INTEGER NOT NULL, -- when it is overdue; 0: never, answered, or told
    created_at   INTEGER NOT NULL,
    UNIQUE (run_id, id)
) STRICT;
CREATE INDEX board_message_thread ON board_message (run_id, root, seq) WHERE in_reply_to <> '';
CREATE INDEX board_message_contract ON board_message (run_id, contract_id, seq) WHERE contract_id <> '';
CREATE INDEX board_message_due ON board_message (due) WHERE due > 0;

CREATE TABLE board_delivery (
    seq          INTEGER PRIMARY KEY,
    message      INTEGER NOT NULL, -- board_message.seq
    run_id       TEXT NOT NULL,
    box          TEXT NOT NULL, -- 'a/AGENT' or 'r/ROLE'
    type         TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    expires      INTEGER NOT NULL, -- 0: never
    status       TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'read', 'processed', 'failed')),
    agent        TEXT NOT NULL, -- who has it, or alone may have it
    session      TEXT NOT NULL DEFAULT '',
    reason       TEXT NOT NULL DEFAULT '',
    delivered_at INTEGER NOT NULL DEFAULT 0,
    read_at      INTEGER NOT NULL DEFAULT 0,
    processed_at INTEGER NOT NULL DEFAULT 0
) STRICT;
-- The heads of the queues: partial, so that their size is that of the backlog
-- and the first entry is the next message, however long the queue.
CREATE INDEX board_delivery_head ON board_delivery (run_id, box, priority DESC, seq) WHERE status = 'pending';
CREATE INDEX board_delivery_type ON board_delivery (run_id, box, type, priority DESC, seq) WHERE status = 'pending';
CREATE INDEX board_delivery_taken ON board_delivery (run_id, agent, session) WHERE status = 'delivered';
CREATE INDEX board_delivery_expires ON board_delivery (expires) WHERE expires > 0 AND status IN ('pending', 'delivered');
CREATE INDEX board_delivery_message ON board_delivery (message);

INSERT INTO board_message (seq, run_id, id, sender, sender_role, recipient, role, type, subject, body, payload, payload_hash,
    contract_id, in_reply_to, root, priority, ttl, wants, within, due, created_at)
SELECT seq, run_id, id, sender, '', recipient, '', 'note', subject, body, '', '', '', '', id, 0, 0, 0, 0, 0, created_at / 1000
FROM messages;
INSERT INTO board_delivery (seq, message, run_id, box, type, priority, expires, status, agent, reason)
SELECT seq, seq, run_id, 'a/' || recipient, 'note', 0, 0, status, recipient, reason FROM messages;
DROP TABLE messages;
