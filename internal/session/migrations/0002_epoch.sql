-- +goose Up
-- A session's conversation is sent in epochs: within one, each request only
-- appends. The messages of an epoch are those from its first seq on.
CREATE TABLE session_epoch (
    session_id TEXT NOT NULL,
    epoch      INTEGER NOT NULL, -- from 2; the first needs no row
    turn       INTEGER NOT NULL, -- settled when it began
    cause      TEXT NOT NULL,    -- near, overflow
    first_seq  INTEGER NOT NULL, -- of its messages
    folded     INTEGER NOT NULL, -- messages that the summary stands for
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
) WITHOUT ROWID;

-- A message that an epoch took over from the one before.
ALTER TABLE session_message ADD COLUMN copied INTEGER NOT NULL DEFAULT 0;

-- What a provider has shown to be the most that a model takes.
CREATE TABLE session_window (
    run_id TEXT NOT NULL,
    model  TEXT NOT NULL, -- provider/model
    tokens INTEGER NOT NULL,
    PRIMARY KEY (run_id, model)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE session_window;
ALTER TABLE session_message DROP COLUMN copied;
DROP TABLE session_epoch;
