package record

import (
	"encoding/json"
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/session"
	"agency/internal/store"
)

// Info is a session as people look at it. What it cost is the budget's to say.
type Info struct {
	ID       agency.SessionID  `json:"id"`
	Contract agency.ContractID `json:"contract_id"`
	Attempt  int               `json:"attempt"`
	Role     agency.RoleID     `json:"role"`
	Agent    agency.AgentID    `json:"agent"`
	Tier     string            `json:"tier,omitempty"`
	Model    string            `json:"model"`
	Turns    int               `json:"turns"`
	Epochs   int               `json:"epochs"`  // from 1; each compaction and each other model begins one
	Outcome  string            `json:"outcome"` // of its last part; running where none has ended, or a later one goes on
	Reason   string            `json:"reason,omitempty"`
	Started  time.Time         `json:"started_at"`
	// Plan is the one without faults that the session ended with; Tiers and Multiplier are
	// what it says beside its contracts.
	Plan       []agency.Contract `json:"-"`
	Tiers      *agency.TierFacts `json:"-"`
	Multiplier int               `json:"-"`
}

// Sessions are those of a run, oldest first. What each cost the budget says.
func Sessions(q store.Querier, run agency.RunID) ([]Info, error) {
	rows, err := q.Query(listSessions, string(run))
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }() // rows.Err below is the one that counts
	var out []Info
	for rows.Next() {
		var i Info
		var at int64
		var doc string
		if err := rows.Scan(&i.ID, &i.Contract, &i.Attempt, &i.Role, &i.Agent, &i.Tier, &i.Model, &at, &i.Turns, &i.Epochs, &doc); err != nil {
			return nil, err
		}
		var o struct {
			Kind, Reason string
			Plan         []agency.Contract
			Faults       []agency.PlanFault
			Tiers        *agency.TierFacts
			Multiplier   int `json:"retry_budget_multiplier"`
		}
		if err := json.Unmarshal([]byte(doc), &o); err != nil {
			return nil, fmt.Errorf("session %s: %w", i.ID, err)
		}
		i.Started, i.Outcome, i.Reason = store.Time(at), o.Kind, o.Reason
		if i.Outcome == "" {
			i.Outcome = "running"
		}
		if i.Outcome == string(session.Planned) && len(o.Faults) == 0 {
			i.Plan, i.Tiers, i.Multiplier = o.Plan, o.Tiers, o.Multiplier
		}
		out = append(out, i)
	}
	return out, rows.Err()
}

// Worked is the turns of a session that one model answered, with what that counted.
type Worked struct {
	ID      agency.SessionID
	Attempt int
	Role    agency.RoleID
	Model   string // that answered: provider/model; empty: no turn of the session has an answer
	agency.Effort
	Unpriced bool
}

// Efforts are the sessions of a contract, oldest first, each by the models that answered in it.
func Efforts(q store.Querier, run agency.RunID, contract agency.ContractID) ([]Worked, error) {
	return store.All(q, func(row store.Scanner) (w Worked, err error) {
		err = row.Scan(&w.ID, &w.Attempt, &w.Role, &w.Model, &w.Turns, &w.Usage.In, &w.Usage.Cached, &w.Usage.CacheWrite, &w.Usage.Out, &w.Unpriced)
		return w, err
	}, listEfforts, string(run), string(contract))
}

// Transcript is a session's conversation: its system prompt and its messages,
// as a model was sent them. What a later epoch repeats stands in it once.
func Transcript(q Reader, id agency.SessionID) (system string, said []llm.Message, err error) {
	var h agency.Hash
	if err := q.QueryRow(selectSystem, string(id)).Scan(&h); err != nil {
		return "", nil, agency.Errorf(agency.KindNotFound, "session %s: there is none", id)
	}
	text, err := q.Blob(h)
	if err != nil {
		return "", nil, err
	}
	if said, err = messages(q, selectTranscript, string(id)); err != nil {
		return "", nil, fmt.Errorf("session %s: %w", id, err)
	}
	return string(text), said, nil
}

// OfTurn is what a session's model said in a turn, and below it the results of its calls.
func OfTurn(q Reader, id agency.SessionID, turn int) (out []llm.Message, err error) {
	said, err := messages(q, selectOfTurn, string(id), turn, turn+1)
	if err != nil {
		return nil, fmt.Errorf("session %s: %w", id, err)
	}
	for _, m := range said {
		switch {
		case m.Role == llm.Assistant && len(out) == 0, m.Role == llm.User && len(out) == 1:
			out = append(out, m)
		}
	}
	return out, nil
}

// Forget removes a run's sessions; the caller removes the run.
func Forget(tx *store.Tx, run agency.RunID) error {
	for _, stmt := range append(deletePerSession(), deleteWindows, deleteSessions) {
		if _, err := tx.Exec(stmt, string(run)); err != nil {
			return err
		}
	}
	return nil
}
