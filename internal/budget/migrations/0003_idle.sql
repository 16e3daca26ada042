-- While a request waits to be sent again, nothing is asked for what it has reserved.
ALTER TABLE budget_requests ADD COLUMN idle INTEGER NOT NULL DEFAULT 0;
