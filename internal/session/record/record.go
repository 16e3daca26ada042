// Package record owns the tables of sessions: what a runtime stores of a
// session part by part and turn by turn, how it is read again, and how people
// look at it. Every statement stands in sql.go.
//
// It decides nothing: a state is a document to it, what an outcome means package
// session says, and when what is written is the runtime's to say.
package record

import (
	"database/sql"
	"embed"
	"encoding/json"
	"errors"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations is this package's schema.
func Migrations() store.Set {
	return store.Set{Name: "session", FS: migrations, Blobs: []string{
		blobsOfSystems, blobsOfTools, blobsOfMessages, blobsOfSummaries, blobsOfImages,
	}}
}

// Reader is a transaction or a snapshot of the store.
type Reader interface {
	store.Querier
	Blob(agency.Hash) ([]byte, error)
}

// Session is what a runtime goes on from, with the prompt as it was rendered once.
type Session struct {
	Model     string // first of the list: provider/model
	System    string
	Tools     []byte // as they were offered, JSON
	MaxOutput int64  // tokens of an answer
	State     []byte // the runtime's, JSON
	Parts     int    // that have ended
}

// create inserts a session without a state.
func create(tx *store.Tx, of session.Spec, s Session) error {
	system, err := tx.PutBlob([]byte(s.System))
	if err != nil {
		return err
	}
	tools, err := tx.PutBlob(s.Tools)
	if err != nil {
		return err
	}
	_, err = tx.Exec(insertSession, string(of.ID()), string(of.Run), string(of.Contract), of.Attempt, string(of.Role), string(of.Agent),
		of.Tier, s.Model, string(system), string(tools), s.MaxOutput, store.Micros(tx.Now))
	return err
}

// read reads a session; false: there is none.
func read(q Reader, id agency.SessionID) (s Session, ok bool, err error) {
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
	s.System = string(text)
	s.Tools, err = q.Blob(tools)
	return s, err == nil, err
}

// Find reads a session as it stands; false: there is none.
func Find(q Reader, id agency.SessionID) (Session, bool, error) { return read(q, id) }

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

// KeepImages stores the pictures of a message, each once a session.
func KeepImages(tx *store.Tx, id agency.SessionID, m llm.Message) error {
	for _, i := range m.Pictures() {
		blob, err := tx.PutBlob(i.Data)
		if err == nil && blob != i.Hash {
			err = agency.Errorf(agency.KindInternal, "picture %s is stored otherwise than it is named", i.Name)
		}
		if err != nil {
			return err
		}
		if _, err := tx.Exec(insertImage, string(id), string(blob)); err != nil {
			return err
		}
	}
	return nil
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

// Messages are those of a session from a seq on, with their pictures.
func Messages(q Reader, id agency.SessionID, first int) ([]llm.Message, error) {
	out, err := messages(q, selectMessages, string(id), first)
	for n := range out {
		if err == nil {
			err = out[n].Fill(q.Blob)
		}
	}
	return out, err
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
