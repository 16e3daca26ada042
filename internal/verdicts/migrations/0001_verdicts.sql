-- One row for each verification of a claim that came to its end, under the key
-- of its step: a step that is repeated finds its verdict.
CREATE TABLE verdicts (
    n           INTEGER NOT NULL PRIMARY KEY,
    run_id      TEXT    NOT NULL,
    step        TEXT    NOT NULL,
    contract_id TEXT    NOT NULL,
    verdict     TEXT    NOT NULL, -- JSON
    at          INTEGER NOT NULL,
    UNIQUE (run_id, step)
);
