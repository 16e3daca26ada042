-- +goose Up
-- Messages to agents. The database is the queue: heads are found by the
-- partial index, memory only wakes receivers.
CREATE TABLE messages (
    seq        INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id     TEXT NOT NULL,
    id         TEXT NOT NULL, -- chosen by the sender
    sender     TEXT NOT NULL,
    recipient  TEXT NOT NULL,
    type       TEXT NOT NULL,
    subject    TEXT NOT NULL,
    body       TEXT NOT NULL,
    status     TEXT NOT NULL,
    reason     TEXT NOT NULL DEFAULT '',
    created_at INTEGER NOT NULL,
    UNIQUE (run_id, id)
) STRICT;
CREATE INDEX messages_waiting ON messages (run_id, recipient, seq) WHERE status IN ('pending', 'delivered');
CREATE INDEX messages_read ON messages (run_id, recipient) WHERE status = 'read';
