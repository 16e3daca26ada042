package board

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/store"
)

// ConflictKind says what agents disagree on.
type ConflictKind string

// The kinds of conflicts. What shows them are the harness's own
// records, of files and of reviews; an agent's word that it has changed a file
// shows nothing.
const (
	FileWrite          ConflictKind = "file_write"          // two agents have changed a file apart from each other
	ReviewDisagreement ConflictKind = "review_disagreement" // two reviewers judge the same files differently
)

// ConflictStatus says how far a conflict has come.
type ConflictStatus string

// The statuses of a conflict. What is escalated can still be resolved.
const (
	ConflictOpen      ConflictStatus = "open"
	ConflictEscalated ConflictStatus = "escalated"
	ConflictResolved  ConflictStatus = "resolved"
)

// Conflict is what agents disagree on, until it is resolved with a proof.
type Conflict struct {
	ID       int64              `json:"id"`
	Run      agency.RunID       `json:"run_id"`
	Kind     ConflictKind       `json:"type"`
	Resource string             `json:"resource"` // the file or the contract
	Agents   []agency.AgentID   `json:"agents"`
	Evidence []agency.MessageID `json:"evidence"` // what shows it: edits, steps that failed or gave a review
	// LandingFailed: a landing did not go with what had landed before. Until then
	// a conflict over a file is known from edits alone.
	LandingFailed bool           `json:"-"`
	Status        ConflictStatus `json:"status"`
	// EscalatedTo is the gate or the message to the manager.
	EscalatedTo string    `json:"escalated_to,omitempty"`
	By          string    `json:"decided_by,omitempty"`
	How         string    `json:"how,omitempty"`
	Proof       Proof     `json:"proof,omitzero"`
	CreatedAt   time.Time `json:"created_at"`
	DecidedAt   time.Time `json:"decided_at,omitzero"`
}

func (c Conflict) String() string {
	if c.Kind == FileWrite {
		return fmt.Sprintf("%s have changed %s apart from each other", parties(c.Agents), c.Resource)
	}
	return fmt.Sprintf("%s disagree in their reviews of %s", parties(c.Agents), c.Resource)
}

func parties(agents []agency.AgentID) string {
	out := make([]string, len(agents))
	for i, a := range agents {
		out[i] = string(a)
	}
	return strings.Join(out, " and ")
}

// RecordConflict writes down what shows a conflict: c.Kind, Resource, Agents and
// Evidence. It is a new conflict, or what one that is not resolved has grown to;
// the same evidence again is nothing, and what a resolution was about is not
// opened again. It returns the conflict as it stands.
func RecordConflict(tx *store.Tx, run agency.RunID, c Conflict) (Conflict, error) {
	if c.Resource == "" || len(c.Agents) < 2 || len(c.Evidence) == 0 {
		return c, agency.Errorf(agency.KindInvalid, "conflict of %v over %q shown by %v: want two agents, a resource and evidence", c.Agents, c.Resource, c.Evidence)
	}
	known, err := conflicts(tx, selectConflictsOver, string(run), string(c.Kind), c.Resource)
	if err != nil {
		return c, err
	}
	for _, k := range known {
		switch {
		case containsAll(k.Evidence, c.Evidence):
			return k, nil
		case k.Status != ConflictResolved:
			c.ID, c.Agents, c.Evidence = k.ID, union(k.Agents, c.Agents), union(k.Evidence, c.Evidence)
			c.LandingFailed = c.LandingFailed || k.LandingFailed
		}
	}
	if c.ID, err = putConflict(tx, run, c); err != nil {
		return c, err
	}
	if c, err = ConflictOf(tx, run, c.ID); err != nil {
		return c, err
	}
	return c, appendEvent(tx, agency.NewEvent(run, agency.SeverityWarning, "conflict: "+c.String(), agency.Log{}))
}

// putConflict stores an open conflict, a new one where it has no id.
func putConflict(tx *store.Tx, run agency.RunID, c Conflict) (id int64, err error) {
	agents, err := json.Marshal(c.Agents)
	if err != nil {
		return 0, err
	}
	evidence, err := json.Marshal(c.Evidence)
	if err != nil {
		return 0, err
	}
	if c.ID != 0 {
		_, err := tx.Exec(growConflict, string(agents), string(evidence), c.LandingFailed, c.ID)
		return c.ID, err
	}
	err = tx.QueryRow(insertConflict,
		string(run), string(c.Kind), c.Resource, string(agents), string(evidence), c.LandingFailed, store.Micros(tx.Now)).Scan(&id)
	return id, err
}

// union are the members of both, those of a first.
func union[T comparable](a, b []T) []T {
	out := slices.Clone(a)
	for _, v := range b {
		if !slices.Contains(out, v) {
			out = append(out, v)
		}
	}
	return out
}

func containsAll(all, some []agency.MessageID) bool {
	return !slices.ContainsFunc(some, func(id agency.MessageID) bool { return !slices.Contains(all, id) })
}

// Unresolved are the conflicts of a run that are open or escalated.
func Unresolved(q store.Querier, run agency.RunID) ([]Conflict, error) {
	return conflicts(q, selectUnresolved, string(run))
}

// Conflicts are those of a run, in the order in which they were found.
func Conflicts(q store.Querier, run agency.RunID) ([]Conflict, error) {
	return conflicts(q, selectAllConflicts, string(run))
}

// ConflictOf reads one conflict.
func ConflictOf(q store.Querier, run agency.RunID, id int64) (Conflict, error) {
	found, err := conflicts(q, selectConflict, string(run), id)
	if err != nil {
		return Conflict{}, err
	}
	if len(found) == 0 {
		return Conflict{}, agency.Errorf(agency.KindNotFound, "run %s has no conflict %d", run, id)
	}
	return found[0], nil
}

func conflicts(q store.Querier, query string, args ...any) ([]Conflict, error) {
	return store.All(q, func(row store.Scanner) (c Conflict, err error) {
		var agents, evidence string
		var created, decided int64
		if err := row.Scan(&c.ID, &c.Run, &c.Kind, &c.Resource, &agents, &evidence, &c.LandingFailed, &c.Status, &c.EscalatedTo, &c.By, &c.How,
			&c.Proof.Kind, &c.Proof.Ref, &created, &decided); err != nil {
			return c, err
		}
		c.CreatedAt, c.DecidedAt = store.Time(created), moment(decided)
		err = errors.Join(json.Unmarshal([]byte(agents), &c.Agents), json.Unmarshal([]byte(evidence), &c.Evidence))
		return c, err
	}, query, args...)
}
