package local

import (
	"context"
	"encoding/json"
	"fmt"

	"agency/internal/agency"
	"agency/internal/flow"
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

func decodeRecord(s *store.Snapshot, body, blob string) (r Record, err error) {
	b := []byte(body)
	if blob != "" {
		if b, err = s.Blob(agency.Hash(blob)); err != nil {
			return r, err
		}
	}
	return r, json.Unmarshal(b, &r)
}

func readJournal(s *store.Snapshot, run agency.RunID) ([]Record, error) {
	return store.All(s, func(row store.Scanner) (r Record, err error) {
		var body, blob string
		if err := row.Scan(&body, &blob); err != nil {
			return r, err
		}
		return decodeRecord(s, body, blob)
	}, selectJournal, string(run))
}

func writeRecord(tx *store.Tx, run agency.RunID, seq int64, r Record) error {
	body, blob, err := encodeRecord(tx, r)
	if err != nil {
		return err
	}
	_, err = tx.Exec(insertRecord, string(run), seq, string(r.Kind), r.Key, body, blob)
	return err
}

// journal is what a run has done: the history that it repeats and is compared
// with, and from its end on what is to be written.
type journal struct {
	e        *Engine
	run      agency.RunID
	history  []Record // as loaded, without code records
	pos      int      // the next of them
	recorded bool     // the present tick is from the history
	code     string   // the code version that wrote last, "" for none
	seq      int64    // rows
	pending  []Record // not yet written
	offline  bool     // compare only: stop where the history ends
	keys     map[string]bool
}

func (j *journal) load(s *store.Snapshot) error {
	records, err := readJournal(s, j.run)
	j.seq = int64(len(records))
	j.adopt(records)
	return err
}

// adopt takes a history to be repeated.
func (j *journal) adopt(records []Record) {
	for _, r := range records {
		if r.Kind == KindCode {
			j.code = r.Name
			continue
		}
		j.history = append(j.history, r)
	}
	j.recorded = len(j.history) > 0
}

// next is the record that the history goes on with; nil at its end.
func (j *journal) next() *Record {
	if j.pos == len(j.history) {
		return nil
	}
	return &j.history[j.pos]
}

// fault is that the code and the history disagree.
func (j *journal) fault(key, detail string) error {
	recorded := j.code
	if recorded == "" {
		recorded = j.e.o.Version
	}
	return &flow.Fault{Run: j.run, Key: key, Detail: detail, Recorded: recorded, Running: j.e.o.Version}
}

// match notes a command, or compares it with the history, whose record it gives.
func (j *journal) match(r Record) (got Record, detail string) {
	if !j.recorded {
		j.pending = append(j.pending, r)
		return r, ""
	}
	next := j.next()
	switch {
	case next == nil:
		return r, fmt.Sprintf("the code goes on with %s, the journal has nothing there", r)
	case next.matches(r):
		j.pos++
		return *next, ""
	case next.Kind == r.Kind && next.Key == r.Key && next.Name == r.Name && next.Hash != r.Hash:
		return r, fmt.Sprintf("%s has another input than was recorded", r)
	}
	return r, fmt.Sprintf("the code does %s where the journal has %s", r, next)
}

// flush makes the deliveries and commands since the last one durable, and with
// them what others write of them.
func (j *journal) flush(ctx context.Context, others func(*store.Tx) error) error {
	records := j.pending
	if j.code != j.e.o.Version {
		records = append([]Record{{Kind: KindCode, Name: j.e.o.Version}}, records...)
	}
	err := j.e.write(ctx, func(tx *store.Tx) error {
		for i, r := range records {
			if err := writeRecord(tx, j.run, j.seq+int64(i), r); err != nil {
				return err
			}
		}
		return others(tx)
	})
	if err != nil {
		return err
	}
	j.seq += int64(len(records))
	j.code, j.pending = j.e.o.Version, nil
	return nil
}
