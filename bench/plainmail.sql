-- The mailbox of the reference, as it stands there.
CREATE TABLE messages (
    id                TEXT PRIMARY KEY,
    run_id            TEXT NOT NULL,
    from_agent_id     TEXT NOT NULL,
    from_role         TEXT NOT NULL,
    to_agent_id       TEXT,
    to_role           TEXT,
    message_type      TEXT NOT NULL,
    subject           TEXT NOT NULL DEFAULT '',
    body              TEXT NOT NULL DEFAULT '',
    payload           TEXT NOT NULL DEFAULT '{}',
    subcontract_id    TEXT,
    in_reply_to       TEXT,
    thread_root_id    TEXT,
    priority          INTEGER NOT NULL DEFAULT 0,
    requires_response INTEGER NOT NULL DEFAULT 0,
    status            TEXT NOT NULL DEFAULT 'pending',
    read_at           INTEGER,
    processed_at      INTEGER,
    error             TEXT,
    created_at        INTEGER NOT NULL,
    expires_at        INTEGER
);
CREATE INDEX messages_to_agent ON messages (to_agent_id, status);
CREATE INDEX messages_to_role ON messages (to_role, status);
CREATE INDEX messages_run ON messages (run_id);
CREATE INDEX messages_subcontract ON messages (subcontract_id);
CREATE INDEX messages_thread ON messages (thread_root_id);
CREATE INDEX messages_created ON messages (created_at);
