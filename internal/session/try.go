package session

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"agency/internal/agency"
	"agency/internal/store"
	"agency/internal/tool"
)

// maxTries is how often a call may end the host before it is not run again: a
// call that exhausts the machine would do so for ever.
const maxTries = 2

// first are the calls of an answer that run first. They are counted by the
// commit that stores the answer.
func (c *conversation) first(calls []call) []int {
	if len(calls) == 0 {
		return nil
	}
	return waiting(calls[:group(calls)])
}

// waiting are the indices of the calls that are to run in their place.
func waiting(calls []call) (idx []int) {
	for i := range calls {
		if calls[i].waits() {
			idx = append(idx, calls[i].idx)
		}
	}
	return idx
}

// begun counts one more try of calls.
func begun(tx *store.Tx, id agency.SessionID, turn int, idx []int) error {
	for _, i := range idx {
		_, err := tx.Exec(`INSERT INTO session_try (session_id, turn, idx, tries) VALUES (?, ?, ?, 1)
			ON CONFLICT (session_id, turn, idx) DO UPDATE SET tries = tries + 1`, string(id), turn, i)
		if err != nil {
			return err
		}
	}
	return nil
}

// count makes it durable that calls are about to run and that the ones before
// have ended; one that ended the host too often has that as its result.
func (c *conversation) count(ctx context.Context, before, calls []call) error {
	for i := range calls {
		if k := &calls[i]; k.waits() && c.turn.tries[k.idx] >= maxTries && !c.turn.fresh {
			k.refuse(tool.Refusal("not run: this call ended the host %s, and is not run again; find another way, such as smaller steps, or less of the machine",
				times(c.turn.tries[k.idx])))
		}
	}
	idx := waiting(calls)
	if c.turn.fresh || len(idx) == 0 {
		c.turn.fresh = false
		return nil
	}
	err := c.write(ctx, func(tx *store.Tx) error {
		for _, k := range before {
			if k.ran && c.turn.tries[k.idx] > 0 {
				if err := forgetTries(tx, c.id, k.idx); err != nil {
					return err
				}
			}
		}
		return begun(tx, c.id, c.turn.n, idx)
	})
	if err != nil {
		return err
	}
	tries := maps.Clone(c.turn.tries)
	if tries == nil {
		tries = map[int]int{}
	}
	for _, k := range before {
		delete(tries, k.idx)
	}
	for _, i := range idx {
		tries[i]++
	}
	c.turn.tries = tries
	return nil
}

func times(n int) string {
	if n == 2 {
		return "twice"
	}
	return fmt.Sprintf("%d times", n)
}

// spared takes the try back of calls that the host itself broke off, in order:
// they did not end it. Where that cannot be written they count.
func (c *conversation) spared(ctx context.Context, calls []call) {
	var idx []int
	for _, k := range calls {
		if c.turn.tries[k.idx] > 0 {
			idx = append(idx, k.idx)
		}
	}
	if len(idx) == 0 {
		return
	}
	_ = c.write(context.WithoutCancel(ctx), func(tx *store.Tx) error {
		for _, i := range idx {
			_, err := tx.Exec(`UPDATE session_try SET tries = max(0, tries - 1) WHERE session_id = ? AND turn = ? AND idx = ?`, string(c.id), c.turn.n, i)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// forgetTries removes the counts of a session's calls, of those named or of
// all.
func forgetTries(tx *store.Tx, id agency.SessionID, idx ...int) error {
	if len(idx) == 0 {
		_, err := tx.Exec(`DELETE FROM session_try WHERE session_id = ?`, string(id))
		return err
	}
	for _, i := range idx {
		if _, err := tx.Exec(`DELETE FROM session_try WHERE session_id = ? AND idx = ?`, string(id), i); err != nil {
			return err
		}
	}
	return nil
}

// loadTries reads how often calls of the open turn have begun.
func (c *conversation) loadTries(s *store.Snapshot, turn int) (tries map[int]int, err error) {
	rows, err := s.Query(`SELECT idx, tries FROM session_try WHERE session_id = ? AND turn = ?`, string(c.id), turn)
	if err != nil {
		return nil, err
	}
	tries = map[int]int{}
	for rows.Next() {
		var idx, n int
		if err := rows.Scan(&idx, &n); err != nil {
			return nil, errors.Join(err, rows.Close())
		}
		tries[idx] = n
	}
	return tries, errors.Join(rows.Err(), rows.Close())
}

// together is how many calls from the first on run beside each other: where one
// may have ended the host, each by itself, to find out which.
func (c *conversation) together(calls []call) int {
	n := group(calls)
	suspect := slices.ContainsFunc(calls[:n], func(k call) bool { return k.waits() && c.turn.tries[k.idx] > 0 })
	if suspect && !c.turn.fresh {
		return 1
	}
	return n
}
