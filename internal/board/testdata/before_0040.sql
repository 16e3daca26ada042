INSERT INTO board_agent (run_id, agent_id, role, name, contract_id, status, started_at, last_activity_at, last_heartbeat_at, completed_at, heartbeat, beat)
VALUES ('run-1', 'ann', 'coder', '', '', 'active', 1, 1, 1, 0, 5000000000, 0), ('run-1', 'bob', 'coder', '', '', 'active', 1, 1, 1, 0, 5000000000, 0),
('run-1', 'cid', 'coder', '', '', 'active', 1, 1, 1, 0, 5000000000, 0), ('run-1', 'dora', 'coder', '', '', 'failed', 1, 1, 1, 1, 5000000000, 0)

INSERT INTO board_message (seq, run_id, id, sender, sender_role, recipient, role, type, subject, body, contract_id, priority, created_at,
    status, agent, session, delivered_at, payload, payload_hash, in_reply_to, root, ttl, wants, within, due, expires, reason, read_at, processed_at) VALUES
(1, 'run-1', 'waits', 'bob', 'coder', 'ann', '', 'task_progress', 'about waits', 'body of waits', 'c1', 0, 1, 'pending', '', '', 0, '{"n":1}', '', '', '', 0, 1, 3600000000000, 0, 0, '', 0, 0),
(2, 'run-1', 'urgent', 'bob', 'coder', 'ann', '', 'task_progress', 'about urgent', 'body of urgent', '', 5, 2, 'pending', '', '', 0, '', '', '', '', 0, 0, 0, 0, 0, '', 0, 0),
(3, 'run-1', 'handed', 'bob', 'coder', 'ann', '', 'task_progress', 'about handed', 'body of handed', '', 0, 3, 'delivered', 'ann', 's0', 6, '', '', '', '', 0, 0, 0, 0, 0, '', 0, 0),
(4, 'run-1', 'shown', 'bob', 'coder', 'ann', '', 'task_progress', 'about shown', 'body of shown', '', 0, 4, 'read', 'ann', 's0', 6, '', '', '', '', 0, 1, 1, 1, 0, '', 7, 0),
(5, 'run-1', 'done', 'bob', 'coder', 'ann', '', 'task_progress', 'about done', 'body of done', '', 0, 5, 'processed', 'ann', 's0', 6, '', '', '', '', 0, 0, 0, 0, 0, '', 7, 9),
(6, 'run-1', 'dead', 'bob', 'coder', 'ann', '', 'task_progress', 'about dead', 'body of dead', '', 0, 6, 'failed', 'ann', '', 0, '', '', '', '', 0, 0, 0, 0, 0, 'its time to live is over', 0, 0),
(7, 'run-1', 'open', 'bob', 'coder', '', 'coder', 'task_progress', 'about open', 'body of open', '', 0, 7, 'pending', '', '', 0, '', '', '', '', 0, 0, 0, 0, 0, '', 0, 0),
(8, 'run-1', 'claimed', 'bob', 'coder', '', 'coder', 'task_progress', 'about claimed', 'body of claimed', '', 0, 8, 'delivered', 'ann', 's0', 6, '', '', '', '', 0, 0, 0, 0, 0, '', 0, 0),
(9, 'run-1', 'all', 'bob', 'coder', '*', '', 'task_progress', 'about all', 'body of all', '', 0, 9, '', '', '', 0, '', '', '', '', 0, 0, 0, 0, 0, '', 0, 0),
(10, 'run-1', 'all2', 'bob', 'coder', '*', '', 'task_progress', 'about all2', 'body of all2', '', 0, 10, '', '', '', 0, '', '', '', '', 0, 0, 0, 0, 0, '', 0, 0),
(11, 'run-1', 'nobody', 'bob', 'coder', '*', '', 'task_progress', 'about nobody', 'body of nobody', '', 0, 11, '', '', '', 0, '', '', '', '', 0, 0, 0, 0, 0, '', 0, 0),
(12, 'run-1', 'answer', 'ann', 'coder', 'bob', '', 'task_progress', 'about answer', 'body of answer', 'c1', 0, 12, 'pending', '', '', 0, '', '', 'waits', 'waits', 0, 0, 0, 0, 0, '', 0, 0)

INSERT INTO board_delivery (message, agent, run_id, type, priority, expires, status, session, delivered_at, reason, read_at, processed_at) VALUES
(9, 'ann', 'run-1', 'task_progress', 0, 0, 'read', 's0', 6, '', 7, 0),
(9, 'cid', 'run-1', 'task_progress', 0, 0, 'pending', '', 0, '', 0, 0),
(9, 'dora', 'run-1', 'task_progress', 0, 0, 'failed', '', 0, 'the recipient has ended: failed', 0, 0),
(10, 'ann', 'run-1', 'task_progress', 0, 0, 'delivered', 's0', 6, '', 0, 0),
(10, 'cid', 'run-1', 'task_progress', 0, 0, 'processed', 's9', 6, '', 7, 9)
