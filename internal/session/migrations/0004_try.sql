-- +goose Up
-- Calls of the open turn that have begun and not ended: how often. A row is
-- there before the call runs, so that one that ends the host is known.
CREATE TABLE session_try (
    session_id TEXT NOT NULL,
    turn       INTEGER NOT NULL,
    idx        INTEGER NOT NULL,
    tries      INTEGER NOT NULL,
    PRIMARY KEY (session_id, turn, idx)
) WITHOUT ROWID;

-- +goose Down
DROP TABLE session_try;
