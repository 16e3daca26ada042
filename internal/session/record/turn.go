package record

import (
	"database/sql"
	"errors"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/store"
)

// Phase is how far a turn has come, durably.
type Phase string

// The closed set of phases.
const (
	Asked    Phase = "asked"    // the request may have been sent
	Answered Phase = "answered" // the answer is stored and paid for
	Settled  Phase = "settled"  // its calls have their results
)

// Turn is one request to a model and what its answer cost.
type Turn struct {
	N     int // from 1
	Try   int // of the request, from 1; each has a reservation of its own
	Phase Phase
	Said  bool // the answer is a message of the transcript
	Stop  llm.StopReason
	Model string // that answered: provider/model
	Usage agency.Usage
	Cost  agency.Money
	// Unpriced says that the model has no price, so that Cost is 0.
	Unpriced bool
}

// AskTurn records that a try of a turn's request is about to be sent.
func AskTurn(tx *store.Tx, id agency.SessionID, t Turn) error {
	_, err := tx.Exec(askTurn, string(id), t.N, t.Try)
	return err
}

// AnswerTurn records what came of the request.
func AnswerTurn(tx *store.Tx, id agency.SessionID, t Turn) error {
	u := t.Usage
	_, err := tx.Exec(answerTurn, string(t.Stop), t.Said, t.Model, u.In, u.Cached, u.CacheWrite, u.Out,
		int64(t.Cost), t.Unpriced, u.Estimated, string(id), t.N)
	return err
}

// SettleTurn records that the calls of a turn have their results. What was counted
// of the calls is forgotten.
func SettleTurn(tx *store.Tx, id agency.SessionID, n int) error {
	if _, err := tx.Exec(settleTurn, string(id), n); err != nil {
		return err
	}
	_, err := tx.Exec(deleteAllTries, string(id))
	return err
}

// ReadTurn reads a turn; false: it was never asked.
func ReadTurn(q store.Querier, id agency.SessionID, n int) (Turn, bool, error) {
	t := Turn{N: n}
	u := &t.Usage
	err := q.QueryRow(selectTurn, string(id), n).
		Scan(&t.Try, &t.Phase, &t.Stop, &t.Said, &t.Model, &u.In, &u.Cached, &u.CacheWrite, &u.Out, &t.Cost, &t.Unpriced, &u.Estimated)
	if errors.Is(err, sql.ErrNoRows) {
		return Turn{}, false, nil
	}
	return t, err == nil, err
}

// BeginCalls counts one more try of calls of the open turn, before they run.
func BeginCalls(tx *store.Tx, id agency.SessionID, turn int, idx []int) error {
	return each(idx, func(i int) error { _, err := tx.Exec(beginTry, string(id), turn, i); return err })
}

// SpareCalls takes one try of calls back.
func SpareCalls(tx *store.Tx, id agency.SessionID, turn int, idx []int) error {
	return each(idx, func(i int) error { _, err := tx.Exec(spareTry, string(id), turn, i); return err })
}

// EndCalls forgets the tries of calls that have ended.
func EndCalls(tx *store.Tx, id agency.SessionID, idx []int) error {
	return each(idx, func(i int) error { _, err := tx.Exec(deleteTry, string(id), i); return err })
}

func each(idx []int, do func(int) error) error {
	for _, i := range idx {
		if err := do(i); err != nil {
			return err
		}
	}
	return nil
}

// Tries is how often calls of a turn have begun and not ended, by their index.
func Tries(q store.Querier, id agency.SessionID, turn int) (tries map[int]int, err error) {
	rows, err := q.Query(selectTries, string(id), turn)
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
