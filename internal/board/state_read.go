package board

import (
	"encoding/json"
	"strings"

	"agency/internal/agency"
	"agency/internal/store"
)

// StateOf reads a key; KindNotFound where it was never written, is deleted or
// has expired.
func StateOf(q store.Querier, k Key) (Entry, error) {
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

// States reads the entries of a namespace whose keys begin with k.Name, by key.
func States(q store.Querier, k Key) ([]Entry, error) {
	if err := k.checkSpace(); err != nil {
		return nil, err
	}
	now, err := clock(q)
	if err != nil {
		return nil, err
	}
	return entries(q, `WHERE h.space = ?1 AND h.key >= ?2 AND h.key < ?2 || char(0x10FFFF)
AND s.deleted = 0 AND (h.expires = 0 OR h.expires > ?3) ORDER BY h.key`, k.space(), k.Name, int64(now))
}

// StateHistory reads the versions of a key that are kept, oldest first.
func StateHistory(q store.Querier, k Key) ([]Entry, error) {
	return versions(q, `WHERE space = ? AND key = ? ORDER BY version`, k.space(), k.Name)
}

// OwnState makes an agent the only one that may write a key, which need not be
// there yet. KindConflict where another is.
func OwnState(tx *store.Tx, k Key, by agency.AgentID) error {
	if err := (&Write{Key: k, By: string(by), deleted: true}).check(); err != nil {
		return err
	}
	if k.Namespace == Global { // an agent's end gives free what is its run's
		return agency.Errorf(agency.KindInvalid, "%s is of all runs: no agent can own it", k)
	}
	if err := mustLive(tx, k.Run, by); err != nil {
		return err
	}
	now, err := current(tx, k)
	if err != nil {
		return err
	}
	if now.Owner != "" && now.Owner != by {
		return agency.Errorf(agency.KindConflict, "%s belongs to %s", k, now.Owner)
	}
	_, err = tx.Exec(`INSERT INTO board_state_head (space, key, run_id, id, owner, expires) VALUES (?, ?, ?, 0, ?, 0)
ON CONFLICT DO UPDATE SET owner = excluded.owner`, k.space(), k.Name, string(k.Run), string(by))
	return err
}

// DisownState lets others write the key again. KindDenied where it belongs to
// another.
func DisownState(tx *store.Tx, k Key, by agency.AgentID) error {
	now, err := current(tx, k)
	switch {
	case err != nil || now.Owner == "":
		return err
	case now.Owner != by:
		return agency.Errorf(agency.KindDenied, "%s belongs to %s, not to %s", k, now.Owner, by)
	}
	_, err = tx.Exec(`UPDATE board_state_head SET owner = '' WHERE space = ? AND key = ?`, k.space(), k.Name)
	return err
}

// disownAll is for an agent that has ended.
func disownAll(tx *store.Tx, run agency.RunID, by agency.AgentID) error {
	_, err := tx.Exec(`UPDATE board_state_head SET owner = '' WHERE run_id = ? AND owner = ?`, string(run), string(by))
	return err
}

// sweepState deletes what has expired, so that watchers see it go. Readers do
// not wait for it.
func sweepState(tx *store.Tx, most int) (int, error) {
	now, err := clock(tx)
	if err != nil {
		return 0, err
	}
	old, err := entries(tx, `WHERE h.expires > 0 AND h.expires <= ? AND s.deleted = 0 ORDER BY h.expires LIMIT ?`, int64(now), most)
	if err != nil {
		return 0, err
	}
	for _, e := range old {
		if _, err := add(tx, Write{Key: e.Key, By: agency.FromSystem, deleted: true}, e); err != nil {
			return 0, err
		}
	}
	return len(old), nil
}

// current is what a key is now: a Deleted entry with its last version, 0 where
// it never had one, when there is nothing to be read.
func current(q store.Querier, k Key) (Entry, error) {
	found, err := entries(q, `WHERE h.space = ? AND h.key = ?`, k.space(), k.Name)
	if err != nil {
		return Entry{}, err
	}
	if len(found) == 0 {
		return Entry{Key: k, Deleted: true}, nil
	}
	e := found[0]
	if e.expires > 0 {
		now, err := clock(q)
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
	found, err := versions(q, `WHERE space = ? AND key = ? AND token = ?`, w.space(), w.Name, w.ID)
	if err != nil || len(found) == 0 {
		return e, false, err
	}
	return found[0], true, nil
}

// inSpace is the inverse of space, for a key whose run is known.
func (k *Key) inSpace(space string) {
	name, rest, _ := strings.Cut(space, "/")
	k.Namespace = Namespace(name)
	k.Of = strings.TrimPrefix(strings.TrimPrefix(rest, string(k.Run)), "/")
}

// entries reads the heads of keys with the version that counts.
func entries(q store.Querier, where string, args ...any) ([]Entry, error) {
	return scanEntries(q, `SELECT h.run_id, h.space, h.key, h.owner, h.expires, coalesce(s.id, 0), coalesce(s.version, 0),
coalesce(s.previous, 0), coalesce(s.deleted, 1), coalesce(s.type, ''), coalesce(s.value, ''), coalesce(s.author, ''), coalesce(s.created_at, 0)
FROM board_state_head h LEFT JOIN board_state s ON s.id = h.id `+where, args...)
}

// versions reads history, without what the head alone knows.
func versions(q store.Querier, where string, args ...any) ([]Entry, error) {
	return scanEntries(q, `SELECT run_id, space, key, '', 0, id, version, previous, deleted, type, value, author, created_at
FROM board_state `+where, args...)
}

func scanEntries(q store.Querier, query string, args ...any) ([]Entry, error) {
	rows, err := q.Query(query, args...)
	if err != nil {
		return nil, err
	}
	var out []Entry
	for rows.Next() {
		var e Entry
		var space, value string
		var created int64
		if err := rows.Scan(&e.Run, &space, &e.Name, &e.Owner, &e.expires, &e.ID, &e.Version,
			&e.Previous, &e.Deleted, &e.Type, &value, &e.CreatedBy, &created); err != nil {
			return nil, err
		}
		e.inSpace(space)
		if value != "" {
			e.Value = json.RawMessage(value)
		}
		e.CreatedAt = store.Time(created)
		out = append(out, e)
	}
	return out, rows.Err()
}
