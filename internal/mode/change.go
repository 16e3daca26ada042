package mode

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/session"
)

// A test engineer that finds a bug does not mend it: whoever wrote the code
// does, by one more contract whose criterion is the failing test. It is worked
// on in the slot of the tester, which waits meanwhile, from the tester's files,
// so that the test is there; and only once nobody else at work may change the
// files that it may.

// meetChange has a bug mended and brings the tester's files onto the result.
func (a *attempts) meetChange(c flow.Ctx, out session.Outcome, at place) (*session.Answer, string, error) {
	q := &inquiry{attempts: a, out: out, at: at}
	answer := &session.Answer{ToolUse: out.ToolUse}
	text := "error: refused: nobody's implementation is under test here: no contract that this one depends on has changed code. Say in your closing words what is wrong, or end by signal_blocked."
	if owners := a.owners(); a.crew != nil && a.slot != nil && len(owners) > 0 {
		fix := a.fix(owners, *out.Change)
		landed, failure, stop, err := a.mend(c, fix, owners, out)
		if err != nil || stop != "" {
			return nil, stop, err
		}
		head, err := flow.Call(c, land.HeadActivity, q.key("head"), land.BranchSpec{Run: a.in.Run})
		if err != nil {
			return nil, "", err
		}
		a.base, answer.Moved = head.Head, true
		a.heardAll()
		text = changeText(fix, landed, failure)
	}
	if err := q.meet(c, agency.FromSystem, text); err != nil {
		return nil, "", err
	}
	answer.Text, answer.Message = q.met.Text, q.met.Reply
	return answer, "", nil
}

// changeText is what became of a bug, for who reported it.
func changeText(fix agency.Contract, landed land.Landed, failure string) string {
	if failure != "" {
		return fmt.Sprintf("error: the implementation was not changed: contract %s failed: %s. Go on with what you can test, or end by signal_blocked with the failing test.", fix.ID, failure)
	}
	return fmt.Sprintf("The implementation was changed by contract %s, landed as %s. Your files stand on it now: run the tests again. Files that it might change: %s.",
		fix.ID, landed.Commit, strings.Join(fix.Writes, ", "))
}

// owners are the contracts whose code a contract tests: those that it depends
// on, but for tests and reviews.
func (a *attempts) owners() []agency.Contract {
	if a.crew == nil {
		return nil
	}
	var out []agency.Contract
	for _, p := range a.crew.plan {
		if slices.Contains(a.contract.DependsOn, p.ID) && p.AssignedRole != reviewer && p.AssignedRole != a.role {
			out = append(out, p)
		}
	}
	return out
}

// fix is the contract that mends a bug. Where several wrote what is tested it
// may change the files of each; the first of them gives it its name and role.
func (a *attempts) fix(owners []agency.Contract, ch session.Change) agency.Contract {
	fix := agency.Contract{
		ID: a.crew.fixID(owners[0].ID), RunID: a.in.Run, ParentID: a.contract.ID, FeatureID: a.contract.FeatureID, Type: agency.TypeFeature,
		AssignedRole: owners[0].AssignedRole, Title: firstLine("Mend: " + ch.Bug), GoalAnchor: a.in.Goal, RetryBudget: a.in.RetryBudget,
		Description: "The tests of contract " + string(a.contract.ID) + " have found a bug in what " + strings.Join(ids(contractIDs(owners)), ", ") +
			" landed. The test that shows it is in the files. Mend the code, not the test.\n\nThe tester's words:\n\n" + ch.Bug,
		AcceptanceCriteria: []agency.Criterion{{ID: "fix", Text: "the test passes that shows the bug", Check: &agency.Check{Test: ch.Test}}},
		RelevantFiles:      ch.Files,
	}
	for _, o := range owners {
		fix.APIDefinitions = append(fix.APIDefinitions, o.APIDefinitions...)
		fix.Constraints = append(fix.Constraints, o.Constraints...)
		if w := o.WriteSet(); len(w) > 0 {
			fix.Writes = append(fix.Writes, w...)
		}
	}
	if len(fix.Writes) > 0 {
		fix.Writes = append(fix.Writes, ch.Files...)
	}
	slices.Sort(fix.Writes)
	fix.Writes = slices.Compact(fix.Writes)
	return fix
}

func contractIDs(all []agency.Contract) []agency.ContractID {
	out := make([]agency.ContractID, len(all))
	for i, c := range all {
		out[i] = c.ID
	}
	return out
}

// fixID is an id that the plan leaves free and that is no longer than one may
// be.
func (w *crew) fixID(of agency.ContractID) agency.ContractID {
	for {
		w.fixes++
		id := fmt.Sprintf("%.50s-fix-%d", of, w.fixes)
		if !slices.ContainsFunc(w.plan, func(p agency.Contract) bool { return strings.EqualFold(string(p.ID), id) }) {
			return agency.ContractID(id)
		}
	}
}

// admitsFixes tells whether a fix waits for its files as other contracts do.
func (a *attempts) admitsFixes(c flow.Ctx) bool { return flow.Version(c, "admits-fixes", 1) >= 1 }

// mend takes the fix to its landing, as any contract of the team, once it may
// change its files.
func (a *attempts) mend(c flow.Ctx, fix agency.Contract, owners []agency.Contract, out session.Outcome) (landed land.Landed, failure, stop string, err error) {
	if !a.admitsFixes(c) {
		return a.fulfilFix(c, fix, owners, out)
	}
	if err := a.slot.Widen(c, fix.Writes); err != nil {
		return landed, "", "", err
	}
	if landed, failure, stop, err = a.fulfilFix(c, fix, owners, out); err != nil {
		return landed, "", "", err
	}
	return landed, failure, stop, a.slot.Narrow(c)
}

func (a *attempts) fulfilFix(c flow.Ctx, fix agency.Contract, owners []agency.Contract, out session.Outcome) (landed land.Landed, failure, stop string, err error) {
	m := &attempts{
		in: a.in, contract: fix, base: a.base, role: fix.AssignedRole, crew: a.crew, slot: a.slot,
		how:   workOn{staged: true, reviewed: true, stands: true, mends: contractIDs(owners), before: &handed{tree: out.Tree}},
		heard: a.heard,
	}
	if landed, failure, err = fulfil(c, m); err != nil || failure == "" {
		if err == nil {
			a.crew.news = append(a.crew.news, m.how.mends...)
		}
		return landed, "", "", err
	}
	if m.stopped {
		stop = failure
	}
	return landed, failure, stop, m.giveUp(c, failure)
}
