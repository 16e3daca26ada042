CREATE TABLE workspace_run (
    run_id TEXT PRIMARY KEY,
    info   TEXT NOT NULL -- JSON: location, base, state folder and the user's settings, fixed when the run starts
);

CREATE TABLE workspace_checkpoint (
    n          INTEGER PRIMARY KEY, -- the order in which they were made
    run_id     TEXT NOT NULL,
    workspace  TEXT NOT NULL,
    id         TEXT NOT NULL,
    label      TEXT NOT NULL,
    tree       TEXT NOT NULL,
    created_at TEXT NOT NULL,
    UNIQUE (run_id, workspace, id)
);
