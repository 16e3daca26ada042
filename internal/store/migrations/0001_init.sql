CREATE TABLE store_epoch (
    only_row INTEGER PRIMARY KEY CHECK (only_row = 1),
    epoch    INTEGER NOT NULL
);
INSERT INTO store_epoch VALUES (1, 0);

-- Numbered, not kept in the order of the hash: rows of many kilobytes would make
-- the inner pages of such a table useless.
CREATE TABLE store_blob (
    id    INTEGER PRIMARY KEY,
    hash  TEXT NOT NULL UNIQUE,
    size  INTEGER NOT NULL,
    codec INTEGER NOT NULL, -- 0 plain, 1 zstd
    data  BLOB NOT NULL
);
