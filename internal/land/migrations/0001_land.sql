-- One row for each move of a ref, written before it (docs/design.md, Durability).
CREATE TABLE land_intent (
    n          INTEGER PRIMARY KEY, -- the order in which they were written
    step       TEXT NOT NULL UNIQUE,
    run_id     TEXT NOT NULL,
    contract   TEXT NOT NULL, -- '' for the final merge
    ref        TEXT NOT NULL,
    old        TEXT NOT NULL,
    new        TEXT NOT NULL,
    checkout   TEXT NOT NULL DEFAULT '', -- JSON: the checked-out target, with what recovery needs
    done       INTEGER NOT NULL DEFAULT 0,
    created_at INTEGER NOT NULL,
    merge_details TEXT NOT NULL DEFAULT '' -- JSON: how it went together with others (agency.MergeDetails)
);
CREATE INDEX land_intent_run ON land_intent (run_id);
