// Package state is what the agents of a run agree on: keys with versions, of the
// repository, a run, a contract or an agent.
//
// Each operation is a function of a transaction (store.Tx). The outputs of a handoff are
// shared in the commit of its message (see Hooks of Migrations).
//
// The package does not know what a value means.
package state

import (
	"bytes"
	"encoding/json"
	"strconv"
	"time"
	"unicode/utf8"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/store"
	"agency/internal/text"
)

// Namespace says for whom a key of the shared state is.
type Namespace string

// The namespaces. A key of an agent is written by that agent alone.
const (
	Global     Namespace = "global" // of the repository, over all runs
	OfRun      Namespace = "run"
	OfContract Namespace = "contract"
	OfAgent    Namespace = "agent"
)

// Key names an entry of the shared state.
type Key struct {
	Namespace Namespace    `json:"namespace"`
	Run       agency.RunID `json:"run_id,omitempty"` // empty in Global
	Of        string       `json:"of,omitempty"`     // the contract or agent, in their namespaces
	Name      string       `json:"key"`
}

// columns are the key as every statement names it, and what else it asks.
func (k Key) columns(more ...any) []any {
	return append([]any{string(k.Namespace), string(k.Run), k.Of, k.Name}, more...)
}

func (k Key) String() string {
	s := string(k.Namespace)
	for _, of := range []string{string(k.Run), k.Of} {
		if of != "" {
			s += "/" + of
		}
	}
	return s + ":" + k.Name
}

// ValueType is what a value is declared to be.
type ValueType string

// The types of values.
const (
	TypeJSON    ValueType = "json"
	TypeString  ValueType = "string"
	TypeInteger ValueType = "integer" // of 64 bits
	TypeBoolean ValueType = "boolean"
)

// Entry is one version of a key. Its ID rises over all keys.
type Entry struct {
	Key
	ID        int64           `json:"id"`
	Version   int64           `json:"version"` // 1 is the first
	Previous  int64           `json:"previous_version_id,omitempty"`
	Type      ValueType       `json:"value_type,omitempty"`
	Value     json.RawMessage `json:"value,omitempty"`
	Deleted   bool            `json:"deleted,omitempty"`
	CreatedBy string          `json:"created_by"`
	CreatedAt time.Time       `json:"created_at"`
	// expires is when the awake clock takes it away; 0 never.
	expires time.Duration
}

// MaxValue is the largest value in bytes, MaxKey the longest name of a key.
const (
	MaxValue = 1 << 20
	MaxKey   = 256
)

// Write is a new version of a key.
type Write struct {
	Key
	Type  ValueType // TypeJSON where empty
	Value json.RawMessage
	By    string        // an agent's id, agency.FromHuman or agency.FromSystem
	TTL   time.Duration // awake time until it is deleted; 0: never
	// ID is the client's id of the write: the same again is the same write, and
	// returns what the first one did.
	ID string

	deleted bool
}

// VersionConflict is the error of a compare-and-swap that came too late. Its
// kind is KindConflict.
type VersionConflict struct {
	Wanted  int64
	Current Entry // with version 0 where the key was never written
	err     error
}

func (e *VersionConflict) Error() string { return e.err.Error() }

// Unwrap gives the error with the kind.
func (e *VersionConflict) Unwrap() error { return e.err }

// Put writes a key, whatever it was.
func Put(tx *store.Tx, w Write) (Entry, error) { return write(tx, w, nil) }

// Swap writes a key whose version is still the one that the caller has
// seen, 0 for one that is not there; else *VersionConflict with the entry as it
// is, so that trying again needs no read.
func Swap(tx *store.Tx, w Write, version int64) (Entry, error) {
	return write(tx, w, func(now Entry) error {
		if version == now.Version || version == 0 && now.Deleted {
			return nil
		}
		return &VersionConflict{Wanted: version, Current: now, err: agency.Errorf(agency.KindConflict,
			"%s is at version %d by %s, not at %d", w.Key, now.Version, now.CreatedBy, version)}
	})
}

// Delete deletes a key, which is a version of it too. KindNotFound where
// there is nothing to delete.
func Delete(tx *store.Tx, k Key, by string) (Entry, error) {
	return write(tx, Write{Key: k, By: by, deleted: true}, func(now Entry) error {
		if now.Deleted {
			return missing(k)
		}
		return nil
	})
}

// write appends a version that allow has nothing against.
func write(tx *store.Tx, w Write, allow func(Entry) error) (Entry, error) {
	if err := w.check(); err != nil {
		return Entry{}, err
	}
	if w.ID != "" {
		if e, ok, err := written(tx, w); ok || err != nil {
			return e, err
		}
	}
	now, err := current(tx, w.Key)
	if err != nil {
		return Entry{}, err
	}
	if allow != nil {
		if err := allow(now); err != nil {
			return Entry{}, err
		}
	}
	return add(tx, w, now)
}

// add appends the version that follows on prev.
func add(tx *store.Tx, w Write, prev Entry) (e Entry, err error) {
	e = Entry{
		Key: w.Key, Version: prev.Version + 1, Previous: prev.ID, Type: w.Type, Deleted: w.deleted,
		Value: json.RawMessage(tx.Redact(w.Value)), CreatedBy: w.By, CreatedAt: tx.Now,
	}
	if w.TTL > 0 {
		now, err := lease.Awake(tx)
		if err != nil {
			return e, err
		}
		e.expires = now + w.TTL
		board.WakeMaintain(tx)
	}
	if err := tx.QueryRow(insertVersion, w.columns(e.Version, e.Previous, e.Deleted,
		string(e.Type), string(e.Value), e.CreatedBy, w.ID, store.Micros(tx.Now))...).Scan(&e.ID); err != nil {
		return e, err
	}
	if _, err := tx.Exec(putHead, w.columns(e.ID, int64(e.expires))...); err != nil {
		return e, err
	}
	return e, e.tell(tx, prev)
}

// tell logs a new version.
func (e Entry) tell(tx *store.Tx, prev Entry) error {
	text, to := "state "+e.String()+" written", strconv.FormatInt(e.Version, 10)
	if e.Deleted {
		text, to = "state "+e.String()+" deleted", "deleted"
	}
	ev := agency.NewEvent(e.Run, agency.SeverityDebug, text, agency.StateChanged{
		From: strconv.FormatInt(prev.Version, 10), To: to, Namespace: string(e.Namespace), Key: e.Name,
	})
	ev.RelatedState = e.ID
	if e.CreatedBy != agency.FromHuman && e.CreatedBy != agency.FromSystem {
		ev.AgentID = agency.AgentID(e.CreatedBy)
	}
	if e.Namespace == OfContract {
		ev.ContractID = agency.ContractID(e.Of)
	}
	_, err := event.Append(tx, ev)
	return err
}

// check names what is wrong with a write, and fills in the type.
func (w *Write) check() error {
	if err := w.Key.check(); err != nil {
		return err
	}
	if w.Type == "" && !w.deleted {
		w.Type = TypeJSON
	}
	switch {
	case w.By == "":
		return agency.Errorf(agency.KindInvalid, "%s: nobody is named as the writer", w.Key)
	case w.Namespace == OfAgent && w.By != w.Of && w.By != agency.FromSystem:
		return agency.Errorf(agency.KindDenied, "%s belongs to %s alone", w.Key, w.Of)
	case w.TTL < 0 || w.TTL > board.MaxTime:
		return agency.Errorf(agency.KindInvalid, "%s: a time to live of %s: want 0 to %s", w.Key, w.TTL, board.MaxTime)
	case len(w.Value) > MaxValue:
		return agency.Errorf(agency.KindInvalid, "%s: the value has %d bytes, the most is %d", w.Key, len(w.Value), MaxValue)
	case !w.deleted && !w.Type.holds(w.Value):
		return agency.Errorf(agency.KindInvalid, "%s: %s is no %s", w.Key, text.Head(string(w.Value), 40), w.Type)
	}
	return nil
}

func (k Key) check() error {
	if err := k.checkSpace(); err != nil {
		return err
	}
	if k.Name == "" || len(k.Name) > MaxKey || !utf8.ValidString(k.Name) {
		return agency.Errorf(agency.KindInvalid, "key %.40q: want 1 to %d bytes of UTF-8", k.Name, MaxKey)
	}
	return nil
}

func (k Key) checkSpace() error {
	ok := false
	switch k.Namespace {
	case Global:
		ok = k.Run == "" && k.Of == ""
	case OfRun:
		ok = k.Run != "" && k.Of == ""
	case OfContract, OfAgent:
		ok = k.Run != "" && k.Of != ""
	}
	if !ok {
		return agency.Errorf(agency.KindInvalid, "a key of namespace %q, run %q, of %q: want global, or run with a run, or contract or agent with both", k.Namespace, k.Run, k.Of)
	}
	return nil
}

// holds tells whether a value is JSON of the declared type.
func (t ValueType) holds(v json.RawMessage) bool {
	if !json.Valid(v) || !utf8.Valid(v) {
		return false
	}
	v = bytes.TrimSpace(v)
	switch t {
	case TypeString:
		return v[0] == '"'
	case TypeInteger:
		_, err := strconv.ParseInt(string(v), 10, 64)
		return err == nil
	case TypeBoolean:
		return v[0] == 't' || v[0] == 'f'
	}
	return t == TypeJSON
}
