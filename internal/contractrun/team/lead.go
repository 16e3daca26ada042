package team

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/schedule"
	"agency/internal/session"
)

// WaitLimit is how long a manager waits for agents at a time (docs/design.md, Modes).
const WaitLimit = 1800 * time.Second

// lead is what a manager that still plans has started. It is the run's memory,
// which every branch of the run reads and which a replay makes again.
type lead struct {
	*progress
	exec  *schedule.Executor // nil until something is started
	plans bool               // the manager is at its plan
	wait  *waiter

	untold []schedule.Failure // that the manager has not heard of
	told   []toldFailure
	// stopping is why everything ends, and fault the error with which it does.
	stopping string
	fault    error
}

// toldFailure is one that the manager knew of while it planned; it had started
// so many contracts then.
type toldFailure struct {
	schedule.Failure
	at int
}

// waiter is a manager that waits for contracts to end.
type waiter struct {
	signal flow.Signal[flow.None]
	left   []agency.ContractID
	called bool
}

// Open tells whether the lead may start agents while it plans; in a dry run
// nobody starts anything.
func (t *lead) Open() bool { return !t.in.Dry }

// Answer answers what a manager asks of the run's agents.
func (t *Team) Answer(c flow.Ctx, out session.Outcome, key string) (answer *session.Answer, base agency.OID, stop string, err error) {
	answer = &session.Answer{ToolUse: out.ToolUse}
	looks := false
	for i, ask := range out.Asks {
		text, refused, err := t.asked(c, contractrun.Path(key, i+1), ask)
		if err != nil {
			return nil, "", "", err
		}
		if t.stopping != "" || t.fault != nil {
			return nil, "", t.stopping, t.fault
		}
		if refused != "" {
			text = "error: " + refused
		}
		answer.Replies = append(answer.Replies, session.Reply{ToolUse: ask.ToolUse, Text: text, Refused: refused != ""})
		looks = looks || ask.Wait != nil || ask.Collect != nil
	}
	if !looks {
		return answer, "", "", nil
	}
	head, err := flow.Call(c, land.HeadActivity, contractrun.Path(key, "head"), t.Shared.Level())
	return answer, head.Head, "", err
}

func (t *Team) asked(c flow.Ctx, key string, ask session.AgentsAsk) (text, refused string, err error) {
	switch {
	case ask.Spawn != nil:
		return t.spawn(c, key, *ask.Spawn)
	case ask.Amend != nil:
		return t.amend(c, key, *ask.Amend)
	case ask.Wait != nil:
		return t.await(c, key, ask.Wait.IDs)
	case ask.Collect != nil:
		ids, refused := t.contractsOf(ask.Collect.IDs)
		if refused != "" {
			return "", refused, nil
		}
		text, err := flow.Call(c, effects.ReadResults, contractrun.Path(key, "results"), effects.ResultsQuery{Run: t.in.Run, Contracts: ids})
		t.tell(ids)
		return text, "", err
	}
	return "", "this is nothing that the run can answer", nil
}

// spawned is the answer to spawn_agent.
type spawned struct {
	Agent    agency.AgentID      `json:"agent_id"`
	Contract agency.ContractID   `json:"subcontract_id"`
	State    string              `json:"state"`
	WaitsFor []agency.ContractID `json:"waits_for,omitempty"`
	Behind   agency.ContractID   `json:"behind,omitempty"`
}

// text is the answer as the manager's tool gives it.
func (s spawned) text() string {
	b, err := json.Marshal(s)
	if err != nil { // of plain fields
		return err.Error()
	}
	return string(b)
}

// spawn starts a contract, once.
func (t *Team) spawn(c flow.Ctx, key string, contract agency.Contract) (text, refused string, err error) {
	if t.in.PlanGate {
		return "", "a person approves the plan of this run before any work begins, so that nothing can be spawned. Note all contracts and submit_plan; the harness starts each as soon as it can", nil
	}
	if i := t.find(contract.ID); i >= 0 {
		return t.spawnedText(t.All[i]), "", nil
	}
	if contract.Title == "" {
		return "", fmt.Sprintf("contract %s is not one that you may start", contract.ID), nil
	}
	if refused := t.deadEnd(contract); refused != "" {
		return "", refused, nil
	}
	one := t.Shared.Submitted([]agency.Contract{contract})
	switch _, err := flow.Call(c, effects.CreateContracts, contractrun.Path(key, "create"), one); {
	case agency.KindOf(err) == agency.KindConflict: // the run made one of this id meanwhile
		return "", fmt.Sprintf("the id %s is taken by a contract of this run: give it another by create_subcontract", contract.ID), nil
	case err != nil:
		return "", "", err
	}
	t.knows(one)
	if t.exec == nil {
		t.exec = schedule.Open(c, "executor", t.options(), t.work())
	}
	if err := t.hand(c, contractrun.Path(key, "add"), one); err != nil {
		return "", "", err
	}
	return t.spawnedText(one[0]), "", nil
}

// hand gives contracts to the executor. What can never start is blocked.
func (t *lead) hand(c flow.Ctx, key string, contracts []agency.Contract) error {
	never, err := t.exec.Add(c, key, contracts)
	if err != nil {
		return err
	}
	return t.never(c, key, never)
}

// never records that contracts will not start, because what they depend on
// failed while they were handed over.
func (t *lead) never(c flow.Ctx, key string, blocked []agency.ContractID) error {
	if len(blocked) == 0 {
		return nil
	}
	t.Shared.End(blocked...)
	for _, id := range blocked {
		t.orphaned(id)
	}
	_, err := flow.Call(c, effects.BlockContracts, contractrun.Path(key, "block"), effects.Blocking{Run: t.in.Run, Contracts: blocked, Reason: "something that this depends on failed"})
	return err
}

// orphaned adds a contract that will not start to the failure that keeps it from
// starting, so that a new plan stands in for both. Where the manager knows of
// that one already, it is one more failure.
func (t *lead) orphaned(id agency.ContractID) {
	on := t.All[t.find(id)].DependsOn
	for i := range t.untold {
		f := &t.untold[i]
		if slices.Contains(on, f.Contract.ID) || slices.ContainsFunc(f.Blocked, func(b agency.ContractID) bool { return slices.Contains(on, b) }) {
			f.Blocked = append(slices.Clone(f.Blocked), id)
			return
		}
	}
	t.failures = append(t.failures, failure{id: id, line: fmt.Sprintf("%s: never started, because something that it depends on failed", id)})
}

// broke ends everything with the error of a branch: nobody waits on.
func (t *lead) broke(c flow.Ctx, err error) error {
	if t.fault == nil {
		t.fault = err
	}
	if failed := t.over(c, true); failed != nil {
		return failed
	}
	return err
}

// Over tells whether everything ends, why, and with which error: a manager
// that plans is asked for nothing more then.
func (t *lead) Over() (over bool, stop string, err error) {
	return t.stopping != "" || t.fault != nil, t.stopping, t.fault
}

func (t *lead) spawnedText(contract agency.Contract) string {
	s := spawned{Agent: agency.MemberID(contract.AssignedRole, contract.ID), Contract: contract.ID}
	ahead := t.exec.Ahead(contract.ID)
	switch {
	case slices.Contains(t.Shared.Ended, contract.ID):
		s.State = "has ended: collect_results shows how"
	case len(ahead.For) > 0:
		s.State, s.WaitsFor = "waits until these have landed", ahead.For
	case ahead.Behind != "":
		s.State, s.Behind = "waits for one at work that may change the same files, or may not run beside it", ahead.Behind
	case ahead.Slot:
		s.State = "waits until one of those at work has ended"
	default:
		s.State = "at work"
	}
	return s.text()
}

// deadEnd refuses a contract that depends on one that can no longer land.
func (t *lead) deadEnd(contract agency.Contract) string {
	for _, d := range contract.DependsOn {
		if t.exec == nil || !t.exec.Alive(d) {
			return fmt.Sprintf("contract %s depends on %s, which can no longer land: it would never start. Take it out of depends_on by update_subcontract, or create another contract in its place", contract.ID, d)
		}
	}
	return ""
}

func (t *progress) find(id agency.ContractID) int {
	return slices.IndexFunc(t.All, func(o agency.Contract) bool { return o.ID == id })
}

// amend gives a contract that was started other words, as long as nobody has
// begun it.
func (t *lead) amend(c flow.Ctx, key string, contract agency.Contract) (text, refused string, err error) {
	i := t.find(contract.ID)
	if i < 0 {
		return "", fmt.Sprintf("contract %s was not started", contract.ID), nil
	}
	if refused := t.deadEnd(contract); refused != "" {
		return "", refused, nil
	}
	if !t.exec.Withhold(contract.ID) {
		late := t.All[i]
		if late.Status = agency.StatusInProgress; !t.exec.Alive(late.ID) {
			late.Status = agency.StatusBlocked
		}
		return "", session.Begun(late), nil
	}
	contract = t.Shared.Submitted([]agency.Contract{contract})[0]
	contract.RetryBudget = t.All[i].RetryBudget
	_, err = flow.Call(c, effects.AmendContract, contractrun.Path(key, "amend"), contract)
	if kind := agency.KindOf(err); err != nil && kind != agency.KindConflict {
		return "", "", err
	}
	if err == nil {
		t.All[i] = contract
	}
	blocked, failed := t.exec.Amend(c, contractrun.Path(key, "look"), t.All[i])
	if failed != nil {
		return "", "", failed
	}
	if err := t.never(c, contractrun.Path(key, "look"), blocked); err != nil {
		return "", "", err
	}
	if err != nil || !t.exec.Alive(contract.ID) {
		return "", fmt.Sprintf("contract %s can no longer start: something that it depends on failed meanwhile. Create another contract in its place", contract.ID), nil
	}
	return t.spawnedText(contract), "", nil
}

// contractsOf are the contracts of agents.
func (t *progress) contractsOf(agents []agency.AgentID) (ids []agency.ContractID, refused string) {
	for _, agent := range agents {
		i := slices.IndexFunc(t.All, func(o agency.Contract) bool { return agency.MemberID(o.AssignedRole, o.ID) == agent })
		if i < 0 {
			return nil, fmt.Sprintf("no agent %q was spawned", agent)
		}
		ids = append(ids, t.All[i].ID)
	}
	return ids, ""
}

// await waits until the contracts of agents have ended, or the time is up.
// Waiting holds no slot, and only the host's time at work counts.
func (t *lead) await(c flow.Ctx, key string, agents []agency.AgentID) (text, refused string, err error) {
	ids, refused := t.contractsOf(agents)
	if refused != "" {
		return "", refused, nil
	}
	q := effects.ResultsQuery{Run: t.in.Run, Contracts: ids, Wait: true}
	left := slices.DeleteFunc(slices.Clone(ids), func(id agency.ContractID) bool { return slices.Contains(t.Shared.Ended, id) })
	if len(left) > 0 && t.stopping == "" && t.fault == nil {
		w := &waiter{signal: flow.Signal[flow.None]{Name: "agents/" + key}, left: left}
		t.wait = w
		first, err := flow.Race(
			c, key,
			flow.Member{Key: "ended", Run: func(c flow.Ctx) error {
				_, err := flow.Receive(c, w.signal, "signal")
				return err
			}},
			flow.Member{Key: "late", Run: func(c flow.Ctx) error { return flow.Sleep(c, "limit", WaitLimit) }},
		)
		t.wait = nil
		if err != nil || t.stopping != "" || t.fault != nil {
			return "", "", err
		}
		q.TimedOut = first == 1
	}
	text, err = flow.Call(c, effects.ReadResults, contractrun.Path(key, "results"), q)
	t.tell(ids)
	return text, "", err
}

// over says that contracts have come to their end, and calls who waits for
// them; everything calls whoever waits at all.
func (t *lead) over(c flow.Ctx, everything bool, ids ...agency.ContractID) error {
	t.Shared.End(ids...)
	w := t.wait
	if w == nil || w.called {
		return nil
	}
	w.left = slices.DeleteFunc(w.left, func(id agency.ContractID) bool { return slices.Contains(ids, id) })
	if len(w.left) > 0 && !everything {
		return nil
	}
	w.called = true
	return schedule.Wake(c, "wake", t.in.Run, w.signal)
}

// tell notes that the manager has heard of the failure of contracts, or of
// what keeps them from starting.
func (t *lead) tell(ids []agency.ContractID) {
	t.untold = slices.DeleteFunc(t.untold, func(f schedule.Failure) bool {
		heard := slices.ContainsFunc(ids, func(id agency.ContractID) bool {
			return id == f.Contract.ID || slices.Contains(f.Blocked, id)
		})
		if heard {
			t.told = append(t.told, toldFailure{f, len(t.All)})
		}
		return heard
	})
}

// Begun is what the manager's next attempt is told of the one before.
func (t *lead) Begun() string {
	if t.exec == nil {
		return ""
	}
	var b strings.Builder
	b.WriteString("; started already, going on by themselves, and not to be planned again:")
	names := make([]agency.ContractID, len(t.All))
	for i, o := range t.All {
		names[i] = o.ID
		fmt.Fprintf(&b, " %s (%s);", o.ID, agency.MemberID(o.AssignedRole, o.ID))
	}
	t.tell(names)
	return strings.TrimSuffix(b.String(), ";")
}

// goOn carries out the rest of a plan of which a part was started before. A
// failure that its manager knew of and planned on from is made good by that; of
// one that it did not know, it is asked as usual. Where no plan came, what was
// started goes on to its end all the same.
func (t *Team) goOn(c flow.Ctx, rest []agency.Contract) (schedule.Outcome, error) {
	t.plans = false
	if over, _, _ := t.Over(); over {
		return t.exec.Wait(c)
	}
	if len(rest) > 0 {
		if _, err := flow.Call(c, effects.CreateContracts, "contracts", rest); err != nil {
			return schedule.Outcome{}, err
		}
		t.knows(rest)
		if err := t.hand(c, "submitted", rest); err != nil {
			return schedule.Outcome{}, err
		}
	}
	if err := t.makeGood(c); err != nil {
		return schedule.Outcome{}, err
	}
	if err := t.exec.Close(c, "planned"); err != nil {
		return schedule.Outcome{}, err
	}
	return t.exec.Wait(c)
}

// makeGood settles the failures that came while the manager planned.
func (t *Team) makeGood(c flow.Ctx) error {
	for _, f := range t.told {
		t.Shared.Replanned = true
		if t.Unplanned != "" || len(t.All) == f.at {
			continue
		}
		if err := t.replaced(c, f.Failure); err != nil {
			return err
		}
	}
	if len(t.untold) == 0 || t.Shared.Replanned || t.Unplanned != "" {
		return nil
	}
	more, err := t.mend(c, t.untold[0])
	if err != nil || len(more) == 0 {
		return err
	}
	return t.hand(c, "mended", more)
}
