SELECT id, run_id, contract_id, kind, command, tree, env, exit_code, cause, duration, passed, failed, skipped,
    parsed, detail, at, stage, copy_of
FROM receipts
