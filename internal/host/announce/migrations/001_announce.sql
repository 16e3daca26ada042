-- The event up to which all is told; one row.
CREATE TABLE announce_mark (
    id       INTEGER PRIMARY KEY, -- always 1
    event_id INTEGER NOT NULL
);

-- What stands at an event after the mark, for one of its run's places: held, its keys
-- were missing and that has been said; sending, as part of the message message_key;
-- done, sent or given up.
CREATE TABLE announce_part (
    run_id      TEXT NOT NULL,
    event_id    INTEGER NOT NULL,
    place       INTEGER NOT NULL, -- index in the notify of the run's copy
    state       TEXT NOT NULL,
    message_key TEXT NOT NULL,    -- empty: the event's own
    PRIMARY KEY (event_id, place)
);
CREATE INDEX announce_part_run ON announce_part (run_id);
