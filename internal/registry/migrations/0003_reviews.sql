-- +goose Up
-- Reviews in the order in which they were given; step is the one that did.
CREATE TABLE reviews (
    run_id      TEXT NOT NULL REFERENCES runs (id) ON DELETE CASCADE,
    step        TEXT NOT NULL,
    seq         INTEGER NOT NULL,
    contract_id TEXT NOT NULL,
    doc         TEXT NOT NULL, -- agency.Review
    PRIMARY KEY (run_id, step)
) STRICT, WITHOUT ROWID;
CREATE INDEX reviews_run ON reviews (run_id, seq);
