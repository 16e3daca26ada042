-- What the board knows about a message before it is sent: in one statement,
-- since each costs as much as the rest of the sending together.
SELECT EXISTS (SELECT 1 FROM board_message WHERE run_id = ?1 AND id = ?2),
    f.role, f.completed_at <> 0, t.role, t.completed_at <> 0,
    (SELECT root FROM board_message WHERE run_id = ?1 AND id = ?5 AND ?5 <> '')
FROM (SELECT 1)
LEFT JOIN board_agent f ON f.run_id = ?1 AND f.agent_id = ?3
LEFT JOIN board_agent t ON t.run_id = ?1 AND t.agent_id = ?4
