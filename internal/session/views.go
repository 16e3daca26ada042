package session

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations is this package's schema.
func Migrations() store.Set {
	return store.Set{Name: "session", FS: migrations, Blobs: []string{
		"SELECT system FROM session", "SELECT tools FROM session", "SELECT blob FROM session_message", "SELECT summary FROM session_epoch",
	}}
}

// Info is a session as people look at it. What it cost is the budget's to say.
type Info struct {
	ID       agency.SessionID  `json:"id"`
	Contract agency.ContractID `json:"contract_id"`
	Attempt  int               `json:"attempt"`
	Role     agency.RoleID     `json:"role"`
	Agent    agency.AgentID    `json:"agent"`
	Tier     string            `json:"tier,omitempty"`
	Model    string            `json:"model"`
	Turns    int               `json:"turns"`
	Epochs   int               `json:"epochs"`  // from 1; each compaction and each other model begins one
	Outcome  string            `json:"outcome"` // of its last part; running where none has ended, or a later one goes on
	Reason   string            `json:"reason,omitempty"`
	Started  time.Time         `json:"started_at"`
}

// Sessions are those of a run, oldest first. What each cost the budget says.
func Sessions(q store.Querier, run agency.RunID) ([]Info, error) {
	rows, err := q.Query(`SELECT s.id, s.contract_id, s.attempt, s.role, s.agent, s.tier, s.model, s.created_at, count(t.turn),
		max(1, coalesce(json_extract(s.state, '$.epoch'), 1)), coalesce((SELECT outcome FROM session_part p WHERE p.session_id = s.id AND p.part = s.parts), '{}')
		FROM session s LEFT JOIN session_turn t ON t.session_id = s.id AND t.phase <> 'asked'
		WHERE s.run_id = ? GROUP BY s.id ORDER BY s.created_at, s.id`, string(run))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err below is the one that counts
	var out []Info
	for rows.Next() {
		var i Info
		var at int64
		var doc string
		if err := rows.Scan(&i.ID, &i.Contract, &i.Attempt, &i.Role, &i.Agent, &i.Tier, &i.Model, &at, &i.Turns, &i.Epochs, &doc); err != nil {
			return nil, err
		}
		var o Outcome
		if err := json.Unmarshal([]byte(doc), &o); err != nil {
			return nil, fmt.Errorf("session %s: %w", i.ID, err)
		}
		i.Started, i.Outcome, i.Reason = store.Time(at), string(o.Kind), o.Reason
		if i.Outcome == "" {
			i.Outcome = "running"
		}
		out = append(out, i)
	}
	return out, rows.Err()
}

// Reader is a transaction or a snapshot of the store.
type Reader interface {
	store.Querier
	Blob(agency.Hash) ([]byte, error)
}

// Transcript is a session's conversation: its system prompt and its messages,
// as a model was sent them. What a later epoch repeats stands in it once.
func Transcript(q Reader, id agency.SessionID) (system string, messages []llm.Message, err error) {
	var h agency.Hash
	if err := q.QueryRow(`SELECT system FROM session WHERE id = ?`, string(id)).Scan(&h); err != nil {
		return "", nil, agency.Errorf(agency.KindNotFound, "session %s: there is none", id)
	}
	text, err := q.Blob(h)
	if err != nil {
		return "", nil, err
	}
	rows, err := q.Query(`SELECT blob FROM session_message WHERE session_id = ? AND NOT copied ORDER BY seq`, string(id))
	if err != nil {
		return "", nil, err
	}
	var blobs []agency.Hash
	for rows.Next() {
		if err := rows.Scan(&h); err != nil {
			return "", nil, errors.Join(err, rows.Close())
		}
		blobs = append(blobs, h)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return "", nil, err
	}
	for _, h := range blobs {
		data, err := q.Blob(h)
		if err != nil {
			return "", nil, err
		}
		var m llm.Message
		if err := json.Unmarshal(data, &m); err != nil {
			return "", nil, fmt.Errorf("session %s: %w", id, err)
		}
		messages = append(messages, m)
	}
	return string(text), messages, nil
}

// Forget removes a run's sessions; the caller removes the run.
func Forget(tx *store.Tx, run agency.RunID) error {
	for _, table := range []string{"session_call", "session_message", "session_turn", "session_part", "session_epoch", "session_try"} {
		q := `DELETE FROM ` + table + ` WHERE session_id IN (SELECT id FROM session WHERE run_id = ?)`
		if _, err := tx.Exec(q, string(run)); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(`DELETE FROM session_window WHERE run_id = ?`, string(run)); err != nil {
		return err
	}
	_, err := tx.Exec(`DELETE FROM session WHERE run_id = ?`, string(run))
	return err
}
