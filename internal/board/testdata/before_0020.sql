INSERT INTO board_agent (run_id, agent_id, role, name, contract_id, status, started_at, last_activity_at, last_heartbeat_at, completed_at, heartbeat, beat)
VALUES ('run-1', 'ann', 'coder', '', '', 'active', 1, 1, 1, 0, 5000000000, 0), ('run-1', 'bob', 'coder', '', '', 'active', 1, 1, 1, 0, 5000000000, 0),
('run-1', 'cid', 'coder', '', '', 'active', 1, 1, 1, 0, 5000000000, 0), ('run-1', 'dora', 'coder', '', '', 'failed', 1, 1, 1, 1, 5000000000, 0)

INSERT INTO board_message (seq, run_id, id, sender, sender_role, recipient, role, type, subject, body, payload, payload_hash,
    contract_id, in_reply_to, root, priority, ttl, wants, within, due, created_at) VALUES
(1, 'run-1', 'waits', 'bob', 'coder', 'ann', '', 'task_progress', 'about waits', 'body of waits', '{"n":1}', '', 'c1', '', 'waits', 0, 0, 1, 3600000000000, 0, 1),
(2, 'run-1', 'urgent', 'bob', 'coder', 'ann', '', 'task_progress', 'about urgent', 'body of urgent', '', '', '', '', 'urgent', 5, 0, 0, 0, 0, 2),
(3, 'run-1', 'handed', 'bob', 'coder', 'ann', '', 'task_progress', 'about handed', 'body of handed', '', '', '', '', 'handed', 0, 0, 0, 0, 0, 3),
(4, 'run-1', 'shown', 'bob', 'coder', 'ann', '', 'task_progress', 'about shown', 'body of shown', '', '', '', '', 'shown', 0, 0, 1, 1, 1, 4),
(5, 'run-1', 'done', 'bob', 'coder', 'ann', '', 'task_progress', 'about done', 'body of done', '', '', '', '', 'done', 0, 0, 0, 0, 0, 5),
(6, 'run-1', 'dead', 'bob', 'coder', 'ann', '', 'task_progress', 'about dead', 'body of dead', '', '', '', '', 'dead', 0, 0, 0, 0, 0, 6),
(7, 'run-1', 'open', 'bob', 'coder', '', 'coder', 'task_progress', 'about open', 'body of open', '', '', '', '', 'open', 0, 0, 0, 0, 0, 7),
(8, 'run-1', 'claimed', 'bob', 'coder', '', 'coder', 'task_progress', 'about claimed', 'body of claimed', '', '', '', '', 'claimed', 0, 0, 0, 0, 0, 8),
(9, 'run-1', 'all', 'bob', 'coder', '*', '', 'task_progress', 'about all', 'body of all', '', '', '', '', 'all', 0, 0, 0, 0, 0, 9),
(10, 'run-1', 'all2', 'bob', 'coder', '*', '', 'task_progress', 'about all2', 'body of all2', '', '', '', '', 'all2', 0, 0, 0, 0, 0, 10),
(11, 'run-1', 'nobody', 'bob', 'coder', '*', '', 'task_progress', 'about nobody', 'body of nobody', '', '', '', '', 'nobody', 0, 0, 0, 0, 0, 11),
(12, 'run-1', 'answer', 'ann', 'coder', 'bob', '', 'task_progress', 'about answer', 'body of answer', '', '', 'c1', 'waits', 'waits', 0, 0, 0, 0, 0, 12)

INSERT INTO board_delivery (seq, message, run_id, box, type, priority, expires, status, agent, session, reason, delivered_at, read_at, processed_at) VALUES
(1, 1, 'run-1', 'a/ann', 'task_progress', 0, 0, 'pending', 'ann', '', '', 0, 0, 0),
(2, 2, 'run-1', 'a/ann', 'task_progress', 5, 0, 'pending', 'ann', '', '', 0, 0, 0),
(3, 3, 'run-1', 'a/ann', 'task_progress', 0, 0, 'delivered', 'ann', 's0', '', 6, 0, 0),
(4, 4, 'run-1', 'a/ann', 'task_progress', 0, 0, 'read', 'ann', 's0', '', 6, 7, 0),
(5, 5, 'run-1', 'a/ann', 'task_progress', 0, 0, 'processed', 'ann', 's0', '', 6, 7, 9),
(6, 6, 'run-1', 'a/ann', 'task_progress', 0, 0, 'failed', 'ann', '', 'its time to live is over', 0, 0, 0),
(7, 7, 'run-1', 'r/coder', 'task_progress', 0, 0, 'pending', '', '', '', 0, 0, 0),
(8, 8, 'run-1', 'r/coder', 'task_progress', 0, 0, 'delivered', 'ann', 's0', '', 6, 0, 0),
(9, 9, 'run-1', 'a/ann', 'task_progress', 0, 0, 'read', 'ann', 's0', '', 6, 7, 0),
(10, 9, 'run-1', 'a/cid', 'task_progress', 0, 0, 'pending', 'cid', '', '', 0, 0, 0),
(11, 9, 'run-1', 'a/dora', 'task_progress', 0, 0, 'failed', 'dora', '', 'the recipient has ended: failed', 0, 0, 0),
(12, 10, 'run-1', 'a/ann', 'task_progress', 0, 0, 'delivered', 'ann', 's0', '', 6, 0, 0),
(13, 10, 'run-1', 'a/cid', 'task_progress', 0, 0, 'processed', 'cid', 's9', '', 6, 7, 9),
(14, 12, 'run-1', 'a/bob', 'task_progress', 0, 0, 'pending', 'bob', '', '', 0, 0, 0)
