// Package registry keeps runs, contracts and gates, and is the only
// writer of contracts: each change goes through agency.Advance and is an event
// in the same transaction.
//
// It decides nothing and starts nothing. Functions that take a *store.Tx work
// in the caller's transaction; those that take a store.Querier read in either
// a transaction or a snapshot.
package registry

import (
	"cmp"
	"database/sql"
	"embed"
	"encoding/json"
	"errors"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Migrations is this package's schema.
func Migrations() store.Set {
	return store.Set{Name: "registry", FS: migrations, Blobs: []string{blobsOfImages}}
}

// CreateRun records a run with the configuration it will keep, and its first
// event. A run with the same id is a conflict: ids come from clients and are
// never reused.
func CreateRun(tx *store.Tx, run agency.Run, config json.RawMessage) error {
	if err := agency.CheckRunID(run.ID); err != nil {
		return err
	}
	run.CreatedAt = tx.Now
	doc, err := json.Marshal(run)
	if err != nil {
		return err
	}
	added, err := execOnce(tx, insertRun, string(run.ID), string(run.State), string(doc), string(config), tx.Now.UnixNano())
	if err != nil {
		return err
	}
	if !added {
		return agency.Errorf(agency.KindConflict, "run %s exists already", run.ID)
	}
	if _, err := tx.Exec(insertNumber, string(run.ID)); err != nil {
		return err
	}
	if _, err := tx.Exec(insertControl, string(run.ID)); err != nil {
		return err
	}
	ev := agency.NewEvent(run.ID, agency.SeverityInfo, run.Goal, agency.RunStarted{
		Goal: run.Goal, Mode: run.Mode, Base: run.Base, Target: run.Target, Branch: run.Branch,
	})
	_, err = event.Append(tx, ev)
	return err
}

// Run reads one run; KindNotFound names the command that lists them.
func Run(q store.Querier, id agency.RunID) (agency.Run, error) {
	run, err := scanRun(q.QueryRow(selectRun, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return run, agency.Errorf(agency.KindNotFound, "run %s is not known here", id).WithMend("agency ps")
	}
	return run, err
}

// Runs reads all runs, oldest first.
func Runs(q store.Querier) ([]agency.Run, error) {
	return store.All(q, scanRun, selectAllRuns)
}

// Copy is the configuration that the run keeps.
func Copy(q store.Querier, id agency.RunID) (json.RawMessage, error) {
	var s string
	err := q.QueryRow(selectCopy, string(id)).Scan(&s)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, agency.Errorf(agency.KindNotFound, "run %s is not known here", id).WithMend("agency ps")
	}
	return json.RawMessage(s), err
}

// SetCopy replaces it: only what a person asks for in the middle of a run does so.
func SetCopy(tx *store.Tx, id agency.RunID, config json.RawMessage) error {
	_, err := tx.Exec(updateCopy, string(config), string(id))
	return err
}

// SetState moves a run to another state, with the event of that state. Nothing
// happens where it stands there already; a final state is never left.
func SetState(tx *store.Tx, id agency.RunID, to agency.RunState, reason string) error {
	run, err := Run(tx, id)
	if err != nil {
		return err
	}
	if run.State == to && run.Reason == reason {
		return nil
	}
	if run.State.Final() {
		if run.State == to {
			return nil
		}
		return agency.Errorf(agency.KindConflict, "run %s %s already", id, run.State.Has())
	}
	var finished int64
	if to.Final() {
		finished = tx.Now.UnixNano()
	}
	if run.Failure != nil && !to.Bad() { // it goes on
		if err := updateRunDoc(tx, id, func(run *agency.Run) { run.Failure = nil }); err != nil {
			return err
		}
	}
	if _, err := tx.Exec(updateState,
		string(to), reason, finished, string(id)); err != nil {
		return err
	}
	if _, err = event.Append(tx, stateEvent(run, to, reason)); err != nil {
		return err
	}
	return tellPause(tx, run, to)
}

// Fail ends a run by a failure.
func Fail(tx *store.Tx, id agency.RunID, why agency.Failure) error {
	return Stop(tx, id, agency.StateFailed, why, why.Sentence())
}

// Stop moves a run to a state that is no success, by its cause; the reason says it to people.
func Stop(tx *store.Tx, id agency.RunID, to agency.RunState, why agency.Failure, reason string) error {
	run, err := Run(tx, id)
	if err == nil && !run.State.Final() {
		err = updateRunDoc(tx, id, func(run *agency.Run) { run.Failure = &why })
	}
	if err != nil {
		return err
	}
	return SetState(tx, id, to, reason)
}

// tellPause tells that a person pauses a run or lets it go on, of each gate at which
// it waits, or once where there is none: a pause is a gate of the person's own.
func tellPause(tx *store.Tx, run agency.Run, to agency.RunState) error {
	paused := to == agency.StatePaused
	if !paused && (run.State != agency.StatePaused || to.Final()) {
		return nil
	}
	open, err := OpenGates(tx, run.ID)
	if err != nil {
		return err
	}
	if len(open) == 0 {
		open = []agency.Gate{{}}
	}
	for _, g := range open {
		ev := agency.NewEvent(run.ID, agency.SeverityInfo, "resumed by a person", agency.GateResumed{Gate: g.ID, Manual: true})
		if paused {
			ev = agency.NewEvent(run.ID, agency.SeverityInfo, "paused by a person", agency.GatePaused{Gate: g.ID, Manual: true})
		}
		ev.ContractID = g.ContractID
		if _, err := event.Append(tx, ev); err != nil {
			return err
		}
	}
	return nil
}

// SetYes makes --yes last: a run that was started without it may be resumed
// with it.
func SetYes(tx *store.Tx, id agency.RunID) error {
	return updateRunDoc(tx, id, func(run *agency.Run) { run.Yes = true })
}

// updateRunDoc replaces what is kept of a run beside its state.
func updateRunDoc(tx *store.Tx, id agency.RunID, by func(*agency.Run)) error {
	run, err := Run(tx, id)
	if err != nil {
		return err
	}
	by(&run)
	doc, err := json.Marshal(run)
	if err != nil {
		return err
	}
	_, err = tx.Exec(updateRun, string(doc), string(id))
	return err
}

// SetMerged records the commit that the run put into its target.
func SetMerged(tx *store.Tx, id agency.RunID, commit agency.OID) error {
	_, err := tx.Exec(updateMerged, string(commit), string(id))
	return err
}

// SetRepo records where the run's working tree is now: its folder was moved.
func SetRepo(tx *store.Tx, id agency.RunID, path string) error {
	return updateRunDoc(tx, id, func(run *agency.Run) { run.Repo = path })
}

// SetAnswer keeps what a run of an agent has answered.
func SetAnswer(tx *store.Tx, id agency.RunID, answer string) error {
	return updateRunDoc(tx, id, func(run *agency.Run) { run.Answer = answer })
}

// SetMoved records the mode in which a run works since it moved up, or back.
func SetMoved(tx *store.Tx, id agency.RunID, to agency.Mode) error {
	return updateRunDoc(tx, id, func(run *agency.Run) { run.MovedTo = to })
}

// SetCrashed records whether a run is interrupted because its host died.
func SetCrashed(tx *store.Tx, id agency.RunID, crashed bool) error {
	return updateRunDoc(tx, id, func(run *agency.Run) { run.Crashed = crashed })
}

func kindOf(run agency.Run) agency.FailureKind {
	if run.Failure == nil {
		return agency.FailedOther
	}
	return run.Failure.Kind
}

func stateEvent(run agency.Run, to agency.RunState, reason string) agency.Event {
	switch to {
	case agency.StateSucceeded:
		return agency.NewEvent(run.ID, agency.SeverityInfo, cmp.Or(reason, "done"), agency.RunSucceeded{Branch: run.Branch, Commit: run.Merged})
	case agency.StateFailed:
		return agency.NewEvent(run.ID, agency.SeverityError, reason, agency.RunFailed{Reason: reason, Kind: kindOf(run)})
	case agency.StateCancelled:
		return agency.NewEvent(run.ID, agency.SeverityWarning, cmp.Or(reason, "cancelled"), agency.RunCancelled{})
	case agency.StatePaused:
		return agency.NewEvent(run.ID, agency.SeverityInfo, cmp.Or(reason, "paused"), agency.RunPaused{})
	case agency.StateWaiting:
		return agency.NewEvent(run.ID, agency.SeverityInfo, cmp.Or(reason, "waiting"), agency.RunWaiting{For: reason})
	case agency.StateInterrupted:
		return agency.NewEvent(run.ID, agency.SeverityError, reason,
			agency.StateChanged{From: string(run.State), To: string(to), Reason: reason})
	case agency.StateRunning:
		if run.State == agency.StatePaused || run.State == agency.StateInterrupted {
			return agency.NewEvent(run.ID, agency.SeverityInfo, cmp.Or(reason, "goes on"), agency.RunResumed{})
		}
	}
	return agency.NewEvent(run.ID, agency.SeverityDebug, string(run.State)+" to "+string(to),
		agency.StateChanged{From: string(run.State), To: string(to), Reason: reason})
}

// DeleteRun removes a finished run's rows; the caller removes its files.
func DeleteRun(tx *store.Tx, id agency.RunID) error {
	run, err := Run(tx, id)
	if err != nil {
		return err
	}
	if !run.State.Final() {
		return agency.Errorf(agency.KindConflict, "run %s is %s", id, run.State).WithMend("agency cancel %s", id)
	}
	_, err = tx.Exec(deleteRun, string(id))
	return err
}

// Control is what a person asked of a run.
type Control struct {
	Pause  bool
	Cancel bool
	By     string
	// HandOver: the pause is no person's, a newer build takes the run up.
	HandOver bool
}

// SetControl replaces the control row. A cancel is never taken back.
func SetControl(tx *store.Tx, id agency.RunID, c Control) error {
	_, err := tx.Exec(updateControl,
		c.Pause, c.Cancel, c.By, c.HandOver, string(id))
	return err
}

// ReadControl is the control row; a run without one asks for nothing.
func ReadControl(q store.Querier, id agency.RunID) (Control, error) {
	var c Control
	err := q.QueryRow(selectControl, string(id)).Scan(&c.Pause, &c.Cancel, &c.By, &c.HandOver)
	if errors.Is(err, sql.ErrNoRows) {
		return Control{}, nil
	}
	return c, err
}

func scanRun(row store.Scanner) (agency.Run, error) {
	var id, state, reason, doc, merged string
	var created, finished int64
	var number int
	if err := row.Scan(&id, &state, &reason, &doc, &merged, &created, &finished, &number); err != nil {
		return agency.Run{}, err
	}
	var run agency.Run
	if err := json.Unmarshal([]byte(doc), &run); err != nil {
		return run, agency.Errorf(agency.KindInternal, "run %s: its record: %w", id, err)
	}
	run.Number, run.State, run.Reason, run.Merged = number, agency.RunState(state), reason, agency.OID(merged)
	run.CreatedAt = timeOf(created)
	run.FinishedAt = timeOf(finished)
	return run, nil
}

// nanos is the inverse of timeOf.
func nanos(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixNano()
}

func timeOf(nanos int64) time.Time {
	if nanos == 0 {
		return time.Time{}
	}
	return time.Unix(0, nanos).UTC()
}

// execOnce tells whether a statement, which does its work once, has done it now.
func execOnce(tx *store.Tx, statement string, args ...any) (bool, error) {
	res, err := tx.Exec(statement, args...)
	if err != nil {
		return false, err
	}
	n, err := res.RowsAffected()
	return n > 0, err
}
