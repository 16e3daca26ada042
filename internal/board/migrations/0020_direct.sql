-- +goose Up
-- How far a message has come stands in its own row where it is for one agent or
-- one role; only a message to everyone has deliveries, one for each agent. A
-- column with a default is written only where it says something else. Times are
-- microseconds since 1970; expires and due are nanoseconds of the awake clock.
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
        CHECK (status IN ('pending', 'delivered', 'read', 'processed', 'failed', '')),
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
    status       TEXT NOT NULL CHECK (status IN ('pending', 'delivered', 'read', 'processed', 'failed')),
    session      TEXT NOT NULL DEFAULT '',
    delivered_at INTEGER NOT NULL DEFAULT 0,
    reason       TEXT NOT NULL DEFAULT '',
    read_at      INTEGER NOT NULL DEFAULT 0,
    processed_at INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (message, agent)
) STRICT, WITHOUT ROWID;

INSERT INTO board_mail (seq, run_id, id, sender, sender_role, recipient, role, type, subject, body, contract_id, priority, created_at,
    status, agent, session, delivered_at, payload, payload_hash, in_reply_to, root, ttl, wants, within, due, expires, reason, read_at, processed_at)
SELECT m.seq, m.run_id, m.id, m.sender, m.sender_role, m.recipient, m.role, m.type, m.subject, m.body, m.contract_id, m.priority, m.created_at,
    CASE WHEN m.recipient = '*' THEN '' ELSE coalesce(d.status, 'processed') END,
    CASE WHEN d.status = 'pending' THEN '' ELSE coalesce(d.agent, '') END, coalesce(d.session, ''), coalesce(d.delivered_at, 0),
    m.payload, m.payload_hash, m.in_reply_to, CASE WHEN m.root = m.id THEN '' ELSE m.root END, m.ttl, m.wants, m.within, m.due,
    coalesce(d.expires, 0), coalesce(d.reason, ''), coalesce(d.read_at, 0), coalesce(d.processed_at, 0)
FROM board_message m LEFT JOIN board_delivery d ON d.message = m.seq AND m.recipient <> '*';

INSERT INTO board_copy (message, agent, run_id, type, priority, expires, status, session, delivered_at, reason, read_at, processed_at)
SELECT d.message, d.agent, d.run_id, d.type, d.priority, d.expires, d.status, d.session, d.delivered_at, d.reason, d.read_at, d.processed_at
FROM board_delivery d JOIN board_message m ON m.seq = d.message AND m.recipient = '*';

DROP TABLE board_delivery;
DROP TABLE board_message;
ALTER TABLE board_mail RENAME TO board_message;
ALTER TABLE board_copy RENAME TO board_delivery;

-- The heads of the queues: partial, so that their size is that of the backlog
-- and the first entry is the next message, however long the queue. The type is
-- there for who asks for some types only.
CREATE INDEX board_message_head ON board_message (run_id, recipient, role, priority DESC, seq, type) WHERE status = 'pending';
CREATE INDEX board_message_taken ON board_message (run_id, agent, session) WHERE status = 'delivered';
CREATE INDEX board_message_expires ON board_message (expires) WHERE expires > 0 AND status IN ('pending', 'delivered');
CREATE INDEX board_message_thread ON board_message (run_id, root, seq) WHERE in_reply_to <> '';
CREATE INDEX board_message_contract ON board_message (run_id, contract_id, seq) WHERE contract_id <> '';
CREATE INDEX board_message_due ON board_message (due) WHERE due > 0;
CREATE INDEX board_delivery_head ON board_delivery (run_id, agent, priority DESC, message, type) WHERE status = 'pending';
CREATE INDEX board_delivery_taken ON board_delivery (run_id, agent, session) WHERE status = 'delivered';
CREATE INDEX board_delivery_expires ON board_delivery (expires) WHERE expires > 0 AND status IN ('pending', 'delivered');

-- What changes when an agent comes, goes or gets another role: who remembers
-- the agents asks for it in the transaction that relies on them. Random, since
-- a number that counts would come back after a rollback.
CREATE TABLE board_crew (
    one     INTEGER PRIMARY KEY CHECK (one = 1),
    version INTEGER NOT NULL
) STRICT;
INSERT INTO board_crew VALUES (1, random());
-- +goose StatementBegin
CREATE TRIGGER board_agent_comes AFTER INSERT ON board_agent BEGIN UPDATE board_crew SET version = random(); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER board_agent_changes AFTER UPDATE OF role, completed_at ON board_agent BEGIN UPDATE board_crew SET version = random(); END;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE TRIGGER board_agent_goes AFTER DELETE ON board_agent BEGIN UPDATE board_crew SET version = random(); END;
-- +goose StatementEnd
