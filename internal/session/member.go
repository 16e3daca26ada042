package session

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/llm"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/tool"
)

// Member is a session as a member of its run.
type Member struct {
	Spec Spec
	DB   *store.DB
	// Write is a transaction under the run's fence.
	Write func(context.Context, func(*store.Tx) error) error
}

// Log appends an event of the session.
func (m *Member) Log(tx *store.Tx, s agency.Severity, summary string, d agency.Detail) error {
	ev := agency.NewEvent(m.Spec.Run, s, summary, d)
	ev.AgentID, ev.Role, ev.Tier, ev.ContractID = m.Spec.Agent, m.Spec.Role, m.Spec.Tier, m.Spec.Contract
	_, err := event.Append(tx, ev)
	return err
}

// LogCall appends what came of a call of a turn, with what the overseer compares.
func (m *Member) LogCall(tx *store.Tx, turn int, k Call) error {
	id, name := m.Spec.ID(), k.Use.Name
	digests := overseer.DigestsOf(k.Use.Args, k.Result.Text)
	danger := overseer.Dangers(name, k.Use.Args, k.Result.Text, k.Result.Failed || k.Result.Red)
	ended := ""
	if k.Result.Red {
		ended = k.Result.Outcome
	}
	if k.Result.Refused {
		return m.Log(tx, agency.SeverityWarning, failedCall(text.Head(name, 64), k), agency.ToolRefused{
			Session: id, Turn: turn, Tool: text.Head(name, 64), Reason: text.Head(k.Result.Text, 500), CallDigests: digests, Danger: danger,
		})
	}
	failed := ""
	if k.Result.Failed {
		failed = text.Head(k.Result.Text, 500)
	}
	line := name + Gist(k.Use.Args)
	if plan, ok := k.Result.Effect.(tool.Todo); ok {
		line = name + " " + text.Head(plan.Line(), 200)
	}
	if failed != "" {
		line = failedCall(name, k)
	}
	return m.Log(tx, agency.SeverityInfo, line, agency.ToolCalled{
		Session: id, Turn: turn, Tool: name, Error: failed, CallDigests: digests, Path: k.Result.Wrote,
		Ended: ended, Waits: overseer.Waits(name, k.Use.Args), Use: overseer.UseOf(name, k.Use.Args), Danger: danger,
	})
}

// Ordered is how the part ends by the overseer's word; nil where it goes on. A
// session that is paused waits for whoever leads it, one that is halted leaves what
// it made to the next attempt.
func (m *Member) Ordered(tx *store.Tx, tree agency.OID) (*Outcome, error) {
	order, err := registry.Ordered(tx, m.Spec.Run, m.Spec.ID())
	if err != nil || order == nil {
		return nil, err
	}
	if order.Action != overseer.ActionHalt {
		return &Outcome{Kind: Blocked, Reason: "the overseer paused it: " + order.Reason, Tree: tree}, nil
	}
	out := Unfinished(CauseHalted, order.Reason, tree)
	out.Afresh, out.Danger = order.Behaviour.Lasts(), order.Behaviour == overseer.Danger
	if out.Afresh || out.Danger { // the way was wrong; who used up its limits may go on
		out.Rollback = agency.RollbackBase
	}
	return out, nil
}

// Nudged tells whether the overseer has nudged the session for what it did; that its limits
// come near is no misbehaviour.
func (m *Member) Nudged(q store.Querier) (bool, error) {
	all, err := event.Of[agency.Nudged](q, event.Filter{Run: m.Spec.Run, Contract: m.Spec.Contract, Types: []agency.EventType{"nudged"}})
	return slices.ContainsFunc(all, func(t event.Told[agency.Nudged]) bool {
		return t.Detail.Session == m.Spec.ID() && overseer.Behaviour(t.Detail.Cause).Lasts()
	}), err
}

// LogEnd appends how a part ended.
func (m *Member) LogEnd(tx *store.Tx, o Outcome) error {
	id := m.Spec.ID()
	switch o.Kind {
	case Claimed:
		return m.Log(tx, agency.SeverityInfo, "claims to be complete: "+text.Head(o.Claim.Summary, 120), agency.Claimed{Session: id, Summary: o.Claim.Summary})
	case Planned:
		if len(o.Faults) > 0 {
			return m.Log(tx, agency.SeverityWarning, fmt.Sprintf("the plan is faulty to the end: %s", text.Head(o.Faults[0].String(), 200)),
				agency.Failed{Session: id, Reason: o.Faults[0].String()})
		}
		return m.Log(tx, agency.SeverityInfo, planLine(o.Plan), agency.PlanSubmitted{Contracts: len(o.Plan), RetryBudgetMultiplier: o.Multiplier})
	case Parked:
		return m.Log(tx, agency.SeverityInfo, "waits for "+string(o.For), agency.SessionParked{Session: id, For: string(o.For)})
	case Blocked:
		return m.Log(tx, agency.SeverityWarning, "blocked: "+text.Head(o.Reason, 200), agency.Escalated{Reason: text.Head(o.Reason, 1000)})
	case Incomplete:
		return m.Log(tx, agency.SeverityWarning, "incomplete: "+text.Head(o.Reason, 200), agency.Failed{Session: id, Reason: o.Reason})
	default:
		return m.Log(tx, agency.SeverityInfo, "session ended: "+string(o.Kind), agency.Completed{Session: id, Outcome: string(o.Kind)})
	}
}

func planLine(plan []agency.Contract) string {
	if len(plan) == 1 {
		c := plan[0]
		return fmt.Sprintf("%s, %s: %s", c.ID, agency.Things(len(c.AcceptanceCriteria), "criterion", "criteria"), text.Head(c.Title, 80))
	}
	names := make([]string, len(plan))
	for i, c := range plan {
		names[i] = string(c.ID)
	}
	return text.Head(fmt.Sprintf("%d contracts: %s", len(plan), strings.Join(names, ", ")), 400)
}

// messageID names what a call sends by the call's place, so that one which runs
// again sends nothing twice; kind is what it asks for, or the agent.
func (m *Member) messageID(kind string, turn, idx int) agency.MessageID {
	return agency.MessageID(fmt.Sprintf("%s%d%s/%d/%d", m.prefix(kind), m.Spec.Attempt, m.Spec.within(), turn, idx+1))
}

// What a contract asks for, as the ids of its messages begin: no agent chooses
// such an id.
const (
	asksQuestion = "ask"
	asksChange   = "change"
	asksHandoff  = "handoff"
)

// prefix begins the ids of what a contract asks for.
func (m *Member) prefix(kind string) string { return kind + "/" + string(m.Spec.Contract) + "/" }

// concurrent tells whether other contracts of the run may be at work on the
// same files: those of a team say what they stand on.
func (m *Member) concurrent() bool { return m.Spec.Onto != "" && m.Spec.Review == nil }

// Call is a tool call of a turn.
type Call struct {
	Index  int
	Use    llm.ToolUse
	Tool   tool.Tool
	Result tool.Result
	Ran    bool // Result is set
}

// Refuse gives the call its result without running it.
func (k *Call) Refuse(r tool.Result) { k.Result, k.Ran = r, true }

// Writes tells whether the call may have changed the workspace.
func (k *Call) Writes() bool {
	return k.Ran && !k.Result.Refused && k.Tool.Access == tool.Write && k.Tool.Scope == tool.Workspace
}

// mostOfCall bounds how much of a call that failed is told before why it did, in characters.
const mostOfCall = 30

// failedCall is a call that failed or was refused in one line: what it was, and why that.
func failedCall(name string, k Call) string {
	what, why := strings.TrimSpace(Gist(k.Use.Args)), text.OneLine(strings.TrimPrefix(k.Result.Text, "error: "), 200)
	if !strings.Contains(why, what) { // else it is said once
		name += " " + text.OneLine(what, mostOfCall)
	}
	return name + ": " + why
}

// Gist is a call's arguments in a few words for the log.
func Gist(raw json.RawMessage) string {
	var args map[string]any
	if json.Unmarshal(raw, &args) != nil {
		return ""
	}
	for _, name := range []string{"path", "command", "pattern", "target", "label", "checkpoint_id", "key", "id", "subcontract_id", "question", "agent", "message", "prompt", "report", "reason"} {
		if s, ok := args[name].(string); ok && s != "" {
			return " " + text.OneLine(s, 80)
		}
	}
	return ""
}
