-- The small number of a run beside its id, unique in the repository. It is given in the
-- transaction that records the run, the next after the greatest that ever was: a row stays,
-- without its run, where that is removed, so that no number comes again.
CREATE TABLE run_numbers (
    number INTEGER PRIMARY KEY,
    run_id TEXT UNIQUE REFERENCES runs (id) ON DELETE SET NULL
);
INSERT INTO run_numbers (number, run_id) SELECT row_number() OVER (ORDER BY created_at, id), id FROM runs;
