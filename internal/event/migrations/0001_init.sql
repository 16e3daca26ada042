-- No id is given again, not even after its run has been removed, since readers
-- follow the log by id: an id is one more than the highest that is there, and the
-- row of the highest stays without its event, and without a rank (event.DeleteRun).
-- That the database counts the ids itself would be one more page for every commit
-- to write.
CREATE TABLE event (
    id          INTEGER PRIMARY KEY,
    run_id      TEXT NOT NULL,
    time        INTEGER NOT NULL,
    category    TEXT NOT NULL,
    type        TEXT NOT NULL,
    severity    TEXT NOT NULL,
    rank        INTEGER NOT NULL, -- the severity as a number, for filters; -1: no event, only its id
    agent_id    TEXT NOT NULL,
    role        TEXT NOT NULL,
    tier        TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    summary     TEXT NOT NULL,
    details     TEXT,
    message_id  TEXT NOT NULL, -- what on the board the event is about; empty and 0: nothing
    state_id    INTEGER NOT NULL
);
CREATE INDEX event_by_run ON event (run_id, id);
