package record

import (
	"database/sql"
	"errors"

	"agency/internal/agency"
	"agency/internal/store"
)

// Compaction is how a conversation goes on in a new epoch: the messages from
// First on, of which one holds a summary of what was said.
type Compaction struct {
	Epoch         int // that begins, from 2
	Turn          int // settled when it began
	Cause         string
	First         int   // seq of its first message
	Summarised    int   // messages that the summary stands for
	Before, After int64 // bytes of the request
	Summary       string
	By            string // who wrote the summary: model, harness
	Model         string
	Usage         agency.Usage
	Cost          agency.Money
	Unpriced      bool
}

// AddCompaction records a compaction; its messages are the caller's to append.
func AddCompaction(tx *store.Tx, id agency.SessionID, c Compaction) error {
	blob, err := tx.PutBlob([]byte(c.Summary))
	if err != nil {
		return err
	}
	u := c.Usage
	_, err = tx.Exec(insertCompaction, string(id), c.Epoch, c.Turn, c.Cause, c.First, c.Summarised, c.Before, c.After, string(blob), c.By,
		c.Model, u.In, u.Cached, u.CacheWrite, u.Out, int64(c.Cost), c.Unpriced, store.Micros(tx.Now))
	return err
}

// Summary is the one that the current epoch began with; empty in the first.
func Summary(q Reader, id agency.SessionID) (string, error) {
	var h agency.Hash
	err := q.QueryRow(selectSummary, string(id)).Scan(&h)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return "", nil
	case err != nil:
		return "", err
	}
	text, err := q.Blob(h)
	return string(text), err
}

// LearnWindow records that a provider refused a request as too long for a
// model, whose window counts as so many tokens from now on.
func LearnWindow(tx *store.Tx, run agency.RunID, model string, tokens int64) error {
	_, err := tx.Exec(learnWindow, string(run), model, tokens)
	return err
}

// Window is what the run has learned of a model's window, in tokens; 0: nothing.
func Window(q store.Querier, run agency.RunID, model string) (n int64, err error) {
	err = q.QueryRow(selectWindow, string(run), model).Scan(&n)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return n, err
}
