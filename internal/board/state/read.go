package state

import (
	"encoding/json"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/lease"
	"agency/internal/store"
)

// Get reads a key; KindNotFound where it was never written, is deleted or
// has expired.
func Get(q store.Querier, k Key) (Entry, error) {
	if err := k.check(); err != nil {
		return Entry{}, err
	}
	e, err := current(q, k)
	if err == nil && e.Deleted {
		err = missing(k)
	}
	return e, err
}

func missing(k Key) error {
	return agency.Errorf(agency.KindNotFound, "the shared state has no %s", k)
}

// List reads the entries of a namespace whose keys begin with k.Name, by key.
func List(q store.Querier, k Key) ([]Entry, error) {
	if err := k.checkSpace(); err != nil {
		return nil, err
	}
	now, err := lease.Awake(q)
	if err != nil {
		return nil, err
	}
	return entries(q, selectRange, k.columns(store.PrefixEnd(k.Name), int64(now))...)
}

// History reads the versions of a key that are kept, oldest first.
func History(q store.Querier, k Key) ([]Entry, error) {
	return entries(q, selectHistory, k.columns()...)
}

// Own makes an agent the only one that may write a key, which need not be
// there yet. KindConflict where another is.
func Own(tx *store.Tx, k Key, by agency.AgentID) error {
	if err := (&Write{Key: k, By: string(by), deleted: true}).check(); err != nil {
		return err
	}
	if k.Namespace == Global { // an agent's end gives free what is its run's
		return agency.Errorf(agency.KindInvalid, "%s is of all runs: no agent can own it", k)
	}
	if err := board.MustLive(tx, k.Run, by); err != nil {
		return err
	}
	now, err := current(tx, k)
	if err != nil {
		return err
	}
	if now.Owner != "" && now.Owner != by {
		return agency.Errorf(agency.KindConflict, "%s belongs to %s", k, now.Owner)
	}
	_, err = tx.Exec(putOwner, k.columns(string(by))...)
	return err
}

// Disown lets others write the key again. KindDenied where it belongs to
// another.
func Disown(tx *store.Tx, k Key, by agency.AgentID) error {
	now, err := current(tx, k)
	switch {
	case err != nil || now.Owner == "":
		return err
	case now.Owner != by:
		return agency.Errorf(agency.KindDenied, "%s belongs to %s, not to %s", k, now.Owner, by)
	}
	_, err = tx.Exec(disownKey, k.columns()...)
	return err
}

// current is what a key is now: a Deleted entry with its last version, 0 where
// it never had one, when there is nothing to be read.
func current(q store.Querier, k Key) (Entry, error) {
	found, err := entries(q, selectEntry, k.columns()...)
	if err != nil {
		return Entry{}, err
	}
	if len(found) == 0 {
		return Entry{Key: k, Deleted: true}, nil
	}
	e := found[0]
	if e.expires > 0 {
		now, err := lease.Awake(q)
		if err != nil {
			return e, err
		}
		if e.expires <= now {
			e.Deleted, e.Value = true, nil
		}
	}
	return e, nil
}

// written is the entry of a write that was made already.
func written(q store.Querier, w Write) (e Entry, ok bool, err error) {
	found, err := entries(q, selectWritten, w.columns(w.ID)...)
	if err != nil || len(found) == 0 {
		return e, false, err
	}
	return found[0], true, nil
}

// entries reads the heads of keys with the version that counts, or versions
// without what the head alone knows.
func entries(q store.Querier, query string, args ...any) ([]Entry, error) {
	return store.All(q, func(row store.Scanner) (e Entry, err error) {
		var value string
		var created int64
		err = row.Scan(&e.Namespace, &e.Run, &e.Of, &e.Name, &e.Owner, &e.expires, &e.ID, &e.Version,
			&e.Previous, &e.Deleted, &e.Type, &value, &e.CreatedBy, &created)
		if value != "" {
			e.Value = json.RawMessage(value)
		}
		e.CreatedAt = store.Time(created)
		return e, err
	}, query, args...)
}
