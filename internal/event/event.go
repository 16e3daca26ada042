// Package event keeps the log of what happened and hands it to those who
// follow it. An event is appended in the transaction of the fact that it
// tells, and reaches followers after that transaction is durable. Followers
// are served from a ring in memory, those that lag behind it from the
// database, without loss and without repetition either way.
//
// It does not decide what is worth an event, and views are folds of others.
package event

import (
	"context"
	"database/sql"
	"embed"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var files embed.FS

// Migrations is the log's schema.
func Migrations() store.Set { return store.Set{Name: "event", FS: files} }

// appended carries events to the logs of this process.
func appended() store.Topic[agency.Event] { return store.Topic[agency.Event]{Name: "event"} }

// Append adds an event to the transaction and returns it as stored: with its
// ID, the transaction's time and secrets redacted. Followers see it after the
// commit.
func Append(tx *store.Tx, ev agency.Event) (agency.Event, error) {
	evs := []agency.Event{ev}
	err := AppendAll(tx, evs)
	return evs[0], err
}

// maxRows bounds the rows of one statement.
const maxRows = 16

// A statement binds once what its rows have in common: with many rows what is
// bound costs more than what is written, and what none of them has not at all. All of a transaction's events have its
// time, those of one statement are of one run, and most that are written
// together are of one kind.
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

// statement is how some events are written.
type statement struct {
	rows   int
	alike  bool // of one kind
	marked bool // at least one has a tier, a contract or a key of the state
}

// next is how the first of some events are written.
func next(evs []agency.Event) statement {
	st := statement{alike: true}
	first := &evs[0]
	for st.rows < min(len(evs), maxRows) && evs[st.rows].RunID == first.RunID {
		ev := &evs[st.rows]
		st.marked = st.marked || ev.Tier != "" || ev.ContractID != "" || ev.RelatedState != 0
		st.alike = st.alike && ev.Category == first.Category && ev.Type == first.Type && ev.Severity == first.Severity
		st.rows++
	}
	return st
}

// inserts are the texts of AppendAll. No row is ever refused: OR FAIL saves
// SQLite the trouble to remember how to undo the statement.
var inserts = func() map[statement]string {
	all := map[statement]string{}
	for n := 1; n <= maxRows; n++ {
		for alike, kind := range map[bool]string{true: `?3, ?4, ?5, ?6`, false: `?` + strings.Repeat(`, ?`, kindCount-1)} {
			for marked, marks := range map[bool]string{true: strings.Repeat(`, ?`, markCount), false: unmarked} {
				row := `(?1, ?2, ` + kind + strings.Repeat(`, ?`, ownCount) + marks + `)`
				all[statement{n, alike, marked}] = `INSERT OR FAIL INTO event (` + commonColumns + kindColumns + ownColumns + markColumns +
					`) VALUES ` + row + strings.Repeat(", "+row, n-1)
			}
		}
	}
	return all
}()

// arguments make events what is stored of them, and give what is bound.
func (st statement) arguments(tx *store.Tx, evs []agency.Event) []any {
	args := make([]any, 0, 2+(kindCount+ownCount+markCount)*len(evs))
	args = append(args, store.Micros(tx.Now), string(evs[0].RunID))
	for i := range evs {
		ev := &evs[i]
		if i == 0 || !st.alike {
			args = append(args, string(ev.Category), string(ev.Type), string(ev.Severity), rank(ev.Severity))
		}
		args = prepare(tx, ev, args)
		if st.marked {
			args = append(args, ev.Tier, string(ev.ContractID), ev.RelatedState)
		}
	}
	return args
}

// prepare makes an event what is stored of it, and adds its own columns to args.
func prepare(tx *store.Tx, ev *agency.Event, args []any) []any {
	ev.Time = tx.Now
	ev.Summary = string(tx.Redact([]byte(ev.Summary)))
	var details any
	if len(ev.Details) > 0 {
		ev.Details = json.RawMessage(tx.Redact(ev.Details))
		details = string(ev.Details)
	} else {
		ev.Details = nil
	}
	return append(args, string(ev.AgentID), string(ev.Role), string(ev.RelatedMessage), ev.Summary, details)
}

// AppendAll is Append of several events, in their order, which costs less than
// each by itself. It sets in evs what Append returns.
func AppendAll(tx *store.Tx, evs []agency.Event) error {
	for len(evs) > 0 {
		st := next(evs)
		res, err := tx.Exec(inserts[st], st.arguments(tx, evs[:st.rows])...)
		if err != nil {
			return err
		}
		last, err := res.LastInsertId()
		if err != nil {
			return err
		}
		for i := range evs[:st.rows] { // one statement numbers its rows one after the other
			evs[i].ID = last - int64(st.rows-1-i)
			store.Publish(tx, appended(), evs[i])
		}
		evs = evs[st.rows:]
	}
	return nil
}

// severities, lowest first: the rank of a severity is its index.
func severities() [5]agency.Severity {
	return [...]agency.Severity{
		agency.SeverityDebug, agency.SeverityInfo, agency.SeverityWarning, agency.SeverityError, agency.SeverityCritical,
	}
}

func rank(s agency.Severity) int {
	for i, v := range severities() {
		if v == s {
			return i
		}
	}
	return 0
}

// Filter narrows a log; a zero field lets everything pass.
type Filter struct {
	Run         agency.RunID
	Category    agency.Category
	MinSeverity agency.Severity
	Contract    agency.ContractID
	Agent       agency.AgentID
	Types       []agency.EventType // any of them
}

// Matches tells whether an event passes.
func (f Filter) Matches(ev *agency.Event) bool {
	return (f.Run == "" || ev.RunID == f.Run) &&
		(f.Category == "" || ev.Category == f.Category) &&
		(f.Contract == "" || ev.ContractID == f.Contract) &&
		(f.Agent == "" || ev.AgentID == f.Agent) &&
		(len(f.Types) == 0 || slices.Contains(f.Types, ev.Type)) &&
		(f.MinSeverity == "" || rank(ev.Severity) >= rank(f.MinSeverity))
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

const columns = `id, run_id, time, category, type, severity, agent_id, role, tier, contract_id, message_id, state_id, summary, details`

// Since reads the events after an id, oldest first, at most limit; limit 0
// reads all.
func Since(q store.Querier, after int64, f Filter, limit int) ([]agency.Event, error) {
	clause, args := f.where(after)
	if limit <= 0 {
		limit = -1
	}
	rows, err := q.Query("SELECT "+columns+" FROM event WHERE "+clause+" ORDER BY id LIMIT ?", append(args, limit)...)
	if err != nil {
		return nil, err
	}
	var out []agency.Event
	for rows.Next() {
		var ev agency.Event
		var micros int64
		var details sql.NullString
		err := rows.Scan(&ev.ID, &ev.RunID, &micros, &ev.Category, &ev.Type, &ev.Severity,
			&ev.AgentID, &ev.Role, &ev.Tier, &ev.ContractID, &ev.RelatedMessage, &ev.RelatedState, &ev.Summary, &details)
		if err != nil {
			return nil, err
		}
		ev.Time = store.Time(micros)
		if details.Valid {
			ev.Details = json.RawMessage(details.String)
		}
		out = append(out, ev)
	}
	return out, rows.Err()
}

// Last is the highest id of an event of a run, or of all where run is empty; 0
// where there is none.
func Last(q store.Querier, run agency.RunID) (last int64, err error) {
	err = q.QueryRow("SELECT coalesce(max(id), 0) FROM event WHERE ?1 = '' OR run_id = ?1", string(run)).Scan(&last)
	return last, err
}

// DeleteRun removes a run's events, and what is left of those that were removed
// before.
func DeleteRun(tx *store.Tx, run agency.RunID) error {
	_, err := tx.Exec("DELETE FROM event WHERE run_id = ? OR run_id = '' AND rank < 0", string(run))
	return err
}

// DeleteBefore removes what a run logged before a time. A run that may go on
// needs its log: the caller asks only for one that has ended.
func DeleteBefore(tx *store.Tx, run agency.RunID, before time.Time) error {
	_, err := tx.Exec("DELETE FROM event WHERE run_id = ? AND time < ?", string(run), store.Micros(before))
	return err
}

// Append writes events in one transaction of their own.
func (l *Log) Append(ctx context.Context, evs ...agency.Event) error {
	return l.db.Write(ctx, func(tx *store.Tx) error {
		for _, ev := range evs {
			if _, err := Append(tx, ev); err != nil {
				return err
			}
		}
		return nil
	})
}

// Since reads the events after an id, oldest first, at most limit; limit 0
// reads all.
func (l *Log) Since(ctx context.Context, after int64, f Filter, limit int) (out []agency.Event, err error) {
	err = l.db.Read(ctx, func(s *store.Snapshot) error {
		out, err = Since(s, after, f, limit)
		return err
	})
	return out, err
}
