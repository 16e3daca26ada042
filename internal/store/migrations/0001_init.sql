-- +goose Up
CREATE TABLE store_epoch (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    epoch    INTEGER NOT NULL
);
INSERT INTO store_epoch VALUES (1, 0);

-- A rowid table: rows of many kilobytes would make the inner pages of a
-- WITHOUT ROWID table useless.
CREATE TABLE store_blob (
    id    INTEGER PRIMARY KEY,
    hash  TEXT NOT NULL UNIQUE,
    size  INTEGER NOT NULL,
    codec INTEGER NOT NULL, -- 0 plain, 1 zstd
    data  BLOB NOT NULL
);
