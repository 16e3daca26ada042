package oversight

import (
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/event"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/store"
)

// Intervene does what a detection calls for, once: it notes the intervention, tells
// the log, and whom it concerns. A session that is to pause or to end reads that
// between two turns (session.Member.Ordered).
func Intervene(tx *store.Tx, run agency.RunID, d overseer.Detection) error {
	added, err := registry.AddIntervention(tx, run, registry.Intervention{
		Event: d.Event, Behaviour: d.Behaviour, Session: d.Session, Action: d.Action, Reason: d.Reason(), By: d.By,
	})
	if err != nil || !added {
		return err
	}
	seen := agency.Overseen{
		Cause: string(d.Behaviour), Event: d.Event, Session: d.Session, Severity: string(d.Severity), Confidence: d.Confidence, Evidence: d.Evidence,
		Cooldown: d.Cooldown, By: d.By, Reason: d.Words,
	}
	i := step{tx, run, d, seen}
	switch d.Action {
	case overseer.ActionNudge:
		return i.nudge()
	case overseer.ActionPause, overseer.ActionEscalate:
		i.seen.EscalatedTo = agency.ToHuman
		return i.tell(agency.SeverityError, "paused: "+d.Reason(), agency.Escalated{Reason: d.Reason(), Overseen: &i.seen})
	case overseer.ActionHalt:
		if err := i.tellManager(); err != nil {
			return err
		}
		return i.tell(agency.SeverityCritical, "halted: "+d.Reason(), agency.Halted{Overseen: i.seen})
	}
	waits := ""
	if d.Cooldown > 0 {
		waits = fmt.Sprintf("; the nudge waits for the cooldown of %ds", d.Cooldown)
	}
	return i.tell(agency.SeverityInfo, "seen: "+d.Reason()+waits, agency.Log{Overseen: &i.seen})
}

// step is one intervention on its way into the log.
type step struct {
	tx   *store.Tx
	run  agency.RunID
	d    overseer.Detection
	seen agency.Overseen
}

func (i *step) tell(s agency.Severity, summary string, of agency.Detail) error {
	ev := agency.NewEvent(i.run, s, summary, of)
	ev.AgentID, ev.Role, ev.ContractID = i.d.Agent, i.d.Role, i.d.Contract
	_, err := event.Append(i.tx, ev)
	return err
}

// send writes to somebody, and gives why nobody reads it.
func (i *step) send(m agency.Message) (undelivered string, err error) {
	m.RunID, m.From, m.ContractID = i.run, agency.FromSystem, i.d.Contract
	switch err := board.Send(i.tx, m); agency.KindOf(err) {
	case agency.KindConflict, agency.KindNotFound: // it has ended, or never began
		return err.Error(), nil
	default:
		return "", err
	}
}

func (i *step) id(kind string) agency.MessageID {
	if i.d.By != "" {
		kind += "-" + strings.ReplaceAll(i.d.By, " ", "-")
	}
	return agency.MessageID(fmt.Sprintf("%s-%d-%s", kind, i.d.Event, string(i.d.Behaviour)))
}

// nudge writes to the agent, before whose next turn it is read.
func (i *step) nudge() error {
	text := i.d.Nudge()
	why, err := i.send(agency.Message{
		ID: i.id("nudge"), To: string(i.d.Agent), Type: agency.MessageNudge, Subject: i.d.Behaviour.String(), Body: text,
	})
	switch nudge := (agency.Nudged{Overseen: i.seen, Text: text, Undelivered: why}); {
	case err != nil:
		return err
	case why != "":
		return i.tell(agency.SeverityInfo, "nobody is there to be nudged: "+i.d.Reason(), nudge)
	default:
		return i.tell(agency.SeverityWarning, "nudged: "+i.d.Reason(), nudge)
	}
}

// tellManager tells whoever leads a team of a halt; where it is not at work, it hears of
// it with what became of the contract.
func (i *step) tellManager() error {
	run, err := registry.Run(i.tx, i.run)
	if err != nil || !run.Mode.Team() || i.d.Role == agency.RoleProjectManager {
		return err
	}
	i.seen.EscalatedTo = string(agency.RoleProjectManager)
	i.seen.Untold, err = i.send(agency.Message{
		ID: i.id("halt"), To: string(agency.RoleProjectManager), Type: agency.MessageEscalate, Subject: fmt.Sprintf("Agent halted: %s", i.d.Agent),
		Body: fmt.Sprintf("The overseer halted %s, which worked on %s.\n\n- %s\n\nWhat it made is kept. It begins afresh, then a new attempt with the next model; you need not do anything.",
			i.d.Agent, i.d.Contract, strings.Join(i.d.Evidence, "\n- ")),
	})
	return err
}
