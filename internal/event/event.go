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
	"math"
	"slices"

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
		last, err := tx.Insert(inserts[st], st.arguments(tx, evs[:st.rows])...)
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

// Since reads the events after an id, oldest first, at most limit; limit 0
// reads all.
func Since(q store.Querier, after int64, f Filter, limit int) ([]agency.Event, error) {
	clause, args := f.where(after)
	if limit <= 0 {
		limit = math.MaxInt
	}
	return store.All(q, func(row store.Scanner) (ev agency.Event, err error) {
		var micros int64
		var details sql.NullString
		err = row.Scan(&ev.ID, &ev.RunID, &micros, &ev.Category, &ev.Type, &ev.Severity,
			&ev.AgentID, &ev.Role, &ev.Tier, &ev.ContractID, &ev.RelatedMessage, &ev.RelatedState, &ev.Summary, &details)
		ev.Time = store.Time(micros)
		if details.Valid {
			ev.Details = json.RawMessage(details.String)
		}
		return ev, err
	}, selectSince(clause), append(args, limit)...)
}

// Told is an event with its details.
type Told[D any] struct {
	agency.Event
	Detail *D
}

// Of reads the events whose details are a D, oldest first. The filter names their type.
func Of[D any](q store.Querier, f Filter) (out []Told[D], err error) {
	evs, err := Since(q, 0, f, 0)
	for _, ev := range evs {
		d, err := agency.DecodeDetail(ev)
		if err != nil {
			return nil, err
		}
		if d, ok := any(d).(*D); ok {
			out = append(out, Told[D]{ev, d})
		}
	}
	return out, err
}

// Last is the highest id of an event of a run, or of all where run is empty; 0
// where there is none.
func Last(q store.Querier, run agency.RunID) (last int64, err error) {
	err = q.QueryRow(selectLastOf, string(run), string(run)).Scan(&last)
	return last, err
}

// DeleteRun removes a run's events, and what is left of those that were removed
// before.
func DeleteRun(tx *store.Tx, run agency.RunID) error {
	if _, err := tx.Exec(emptyNewest, string(run)); err != nil {
		return err
	}
	_, err := tx.Exec(deleteRun, string(run))
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
