package session

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/roster"
	"agency/internal/text"
	"agency/internal/tool"
)

// asks parks the session for one more answer of the run.
func (t *Effects) asks(k *Call, a AgentsAsk) {
	a.ToolUse = k.Use.ID
	if t.End == nil {
		t.End = &Outcome{Kind: Parked, For: ForAgents, ToolUse: k.Use.ID, Tree: t.Tree}
	}
	t.End.Asks = append(t.End.Asks, a)
}

// standing are the contracts that agents work on, as the calls of the turn so
// far leave them: what they start is among them.
func (t *Effects) standing() []agency.Contract {
	out := slices.Clone(t.known)
	if t.End == nil {
		return out
	}
	for _, a := range t.End.Asks {
		switch {
		case a.Spawn != nil && a.Spawn.Title != "":
			started := *a.Spawn
			started.Status = agency.StatusPending
			out = append(out, started)
		case a.Amend != nil:
			if i := slices.IndexFunc(out, func(o agency.Contract) bool { return o.ID == a.Amend.ID }); i >= 0 {
				out[i] = *a.Amend
			}
		}
	}
	return out
}

func byID(list []agency.Contract, id agency.ContractID) (agency.Contract, bool) {
	i := slices.IndexFunc(list, func(c agency.Contract) bool { return c.ID == id })
	if i < 0 {
		return agency.Contract{}, false
	}
	return list[i], true
}

// spawn asks the run to start a contract, which is held to the rules of a plan
// first. One that was started already is asked for all the same: the answer is
// the agent that has it.
func (t *Effects) spawn(k *Call, e tool.Spawn) {
	draft, noted := byID(t.Notes.Drafts, e.Contract)
	_, started := byID(t.standing(), e.Contract)
	switch {
	case started:
		t.asks(k, AgentsAsk{Spawn: &agency.Contract{ID: e.Contract}})
		return
	case !noted:
		k.Result = tool.Refusal("no contract %q is noted; create_subcontract notes one. Noted: %s", text.Head(string(e.Contract), 80), contractNames(t.Notes.Drafts))
		return
	case !roster.MaySpawn(t.Spec.Role, e.Role):
		k.Result = tool.Refusal("you may not spawn a %q; you may spawn %s", text.Head(string(e.Role), 80), tool.Joined(roster.Spawns(t.Spec.Role), ", "))
		return
	}
	draft.AssignedRole = e.Role
	rules := t.building(t.standing(), t.Notes.Drafts, "")
	if faults := t.planFaults([]agency.Contract{draft}, rules); len(faults) > 0 {
		k.Result = tool.Refusal("contract %s is not started. Its faults, all of them:\n%sIt stays noted: mend it by update_subcontract, then spawn it again.", draft.ID, listed(faults))
		return
	}
	t.asks(k, AgentsAsk{Spawn: &draft})
}

// amend changes a contract that is only noted at once, and asks the run for
// one that was started.
func (t *Effects) amend(k *Call, e tool.Amend) {
	old, started := byID(t.standing(), e.Contract)
	if draft, noted := byID(t.Notes.Drafts, e.Contract); noted && !started {
		changed := e.Change(draft)
		t.Notes.Drafts = slices.Clone(t.Notes.Drafts)
		t.Notes.Drafts[slices.IndexFunc(t.Notes.Drafts, func(o agency.Contract) bool { return o.ID == e.Contract })] = changed
		k.Result = tool.Result{Text: fmt.Sprintf("contract %s is changed; it is still only noted", e.Contract)}
		return
	}
	switch {
	case !started:
		k.Result = tool.Refusal("there is no contract %q. Noted: %s; started: %s", text.Head(string(e.Contract), 80), contractNames(t.Notes.Drafts), contractNames(t.known))
		return
	case old.Attempts > 0 || old.Status != agency.StatusPending:
		k.Result = tool.Refusal("%s", Begun(old))
		return
	}
	changed := e.Change(old)
	if !roster.MaySpawn(t.Spec.Role, changed.AssignedRole) {
		k.Result = tool.Refusal("you may not spawn a %q; you may spawn %s", text.Head(string(changed.AssignedRole), 80), tool.Joined(roster.Spawns(t.Spec.Role), ", "))
		return
	}
	if faults := t.planFaults([]agency.Contract{changed}, t.building(t.standing(), t.Notes.Drafts, old.ID)); len(faults) > 0 {
		k.Result = tool.Refusal("contract %s stays as it is. The faults of what it would be:\n%s", old.ID, listed(faults))
		return
	}
	t.asks(k, AgentsAsk{Amend: &changed})
}

// building are the rules for contracts that build on those that were started;
// own is the id of one that is started itself and is to change.
func (t *Effects) building(started, noted []agency.Contract, own agency.ContractID) agency.PlanRules {
	rules := t.Rules
	rules.Started = slices.DeleteFunc(slices.Clone(started), func(o agency.Contract) bool { return o.ID == own })
	rules.Noted, rules.Taken = map[agency.ContractID]bool{}, maps.Clone(rules.Taken)
	delete(rules.Taken, own)
	for _, n := range noted {
		rules.Noted[n.ID] = true
	}
	return rules
}

func contractNames(contracts []agency.Contract) string {
	if len(contracts) == 0 {
		return "none"
	}
	names := make([]string, len(contracts))
	for i, c := range contracts {
		names[i] = string(c.ID)
	}
	return strings.Join(text.FewOf(names, 50), ", ")
}

// unknownAgents refuses agents that were never spawned, and the asker itself.
func (t *Effects) unknownAgents(ids []agency.AgentID) (refusal string) {
	known := map[agency.AgentID]bool{}
	var names []string
	for _, o := range t.standing() {
		id := agency.MemberID(o.AssignedRole, o.ID)
		if known[id] = true; len(names) < 50 {
			names = append(names, string(id))
		}
	}
	var bad []string
	for _, id := range ids {
		switch {
		case id == t.Spec.Agent:
			bad = append(bad, fmt.Sprintf("%s is yourself", id))
		case !known[id]:
			bad = append(bad, fmt.Sprintf("no agent %q was spawned", text.Head(string(id), 80)))
		}
	}
	if len(bad) == 0 {
		return ""
	}
	if len(names) == 0 {
		names = []string{"none"}
	}
	return strings.Join(bad, "; ") + ". Spawned: " + strings.Join(names, ", ")
}

// ofAgents asks the run about agents that it has.
func (t *Effects) ofAgents(k *Call, ids []agency.AgentID, a AgentsAsk) {
	if refusal := t.unknownAgents(ids); refusal != "" {
		k.Result = tool.Refusal("%s", refusal)
		return
	}
	t.asks(k, a)
}

// composed is what an agent of a composition asks of the others, or hands over to them. It
// is for who asks, not for the session, to say whom there is.
func composed(t *Effects, k *Call) {
	switch e := k.Result.Effect.(type) {
	case tool.CallAgent:
		t.asks(k, AgentsAsk{Call: &CallAsk{Agent: e.Agent, Prompt: e.Prompt, MaxTokens: e.MaxTokens}})
	case tool.AskAgain:
		t.asks(k, AgentsAsk{Again: &AgainAsk{ID: e.ID, Question: e.Question}})
	case tool.Release:
		t.asks(k, AgentsAsk{Release: e.ID})
	case tool.HandTo:
		t.End = &Outcome{Kind: HandedOff, HandTo: &HandTo{Agent: e.Agent, Message: e.Message}, Tree: t.Tree}
	case tool.Broadcast:
		if e.Final {
			t.End = &Outcome{Kind: Reported, Report: e.Message, Failed: e.Failed, ToolUse: k.Use.ID, Tree: t.Tree}
			return
		}
		t.asks(k, AgentsAsk{Broadcast: e.Message})
	}
}
