INSERT INTO messages (seq, run_id, id, sender, recipient, type, subject, body, status, reason, created_at) VALUES
(1, 'run-1', '1', 'human', 'ann', 'note', 'about 1', 'body of 1', 'pending', '', 5000),
(2, 'run-1', '2', 'human', 'ann', 'note', 'about 2', 'body of 2', 'delivered', '', 5000),
(3, 'run-1', '3', 'human', 'ann', 'note', 'about 3', 'body of 3', 'read', '', 5000),
(4, 'run-1', '4', 'human', 'ann', 'note', 'about 4', 'body of 4', 'processed', '', 5000),
(5, 'run-1', '5', 'human', 'ann', 'note', 'about 5', 'body of 5', 'failed', 'too late', 5000)
