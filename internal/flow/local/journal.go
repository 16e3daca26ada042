package local

import (
	"context"
	"encoding/json"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// inlineMax is the largest record that stands in its row; larger ones are
// blobs, which are compressed.
const inlineMax = 8 << 10

// encodeRecord gives the two columns of a record.
func encodeRecord(tx *store.Tx, r Record) (body, blob string, err error) {
	b, err := json.Marshal(r)
	if err != nil {
		return "", "", err
	}
	if len(b) <= inlineMax {
		return string(b), "", nil
	}
	hash, err := tx.PutBlob(b)
	return "", string(hash), err
}

type blobReader interface {
	store.Querier
	Blob(agency.Hash) ([]byte, error)
}

func decodeRecord(s blobReader, body, blob string) (r Record, err error) {
	b := []byte(body)
	if blob != "" {
		if b, err = s.Blob(agency.Hash(blob)); err != nil {
			return r, err
		}
	}
	return r, json.Unmarshal(b, &r)
}

// load reads what is known of the run.
func (x *execution) load(ctx context.Context) error {
	return x.e.o.DB.Read(ctx, func(s *store.Snapshot) error {
		records, err := readJournal(s, x.run)
		if err != nil {
			return err
		}
		x.seq = int64(len(records))
		x.adopt(records)
		if err := x.loadKept(s); err != nil {
			return err
		}
		return x.loadTimers(s)
	})
}

// adopt takes a history to be repeated.
func (x *execution) adopt(records []Record) {
	for _, r := range records {
		if r.Kind == KindCode {
			x.code = r.Name
			continue
		}
		x.history = append(x.history, r)
	}
}

func readJournal(s *store.Snapshot, run agency.RunID) ([]Record, error) {
	rows, err := s.Query("SELECT body, blob FROM flow_journal WHERE run_id = ? ORDER BY seq", string(run))
	if err != nil {
		return nil, err
	}
	var out []Record
	for rows.Next() {
		var body, blob string
		if err := rows.Scan(&body, &blob); err != nil {
			return nil, err
		}
		r, err := decodeRecord(s, body, blob)
		if err != nil {
			return nil, err
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

func (x *execution) loadKept(s *store.Snapshot) error {
	rows, err := s.Query("SELECT key, hash, body, blob FROM flow_kept WHERE run_id = ?", string(x.run))
	if err != nil {
		return err
	}
	for rows.Next() {
		var key, hash, body, blob string
		if err := rows.Scan(&key, &hash, &body, &blob); err != nil {
			return err
		}
		r, err := decodeRecord(s, body, blob)
		if err != nil {
			return err
		}
		x.kept[key] = keptResult{hash: hash, rec: r}
	}
	return rows.Err()
}

func (x *execution) loadTimers(s *store.Snapshot) error {
	rows, err := s.Query("SELECT key, elapsed FROM flow_timer WHERE run_id = ?", string(x.run))
	if err != nil {
		return err
	}
	for rows.Next() {
		var key string
		var elapsed int64
		if err := rows.Scan(&key, &elapsed); err != nil {
			return err
		}
		x.elapsed[key] = time.Duration(elapsed)
	}
	return rows.Err()
}

// readSignals puts the signals that have come since the last look into the
// inbox, in order of arrival.
func (x *execution) readSignals(ctx context.Context) error {
	return x.e.o.DB.Read(ctx, func(s *store.Snapshot) error {
		rows, err := s.Query("SELECT seq, id, name, payload FROM flow_signal WHERE run_id = ? AND seq > ? ORDER BY seq",
			string(x.run), x.signalSeq)
		if err != nil {
			return err
		}
		var found []event
		last := x.signalSeq
		for rows.Next() {
			var id, name, payload string
			if err := rows.Scan(&last, &id, &name, &payload); err != nil {
				return err
			}
			if !x.delivered[id] {
				found = append(found, event{signal: &Record{Kind: KindSignal, Key: id, Name: name, Data: json.RawMessage(payload)}})
			}
		}
		if err := rows.Err(); err != nil {
			return err
		}
		x.signalSeq = last
		if len(found) > 0 {
			x.inbox.put(found...)
		}
		return nil
	})
}

// write is one durable, fenced write of this run. It is not given up when the
// run is told to stop: what it says has happened.
func (x *execution) write(fn func(*store.Tx) error) error {
	return x.writeWith(context.WithoutCancel(x.ctx), fn)
}

func (x *execution) writeWith(ctx context.Context, fn func(*store.Tx) error) error {
	if hook := x.e.seams.beforeWrite; hook != nil {
		if err := hook(); err != nil {
			return err
		}
	}
	if err := x.e.o.DB.WriteFenced(ctx, x.fence, fn); err != nil {
		return err
	}
	if hook := x.e.seams.afterWrite; hook != nil {
		return hook()
	}
	return nil
}

// flush makes the deliveries and commands since the last one durable.
func (x *execution) flush() error {
	if len(x.pending) == 0 {
		return nil
	}
	records := x.pending
	if x.code != x.e.o.Version {
		records = append([]Record{{Kind: KindCode, Name: x.e.o.Version}}, records...)
	}
	err := x.write(func(tx *store.Tx) error {
		for i, r := range records {
			if err := x.insert(tx, x.seq+int64(i), r); err != nil {
				return err
			}
		}
		for _, key := range x.timersGone {
			if _, err := tx.Exec("DELETE FROM flow_timer WHERE run_id = ? AND key = ?", string(x.run), key); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	x.seq += int64(len(records))
	x.code = x.e.o.Version
	x.pending, x.timersGone, x.fired = nil, nil, nil
	return nil
}

func (x *execution) insert(tx *store.Tx, seq int64, r Record) error {
	body, blob, err := encodeRecord(tx, r)
	if err != nil {
		return err
	}
	_, err = tx.Exec("INSERT INTO flow_journal (run_id, seq, kind, key, body, blob) VALUES (?, ?, ?, ?, ?, ?)",
		string(x.run), seq, string(r.Kind), r.Key, body, blob)
	if err != nil {
		return err
	}
	if _, ok := x.kept[r.Key]; ok && r.Kind == KindDone {
		_, err = tx.Exec("DELETE FROM flow_kept WHERE run_id = ? AND key = ?", string(x.run), r.Key)
	}
	return err
}

// keep writes what a stopped run has got but not journaled: results of
// activities, and how far its timers are.
func (x *execution) keep() error {
	results := map[string]Record{}
	for _, r := range x.pending {
		if r.Kind == KindDone && (r.Error == nil || !r.Error.Cancelled) {
			results[r.Key] = r
		}
	}
	for {
		ev, ok, _ := x.inbox.take()
		if !ok {
			break
		}
		if ev.h == nil || ev.h.cancelled || ev.fired || (ev.err != nil && interrupts(ev)) {
			continue
		}
		if r, reason := x.result(ev); reason == nil {
			results[r.Key] = r
		}
	}
	if len(results) > 0 {
		err := x.writeWith(store.Needed(context.WithoutCancel(x.ctx)), func(tx *store.Tx) error {
			for key, r := range results {
				body, blob, err := encodeRecord(tx, r)
				if err != nil {
					return err
				}
				_, err = tx.Exec("INSERT OR REPLACE INTO flow_kept (run_id, key, hash, body, blob) VALUES (?, ?, ?, ?, ?)",
					string(x.run), key, x.calls[key].hash, body, blob)
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return x.saveTimers(true)
}

// saveTimers writes how far the timers are, if it is time to.
func (x *execution) saveTimers(now bool) error {
	mono := x.e.o.Clock.Mono()
	wanted := now
	for _, h := range x.timers {
		wanted = wanted || mono-x.saved >= saveEvery(h.wait)
	}
	if !wanted {
		return nil
	}
	passed := map[string]time.Duration{}
	for _, h := range x.sortedTimers() {
		if p := min(h.passed(mono), h.wait); p > 0 {
			passed[h.key], h.persisted = p, true
		}
	}
	for _, h := range x.fired {
		passed[h.key] = h.wait // fired, but the journal does not say so
	}
	x.saved = mono
	if len(passed) == 0 {
		return nil
	}
	return x.write(func(tx *store.Tx) error {
		for key, p := range passed {
			_, err := tx.Exec("INSERT OR REPLACE INTO flow_timer (run_id, key, elapsed) VALUES (?, ?, ?)",
				string(x.run), key, int64(p))
			if err != nil {
				return err
			}
		}
		return nil
	})
}
