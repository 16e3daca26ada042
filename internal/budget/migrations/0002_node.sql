-- What a session spent is read alone when its contract ends.
CREATE INDEX budget_of_node ON budget_requests (run_id, node);
