-- The pictures that a person gave a run, in their order.
CREATE TABLE run_images (
    run_id TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    seq    INTEGER NOT NULL,
    name   TEXT NOT NULL, -- as agents are shown it
    blob   TEXT NOT NULL,
    PRIMARY KEY (run_id, seq)
);
