-- +goose Up
-- AUTOINCREMENT: an id is never given again, not even after its run has been
-- removed, since readers follow the log by id.
CREATE TABLE event (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    run_id      TEXT NOT NULL,
    time        INTEGER NOT NULL,
    category    TEXT NOT NULL,
    type        TEXT NOT NULL,
    severity    TEXT NOT NULL,
    rank        INTEGER NOT NULL, -- the severity as a number, for filters
    agent_id    TEXT NOT NULL,
    role        TEXT NOT NULL,
    tier        TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    summary     TEXT NOT NULL,
    details     TEXT
);
CREATE INDEX event_by_run ON event (run_id, id);
