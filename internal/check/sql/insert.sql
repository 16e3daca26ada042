INSERT INTO receipts (id, run_id, n, contract_id, agent_id, stage, kind, command, tree, env, exit_code, cause,
    duration, passed, failed, skipped, parsed, reusable, copy_of, detail, at)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
