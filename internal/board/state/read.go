package state

import (
	"encoding/json"

	"agency/internal/agency"
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
		err = row.Scan(&e.Namespace, &e.Run, &e.Of, &e.Name, &e.expires, &e.ID, &e.Version,
			&e.Previous, &e.Deleted, &e.Type, &value, &e.CreatedBy, &created)
		if value != "" {
			e.Value = json.RawMessage(value)
		}
		e.CreatedAt = store.Time(created)
		return e, err
	}, query, args...)
}
