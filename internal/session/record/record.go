// Package record owns the tables of sessions: what a runtime stores of a
// session part by part and turn by turn, how it is read again, and how people
// look at it. Every statement stands in sql.go.
//
// It decides nothing: a state and an outcome are documents to it, and when what
// is written is the runtime's to say.
package record

import (
	"database/sql"
	"embed"
	"encoding/json"
	"errors"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations is this package's schema.
func Migrations() store.Set {
	return store.Set{Name: "session", FS: migrations, Blobs: []string{
		blobsOfSystems, blobsOfTools, blobsOfMessages, blobsOfSummaries,
	}}
}

// Reader is a transaction or a snapshot of the store.
type Reader interface {
	store.Querier
	Blob(agency.Hash) ([]byte, error)
}

// Session is a session's row, with its prompt as it was rendered once.
type Session struct {
	ID        agency.SessionID
	Run       agency.RunID
	Contract  agency.ContractID
	Attempt   int
	Role      agency.RoleID
	Agent     agency.AgentID
	Tier      string
	Model     string // first of the list: provider/model
	System    string
	Tools     []byte // as they were offered, JSON
	MaxOutput int64  // tokens of an answer
	State     []byte // the runtime's, JSON
	Parts     int    // that have ended
}

// Create inserts a session without a state.
func Create(tx *store.Tx, s Session) error {
	system, err := tx.PutBlob([]byte(s.System))
	if err != nil {
		return err
	}
	tools, err := tx.PutBlob(s.Tools)
	if err != nil {
		return err
	}
	_, err = tx.Exec(insertSession, string(s.ID), string(s.Run), string(s.Contract), s.Attempt, string(s.Role), string(s.Agent),
		s.Tier, s.Model, string(system), string(tools), s.MaxOutput, store.Micros(tx.Now))
	return err
}

// Read reads what a runtime goes on from: model, prompt, state and parts; false:
// there is no such session.
func Read(q Reader, id agency.SessionID) (s Session, ok bool, err error) {
	var system, tools agency.Hash
	err = q.QueryRow(selectSession, string(id)).Scan(&system, &tools, &s.MaxOutput, &s.Model, &s.State, &s.Parts)
	if errors.Is(err, sql.ErrNoRows) {
		return s, false, nil
	}
	if err != nil {
		return s, false, err
	}
	text, err := q.Blob(system)
	if err != nil {
		return s, false, err
	}
	s.ID, s.System = id, string(text)
	s.Tools, err = q.Blob(tools)
	return s, err == nil, err
}

// Save stores a session's state, in which epoch of its conversation it is, and how
// many of its parts have ended.
func Save(tx *store.Tx, id agency.SessionID, state []byte, epoch, parts int) error {
	_, err := tx.Exec(updateState, string(state), epoch, parts, string(id))
	return err
}

// SetMaxOutput stores the most tokens of an answer.
func SetMaxOutput(tx *store.Tx, id agency.SessionID, tokens int64) error {
	_, err := tx.Exec(updateOutput, tokens, string(id))
	return err
}

// EndPart stores how a part ended.
func EndPart(tx *store.Tx, id agency.SessionID, part int, outcome []byte) error {
	_, err := tx.Exec(insertPart, string(id), part, string(outcome), store.Micros(tx.Now))
	return err
}

// Outcome is how a part ended.
func Outcome(q store.Querier, id agency.SessionID, part int) (outcome []byte, err error) {
	err = q.QueryRow(selectOutcome, string(id), part).Scan(&outcome)
	return outcome, err
}

// AppendMessage stores a message's JSON; copied: an epoch took it over from the
// one before.
func AppendMessage(tx *store.Tx, id agency.SessionID, seq, turn int, message []byte, copied bool) error {
	blob, err := tx.PutBlob(message)
	if err != nil {
		return err
	}
	_, err = tx.Exec(insertMessage, string(id), seq, turn, string(blob), copied)
	return err
}

// Messages are those of a session from a seq on.
func Messages(q Reader, id agency.SessionID, first int) ([]llm.Message, error) {
	return messages(q, selectMessages, string(id), first)
}

func messages(q Reader, query string, args ...any) (out []llm.Message, err error) {
	rows, err := q.Query(query, args...)
	if err != nil {
		return nil, err
	}
	var blobs []agency.Hash
	for rows.Next() {
		var h agency.Hash
		if err := rows.Scan(&h); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		blobs = append(blobs, h)
	}
	if err := errors.Join(rows.Err(), rows.Close()); err != nil {
		return nil, err
	}
	for _, h := range blobs {
		data, err := q.Blob(h)
		if err != nil {
			return nil, err
		}
		var m llm.Message
		if err := json.Unmarshal(data, &m); err != nil {
			return nil, err
		}
		out = append(out, m)
	}
	return out, nil
}
