package mode

import (
	"cmp"
	"fmt"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/effects/tierlog"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/schedule"
	"agency/internal/text"
)

// The levels of landings, from below (docs/design.md, Tiers). The tasks of a squad land on
// the line of their workstream. When the joint verdict passes, the line lands on the run's
// branch; that of a workstream that architects designed lands on the integration of its
// domain, and that at once on the run's branch.

// domain is where the designed workstreams of one domain come together.
type domain struct {
	line string
	last *flow.Future[flow.None] // who had it last
	busy int                     // who has it or waits for it
}

// domain is that of a name. Names that are told apart have lines of their own.
func (r *tiers) domain(name string) *domain {
	if d := r.domains[name]; d != nil {
		return d
	}
	d := &domain{}
	for n := 1; d.line == ""; n++ {
		d.line = land.IntegrationLine(string(numbered(agency.ContractID(slug(name)), n)))
		for _, o := range r.domains {
			if o.line == d.line {
				d.line = ""
				break
			}
		}
	}
	r.domains[name] = d
	return d
}

// alone does what nobody else of the domain may do meanwhile: what is on its integration
// is on the run's branch before the next one looks at it. Who waits gives its slot back.
func (d *domain) alone(c flow.Ctx, slot *schedule.Slot, key string, do func(flow.Ctx) error) error {
	before, waits := d.last, d.busy > 0
	d.busy++
	f := flow.Go(c, key, func(c flow.Ctx) (err error) {
		defer func() { d.busy-- }()
		if waits {
			if err := slot.Leave(c, false); err != nil {
				return err
			}
			_, _ = before.Get(c) // how it ended is not this one's matter
			if err := slot.Return(c); err != nil {
				return err
			}
		}
		return do(c)
	})
	d.last = &f
	_, err := f.Get(c)
	return err
}

// integrated tells whether the workstream goes through the integration of its domain.
func (s *squad) integrated() bool { return s.of.Contract.TierPath[0] == agency.TierArchitect }

// beginLine begins the line on which the tasks of a plan land, at the head of the level
// above it.
func (s *squad) beginLine(c flow.Ctx) error {
	line := land.WorkstreamLine(s.of.Contract.ID, s.plans)
	begin := func(c flow.Ctx, above string) error {
		head, err := flow.Call(c, land.HeadActivity, "line/above", land.BranchSpec{Run: s.in.Run})
		if err == nil && above != "" {
			head, err = flow.Call(c, land.BranchActivity, "line/integration", land.BranchSpec{Run: s.in.Run, Base: head.Head, Line: above})
		}
		if err == nil {
			_, err = flow.Call(c, land.BranchActivity, "line/begin", land.BranchSpec{Run: s.in.Run, Base: head.Head, Line: line})
		}
		return err
	}
	s.shared.Line, s.began = line, true
	if s.plans > 1 {
		if err := dropLine(c, s, fmt.Sprint(s.plans)); err != nil {
			return err
		}
	}
	if !s.integrated() {
		return begin(c, "")
	}
	d := s.domain(s.of.Contract.Domain)
	return d.alone(c, s.of.Slot(), "line", func(c flow.Ctx) error { return begin(c, d.line) })
}

// dropLine gives back the names of tasks whose work was dropped with their line.
func dropLine(c flow.Ctx, s *squad, key string) error {
	_, err := flow.Call(c, tierlog.DropLine, contractrun.Path("drop", s.of.Contract.ID, key), tierlog.ArtifactsOf{Run: s.in.Run, Contract: s.of.Contract.ID})
	return err
}

// rise lands what the squad's tasks landed on their line on the levels above it. A failure
// says which would not have it, and why: nothing of it is left there.
func (s *squad) rise(c flow.Ctx) (failure string, err error) {
	if !s.integrated() {
		_, failure, err = s.joinLevel(c, "", s.shared.Line)
		return failure, err
	}
	d := s.domain(s.of.Contract.Domain)
	err = d.alone(c, s.of.Slot(), "rise", func(c flow.Ctx) error {
		before, err := flow.Call(c, land.HeadActivity, "integration/before", land.BranchSpec{Run: s.in.Run, Line: d.line})
		if err != nil {
			return err
		}
		at, why, err := s.joinLevel(c, d.line, s.shared.Line)
		if err != nil || why != "" {
			failure = why
			return err
		}
		to := before.Head
		on, why, err := s.joinLevel(c, "", d.line)
		if failure = why; err == nil && why == "" {
			to = on.Commit
		} else if err == nil {
			note := tierlog.Note{Run: s.in.Run, Contract: s.of.Contract.ID, Text: fmt.Sprintf("the integration of %s goes back to where it was: the run's branch would not have %s", s.of.Contract.Domain, s.of.Contract.ID)}
			_, err = flow.Call(c, tierlog.RecordNote, "integration/note", note)
		}
		if err == nil && to != at.Commit {
			_, err = flow.Call(c, land.MoveActivity, "integration/after", land.MoveSpec{Run: s.in.Run, Line: d.line, From: at.Commit, To: to})
		}
		return err
	})
	return failure, err
}

// joinLevel lands a line on a level, the run's branch where it is empty. What does not go
// together an implementer brings together, whom a verifier judges, as any task.
func (s *squad) joinLevel(c flow.Ctx, level, source string) (landed land.Landed, failure string, err error) {
	of := s.of.Contract
	name := "the run's branch"
	if level != "" {
		name = "the integration of " + of.Domain
	}
	out, err := flow.Call(c, land.Activity, contractrun.Path("rise", cmp.Or(level, "run")), land.Spec{
		Run: s.in.Run, Contract: of.ID, Line: level, Source: source,
	})
	switch {
	case err != nil:
		return landed, "", err
	case out.Landed != nil:
		return *out.Landed, "", nil
	}
	failure = fmt.Sprintf("%s could not land on %s: %s", of.ID, name, out.Reason)
	if out.Apart == nil {
		return landed, failure, nil
	}
	below := s.above.Below(s.shared.Lead)
	below.Line = level
	one := s.joining(below, name, out)
	below.Plan = []agency.Contract{one}
	a := contractrun.New(one, below.Joining(s.of.Slot(), source, out))
	landed, why, err := a.CreateAndFulfil(c)
	below.End(one.ID)
	if err != nil || why == "" {
		return landed, "", err
	}
	s.of.Stopped = a.Stopped
	return landed, failure + "; and " + string(one.ID) + " could not bring both together: " + why, a.GiveUp(c, why)
}

// joining is the contract that brings a line together with a level that would not have it.
func (s *squad) joining(below *contractrun.Shared, level string, out land.Outcome) agency.Contract {
	of := s.of.Contract
	s.joins++
	one := agency.Contract{
		ID: numbered(of.ID+"-integrate", s.joins), AssignedRole: agency.RoleImplementer, Title: text.FirstLine("Integrate: "+of.Title, 100),
		Description: fmt.Sprintf("The workstream %s is done and verified, and could not land on %s: %s.\n\nThe files hold both sides, as far as they merge. Bring them together, so that what each side meant holds; change nothing else.\n\nThe workstream:\n\n%s",
			of.ID, level, out.Reason, of.Description),
		AcceptanceCriteria: of.AcceptanceCriteria, Constraints: of.Constraints, Domain: of.Domain,
	}
	if f := out.Conflict; f != nil {
		one.RelevantFiles = f.Paths
	}
	return below.Submitted([]agency.Contract{one})[0]
}

// planText is what the squad lead's plan is about.
func planText(s *squad) string {
	about := s.of.Contract.Description
	if s.began {
		about += "\n\nTasks were planned for this before, and did not bring it to its goal. Nothing of what they landed is in the files that you see: it was dropped with their line. Plan all of the workstream, on what you see."
	}
	return about
}
