package mode

import (
	"slices"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/session"
)

// meeting is a conflict that the next claim of a contract is to resolve.
type meeting struct {
	from  agency.OID // what the claim that conflicted was made from
	ours  agency.OID // its files
	paths []string
	told  bool // what a resolution lost went back once
}

// met remembers a conflict of a member of a team.
func (a *attempts) met(claim agency.Claim, f *agency.Conflict) {
	if a.slot != nil && f != nil && len(f.Paths) > 0 {
		a.meeting = &meeting{from: a.base, ours: claim.Tree, paths: f.Paths}
	}
}

// resolves compares a verified claim with both sides of the conflict that it
// resolves: tests do not see what nobody tests. What the other side loses, and
// what is one side alone, goes back once and is named at the merge gate where it stays, as is what the
// claim's own side loses; a file with conflict marks goes back each time.
func (a *attempts) resolves(c flow.Ctx, claim agency.Claim) (*session.Feedback, error) {
	a.lost = nil
	m := a.meeting
	if m == nil || flow.Version(c, "resolutions", 1) < 1 {
		return nil, nil
	}
	r, err := flow.Call(c, land.ResolutionActivity, a.key("resolution"), land.ResolutionSpec{
		Run: a.in.Run, Contract: a.contract.ID, From: m.from, Ours: m.ours, Theirs: a.base, Result: claim.Tree, Paths: m.paths,
	})
	switch {
	case err != nil:
		return nil, err
	case len(r.Marked) > 0:
		return &session.Feedback{Attempt: a.n, Reason: r.String()}, nil
	case len(r.Theirs)+len(r.Alone) > 0 && !m.told && !a.last():
		m.told = true
		return &session.Feedback{Attempt: a.n, Reason: r.String(), Lost: slices.Concat(r.Theirs, r.Alone)}, nil
	}
	a.lost = slices.Concat(r.Theirs, r.Ours, r.Alone)
	return nil, nil
}
