-- +goose Up
-- What failed for good is looked up over all runs: similar work begins on a
-- stronger model.
CREATE INDEX contracts_failed ON contracts (run_id) WHERE status = 'failed';
