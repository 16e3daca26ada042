package contractrun

import (
	"slices"

	"agency/internal/agency"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/schedule"
	"agency/internal/session"
)

// openConflict is a conflict that the next claim of a contract is to resolve.
type openConflict struct {
	from  agency.OID // what the claim that conflicted was made from
	ours  agency.OID // its files
	paths []string
	told  bool // what a resolution lost went back once
}

// conflicts is what becomes of a member of a team whose work does not go with
// what others land.
type conflicts struct {
	*state
	outdated   bool          // others landed what does not go with it
	recorded   bool          // the board knows of that
	conflict   *openConflict // that the next claim resolves; nil: none is open
	lost       []string      // of it, in the last claim
	othersOpen bool          // other contracts were open when its base was taken
}

// Joining is how a contract is pursued that brings a line together with a level that it
// could not land on: it begins with the files of both, as far as they merge, and lands
// there with all that landed on the line.
func (w *Shared) Joining(slot *schedule.Slot, source string, out land.Outcome) Work {
	how := w.Member(slot)
	how.source, how.baseKnown, how.Base, how.Before = source, true, out.Apart.Head, Handed{
		Tree: out.Apart.Merged, Feedback: session.Feedback{Reason: out.Reason, Conflict: out.Conflict},
	}
	if f := out.Conflict; f != nil && len(f.Paths) > 0 {
		how.conflict = &openConflict{from: out.Apart.From, ours: out.Apart.Ours, paths: f.Paths}
	}
	return how
}

// Onto has a contract bring what landed, of which ours are the files, together with a branch of
// the user's: it begins with the files of both, is judged by what that branch had, and its
// landing has both histories.
func (w Work) Onto(ours agency.OID, with land.Files) Work {
	w.Base, w.of, w.Before = with.Conflict.Head, with.Conflict.Head, Handed{
		Tree: with.Tree, Feedback: session.Feedback{Reason: "what it is for has changed in the same places", Conflict: with.Conflict},
	}
	w.conflict = &openConflict{from: with.From, ours: ours, paths: with.Conflicts}
	return w
}

// rememberConflict remembers a conflict of a member of a team.
func (a *conflicts) rememberConflict(claim agency.Claim, f *agency.Conflict) {
	if a.how.InTeam && f != nil && len(f.Paths) > 0 {
		a.conflict = &openConflict{from: a.base, ours: claim.Tree, paths: f.Paths}
	}
}

// resolves compares a verified claim with both sides of the conflict that it
// resolves: tests do not see what nobody tests. What the other side loses, and
// what is one side alone, goes back once and is named at the merge gate where it stays, as is what the
// claim's own side loses; a file with conflict marks goes back each time.
func (a *conflicts) resolves(c flow.Ctx, claim agency.Claim) (*session.Feedback, error) {
	a.lost = nil
	m := a.conflict
	if m == nil {
		return nil, nil
	}
	r, err := flow.Call(c, land.ResolutionActivity, a.Key("resolution"), land.ResolutionSpec{
		Run: a.in.Run, Contract: a.Contract.ID, From: m.from, Ours: m.ours, Theirs: a.base, Result: claim.Tree, Paths: m.paths,
	})
	switch {
	case err != nil:
		return nil, err
	case len(r.Marked) > 0:
		return &session.Feedback{Attempt: a.N, Reason: r.String()}, nil
	case len(r.Theirs)+len(r.Alone) > 0 && !m.told && !a.last():
		m.told = true
		return &session.Feedback{Attempt: a.N, Reason: r.String(), Lost: slices.Concat(r.Theirs, r.Alone)}, nil
	}
	a.lost = slices.Concat(r.Theirs, r.Ours, r.Alone)
	return nil, nil
}

// recordWriteConflict notes a conflict of a member of a team.
func (a *conflicts) recordWriteConflict(c flow.Ctx, f *agency.Conflict) error {
	if !a.how.InTeam || f == nil || len(f.Paths) == 0 || len(f.With) == 0 {
		return nil
	}
	a.recorded = true
	_, err := flow.Call(c, effects.RecordWriteConflict, a.Key("conflict"), effects.WriteConflict{Run: a.in.Run, Contract: a.Contract.ID, Agent: a.Agent(), Paths: f.Paths, With: f.With})
	return err
}

// settleWriteConflicts resolves what was noted by a landing, or escalates it.
func (a *conflicts) settleWriteConflicts(c flow.Ctx, commit agency.OID) error {
	if !a.recorded {
		return nil
	}
	_, err := flow.Call(c, effects.SettleWriteConflicts, Path(a.Contract.ID, "conflict-settled"),
		effects.WriteConflict{Run: a.in.Run, Contract: a.Contract.ID, Agent: a.Agent(), Commit: commit})
	return err
}

// takeBase makes sure that a member of a team works on what others have landed:
// from the start, and again after a landing that did not go with it, or when
// what it needs has landed since.
func (a *conflicts) takeBase(c flow.Ctx) error {
	if !a.how.InTeam {
		return nil
	}
	stands := a.N > 1 || a.how.baseKnown
	if stands && !a.outdated && !a.outrun() {
		return nil
	}
	a.outdated = false
	a.seeLandings()
	head, err := flow.Call(c, land.HeadActivity, a.Key("head"), a.how.Shared.Level())
	a.base, a.othersOpen = head.Head, a.how.source == "" && a.how.Shared.open(a.Contract.ID)
	return err
}
