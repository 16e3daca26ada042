package event

import (
	"strings"

	"agency/internal/store"
)

// The statements of this package.
const (
	// selectLast is the highest id, selectLastOf that of a run or, where it is
	// empty, of all.
	selectLast   = `SELECT coalesce(max(id), 0) FROM event`
	selectLastOf = selectLast + ` WHERE ? = '' OR run_id = ?`

	// emptyNewest leaves only the id of the newest event, where it is a run's.
	emptyNewest = `UPDATE event SET run_id = '', time = 0, category = '', type = '', severity = '', rank = -1, agent_id = '', role = '', tier = '',
contract_id = '', summary = '', details = NULL, message_id = '', state_id = 0 WHERE run_id = ? AND id = (SELECT max(id) FROM event)`

	// deleteRun removes a run's events, and the rows that only keep an id, but the
	// newest of all.
	deleteRun = `DELETE FROM event WHERE (run_id = ? OR run_id = '' AND rank < 0) AND id < (SELECT max(id) FROM event)`
)

// selectSince reads events that match, oldest first.
func selectSince(clause string) string {
	return `SELECT id, run_id, time, category, type, severity, agent_id, role, tier, contract_id, message_id, state_id, summary, details
FROM event WHERE ` + clause + ` ORDER BY id LIMIT ?`
}

// where is the same filter in SQL.
func (f Filter) where(after int64) (clause string, args []any) {
	terms := []string{"id > ?", "rank >= ?"} // a row without a rank is no event
	args = []any{after, rank(f.MinSeverity)}
	add := func(term string, v any) {
		terms = append(terms, term)
		args = append(args, v)
	}
	if f.Run != "" {
		add("run_id = ?", string(f.Run))
	}
	if f.Category != "" {
		add("category = ?", string(f.Category))
	}
	if f.Contract != "" {
		add("contract_id = ?", string(f.Contract))
	}
	if f.Agent != "" {
		add("agent_id = ?", string(f.Agent))
	}
	if len(f.Types) > 0 {
		terms = append(terms, "type IN (?"+strings.Repeat(", ?", len(f.Types)-1)+")")
		for _, t := range f.Types {
			args = append(args, string(t))
		}
	}
	return strings.Join(terms, " AND "), args
}

// A statement binds once what its rows have in common: with many rows what is
// bound costs more than what is written, and what none of them has not at all.
// All of a transaction's events have its time, those of one statement are of one
// run, and most that are written together are of one kind.
const (
	commonColumns = `time, run_id`
	kindColumns   = `, category, type, severity, rank`
	ownColumns    = `, agent_id, role, message_id, summary, details`
	markColumns   = `, tier, contract_id, state_id`
	unmarked      = `, '', '', 0`
	kindCount     = 4
	ownCount      = 5
	markCount     = 3
)

// inserts are the texts of AppendAll. No row is ever refused.
var inserts = func() map[statement]string {
	all := map[statement]string{}
	for n := 1; n <= maxRows; n++ {
		for alike, kind := range map[bool]string{true: `?3, ?4, ?5, ?6`, false: `?` + strings.Repeat(`, ?`, kindCount-1)} {
			for marked, marks := range map[bool]string{true: strings.Repeat(`, ?`, markCount), false: unmarked} {
				row := `(?1, ?2, ` + kind + strings.Repeat(`, ?`, ownCount) + marks + `)`
				all[statement{n, alike, marked}] = store.InsertRows + `event (` + commonColumns + kindColumns + ownColumns + markColumns +
					`) VALUES ` + row + strings.Repeat(", "+row, n-1)
			}
		}
	}
	return all
}()
