-- What was said to everyone is looked for whenever an agent joins.
CREATE INDEX board_message_everyone ON board_message (run_id, seq) WHERE recipient = '*';
