package mode

import (
	"cmp"
	_ "embed"
	"fmt"
	"strings"
	"time"

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
)

// Tiers is what a tiered run is told beside what all are.
type Tiers struct {
	LeadGate, SynthesisGate, TasksGate, VerdictGate bool // inspection gates (docs/design.md, Tiers)
	// MeshTimeout is how long squad leads of a domain wait for each other's tasks.
	MeshTimeout time.Duration
	// ConflictCycles is how often a lead architect may send proposals back.
	ConflictCycles int
}

// visionary leads a tiered run.
var visionary = contractrun.Lead{Role: agency.RoleVisionary, Plan: agency.PlanContract}

// tiers is what a tiered run knows by now.
type tiers struct {
	in      Input
	top     *contractrun.Shared // of the workstreams
	meshes  map[string]*mesh    // by domain and group
	looks   map[agency.ContractID]int
	domains map[string]*domain // by name
	turns   *turns             // of workstreams that may change the same files
	taken   map[string]bool    // ids of contracts, without case: squads choose theirs at the same time
}

// Tiered has a visionary say into which workstreams the goal falls and how deep each goes;
// architects design, squad leads split, implementers do and verifiers judge what is in
// them, and the visionary accepts the whole against the goal, or has it planned anew
// (docs/design.md, Tiers).
func Tiered(c flow.Ctx, in Input) (Result, error) {
	if _, err := flow.Call(c, land.BranchActivity, "branch", land.BranchSpec{Run: in.Run, Base: in.Base}); err != nil {
		return Result{}, err
	}
	return throughTiers(c, in)
}

// throughTiers has the goal planned and the plan carried out and accepted.
func throughTiers(c flow.Ctx, in Input) (Result, error) {
	r := &tiers{in: in, top: contractrun.Team(in.Facts, visionary), meshes: map[string]*mesh{}, looks: map[agency.ContractID]int{}, domains: map[string]*domain{}, turns: &turns{n: map[agency.ContractID]int{}, run: in.Run, shared: in.SharedWrites}, taken: map[string]bool{}}
	plan, failure, err := r.plan(c, agency.PlanContract, "")
	switch {
	case err != nil || plan == nil:
		return failed(failure), err
	case in.Dry:
		_, err := flow.Call(c, effects.CreateContracts, "contracts", plan)
		return Result{Succeeded: true, Reason: "a dry run: this is the plan, and nothing of it was begun"}, err
	}
	for round := 1; ; round++ {
		end, err := r.round(c, plan, round)
		switch {
		case err != nil || end.over.Kind != "":
			return failed(end.over), err
		case end.said.Accepted:
			return finishBy(c, in, end.team, r.reworked)
		case round >= in.RetryBudget:
			return r.unaccepted(c, end)
		}
		if plan, _, err = r.plan(c, numbered(ReplanContract, round+1), rejectedText(end.said)); err != nil || plan == nil {
			return failed(agency.Failure{Kind: agency.FailedReview, Cause: end.said.Summary}), err
		}
	}
}

// plan has the visionary plan: the goal, or what is to be done instead of what was not
// accepted or failed, which why says. No plan: the failure says why.
func (r *tiers) plan(c flow.Ctx, id agency.ContractID, why string) (plan []agency.Contract, failure agency.Failure, err error) {
	in := r.in.plan()
	in.Gate, in.Alone = true, false
	d := planning.New(in, r.top.Leading(), true)
	d.Contract.ID = id
	d.Contract.Title = text.FirstLine("Plan for: "+r.in.Goal, 100)
	if why != "" {
		d.Contract.Description = why
	}
	d.Contract.AcceptanceCriteria = []agency.Criterion{{ID: "plan", Text: "the goal falls into workstreams, each as deep as its work, whose criteria can be checked"}}
	plan, noPlan, err := d.Plan(c)
	if err != nil || plan == nil {
		return nil, d.Cause(noPlan), err
	}
	return r.designed(r.unique(id, d.Contracts(plan))), failure, nil
}

// take notes the id of a contract, where no other has it.
func (r *tiers) take(id agency.ContractID) bool {
	key := strings.ToLower(string(id))
	free := !r.taken[key]
	r.taken[key] = true
	return free
}

// unique gives contracts whose ids others have taken meanwhile ids of their own, after the
// one for which they are planned.
func (r *tiers) unique(of agency.ContractID, plan []agency.Contract) []agency.Contract {
	renamed := map[agency.ContractID]agency.ContractID{}
	for i := range plan {
		id := plan[i].ID
		for n := 1; !r.take(plan[i].ID); n++ {
			plan[i].ID = agency.ContractID(fmt.Sprintf("%.36s.%d-%.16s", id, n, of))
		}
		renamed[id] = plan[i].ID
	}
	for i := range plan {
		for j, on := range plan[i].DependsOn {
			if to, ok := renamed[on]; ok {
				plan[i].DependsOn[j] = to
			}
		}
	}
	return plan
}

// roundEnd is how one plan of the visionary ended: over is why the run does.
type roundEnd struct {
	team *team.Team
	said agency.Acceptance
	over agency.Failure
}

// round carries a plan out and has the visionary say whether what landed is what was asked
// for.
func (r *tiers) round(c flow.Ctx, plan []agency.Contract, n int) (end roundEnd, err error) {
	_, err = flow.Go(c, fmt.Sprintf("round-%d", n), func(c flow.Ctx) error {
		t := team.New(r.input(r.top, r.workstream, r.replan, r.in.Parallel))
		end.team = t
		out, err := t.Execute(c, plan)
		if err != nil {
			return err
		}
		if out.Stopped != "" {
			end.over = t.Cause()
			return nil
		}
		if err := t.CheckDeferred(c); err != nil {
			return err
		}
		if t.FellThrough(out) {
			end.over = t.Cause()
			return nil
		}
		if over, err := incomplete(c, numberedGate(r.in.Run, "incomplete", n), t, out); err != nil || over {
			end.over = t.Cause()
			return err
		}
		said, over, err := r.accept(c, n)
		if end.said = said; over != "" {
			end.over = contractrun.StopCause(over)
		}
		return err
	}).Get(c)
	return end, err
}

// input is what a team of the run is told that carries a plan out.
func (r *tiers) input(shared *contractrun.Shared, fulfil team.Fulfil, replan team.Replan, parallel int) team.Input {
	return team.Input{
		Shared: shared, Fulfil: fulfil, Replan: replan, PlanGate: true,
		Parallel: parallel, SharedWrites: r.in.SharedWrites, MaxWaitingGates: r.in.MaxWaitingGates,
	}
}

// workstream is how a contract of the visionary's plan is done, by who begins its way. Others
// that may change the same files begin when it has ended.
func (r *tiers) workstream(c flow.Ctx, above *team.Team, a *contractrun.Run) (failure string, err error) {
	if failure, err = r.begin(c, above, a); err == nil {
		err = r.turns.leave(c, a.Contract.ID)
	}
	return failure, err
}

// begin is workstream without its place in line.
func (r *tiers) begin(c flow.Ctx, above *team.Team, a *contractrun.Run) (failure string, err error) {
	switch a.Contract.AssignedRole {
	case agency.RoleLead, agency.RoleArchitect:
		return r.design(c, a)
	case agency.RoleSquadLead:
		return r.squad(c, above, a)
	}
	if err := r.inTurn(c, a, []agency.Contract{a.Contract}); err != nil {
		return "", err
	}
	_, failure, err = a.Fulfil(c)
	if err != nil || failure == "" || a.Stopped {
		return failure, err
	}
	s := &squad{tiers: r, above: above.Shared, of: a}
	path, err := s.path(c, a.Contract.TierPath)
	if err != nil || len(path) == len(a.Contract.TierPath) {
		return failure, err
	}
	if _, err := a.Failed(c, session.Feedback{Attempt: a.N, Reason: failure}); err != nil { // it was more than one task
		return failure, err
	}
	return r.squad(c, above, a)
}

// replan has the visionary plan anew what a workstream failed at.
func (r *tiers) replan(c flow.Ctx, t *team.Team, f schedule.Failure) ([]agency.Contract, error) {
	plan, failure, err := r.plan(c, ReplanContract, replanText(t.All, f, effects.MaxListed))
	if err != nil || plan != nil {
		return plan, err
	}
	return nil, recordUpgrade(c, r.in, "replan-failed", "no new plan came after "+string(f.Contract.ID)+" failed: "+failure.Sentence(), agency.ModeTiered)
}

// AcceptContract is the one in which the visionary judges the whole.
const AcceptContract agency.ContractID = "accept"

// acceptWords ask for that.
//
//go:embed accept.md
var acceptWords string

// accept asks the visionary whether what landed meets the goal. One that gives no answer
// leaves that to the person at the merge gate.
func (r *tiers) accept(c flow.Ctx, n int) (said agency.Acceptance, over string, err error) {
	rollup, err := flow.Call(c, effects.ReadRollup, "rollup", r.in.Run)
	if err != nil {
		return said, "", err
	}
	verdicts, err := flow.Call(c, tierlog.ReadVerdicts, "verdicts", r.in.Run)
	if err != nil {
		return said, "", err
	}
	how := r.top.Leading()
	how.Report = true
	a := contractrun.NewStarted(r.top.PlanContract(), how)
	a.Contract.ID, a.Contract.Type, a.Contract.RetryBudget = numbered(AcceptContract, n), agency.TypeReview, 1
	a.Contract.Title = text.FirstLine("Accept: "+r.in.Goal, 100)
	a.Contract.Description = strings.TrimSpace(acceptWords)
	a.Contract.AcceptanceCriteria = []agency.Criterion{{ID: "goal", Text: "it is decided whether what landed meets the goal, by the goal's own words"}}
	a.Contract.Inputs = agency.TextInputs(map[string]string{"rollup": rollup, "verdicts": verdicts})
	out, err := a.CreateAndConverse(c)
	if err != nil {
		return said, "", err
	}
	judged := tierlog.Judged{Run: r.in.Run, Round: n, Session: session.Spec{Run: r.in.Run, Contract: a.Contract.ID, Attempt: 1}.ID()}
	if out.Acceptance == nil {
		why := cmp.Or(out.Reason, string(out.Kind))
		if out.Kind == session.Stopped && !a.OutOfMoney() {
			return said, why, a.Withdraw(c, why)
		}
		words := effects.ManagerReport{Run: r.in.Run, ManagerWords: agency.ManagerWords{Missing: "the visionary neither accepted nor rejected it: " + why}}
		if _, err := flow.Call(c, effects.KeepManagerWords, "words", words); err != nil {
			return said, "", err
		}
		return agency.Acceptance{Accepted: true}, "", a.Withdraw(c, words.Missing)
	}
	judged.Said = *out.Acceptance
	if _, err := flow.Call(c, tierlog.RecordAcceptance, "accepted", judged); err != nil {
		return said, "", err
	}
	return judged.Said, "", a.ClaimComplete(c)
}

// rejectedText is what the visionary is told when it plans what it did not accept.
func rejectedText(said agency.Acceptance) string {
	s := "What landed by the plan before does not meet the goal, and you rejected it with this reason:\n\n" + said.Summary
	if len(said.Workstreams) > 0 {
		s += "\n\nThe workstreams at fault: " + agency.JoinIDs(said.Workstreams, ", ") + "."
	}
	return s + "\n\nWhat landed stays. Plan only what is missing or wrong, on top of it, in workstreams with new ids."
}

// unaccepted asks a person what becomes of work that the visionary does not accept and that
// has been planned as often as it may be.
func (r *tiers) unaccepted(c flow.Ctx, end roundEnd) (Result, error) {
	d, err := contractrun.Ask(c, agency.Gate{
		ID: contractrun.GateID(r.in.Run, "unaccepted"), RunID: r.in.Run, Kind: agency.GateEscalation,
		Summary: text.FirstLine("the visionary does not accept what was integrated: "+end.said.Summary, 100),
		Body: fmt.Sprintf("What was integrated was planned %s, and the visionary does not accept it:\n\n%s\n\nApprove to go on to the merge gate with what was integrated; reject to end the run and keep its branch.",
			agency.Things(r.in.RetryBudget, "time", "times"), text.Quote(end.said.Summary)),
		Approving: "go on to the merge gate with what was integrated", Rejecting: "end the run; its branch stays",
	})
	if err != nil || d.Verb == agency.Reject {
		return failed(agency.Failure{Kind: agency.FailedReview, Cause: end.said.Summary}), err
	}
	return finishBy(c, r.in, end.team, r.reworked)
}

// reworked is how what a person rejected at the merge gate is done again: by an implementer,
// whom a verifier judges.
func (r *tiers) reworked(c agency.Contract) (agency.Contract, contractrun.Work) {
	c.AssignedRole, c.Tier = agency.RoleImplementer, string(agency.TierImplementer)
	how := r.top.Work()
	how.Reviewed = true
	return c, how
}

// numbered is the id of a contract that a run makes more than once.
func numbered(id agency.ContractID, n int) agency.ContractID {
	if n < 2 {
		return id
	}
	return agency.ContractID(fmt.Sprintf("%s-%d", id, n))
}

func numberedGate(run agency.RunID, name string, n int) agency.GateID {
	return contractrun.GateID(run, string(numbered(agency.ContractID(name), n)))
}
