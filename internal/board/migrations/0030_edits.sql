-- +goose Up
-- Which files the contracts of a run have changed, each from its first turn
-- that did until the contract ends without landing. agent is who did it last.
CREATE TABLE board_edit (
    run_id      TEXT NOT NULL,
    path        TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    agent       TEXT NOT NULL,
    part        INTEGER NOT NULL, -- 1: the contract declares only symbols of the file
    PRIMARY KEY (run_id, path, contract_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX board_edit_contract ON board_edit (run_id, contract_id);

-- The landings of a run in their order, from 1: what a contract that began on
-- one of them had before it.
CREATE TABLE board_landing (
    run_id      TEXT NOT NULL,
    n           INTEGER NOT NULL,
    commit_id   TEXT NOT NULL,
    contract_id TEXT NOT NULL,
    PRIMARY KEY (run_id, n)
) STRICT, WITHOUT ROWID;
CREATE INDEX board_landing_contract ON board_landing (run_id, contract_id);
