package board

import (
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/store"
)

// Agents.
const (
	// joinAgent adds an agent, or opens it again.
	joinAgent = `INSERT INTO board_agent (run_id, agent_id, role, name, contract_id, status, activity,
	started_at, last_activity_at, last_heartbeat_at, heartbeat, heartbeat_clock) VALUES (?, ?, ?, ?, ?, ?, ?, ?8, ?8, ?8, ?, ?)
ON CONFLICT (run_id, agent_id) DO UPDATE SET role = excluded.role, name = excluded.name, contract_id = excluded.contract_id,
	status = CASE WHEN board_agent.completed_at = 0 THEN board_agent.status ELSE excluded.status END,
	completed_at = 0, last_heartbeat_at = ?8, heartbeat = excluded.heartbeat, missed = 0, heartbeat_clock = excluded.heartbeat_clock`

	// updateAgent keeps what a live agent tells of itself; what is empty stays.
	updateAgent = `UPDATE board_agent SET
	status = coalesce(nullif(?, ''), status), activity = coalesce(nullif(?, ''), activity),
	turns = turns + ?, tokens = tokens + ?, files = files + ?, tool_calls = tool_calls + ?, errors = errors + ?,
	last_tool = coalesce(nullif(?, ''), last_tool), last_file = coalesce(nullif(?, ''), last_file),
	last_activity_at = ?10, last_heartbeat_at = ?10, missed = 0, heartbeat_clock = ?
WHERE run_id = ? AND agent_id = ? AND completed_at = 0`

	// recordHeartbeat keeps that a live agent was heard of.
	recordHeartbeat = `UPDATE board_agent SET last_heartbeat_at = ?, missed = 0, heartbeat_clock = ?
WHERE run_id = ? AND agent_id = ? AND completed_at = 0`

	// endAgent ends an agent.
	endAgent = `UPDATE board_agent SET status = ?, activity = ?, completed_at = ?3, last_activity_at = ?3
WHERE run_id = ? AND agent_id = ?`

	// countMissed counts the heartbeats that an agent owes.
	countMissed = `UPDATE board_agent SET missed = (? - heartbeat_clock) / heartbeat WHERE run_id = ? AND agent_id = ? RETURNING missed`

	// resetHeartbeats has the live agents of a run owe none.
	resetHeartbeats = `UPDATE board_agent SET heartbeat_clock = ?, missed = 0 WHERE run_id = ? AND completed_at = 0`

	// selectParty reads what a sender needs to know of an agent.
	selectParty = `SELECT role, completed_at <> 0 FROM board_agent WHERE run_id = ? AND agent_id = ?`

	selectAgents = `SELECT run_id, agent_id, role, name, contract_id, status, activity, turns, tokens, files, tool_calls,
errors, last_tool, last_file, started_at, last_activity_at, last_heartbeat_at, completed_at, heartbeat, missed
FROM board_agent WHERE run_id = ? `

	// What selectAgents reads, by id.
	selectAllAgents  = selectAgents + byAgent
	selectAgent      = selectAgents + `AND agent_id = ?` + byAgent
	selectLiveAgents = selectAgents + `AND completed_at = 0` + byAgent
	selectLateAgents = selectAgents + `AND status IN ('initializing', 'active') AND heartbeat <= ? - heartbeat_clock` + byAgent

	byAgent = ` ORDER BY agent_id`
)

// Mail. m is a message and d the delivery of one to everyone, which has its own
// state.
const (
	messageColumns = `m.run_id, m.id, m.sender, m.sender_role, m.recipient, m.role, m.type, m.subject, m.body, m.payload,
m.payload_hash, m.contract_id, m.in_reply_to, m.root, m.priority, m.ttl, m.wants, m.within, m.created_at`

	headColumns = `m.seq, d.agent IS NOT NULL, coalesce(d.status, m.status), coalesce(d.agent, m.agent), coalesce(d.session, m.session),
coalesce(d.expires, m.expires)`

	// deliveryColumns are those of a message to everyone where it has one, else
	// the message's own.
	deliveryColumns = `coalesce(d.agent, nullif(m.agent, ''), m.recipient), coalesce(d.session, m.session), coalesce(d.status, m.status),
coalesce(d.reason, m.reason), coalesce(d.delivered_at, m.delivered_at), coalesce(d.read_at, m.read_at), coalesce(d.processed_at, m.processed_at)`

	blobsOfMessages = `SELECT payload_hash FROM board_message WHERE payload_hash <> ''`

	// selectMessage reads what was said, selectSeq its number.
	selectMessage = `SELECT ` + messageColumns + ` FROM board_message m WHERE m.run_id = ? AND m.id = ?`
	selectSeq     = `SELECT seq FROM board_message WHERE run_id = ? AND id = ?`

	// selectHead reads how far a message has come with an agent.
	selectHead = `SELECT ` + messageColumns + `, ` + headColumns + ` FROM board_message m
LEFT JOIN board_delivery d ON d.message = m.seq AND d.agent = ?3 WHERE m.run_id = ?1 AND m.id = ?2`

	// selectSaidBefore reads what a person has said to everyone and an agent has no copy of
	// that is worth anything; dropCopy makes room for one in the place of a dead letter.
	selectSaidBefore = `SELECT m.seq, m.run_id, m.type, m.priority FROM board_message m
LEFT JOIN board_delivery d ON d.message = m.seq AND d.agent = ?2
WHERE m.run_id = ?1 AND m.recipient = '*' AND m.sender = 'human' AND (d.message IS NULL OR d.status = 'failed') ORDER BY m.seq`
	dropCopy = `DELETE FROM board_delivery WHERE message = ? AND agent = ? AND status = 'failed'`

	// countUnheard is how many messages of people wait for an agent.
	countUnheard = `SELECT (SELECT count(*) FROM board_message WHERE run_id = ?1 AND recipient = ?2 AND role = '' AND status = 'pending' AND sender = 'human') +
(SELECT count(*) FROM board_delivery d JOIN board_message m ON m.seq = d.message WHERE d.run_id = ?1 AND d.agent = ?2 AND d.status = 'pending' AND m.sender = 'human')`

	// insertCopy adds the delivery of a message to everyone.
	insertCopy = `INSERT INTO board_delivery (message, agent, run_id, type, priority, expires, status)
VALUES (?, ?, ?, ?, ?, ?, 'pending')`

	// markReadBy marks a message that is with a session as read.
	markReadBy = `UPDATE board_message SET status = 'read', read_at = ?
WHERE run_id = ? AND id = ? AND status = 'delivered' AND agent = ? AND session = ?`

	// What updateMessage and updateCopy set; takenBy and backFromAgent of a
	// message alone.
	setDelivered  = `status = 'delivered', session = ?, delivered_at = ?`
	takenBy       = `, agent = ?`
	setRead       = `status = 'read', read_at = ?`
	setProcessed  = `status = 'processed', processed_at = ?`
	setFailed     = `status = 'failed', reason = ?`
	setPending    = `status = 'pending', session = '', delivered_at = 0`
	backFromAgent = `, agent = ''`
	setNotDue     = `due = 0`

	// What selectHeads picks: of a run that is with a session, or not read; of an
	// agent that is its own alone or with it, and its copies; what has expired; a
	// message that is not acted on, but none to everyone.
	withSession  = `run_id = ?1 AND status = 'delivered'`
	unread       = `run_id = ?1 AND status IN ('pending', 'delivered')`
	unreadBy     = `run_id = ?1 AND (recipient = ?2 AND role = '' AND status = 'pending' OR agent = ?2 AND status = 'delivered')`
	unreadCopies = `run_id = ?1 AND agent = ?2 AND status IN ('pending', 'delivered')`
	expired      = `expires > 0 AND expires <= ?1 AND status IN ('pending', 'delivered')`
	unsettled    = `run_id = ?1 AND id = ?2 AND recipient <> '*' AND status IN ('pending', 'delivered', 'read')`
	noCopies     = `1 = 0`

	// clearAllDeadlines has no message of a run wait for a response.
	clearAllDeadlines = `UPDATE board_message SET due = 0 WHERE run_id = ? AND due > 0`

	// clearDeadline notes that a message has a response, which is not its sender's.
	clearDeadline = `UPDATE board_message SET due = 0 WHERE run_id = ? AND id = ? AND due > 0 AND sender <> ?`

	// isAwaited tells whether a message is a question of another.
	isAwaited = `SELECT EXISTS (SELECT 1 FROM board_message WHERE run_id = ? AND id = ? AND wants = 1 AND within > 0 AND sender <> ?)`

	// takeOverdue gives the messages whose response is overdue, once.
	takeOverdue = `UPDATE board_message SET due = 0 WHERE seq IN
(SELECT seq FROM board_message WHERE due > 0 AND due <= ? ORDER BY due LIMIT ?) RETURNING run_id, id`

	// nextDue is when the next message expires or its response is overdue.
	nextDue = `SELECT coalesce(min(at), 0) FROM (
SELECT min(expires) AS at FROM board_delivery WHERE expires > 0 AND status IN ('pending', 'delivered')
UNION ALL SELECT min(expires) FROM board_message WHERE expires > 0 AND status IN ('pending', 'delivered')
UNION ALL SELECT min(due) FROM board_message WHERE due > 0) d`

	// countMail counts what waits in each inbox, and, with a role of NULL, what is
	// with each session.
	countMail = `SELECT run_id, recipient, role, '', count(*) FROM board_message
WHERE status = 'pending' GROUP BY run_id, recipient, role UNION ALL
SELECT run_id, agent, '', '', count(*) FROM board_delivery
WHERE status = 'pending' GROUP BY run_id, agent UNION ALL
SELECT run_id, agent, NULL, session, count(*) FROM board_message
WHERE status = 'delivered' GROUP BY run_id, agent, session UNION ALL
SELECT run_id, agent, NULL, session, count(*) FROM board_delivery
WHERE status = 'delivered' GROUP BY run_id, agent, session`

	// isReply picks, of the messages r of a thread, those that answer a message m:
	// a word of its own sender is none, nor is a notice of the harness about it.
	isReply = `r.run_id = m.run_id AND r.root = m.id AND r.in_reply_to = m.id AND r.sender <> m.sender
AND NOT (r.sender = 'system' AND r.type = 'error_occurred')`

	// selectAnswer reads the first reply to a message.
	selectAnswer = `SELECT r.id FROM board_message m JOIN board_message r ON r.in_reply_to <> '' AND ` + isReply + `
WHERE m.run_id = ? AND m.id = ? ORDER BY r.seq LIMIT 1`

	// selectQuestion reads what an agent stands still for.
	selectQuestion = `SELECT m.id FROM board_message m JOIN board_agent a ON a.run_id = m.run_id AND a.agent_id = m.sender
WHERE m.run_id = ? AND m.sender = ? AND m.contract_id = a.contract_id AND m.contract_id <> '' AND m.wants = 1 AND m.within > 0
AND a.completed_at = 0 AND a.status IN ('waiting', 'blocked')
AND NOT EXISTS (SELECT 1 FROM board_message r WHERE r.in_reply_to <> '' AND ` + isReply + `) ORDER BY m.seq DESC LIMIT 1`

	selectPosts = `SELECT ` + messageColumns + `, ` + deliveryColumns + `
FROM board_message m LEFT JOIN board_delivery d ON d.message = m.seq WHERE m.run_id = ?1 `

	// What selectPosts reads, in the order of sending.
	selectAllPosts     = selectPosts + bySending
	selectPost         = selectPosts + `AND m.id = ?2` + bySending
	selectConversation = selectPosts + `AND m.contract_id = ?2 AND m.contract_id <> ''` + bySending
	selectReadBy       = selectPosts + `AND (m.agent = ?2 AND m.status IN ('read', 'processed') OR EXISTS (
SELECT 1 FROM board_delivery x WHERE x.message = m.seq AND x.agent = ?2 AND x.status IN ('read', 'processed')))` + bySending

	bySending = ` ORDER BY m.seq, d.agent`

	// What was acted on; a message to everyone once all have: some of its deliveries alone
	// would tell of another message.
	deleteProcessedCopies = `DELETE FROM board_delivery WHERE run_id = ? AND ` + allProcessed
	deleteProcessed       = `DELETE FROM board_message WHERE run_id = ? AND (status = 'processed' OR
status = '' AND NOT EXISTS (SELECT 1 FROM board_delivery d WHERE d.message = board_message.seq))`

	// selectPrunable reads the runs that have any of it.
	selectPrunable = `SELECT run_id FROM board_delivery WHERE ` + allProcessed + `
UNION SELECT run_id FROM board_message m WHERE status = 'processed' OR
	status = '' AND NOT EXISTS (SELECT 1 FROM board_delivery d WHERE d.message = m.seq) ORDER BY run_id`

	allProcessed = `status = 'processed' AND NOT EXISTS (SELECT 1 FROM board_delivery o WHERE o.message = board_delivery.message AND o.status <> 'processed')`
)

// Edits and conflicts.
const (
	// selectBefore is how many landings work has before it that stands on a
	// commit.
	selectBefore = `SELECT coalesce((SELECT n FROM board_landing WHERE run_id = ?1 AND commit_id = ?2),
(SELECT max(n) FROM board_landing WHERE run_id = ?1), 0)`

	// insertLanding adds a landing behind those of its run, once.
	insertLanding = `INSERT INTO board_landing (run_id, n, commit_id, contract_id)
SELECT ?1, 1 + coalesce((SELECT max(n) FROM board_landing WHERE run_id = ?1), 0), ?2, ?3
WHERE NOT EXISTS (SELECT 1 FROM board_landing WHERE run_id = ?1 AND commit_id = ?2)`

	// insertEdit notes that a contract has changed a file, once.
	insertEdit = `INSERT INTO board_edit (run_id, path, contract_id, agent, part) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING`

	// selectOtherEdits reads who else has changed a file and when it landed; two
	// who declare symbols of it only are left out.
	selectOtherEdits = `SELECT contract_id, agent, coalesce((SELECT max(n) FROM board_landing l
	WHERE l.run_id = e.run_id AND l.contract_id = e.contract_id), 0) AS landed
FROM board_edit e WHERE run_id = ? AND path = ? AND contract_id <> ? AND (part = 0 OR ? = 0) ORDER BY contract_id`

	// selectEdits reads which contract of a run has changed which file.
	selectEdits = `SELECT contract_id, path FROM board_edit WHERE run_id = ? ORDER BY contract_id, path`

	// deleteEdits removes those of a contract that has not landed.
	deleteEdits = `DELETE FROM board_edit WHERE run_id = ?1 AND contract_id = ?2
AND NOT EXISTS (SELECT 1 FROM board_landing WHERE run_id = ?1 AND contract_id = ?2)`

	// insertConflict adds an open conflict, growConflict opens one with more
	// evidence.
	insertConflict = `INSERT INTO board_conflict (run_id, kind, resource, agents, evidence, landing_failed, status, created_at)
VALUES (?, ?, ?, ?, ?, ?, 'open', ?) RETURNING seq`
	growConflict = `UPDATE board_conflict SET agents = ?, evidence = ?, landing_failed = ?, status = 'open', escalated = '' WHERE seq = ?`

	// resolveConflict and escalateConflict say what has become of one.
	resolveConflict  = `UPDATE board_conflict SET status = 'resolved', decided_by = ?, how = ?, proof_kind = ?, proof = ?, decided_at = ? WHERE seq = ?`
	escalateConflict = `UPDATE board_conflict SET status = 'escalated', escalated = ? WHERE seq = ?`

	selectConflicts = `SELECT seq, run_id, kind, resource, agents, evidence, landing_failed, status, escalated, decided_by, how,
proof_kind, proof, created_at, decided_at FROM board_conflict WHERE run_id = ? `

	// What selectConflicts reads, in the order in which they were found.
	selectAllConflicts  = selectConflicts + byFinding
	selectConflict      = selectConflicts + `AND seq = ?`
	selectUnresolved    = selectConflicts + `AND status <> 'resolved'` + byFinding
	selectConflictsOver = selectConflicts + `AND kind = ? AND resource = ?` + byFinding

	byFinding = ` ORDER BY seq`
)

// deleteOf removes what a table has of a run.
func deleteOf(table string) string { return `DELETE FROM ` + table + ` WHERE run_id = ?` }

// updateMessage and updateCopy change the state where it stands.
func updateMessage(set string) string { return `UPDATE board_message SET ` + set + ` WHERE seq = ?` }

func updateCopy(set string) string {
	return `UPDATE board_delivery SET ` + set + ` WHERE message = ? AND agent = ?`
}

// selectHeads reads what matches, in messages and in copies, oldest first, at
// most most where it is not 0.
func selectHeads(messages, copies string, most int) string {
	limit := ""
	if most > 0 {
		limit = " LIMIT " + strconv.Itoa(most)
	}
	return `SELECT ` + messageColumns + `, ` + headColumns + ` FROM (
SELECT seq, '' AS copy FROM board_message WHERE ` + messages + ` UNION ALL SELECT message, agent FROM board_delivery WHERE ` + copies + `) h
JOIN board_message m ON m.seq = h.seq LEFT JOIN board_delivery d ON d.message = h.seq AND d.agent = h.copy ORDER BY h.seq, h.copy` + limit
}

// headQuery reads the first deliveries in the order of Claim. Each part of it
// reads the first entries of one partial index.
func headQuery(who Recipient, most int, types []agency.MessageType, floor int64) (query string, args []any) {
	var parts []string
	args = []any{string(who.Run), string(who.Agent), string(who.Session), most, floor}
	typed := ""
	if len(types) > 0 {
		typed = ` AND type IN (?` + strings.Repeat(`, ?`, len(types)-1) + `)`
	}
	part := func(fresh, seq, copy, from string) {
		parts = append(parts, `SELECT * FROM (SELECT `+seq+` AS seq, `+copy+` AS copy, priority, `+fresh+` AS fresh FROM `+from+typed+`
AND run_id = ?1 AND (expires = 0 OR expires > ?5) ORDER BY priority DESC, `+seq+` LIMIT ?4) x`)
		for _, t := range types {
			args = append(args, string(t))
		}
	}
	const earlier = ` WHERE agent = ?2 AND status = 'delivered' AND session <> ?3`
	part("0", "seq", "''", `board_message`+earlier)
	part("0", "message", "agent", `board_delivery`+earlier)
	part("1", "seq", "''", `board_message WHERE recipient = ?2 AND role = '' AND status = 'pending'`)
	part("1", "message", "agent", `board_delivery WHERE agent = ?2 AND status = 'pending'`)
	if who.Role != "" {
		role := `?` + strconv.Itoa(len(args)+1)
		args = append(args, string(who.Role))
		part("1", "seq", "''", `board_message WHERE recipient = '' AND role = `+role+` AND status = 'pending'`)
	}
	return `SELECT ` + messageColumns + `, ` + headColumns + ` FROM (` + strings.Join(parts, " UNION ALL ") + `) h
JOIN board_message m ON m.seq = h.seq LEFT JOIN board_delivery d ON d.message = h.seq AND d.agent = h.copy
ORDER BY h.fresh, h.priority DESC, h.seq LIMIT ?4`, args
}

// columns of each part. The shared ones are bound once a statement: with many
// rows what is bound costs more than what is written.
const (
	sharedColumns = `run_id, created_at`
	plainColumns  = `, id, sender, sender_role, recipient, type, body`
	markedColumns = `, role, subject, contract_id, priority`
	unmarked      = `, '', '', '', 0`
	copiedColumns = `, status`
	richColumns   = `, payload, payload_hash, in_reply_to, root, ttl, wants, within, due, expires`
)

// statements are the texts by shape and number of rows. A row that is refused
// is not written, and what is written before it in the statement its caller
// undoes (store.InsertRows).
var statements = func() (all [shapes][maxRows + 1]string) {
	for s := range shapes {
		columns, row := sharedColumns+plainColumns+markedColumns, `(?1, ?2`+bound(plainColumns)
		if s&marked != 0 {
			row += bound(markedColumns)
		} else {
			row += unmarked
		}
		if s&copied != 0 { // each recipient's says it
			columns, row = columns+copiedColumns, row+`, ''`
		}
		if s&rich != 0 {
			columns, row = columns+richColumns, row+bound(richColumns)
		}
		row += `)`
		for n := 1; n <= maxRows; n++ {
			all[s][n] = store.InsertRows + `board_message (` + columns + `) VALUES ` + row + strings.Repeat(`, `+row, n-1)
		}
	}
	return all
}()

// bound is a place for each of some columns.
func bound(columns string) string { return strings.Repeat(`, ?`, strings.Count(columns, `,`)) }
