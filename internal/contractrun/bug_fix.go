package contractrun

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/session"
	"agency/internal/text"
)

// A test engineer that finds a bug does not mend it: whoever wrote the code
// does, by one more contract whose criterion is the failing test. It is worked
// on in the slot of the tester, which waits meanwhile, from the tester's files,
// so that the test is there; and only once nobody else at work may change the
// files that it may.

// waitForFix has a bug mended and brings the tester's files onto the result.
func (a *waiting) waitForFix(c flow.Ctx, out session.Outcome, at waitPoint) (*session.Answer, string, error) {
	q := &question{state: a.state, out: out, at: at}
	answer := &session.Answer{ToolUse: out.ToolUse}
	text := "error: refused: nobody's implementation is under test here: no contract that this one depends on has changed code. Say in your closing words what is wrong, or end by signal_blocked."
	if owners := a.owners(); a.how.InTeam && len(owners) > 0 {
		fix := a.fixContract(owners, *out.Change)
		landed, failure, stop, err := a.fixBug(c, fix, owners, out)
		if err != nil || stop != "" {
			return nil, stop, err
		}
		head, err := flow.Call(c, land.HeadActivity, q.key("head"), a.how.Shared.Level())
		if err != nil {
			return nil, "", err
		}
		a.base, answer.Moved = head.Head, true
		a.seeLandings()
		text = changeText(fix, landed, failure)
	}
	if err := q.recordAnswer(c, agency.FromSystem, text); err != nil {
		return nil, "", err
	}
	answer.Text, answer.Message = q.answer.Text, q.answer.Reply
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
func (a *state) owners() []agency.Contract {
	var out []agency.Contract
	for _, p := range a.how.Shared.Plan {
		if slices.Contains(a.Contract.DependsOn, p.ID) && p.AssignedRole != agency.RoleReviewer && p.AssignedRole != a.role {
			out = append(out, p)
		}
	}
	return out
}

// fixContract is the contract that mends a bug. Where several wrote what is tested it
// may change the files of each; the first of them gives it its name and role.
func (a *state) fixContract(owners []agency.Contract, ch session.Change) agency.Contract {
	fix := agency.Contract{
		ID: a.how.Shared.fixID(owners[0].ID), RunID: a.in.Run, ParentID: a.Contract.ID, FeatureID: a.Contract.FeatureID, Type: agency.TypeFeature,
		AssignedRole: owners[0].AssignedRole, Title: text.FirstLine("Mend: "+ch.Bug, 100), GoalAnchor: a.in.Goal, RetryBudget: a.in.RetryBudget,
		Description: "The tests of contract " + string(a.Contract.ID) + " have found a bug in what " + agency.JoinIDs(contractIDs(owners), ", ") +
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
func (w *Shared) fixID(of agency.ContractID) agency.ContractID {
	for {
		w.fixes++
		id := fmt.Sprintf("%.50s-fix-%d", of, w.fixes)
		if !slices.ContainsFunc(w.Plan, func(p agency.Contract) bool { return strings.EqualFold(string(p.ID), id) }) {
			return agency.ContractID(id)
		}
	}
}

// fixBug takes the fix to its landing, as any contract of the team, once it may
// change its files.
func (a *waiting) fixBug(c flow.Ctx, fix agency.Contract, owners []agency.Contract, out session.Outcome) (landed land.Landed, failure, stop string, err error) {
	if err := a.how.Slot.Widen(c, fix.Writes); err != nil {
		return landed, "", "", err
	}
	if landed, failure, stop, err = a.fulfilFix(c, fix, owners, out); err != nil {
		return landed, "", "", err
	}
	return landed, failure, stop, a.how.Slot.Narrow(c)
}

func (a *waiting) fulfilFix(c flow.Ctx, fix agency.Contract, owners []agency.Contract, out session.Outcome) (landed land.Landed, failure, stop string, err error) {
	how := a.how.Shared.Member(a.how.Slot)
	how.Base, how.baseKnown, how.mends, how.Before = a.base, true, contractIDs(owners), Handed{Tree: out.Tree}
	m := New(fix, how)
	m.seenLandings = a.seenLandings
	if landed, failure, err = m.CreateAndFulfil(c); err != nil || failure == "" {
		if err == nil {
			a.how.Shared.landings = append(a.how.Shared.landings, m.how.mends...)
		}
		return landed, "", "", err
	}
	if m.Stopped {
		stop = failure
	}
	return landed, failure, stop, m.GiveUp(c, failure)
}
