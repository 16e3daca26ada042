-- What requests that are under way hold of the user's limits, by the repository and
-- the epoch of the host that asks. Money is in billionths of a dollar.
CREATE TABLE allowance_held (
    repo   TEXT NOT NULL,
    run_id TEXT NOT NULL,
    key    TEXT NOT NULL,
    epoch  INTEGER NOT NULL,
    place  TEXT NOT NULL, -- of the repository, for people
    money  INTEGER NOT NULL,
    PRIMARY KEY (repo, run_id, key)
);

-- What was spent on a day of the user's calendar.
CREATE TABLE allowance_spent (
    day    TEXT NOT NULL, -- 2026-11-24
    repo   TEXT NOT NULL,
    run_id TEXT NOT NULL,
    place  TEXT NOT NULL,
    money  INTEGER NOT NULL,
    PRIMARY KEY (day, repo, run_id)
);
