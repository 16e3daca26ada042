package registry

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/text"
)

// CreateContract adds a contract as pending. The same contract again is
// nothing, so that a repeated step finds its own work; another one under the
// same id is a conflict.
func CreateContract(tx *store.Tx, c agency.Contract) error {
	if err := agency.CheckContractID(c.ID); err != nil {
		return err
	}
	c.Status, c.Stage, c.CreatedAt = agency.StatusPending, agency.StageReady, tx.Now
	doc, err := json.Marshal(c)
	if err != nil {
		return err
	}
	added, err := execOnce(tx, insertContract, string(c.RunID), string(c.ID), string(c.Status), string(c.Stage), string(doc))
	if err != nil || added {
		return err
	}
	old, err := Contract(tx, c.RunID, c.ID)
	if err != nil {
		return err
	}
	if old.Title != c.Title || old.Description != c.Description {
		return agency.Errorf(agency.KindConflict, "contract %s exists already with other words", c.ID)
	}
	return nil
}

// Contract reads one contract.
func Contract(q store.Querier, run agency.RunID, id agency.ContractID) (agency.Contract, error) {
	c, err := scanContract(q.QueryRow(selectContract, string(run), string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return c, agency.Errorf(agency.KindNotFound, "run %s has no contract %s", run, id).WithMend("agency inspect %s", run)
	}
	return c, err
}

// Contracts reads all contracts of a run in the order of their creation.
func Contracts(q store.Querier, run agency.RunID) ([]agency.Contract, error) {
	return ContractsAfter(q, run, 0)
}

// ContractsAfter are those of a run that were created after its first n.
func ContractsAfter(q store.Querier, run agency.RunID, n int) ([]agency.Contract, error) {
	return store.All(q, scanContract, selectContracts, string(run), n)
}

// Failed reads the contracts of all runs that failed for good, the latest first.
func Failed(q store.Querier, limit int) ([]agency.Contract, error) {
	return store.All(q, scanContract, selectFailed, limit)
}

// Ended reads the contracts of all runs that had landed or failed for good before a time,
// the latest first.
func Ended(q store.Querier, before time.Time, limit int) ([]agency.Contract, error) {
	return store.All(q, scanContract, selectEnded, before.UnixNano(), limit)
}

// Advance applies a fact to a contract by agency.Advance, sets its times, and
// appends the event of the change. The same step again changes nothing and
// gives the contract as it stands; a fact that the contract has no place for
// is a conflict.
func Advance(tx *store.Tx, run agency.RunID, id agency.ContractID, step agency.StepKey, f agency.Fact) (agency.Contract, error) {
	old, err := Contract(tx, run, id)
	if err != nil {
		return old, err
	}
	if added, err := execOnce(tx, insertStep, string(run), string(step)); err != nil || !added {
		return old, err
	}
	c, err := agency.Advance(old, f)
	if err != nil {
		return old, err
	}
	if c.StartedAt.IsZero() && c.Status == agency.StatusInProgress {
		c.StartedAt = tx.Now
	}
	if c.Status.Final() {
		c.CompletedAt = tx.Now
	}
	if err := replace(tx, c); err != nil {
		return old, err
	}
	if _, err = event.Append(tx, contractEvent(old, c, f)); err != nil {
		return c, err
	}
	return c, tellRetry(tx, old, c)
}

// tellRetry tells that an attempt follows one that came to nothing, and why that did.
func tellRetry(tx *store.Tx, old, c agency.Contract) error {
	if c.Attempts <= max(old.Attempts, 1) {
		return nil
	}
	ev := agency.NewEvent(c.RunID, agency.SeverityInfo, fmt.Sprintf("attempt %d: %s", c.Attempts, text.FirstLine(old.Error, 200)),
		agency.Retried{Attempt: c.Attempts, Cause: old.Error})
	ev.ContractID, ev.AgentID, ev.Role = c.ID, c.AssignedAgentID, c.AssignedRole
	_, err := event.Append(tx, ev)
	return err
}

// replace writes a contract as it is now. Its callers tell it in the same commit by an event with
// the contract: readers that looked before read again only what events tell of.
func replace(tx *store.Tx, c agency.Contract) error {
	doc, err := json.Marshal(c)
	if err != nil {
		return err
	}
	_, err = tx.Exec(updateContract, string(c.Status), string(c.Stage), nanos(c.CompletedAt), string(doc), string(c.RunID), string(c.ID))
	return err
}

// Amend gives a contract that has not begun other words, and tells it. The same
// step again changes nothing.
func Amend(tx *store.Tx, step agency.StepKey, words agency.Contract) error {
	old, err := Contract(tx, words.RunID, words.ID)
	if err != nil {
		return err
	}
	if added, err := execOnce(tx, insertStep, string(words.RunID), string(step)); err != nil || !added {
		return err
	}
	c, err := agency.Amend(old, words)
	if err != nil {
		return err
	}
	if err := replace(tx, c); err != nil {
		return err
	}
	ev := agency.NewEvent(c.RunID, agency.SeverityInfo, "contract "+string(c.ID)+" is amended before it begins",
		agency.StateChanged{From: stageOrStatus(old), To: stageOrStatus(c), Reason: "amended"})
	ev.ContractID, ev.Role = c.ID, c.AssignedRole
	_, err = event.Append(tx, ev)
	return err
}

func contractEvent(old, c agency.Contract, f agency.Fact) agency.Event {
	var ev agency.Event
	switch c.Status {
	case agency.StatusComplete:
		outcome := "landed"
		if _, ok := f.(agency.Answered); ok {
			outcome = "answered"
		}
		ev = agency.NewEvent(c.RunID, agency.SeverityInfo, "contract "+string(c.ID)+" is complete", agency.Completed{Outcome: outcome})
	case agency.StatusFailed:
		ev = agency.NewEvent(c.RunID, agency.SeverityError, c.Error, agency.Failed{Reason: c.Error})
	default:
		from, to := stageOrStatus(old), stageOrStatus(c)
		ev = agency.NewEvent(c.RunID, agency.SeverityDebug, from+" to "+to, agency.StateChanged{From: from, To: to, Reason: c.Error})
	}
	ev.ContractID, ev.AgentID, ev.Role = c.ID, c.AssignedAgentID, c.AssignedRole
	return ev
}

func stageOrStatus(c agency.Contract) string {
	if c.Stage == "" {
		return string(c.Status)
	}
	return string(c.Stage)
}

func scanContract(row store.Scanner) (agency.Contract, error) {
	return scanDoc[agency.Contract](row, "a contract's record")
}

// scanDoc reads a row that is one document.
func scanDoc[T any](row store.Scanner, what string) (v T, err error) {
	var doc string
	if err := row.Scan(&doc); err != nil {
		return v, err
	}
	if err := json.Unmarshal([]byte(doc), &v); err != nil {
		return v, agency.Errorf(agency.KindInternal, "%s: %w", what, err)
	}
	return v, nil
}
