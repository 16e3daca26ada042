-- +goose Up
-- What the manager says at the end of a run: agency.ManagerWords. All else of
-- a report is measured from the other records.
CREATE TABLE reports (
    run_id TEXT PRIMARY KEY REFERENCES runs (id) ON DELETE CASCADE,
    words  TEXT NOT NULL
) STRICT, WITHOUT ROWID;
