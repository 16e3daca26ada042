package session

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/store"
	"agency/internal/tool"
	"agency/internal/verify"
)

// AgentsAsk is what a manager asks of the run's agents. Exactly one of the
// pointers is set.
type AgentsAsk struct {
	ToolUse string `json:"tool_use_id"`
	// Spawn is a contract to start: whole where it was only noted, else its id.
	Spawn *agency.Contract `json:"spawn,omitempty"`
	// Wait and Collect name agents.
	Wait    *Agents `json:"wait,omitempty"`
	Collect *Agents `json:"collect,omitempty"`
	// Amend is a contract as it is to be, which has not begun.
	Amend *agency.Contract `json:"amend,omitempty"`
}

// Agents names agents.
type Agents struct {
	IDs []agency.AgentID `json:"ids"`
}

// Reply is the result of one of the calls that parked a session together.
type Reply struct {
	ToolUse string `json:"tool_use_id"`
	Text    string `json:"text"`
	Refused bool   `json:"refused,omitempty"`
}

// asks parks the session for one more answer of the run.
func (c *conversation) asks(d *done, k *call, a AgentsAsk) {
	a.ToolUse = k.use.ID
	if d.end == nil {
		d.end = &Outcome{Kind: Parked, For: ForAgents, ToolUse: k.use.ID, Tree: d.tree}
	}
	d.end.Asks = append(d.end.Asks, a)
}

// awaits tells whether a call waits for what comes after the part.
func (o *Outcome) awaits(toolUse string) bool {
	return o != nil && o.Kind == Parked &&
		(o.ToolUse == toolUse || slices.ContainsFunc(o.Asks, func(a AgentsAsk) bool { return a.ToolUse == toolUse }))
}

// replied is the result of a call for which the session was parked; the draft of
// a contract that was started is forgotten.
func (c *conversation) replied(r llm.ToolResult) llm.ToolResult {
	at := slices.IndexFunc(c.st.Asks, func(a AgentsAsk) bool { return a.ToolUse == r.ID })
	if at < 0 {
		return r
	}
	r.Text = noAnswer
	if c.spec.Answer == nil {
		return r
	}
	for _, reply := range c.spec.Answer.Replies {
		if reply.ToolUse != r.ID {
			continue
		}
		r.Text, r.IsError = tool.Cap(reply.Text, tool.MaxResult), reply.Refused
		if started := c.st.Asks[at].Spawn; started != nil && !reply.Refused {
			c.st.Drafts = slices.DeleteFunc(slices.Clone(c.st.Drafts), func(o agency.Contract) bool { return o.ID == started.ID })
		}
	}
	return r
}

// team are the contracts of the run that agents work on: all but those of the
// manager itself.
func (c *conversation) team(ctx context.Context) (out []agency.Contract, err error) {
	err = c.r.o.DB.Read(ctx, func(q *store.Snapshot) error {
		all, err := registry.Contracts(q, c.spec.Run)
		out = slices.DeleteFunc(all, func(o agency.Contract) bool { return o.AssignedRole == c.spec.Role })
		return err
	})
	return out, err
}

// standing are the contracts that agents work on, as the calls of the turn so
// far leave them: what they start is among them.
func (d *done) standing() []agency.Contract {
	out := slices.Clone(d.known)
	if d.end == nil {
		return out
	}
	for _, a := range d.end.Asks {
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
func (c *conversation) spawn(d *done, k *call, e tool.Spawn) {
	draft, noted := byID(d.st.Drafts, e.Contract)
	_, started := byID(d.standing(), e.Contract)
	switch {
	case started:
		c.asks(d, k, AgentsAsk{Spawn: &agency.Contract{ID: e.Contract}})
		return
	case !noted:
		k.res = tool.Refusal("no contract %q is noted; create_subcontract notes one. Noted: %s", clip(string(e.Contract), 80), contractNames(d.st.Drafts))
		return
	case !roster.MaySpawn(c.spec.Role, e.Role):
		k.res = tool.Refusal("you may not spawn a %q; you may spawn %s", clip(string(e.Role), 80), roleNames(roster.Spawns(c.spec.Role)))
		return
	}
	draft.AssignedRole = e.Role
	rules := c.building(d.standing(), d.st.Drafts, "")
	if faults := c.planFaults([]agency.Contract{draft}, rules); len(faults) > 0 {
		k.res = tool.Refusal("contract %s is not started. Its faults, all of them:\n%sIt stays noted: mend it by update_subcontract, then spawn it again.", draft.ID, listed(faults))
		return
	}
	c.asks(d, k, AgentsAsk{Spawn: &draft})
}

// amend changes a contract that is only noted at once, and asks the run for
// one that was started.
func (c *conversation) amend(d *done, k *call, e tool.Amend) {
	old, started := byID(d.standing(), e.Contract)
	if draft, noted := byID(d.st.Drafts, e.Contract); noted && !started {
		changed := e.Change(draft)
		d.st.Drafts = slices.Clone(d.st.Drafts)
		d.st.Drafts[slices.IndexFunc(d.st.Drafts, func(o agency.Contract) bool { return o.ID == e.Contract })] = changed
		k.res = tool.Result{Text: fmt.Sprintf("contract %s is changed; it is still only noted", e.Contract)}
		return
	}
	switch {
	case !started:
		k.res = tool.Refusal("there is no contract %q. Noted: %s; started: %s", clip(string(e.Contract), 80), contractNames(d.st.Drafts), contractNames(d.known))
		return
	case old.Attempts > 0 || old.Status != agency.StatusPending:
		k.res = tool.Refusal("%s", Begun(old))
		return
	}
	changed := e.Change(old)
	if !roster.MaySpawn(c.spec.Role, changed.AssignedRole) {
		k.res = tool.Refusal("you may not spawn a %q; you may spawn %s", clip(string(changed.AssignedRole), 80), roleNames(roster.Spawns(c.spec.Role)))
		return
	}
	if faults := c.planFaults([]agency.Contract{changed}, c.building(d.standing(), d.st.Drafts, old.ID)); len(faults) > 0 {
		k.res = tool.Refusal("contract %s stays as it is. The faults of what it would be:\n%s", old.ID, listed(faults))
		return
	}
	c.asks(d, k, AgentsAsk{Amend: &changed})
}

// Begun says why a contract cannot be amended, and what can be done instead.
func Begun(c agency.Contract) string {
	agent := agency.MemberID(c.AssignedRole, c.ID)
	switch {
	case c.Status == agency.StatusComplete:
		return fmt.Sprintf("contract %s has landed and cannot be changed; create another one that depends on it", c.ID)
	case c.Status.Final() || c.Status == agency.StatusBlocked:
		return fmt.Sprintf("contract %s is %s and never starts again; create another one in its place", c.ID, c.Status)
	}
	return fmt.Sprintf("contract %s has begun and cannot be changed; send_message tells %s what it has to know, or wait for it and create another one that depends on it", c.ID, agent)
}

// building are the rules for contracts that build on those that were started;
// own is the id of one that is started itself and is to change.
func (c *conversation) building(started, noted []agency.Contract, own agency.ContractID) agency.PlanRules {
	rules := c.setup.Rules
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
	var names []string
	for _, c := range contracts[:min(len(contracts), 50)] {
		names = append(names, string(c.ID))
	}
	if more := len(contracts) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(names, ", ")
}

func roleNames(roles []agency.RoleID) string {
	names := make([]string, len(roles))
	for i, r := range roles {
		names[i] = string(r)
	}
	return strings.Join(names, ", ")
}

// unknownAgents refuses agents that were never spawned, and the asker itself.
func (c *conversation) unknownAgents(d *done, ids []agency.AgentID) (refusal string) {
	known := map[agency.AgentID]bool{}
	var names []string
	for _, o := range d.standing() {
		id := agency.MemberID(o.AssignedRole, o.ID)
		if known[id] = true; len(names) < 50 {
			names = append(names, string(id))
		}
	}
	var bad []string
	for _, id := range ids {
		switch {
		case id == c.spec.Agent:
			bad = append(bad, fmt.Sprintf("%s is yourself", id))
		case !known[id]:
			bad = append(bad, fmt.Sprintf("no agent %q was spawned", clip(string(id), 80)))
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
func (c *conversation) ofAgents(d *done, k *call, ids []agency.AgentID, a AgentsAsk) {
	if refusal := c.unknownAgents(d, ids); refusal != "" {
		k.res = tool.Refusal("%s", refusal)
		return
	}
	c.asks(d, k, a)
}

// members tells the tools how the work on contracts stands.
type members struct{ c *conversation }

func (m members) Contracts(ctx context.Context) ([]tool.TeamContract, error) {
	started, err := m.c.team(ctx)
	if err != nil {
		return nil, err
	}
	var out []tool.TeamContract
	for _, s := range started {
		out = append(out, tool.TeamContract{Contract: s, Agent: agency.MemberID(s.AssignedRole, s.ID)})
	}
	for _, d := range m.c.st.Drafts {
		out = append(out, tool.TeamContract{Contract: d, Noted: true})
	}
	return out, nil
}

func (m members) Contract(ctx context.Context, id agency.ContractID) (out tool.TeamContract, err error) {
	all, err := m.Contracts(ctx)
	if err != nil {
		return out, err
	}
	at := slices.IndexFunc(all, func(o tool.TeamContract) bool { return o.ID == id })
	if at < 0 {
		contracts := make([]agency.Contract, len(all))
		for i, o := range all {
			contracts[i] = o.Contract
		}
		return out, agency.Errorf(agency.KindNotFound, "there is no contract %q; noted or started are: %s", clip(string(id), 80), contractNames(contracts))
	}
	out = all[at]
	if out.Noted {
		return out, nil
	}
	return out, m.c.r.o.DB.Read(ctx, func(q *store.Snapshot) error { return measure(q, m.c.spec.Run, &out) })
}

// planned is the plan of a manager as it stands, a line a contract.
func (c *conversation) planned(ctx context.Context) (out []string, err error) {
	if !c.spec.Leads && len(c.st.Drafts) == 0 {
		return nil, nil
	}
	all, err := members{c}.Contracts(ctx)
	for _, o := range all {
		if o.Noted || c.spec.Leads {
			out = append(out, o.Stands())
		}
	}
	if more := len(out) - maxPlanned; more > 0 {
		out = append(out[:maxPlanned:maxPlanned], fmt.Sprintf("and %d more", more))
	}
	return out, err
}

// maxPlanned is how many contracts of a plan a new epoch names.
const maxPlanned = 200

// measure adds what the records show of the work on a contract.
func measure(q *store.Snapshot, run agency.RunID, c *tool.TeamContract) error {
	verdicts, err := verify.Verdicts(q, run)
	if err != nil {
		return err
	}
	var passed agency.Verdict
	for _, v := range verdicts {
		if v.ContractID == c.ID {
			c.Verdict = &v
			if v.Pass {
				passed = v
			}
		}
	}
	receipts, err := check.Receipts(q, run)
	if err != nil {
		return err
	}
	c.Receipts = latest(receipts, c.ID)
	reviews, err := registry.Reviews(q, run)
	if err != nil {
		return err
	}
	if c.Proofs = passed.Proofs; !passed.Pass { // a review has none: nothing of it was to be verified
		c.Proofs = agency.ProveWithoutVerdict(c.Contract, reviews)
	}
	for _, r := range reviews {
		if r.ContractID != c.ID {
			continue
		}
		c.Reviews = append(c.Reviews, r)
		if passed.Pass && r.Tree == passed.Tree {
			c.Proofs = agency.ProveByReview(c.Proofs, r)
		}
	}
	return nil
}
