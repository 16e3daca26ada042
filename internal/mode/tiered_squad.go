package mode

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/contractrun/planning"
	"agency/internal/contractrun/team"
	"agency/internal/effects"
	"agency/internal/effects/tierlog"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/schedule"
	"agency/internal/session"
	"agency/internal/text"
	"agency/internal/verify"
)

// squad is a workstream that a squad lead splits into tasks.
type squad struct {
	*tiers
	above  *contractrun.Shared
	of     *contractrun.Run // the workstream's contract
	shared *contractrun.Shared
	team   *team.Team
	peer   *peer             // among the squads of its domain; nil: there is no other
	all    []agency.Contract // the tasks of all rounds, each as it was done last
	plans  int               // how often tasks were planned
	began  bool              // tasks of it were begun
	joins  int               // how often its line was brought together with a level

	verdicts int // that were asked of its lead
}

// squad takes a workstream to its end: its lead splits it into tasks, which are done and
// verified each by itself, and gives the joint verdict. Slices that failed are done again
// while attempts are left; a workstream that was designed is designed once more before it
// fails.
func (r *tiers) squad(c flow.Ctx, above *team.Team, a *contractrun.Run) (failure string, err error) {
	a.Next()
	if err := a.Advance(c, "start", agency.Started{Agent: a.Agent()}); err != nil {
		return "", err
	}
	s := &squad{tiers: r, above: above.Shared, of: a}
	if failure, err = s.pursue(c); err == nil && failure != "" && s.began {
		err = dropLine(c, s, "end")
	}
	if err == nil && s.peer != nil {
		err = s.peer.end(c)
	}
	return failure, err
}

// pursue is squad without what others of its domain are told of its end.
func (s *squad) pursue(c flow.Ctx) (failure string, err error) {
	a := s.of
	path, err := s.path(c, a.Contract.TierPath)
	if err == nil && path[0] == agency.TierArchitect && a.Contract.TierPath[0] != path[0] {
		a.Contract.TierPath = path
		err = s.redesign(c, "It was found to need a design.")
	}
	a.Contract.TierPath = path
	for try := 1; err == nil; try++ {
		if failure, err = s.attempt(c, try); err != nil || failure == "" || a.Stopped {
			return failure, err
		}
		if try > 1 || path[0] != agency.TierArchitect {
			return failure, nil
		}
		if err = s.redesign(c, "The squad could not bring it to its goal: "+failure); err != nil {
			return failure, err
		}
	}
	return failure, err
}

// attempt plans the tasks of the workstream and carries them out, round after round.
func (s *squad) attempt(c flow.Ctx, try int) (failure string, err error) {
	_, err = flow.Go(c, fmt.Sprintf("squad-%d", try), func(c flow.Ctx) error {
		s.all = nil // what failed before is planned anew
		tasks, why, err := s.plan(c)
		if err != nil || tasks == nil {
			failure = cmp.Or(why, "no tasks came")
			return err
		}
		if err := s.beginLine(c); err != nil {
			return err
		}
		for round := 1; ; round++ {
			joint, stop, err := s.round(c, tasks, round)
			s.of.MetBelow(s.team.Cause())
			switch {
			case err != nil || stop != "":
				s.of.Stopped, failure = stop != "", stop
				return err
			case joint.Verdict == agency.JointPass:
				if failure, err = s.rise(c); err != nil || failure != "" {
					return err
				}
				return s.of.ClaimComplete(c)
			case joint.Verdict == agency.JointFail || round > s.of.Contract.RetryBudget:
				failure = jointText(joint)
				return nil
			}
			tasks = s.again(joint, round+1)
		}
	}).Get(c)
	return failure, err
}

// jointText is a joint verdict as the reason of a failure.
func jointText(v agency.JointVerdict) string {
	s := "joint verdict " + v.Verdict
	if len(v.FailedScopes) > 0 {
		s += " (" + agency.JoinIDs(v.FailedScopes, ", ") + ")"
	}
	return s + ": " + cmp.Or(v.Reason, v.Summary)
}

// lead is the squad lead with the contract in which it plans.
func (s *squad) lead(plan agency.ContractID) contractrun.Lead {
	return contractrun.Lead{Role: agency.RoleSquadLead, Plan: plan, Parent: s.of.Contract.ID}
}

// plan has the squad lead split the workstream. No tasks: the failure says why.
func (s *squad) plan(c flow.Ctx) (tasks []agency.Contract, failure string, err error) {
	for path := s.of.Contract.TierPath; ; {
		s.plans++
		of := s.of.Contract
		if err := s.turns.leave(c, of.ID); err != nil { // what it did before is planned anew
			return nil, "", err
		}
		s.shared = s.above.Below(s.lead(numbered(of.ID+"-tasks", s.plans)))
		peers := s.join(of)
		how := s.shared.Leading()
		if peers != nil {
			how.Agents, how.Drafts = peers, true
		}
		d := s.draft(how, "Tasks of: "+of.Title, planText(s))
		plan, failure, err := d.Plan(c)
		if failure != "" {
			s.of.MetBelow(d.Cause(failure))
		}
		if plan != nil {
			plan = s.tasks(d.Contracts(plan))
		}
		stop := ""
		if err == nil && peers != nil {
			stop, err = peers.commit(c, plan)
		}
		if err != nil || stop != "" {
			s.of.Stopped = stop != ""
			return nil, stop, err
		}
		grown, err := s.path(c, path)
		if err != nil {
			return nil, "", err
		}
		if len(grown) > len(path) && grown[0] == agency.TierArchitect && !d.Stopped {
			path, s.of.Contract.TierPath = grown, grown
			if err := s.redesign(c, "The squad lead found that it has to be designed first."); err != nil {
				return nil, "", err
			}
			continue
		}
		if plan == nil {
			s.of.Stopped = d.Stopped
			return nil, failure, nil
		}
		return plan, "", s.inTurn(c, s.of, plan)
	}
}

// draft is the making of a plan of tasks.
func (s *squad) draft(how contractrun.Work, title, description string) *planning.Draft {
	of := s.of.Contract
	in := s.in.plan()
	in.Gate, in.Kind, in.Alone = s.in.Tiers.TasksGate, agency.GateInspection, false
	d := planning.New(in, how, true)
	d.Contract.Title, d.Contract.Description = text.FirstLine(title, 100), description
	d.Contract.AcceptanceCriteria, d.Contract.Constraints, d.Contract.RelevantFiles = of.AcceptanceCriteria, of.Constraints, of.RelevantFiles
	d.Contract.Domain, d.Contract.TierPath, d.Contract.Inputs, d.Contract.Talent = of.Domain, of.TierPath, of.Inputs, of.Talent
	return d
}

// tasks are those of a plan as the squad's: of its workstream's domain, with ids of their own.
func (s *squad) tasks(plan []agency.Contract) []agency.Contract {
	for i := range plan {
		plan[i].Domain = s.of.Contract.Domain
	}
	return s.unique(s.of.Contract.ID, plan)
}

// retask has the squad lead plan what a task failed at.
func (s *squad) retask(c flow.Ctx, t *team.Team, f schedule.Failure) ([]agency.Contract, error) {
	d := s.draft(s.shared.Leading(), "Tasks after "+string(f.Contract.ID)+" failed: "+f.Reason, replanText(t.All, f, effects.MaxListed))
	d.Contract.ID = s.lead("").Parent + "-retask"
	if s.plans > 1 {
		d.Contract.ID = numbered(d.Contract.ID, s.plans)
	}
	plan, _, err := d.Plan(c)
	if err != nil || plan == nil {
		return nil, err
	}
	plan = s.tasks(d.Contracts(plan))
	if may, err := s.widen(c, s.of, plan, append([]agency.ContractID{f.Contract.ID}, f.Blocked...)...); err != nil || !may {
		return nil, err
	}
	return plan, nil
}

// task is how a task is done: by an implementer, whom a verifier judges.
func task(c flow.Ctx, _ *team.Team, a *contractrun.Run) (failure string, err error) {
	_, failure, err = a.Fulfil(c)
	return failure, err
}

// round carries tasks out and has them judged together. Stop is why the run ends.
func (s *squad) round(c flow.Ctx, tasks []agency.Contract, n int) (joint agency.JointVerdict, stop string, err error) {
	_, err = flow.Go(c, fmt.Sprintf("round-%d", n), func(c flow.Ctx) error {
		if _, err := flow.Call(c, tierlog.RecordSwarm, "swarm", swarmOf(s, tasks, n)); err != nil {
			return err
		}
		s.team = team.New(s.input(s.shared, task, s.retask, s.parallel()))
		out, err := s.team.Execute(c, tasks)
		if err != nil || out.Stopped != "" {
			stop = out.Stopped
			return err
		}
		if err := s.team.CheckDeferred(c); err != nil {
			return err
		}
		s.count(out)
		joint, stop, err = s.judge(c)
		return err
	}).Get(c)
	return joint, stop, err
}

// swarmOf is what is told of a squad's tasks that begin.
func swarmOf(s *squad, tasks []agency.Contract, n int) tierlog.Swarm {
	out := tierlog.Swarm{Run: s.in.Run, Workstream: s.of.Contract.ID, SwarmStarted: agency.SwarmStarted{Round: n, Parallel: s.parallel()}}
	for _, t := range tasks {
		out.Tasks = append(out.Tasks, t.ID)
		if len(t.DependsOn) > 0 {
			out.Waiting++
		}
	}
	return out
}

// count notes what a round made of the tasks: what was done again takes the place of what it
// stands for, and what failed and was planned anew is no slice any more.
func (s *squad) count(out schedule.Outcome) {
	for _, t := range s.team.All {
		i := slices.IndexFunc(s.all, func(o agency.Contract) bool { return o.ID == againOf(t) })
		switch counts := slices.Contains(out.Landed, t.ID) || s.team.Failed(t.ID); {
		case counts && i >= 0:
			s.all[i] = t
		case counts:
			s.all = append(s.all, t)
		case i >= 0:
			s.all = slices.Delete(s.all, i, i+1)
		}
	}
}

// parallel is how many of the squad's tasks may be at work at once: all squads beside each
// other together have no more than the run.
func (s *squad) parallel() int {
	beside := 0
	for _, w := range s.above.Plan {
		if w.Phase == s.of.Contract.Phase && w.AssignedRole == agency.RoleSquadLead {
			beside++
		}
	}
	return max(1, s.in.Parallel/max(1, min(beside, s.in.Parallel)))
}

// judge is the joint verdict on the workstream. What the harness measured of the slices and
// of all of it together bounds what its lead may say. A person who looks at it may have it
// given once more; when they reject that too, the workstream fails with their reason.
func (s *squad) judge(c flow.Ctx) (joint agency.JointVerdict, stop string, err error) {
	var m measured
	ids := make([]agency.ContractID, len(s.all))
	for i, t := range s.all {
		ids[i] = t.ID
	}
	if m.slices, err = flow.Call(c, tierlog.ReadSlices, "slices", tierlog.Slices{Run: s.in.Run, Contracts: ids}); err != nil {
		return joint, "", err
	}
	if m.red, err = s.integrate(c); err != nil {
		return joint, "", err
	}
	for {
		if joint, stop, err = s.verdict(c, m); err != nil || stop != "" || !s.in.Tiers.VerdictGate {
			return joint, stop, err
		}
		d, err := s.inspect(c, joint)
		if err != nil || d.Verb != agency.Reject {
			return joint, "", err
		}
		if m.rejected != "" {
			joint.Verdict, joint.Reason = agency.JointFail, "a person does not agree: "+d.Note
			s.verdicts++
			return joint, "", s.record(c, joint)
		}
		m.rejected = cmp.Or(d.Note, "no reason was given")
	}
}

// measured is what a squad lead's verdict rests on.
type measured struct {
	slices   []agency.SliceVerdict
	red      []string // why all of it together does not hold
	rejected string   // why a person did not agree with the verdict before
}

// verdict has the squad lead say what of its workstream passes.
func (s *squad) verdict(c flow.Ctx, m measured) (joint agency.JointVerdict, stop string, err error) {
	s.verdicts++
	var failed []agency.ContractID
	for _, v := range m.slices {
		if v.Verdict != agency.VerdictPass {
			failed = append(failed, v.Scope)
		}
	}
	how := s.shared.Leading()
	how.Report = true
	a := contractrun.NewStarted(s.verdictContract(m), how)
	out, err := a.CreateAndConverse(c)
	switch {
	case err != nil:
		return joint, "", err
	case out.Kind == session.Stopped && !a.OutOfMoney():
		return joint, out.Reason, a.Withdraw(c, out.Reason)
	case out.Joint == nil:
		joint = agency.JointVerdict{Verdict: agency.JointFail, Summary: "the squad lead gave no verdict: " + cmp.Or(out.Reason, string(out.Kind))}
		err = a.Withdraw(c, joint.Summary)
	default:
		joint = out.Joint.Measured(m.red, failed)
		err = a.ClaimComplete(c)
	}
	if err != nil {
		return joint, "", err
	}
	joint.Results = m.slices
	return joint, "", s.record(c, joint)
}

// record tells a joint verdict.
func (s *squad) record(c flow.Ctx, v agency.JointVerdict) error {
	told := tierlog.Joint{Run: s.in.Run, Workstream: s.of.Contract.ID, By: agency.MemberID(agency.RoleSquadLead, s.of.Contract.ID), Round: s.verdicts, Verdict: v}
	_, err := flow.Call(c, tierlog.RecordJoint, fmt.Sprintf("joint/%d", s.verdicts), told)
	return err
}

// integrate checks all that landed together, with the criteria of the workstream that can be
// checked; red are the reasons why it does not hold.
func (s *squad) integrate(c flow.Ctx) (red []string, err error) {
	of := s.of.Contract
	head, err := flow.Call(c, land.HeadActivity, "integration/head", s.shared.Level())
	if err != nil {
		return nil, err
	}
	v, err := flow.Call(c, verify.TreeActivity, "integration", verify.Spec{
		Run: s.in.Run, Contract: of.ID, Type: agency.TypeVerify, Base: s.in.Base, Claim: head.Head, Commands: s.in.Commands,
		Criteria: slices.DeleteFunc(slices.Clone(of.AcceptanceCriteria), func(cr agency.Criterion) bool { return cr.Check == nil }),
	})
	if err != nil {
		return nil, err
	}
	if !v.Pass {
		red = append(red, v.Reasons...)
	}
	return append(red, s.team.FailureLines()...), nil
}

// verdictContract is what the squad lead's session over its verdict holds.
func (s *squad) verdictContract(m measured) agency.Contract {
	of := s.of.Contract
	c := s.shared.PlanContract()
	c.ID = numbered(of.ID+"-verdict", s.verdicts)
	c.Type, c.RetryBudget = agency.TypeReview, 1
	c.Title = text.FirstLine("Verdict on: "+of.Title, 100)
	c.Description, c.AcceptanceCriteria, c.Domain, c.Talent = of.Description, of.AcceptanceCriteria, of.Domain, of.Talent
	c.Inputs = agency.TextInputs(map[string]string{"integration": "all checks pass on what landed together"})
	if len(m.red) > 0 {
		c.Inputs = agency.TextInputs(map[string]string{"integration": "red: " + strings.Join(m.red, "\n"), "failed": strings.Join(s.team.FailureLines(), "\n")})
	}
	if m.rejected != "" {
		c.Inputs["rejected"] = agency.TextInput(m.rejected)
	}
	doc, err := json.Marshal(m.slices)
	if err != nil { // of texts
		doc = agency.TextInput(err.Error())
	}
	c.Inputs["t5_results"] = doc
	return c
}

// inspect has a person look at a joint verdict.
func (s *squad) inspect(c flow.Ctx, joint agency.JointVerdict) (agency.Decision, error) {
	of := s.of.Contract
	var b strings.Builder
	joint = text.InLines(joint, text.MostLine)
	fmt.Fprintf(&b, "%s\n\n", jointText(joint))
	for _, v := range joint.Results {
		fmt.Fprintf(&b, "- %s by %s: %s. %s\n", v.Scope, v.Verifier, v.Verdict, v.Notes)
		for _, i := range v.Issues {
			fmt.Fprintf(&b, "    - %s\n", i)
		}
	}
	b.WriteString("\nApprove to go on by it; reject with a reason to have the squad lead judge again with that in view. Rejected a second time, the workstream fails with your reason.\n")
	return contractrun.Ask(c, agency.Gate{
		ID: contractrun.GateID(s.in.Run, fmt.Sprintf("t5-%s-%d", of.ID, s.verdicts)), RunID: s.in.Run, Kind: agency.GateInspection, ContractID: of.ID,
		Summary: text.FirstLine(fmt.Sprintf("the verdict on %s: %s", of.ID, joint.Verdict), 100), Body: b.String(),
		Approving: "go on by this verdict", Rejecting: "the squad lead judges again with your reason; rejected twice, the workstream fails",
	})
}

// again are the slices that a joint verdict has done once more: on top of what landed of
// them, or from the beginning where nothing did.
func (s *squad) again(joint agency.JointVerdict, n int) (out []agency.Contract) {
	for _, t := range s.all {
		if !slices.Contains(joint.FailedScopes, t.ID) {
			continue
		}
		why := joint.Summary
		for _, v := range joint.Results {
			if v.Scope == t.ID && v.Verdict != agency.VerdictPass {
				why += "\n\nIts verifier: " + v.Notes
			}
		}
		one := t
		if slices.ContainsFunc(joint.Results, func(v agency.SliceVerdict) bool { return v.Scope == t.ID && v.Verdict == agency.VerdictPass }) {
			one = agency.GoneOn(t)
		}
		one.Inputs = agency.TextInputs(map[string]string{agency.AgainInput: string(t.ID)})
		one.ID = agency.ContractID(fmt.Sprintf("%s-r%d", firstOf(t), n))
		one.Title = text.FirstLine("Again: "+t.Title, 100)
		one.Description = t.Description + "\n\nThis was worked on, and the joint verdict on its workstream asks for it once more:\n\n" + why
		one.DependsOn = slices.DeleteFunc(slices.Clone(t.DependsOn), func(id agency.ContractID) bool { return !slices.Contains(joint.FailedScopes, id) })
		one.Attempts, one.Status, one.Stage, one.Error = 0, agency.StatusPending, "", ""
		out = append(out, one)
	}
	for i := range out { // those among them that depend on each other do so still
		for j, id := range out[i].DependsOn {
			for _, o := range out {
				if againOf(o) == id {
					out[i].DependsOn[j] = o.ID
				}
			}
		}
	}
	return out
}

// againOf is the contract that one does again.
func againOf(c agency.Contract) agency.ContractID {
	return agency.ContractID(c.Inputs.Text(agency.AgainInput))
}

// firstOf is the id of a task without the mark of how often it was done.
func firstOf(c agency.Contract) string {
	if i := strings.LastIndex(string(c.ID), "-r"); againOf(c) != "" && i > 0 {
		return string(c.ID[:i])
	}
	return string(c.ID)
}
