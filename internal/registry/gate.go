package registry

import (
	"cmp"
	"database/sql"
	"encoding/json"
	"errors"
	"strings"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
	"agency/internal/text"
)

// mostSummary bounds the lines of a gate, in characters.
const mostSummary = 2000

// OpenGate records a gate and announces it. The same id again is nothing: ids
// derive from the step that opens the gate, so that a repeated step finds it.
func OpenGate(tx *store.Tx, g agency.Gate) error {
	g.CreatedAt, g.Decision = tx.Now, agency.Decision{}
	g.Summary, g.Approving, g.Rejecting = text.OneLine(g.Summary, mostSummary), text.OneLine(g.Approving, mostSummary), text.OneLine(g.Rejecting, mostSummary)
	g.Options = text.InLines(g.Options, mostSummary)
	doc, err := json.Marshal(g)
	if err != nil {
		return err
	}
	added, err := execOnce(tx, insertGate, string(g.ID), string(g.RunID), string(g.Kind), string(doc), tx.Now.UnixNano())
	if err != nil || !added {
		return err
	}
	ev := agency.NewEvent(g.RunID, agency.SeverityWarning, g.Summary, agency.GatePending{Gate: g.ID, Kind: g.Kind})
	ev.ContractID = g.ContractID
	_, err = event.Append(tx, ev)
	return err
}

// Gate reads one gate.
func Gate(q store.Querier, id agency.GateID) (agency.Gate, error) {
	g, err := scanGate(q.QueryRow(selectGate, string(id)))
	if errors.Is(err, sql.ErrNoRows) {
		return g, agency.Errorf(agency.KindNotFound, "gate %s is not known here", id).WithMend("agency ps")
	}
	return g, err
}

// Gates reads all gates of a run, oldest first.
func Gates(q store.Querier, run agency.RunID) ([]agency.Gate, error) {
	return store.All(q, scanGate, selectGates, string(run))
}

// OpenGates reads the gates of a run that still wait, oldest first.
func OpenGates(q store.Querier, run agency.RunID) ([]agency.Gate, error) {
	return store.All(q, scanGate, selectOpenGates, string(run))
}

// Decide answers a gate. The first answer wins: a later one is a conflict that
// names it, also where both say the same.
func Decide(tx *store.Tx, id agency.GateID, d agency.Decision) (agency.Gate, error) {
	g, err := Gate(tx, id)
	if err != nil {
		return g, err
	}
	if !g.Open() && g.Decision.By == agency.ByHarness {
		return g, agency.Errorf(agency.KindConflict, "gate %s was withdrawn: %s", id, g.Decision.Note)
	}
	if !g.Open() {
		return g, agency.Errorf(agency.KindConflict, "gate %s was answered already: %s by %s", id, g.Decision.Verb, g.Decision.By)
	}
	if d.Verb != agency.Approve && d.Verb != agency.Reject {
		return g, agency.Errorf(agency.KindInvalid, "gate %s: answer %q: want approve or reject", id, d.Verb)
	}
	d.At, d.Base, d.Head = tx.Now, g.Base, g.Head
	doc, err := json.Marshal(d)
	if err != nil {
		return g, err
	}
	var expired int64
	if err := tx.QueryRow(selectExpiry, string(id)).Scan(&expired); err != nil {
		return g, err
	}
	if _, err := tx.Exec(decideGate,
		string(d.Verb), string(doc), string(id)); err != nil {
		return g, err
	}
	if expired != 0 {
		ev := agency.NewEvent(g.RunID, agency.SeverityInfo, "answered after its deadline", agency.GateResumed{Gate: id})
		if _, err := event.Append(tx, ev); err != nil {
			return g, err
		}
	}
	g.Decision = d
	ev := decisionEvent(g)
	ev.ContractID = g.ContractID
	_, err = event.Append(tx, ev)
	return g, err
}

func decisionEvent(g agency.Gate) agency.Event {
	d := g.Decision
	if d.By == agency.ByHarness {
		return agency.NewEvent(g.RunID, agency.SeverityInfo, string(g.Kind)+" gate withdrawn: "+d.Note, agency.GateApproved{Gate: g.ID, Kind: g.Kind, By: d.By, Note: d.Note})
	}
	if g.Kind == agency.GateQuestion {
		return answerEvent(g)
	}
	if d.Rebases() && g.Kind == agency.GateMerge {
		return agency.NewEvent(g.RunID, agency.SeverityInfo, "merge gate: the work is to be brought together with its target, by "+d.By,
			agency.GateApproved{Gate: g.ID, Kind: g.Kind, By: d.By, Note: d.Note})
	}
	if d.Verb == agency.Approve {
		return agency.NewEvent(g.RunID, agency.SeverityInfo, string(g.Kind)+" gate approved by "+d.By+accepting(g.Weakened)+noting(d.Note),
			agency.GateApproved{Gate: g.ID, Kind: g.Kind, By: d.By, Note: d.Note, Accepted: g.Weakened})
	}
	return agency.NewEvent(g.RunID, agency.SeverityWarning, string(g.Kind)+" gate rejected by "+d.By+": "+cmp.Or(d.Note, "no reason given"),
		agency.GateRejected{Gate: g.ID, Kind: g.Kind, By: d.By, Reason: d.Note})
}

// mostAnswer bounds how much of a person's words stands in the log, in characters; the event has all.
const mostAnswer = 400

// answerEvent is a person's answer to a question, with that and who gave it.
func answerEvent(g agency.Gate) agency.Event {
	d, asked := g.Decision, " (the question: "+g.Summary+")"
	if d.Verb == agency.Approve {
		return agency.NewEvent(g.RunID, agency.SeverityInfo, "question answered by "+d.By+": "+text.OneLine(d.Answer(g.Options), mostAnswer)+asked,
			agency.GateApproved{Gate: g.ID, Kind: g.Kind, By: d.By, Note: d.Note})
	}
	return agency.NewEvent(g.RunID, agency.SeverityWarning, "question not answered by "+d.By+noting(d.Note)+asked,
		agency.GateRejected{Gate: g.ID, Kind: g.Kind, By: d.By, Reason: d.Note})
}

// noting is what a person said with an answer.
func noting(note string) string {
	if note == "" {
		return ""
	}
	return ": " + text.OneLine(note, mostAnswer)
}

// accepting names what an approval accepts.
func accepting(weakened []agency.Weakening) string {
	if len(weakened) == 0 {
		return ""
	}
	names := make([]string, len(weakened))
	for i, w := range weakened {
		names[i] = w.String()
	}
	return ", accepting " + strings.Join(names, "; ")
}

// ExpireGate records that a gate's deadline has passed. Nothing else changes:
// the gate stays open and can still be answered (docs/design.md, Gates).
func ExpireGate(tx *store.Tx, id agency.GateID) error {
	if passed, err := execOnce(tx, expireGate, tx.Now.UnixNano(), string(id)); err != nil || !passed {
		return err
	}
	g, err := Gate(tx, id)
	if err != nil {
		return err
	}
	ev := agency.NewEvent(g.RunID, agency.SeverityWarning, "no answer yet; the run waits, nothing is spent", agency.GatePaused{Gate: id})
	_, err = event.Append(tx, ev)
	return err
}

func scanGate(row store.Scanner) (agency.Gate, error) {
	var doc, verb, decision string
	var g agency.Gate
	if err := row.Scan(&doc, &verb, &decision); err != nil {
		return g, err
	}
	if err := json.Unmarshal([]byte(doc), &g); err != nil {
		return g, agency.Errorf(agency.KindInternal, "a gate's record: %w", err)
	}
	if verb != "" {
		if err := json.Unmarshal([]byte(decision), &g.Decision); err != nil {
			return g, agency.Errorf(agency.KindInternal, "gate %s: its decision: %w", g.ID, err)
		}
	}
	return g, nil
}
