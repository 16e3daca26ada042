// Package mode is the programs of the run: which agents stand at which arrow of
// DESIGN 3. A mode is an ordinary function over flow that reads from top to
// bottom; how an arrow works is the business of session, verify and land.
//
// Code here is deterministic: no clock, no goroutine, no map order. What acts
// is a named activity; those that only touch the registry are in steps.go.
package mode

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/schedule"
	"agency/internal/session"
	"agency/internal/verify"
)

// Input is what a run is told; all of it comes from the run's
// own copy of the configuration, so that a resumed run is told the same.
type Input struct {
	Run         agency.RunID
	Goal        string
	Feature     *agency.Feature // that the goal is; nil: it is none
	Base        agency.OID
	Target      string
	Land        agency.LandMode
	RetryBudget int
	Commands    check.Commands
	// Untested is set where the user's configuration says that there are no tests:
	// work that nothing tested is then no reason to ask.
	Untested bool
	// Triggers move a run of mode single up by itself; OnError is single where a
	// failed plan falls back to one agent.
	Triggers []string
	OnError  string
	// PlanGate asks a person before a plan is carried out.
	PlanGate bool
	// DependencyGate asks a person before anything is installed, also where the
	// configuration allows it.
	DependencyGate bool
	// Plan is what a person gave in the place of a manager's plan.
	Plan *agency.Plan
	// Dry ends a team's run with its plan and what it may take.
	Dry bool
	// Routing picks the models of contracts; its zero value leaves each role its
	// own.
	Routing agency.Routing

	// Review are the rules of a critic, in the modes that have one.
	Review *agency.ReviewRules

	// What follows is for teams.
	Parallel        int      // contracts at work at the same time
	SharedWrites    []string // globs whose overlap does not count
	MaxWaitingGates int      // while as many wait, no new contract starts
}

// Result is how a run ended.
type Result struct {
	Succeeded bool
	Reason    string
	Commit    agency.OID // in the target, where it was merged
}

// Single is one generalist: work, verify, land on the run's branch, merge gate.
// A first reject of the merge gate opens one more contract with the reason, on
// top of what landed; a second one fails the run (DESIGN 9, 12). The run's
// triggers move it up: at the start to a team or to the mode that its goal asks
// for, or once to a formal contract when its attempts were used up by claims
// that do not hold.
func Single(c flow.Ctx, in Input) (Result, error) {
	if _, err := flow.Call(c, land.BranchActivity, "branch", land.BranchSpec{Run: in.Run, Base: in.Base}); err != nil {
		return Result{}, err
	}
	if m := movesUp(in); m.to != "" && flow.Version(c, "moves-to", 1) >= 1 {
		if err := escalated(c, in, m.trigger, fmt.Sprintf("single to %s, %s: %s", m.to, m.trigger, m.why), m.to); err != nil {
			return Result{}, err
		}
		return m.begin(c, in)
	}
	if trigger, why := moveUp(in); trigger != "" && flow.Version(c, "triggers", 1) >= 1 {
		if err := escalated(c, in, trigger, "single to contract, "+trigger+": "+why, agency.ModeContract); err != nil {
			return Result{}, err
		}
		return formal(c, in, workOn{})
	}
	return pursue(c, in, mainContract(in), workOn{up: slices.Contains(in.Triggers, onFailure)})
}

// workOn says how a contract is pursued.
type workOn struct {
	staged  bool                // its context is staged
	stands  bool                // its base is known
	mends   []agency.ContractID // whose work it mends
	after   agency.ContractID   // whose work, that a person rejected, it goes on with
	before  *handed             // what another contract left
	up      bool                // a failure of verification moves the run up
	many    bool                // a plan of many contracts
	report  bool                // the manager's report on it
	answers agency.MessageID    // the question that the manager answers
	// reviewed has a critic read what its claims change.
	reviewed bool
}

// pursue takes a contract to its landing and through the merge gate.
func pursue(c flow.Ctx, in Input, contract agency.Contract, how workOn) (Result, error) {
	base := in.Base
	for second := false; ; second = true {
		a := &attempts{in: in, contract: contract, base: base, role: generalist, how: how}
		landed, failure, err := fulfil(c, a)
		switch {
		case err != nil:
			return Result{}, err
		case failure != "" && how.up && a.unproved && !second && flow.Version(c, "triggers", 1) >= 1:
			return a.moveUp(c, failure)
		case failure != "":
			return Result{Reason: failure}, a.giveUp(c, failure)
		}
		shown, err := done(c, in, landed, second)
		if err != nil {
			return Result{}, err
		}
		end, decision, err := finish(c, in, contract, shown)
		if err != nil || decision.Verb != agency.Reject {
			return end, err
		}
		if second {
			return Result{Reason: "the merge gate was rejected again: " + decision.Note}, nil
		}
		if flow.Version(c, "proved-before", 1) >= 1 {
			how.after = contract.ID
		}
		contract, base, how.before = secondContract(contract, decision.Note), shown.Commit, nil
	}
}

// moveUp has a formal contract made of what one agent did not get verified;
// the files and the feedback go on.
func (a *attempts) moveUp(c flow.Ctx, failure string) (Result, error) {
	if err := a.withdraw(c, "moved up to a formal contract: "+failure); err != nil {
		return Result{}, err
	}
	if err := escalated(c, a.in, onFailure, "single to contract, "+onFailure+": "+failure, agency.ModeContract); err != nil {
		return Result{}, err
	}
	return formal(c, a.in, workOn{before: &handed{tree: a.tree, feedback: a.feedback}})
}

// mainContract is the goal as a contract (INTERFACES 7).
func mainContract(in Input) agency.Contract {
	main := agency.Contract{
		ID: "main", RunID: in.Run, Type: agency.TypeFeature, AssignedRole: "generalist",
		Title: firstLine(in.Goal), Description: in.Goal, GoalAnchor: in.Goal,
		AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: in.Goal}},
		RetryBudget:        in.RetryBudget,
	}
	if f := in.Feature; f != nil {
		main.FeatureID = f.ID
		if own := f.Criteria(); len(own) > 0 {
			main.AcceptanceCriteria = own
		}
	}
	return main
}

// ofFeature notes which feature a submitted contract is for, where its author
// did not.
func ofFeature(in Input, c *agency.Contract) {
	if in.Feature != nil && c.FeatureID == "" {
		c.FeatureID = in.Feature.ID
	}
}

// secondContract is what a rejected merge gate asks for.
func secondContract(first agency.Contract, reason string) agency.Contract {
	second := first
	second.ID = first.ID + "-2"
	second.Title = firstLine("After review: " + reason)
	second.Description = first.Description + "\n\nThis was done and landed on the run's branch, and a person looked at it and rejected it with this reason:\n\n" + reason
	second.AcceptanceCriteria = append(slices.Clone(first.AcceptanceCriteria), agency.Criterion{ID: "review", Text: reason})
	return second
}

// fulfil takes one contract to its landing. A failure is the reason why it
// failed for good; the caller records it.
func fulfil(c flow.Ctx, a *attempts) (landed land.Landed, failure string, err error) {
	if _, err := flow.Call(c, createContract, path(a.contract.ID, "create"), a.contract); err != nil {
		return landed, "", err
	}
	return a.fulfil(c)
}

// fulfil is the same for a contract that is known.
func (a *attempts) fulfil(c flow.Ctx) (landed land.Landed, failure string, err error) {
	for a.next() {
		if err := a.stand(c); err != nil {
			return landed, "", err
		}
		work, err := a.run(c)
		switch {
		case err != nil:
			return landed, "", err
		case work.landed != nil:
			return *work.landed, "", nil
		case work.final != "":
			a.unproved = false
			return landed, work.final, nil
		}
		a.feedback = work.feedback
	}
	failure = fmt.Sprintf("%s; the last one: %s", agency.AllUsed(a.contract.RetryBudget+a.granted, ""), a.feedback.Reason)
	return landed, failure, nil
}

// attempts walks the attempts of one contract.
type attempts struct {
	in       Input
	contract agency.Contract
	base     agency.OID // what the work begins from
	n        int
	granted  int                // attempts beyond the budget that a person granted
	weakened []agency.Weakening // what has been fed back once
	left     []string           // leftovers that have been
	feedback session.Feedback
	role     agency.RoleID // also the agent
	how      workOn
	unproved bool                    // a claim was not verified
	proved   map[agency.OID][]string // by the trees of claims that were: the tests that newly pass
	tree     agency.OID              // the files as the last session left them
	behind   bool                    // others landed what does not go with it
	heard    int                     // how much of the crew's news its base has
	clashed  bool                    // the board knows of that
	meeting  *meeting                // the conflict that the next claim resolves
	lost     []string                // of it, in the last claim
	crew     *crew                   // of a team; nil where one agent works at a time
	raises   int                     // of the crew's budget, when the part at work began
	stopped  bool                    // a person ended it
	up       int                     // levels of models above what the contract's size asks for
	slot     *schedule.Slot          // of a team; nil where one agent works at a time
	alone    bool                    // it ends for want of money, and nothing else does
	team     *team                   // that a manager leads while it plans; nil: it leads none
	hands    int                     // how often it was handed over
	beside   bool                    // other contracts were open when its base was taken
	owed     []agency.Criterion      // of its last claim, to be checked when all have landed

	going session.Spec // the conversation at work
	// claimCall is the tool call that made its last claim.
	claimCall string
	loop      *rounds // of this attempt; nil where nobody reviews
	round     int     // of the loop, from 1
	refused   bool    // a person rejected reviewed work once
	silence   string  // how a critic ended that gave no review
	advice    string  // the manager's words on a review that a person decides on
}

func (a *attempts) next() bool {
	a.n++
	a.round = 0
	return a.n <= a.contract.RetryBudget+a.granted
}

// agent is who works: the one of its role, or, in a team, of its contract.
func (a *attempts) agent() agency.AgentID {
	if a.slot == nil && a.how.answers == "" {
		return agency.AgentID(a.role)
	}
	return member(a.role, a.contract.ID)
}

func (a *attempts) last() bool { return a.n == a.contract.RetryBudget+a.granted }

// outcome of one attempt: exactly one of its fields says how it ended.
type attemptEnd struct {
	landed   *land.Landed
	final    string           // failed for good
	feedback session.Feedback // what the next attempt is told
}

// run makes one attempt: a session to its claim, verification, landing.
func (a *attempts) run(c flow.Ctx) (attemptEnd, error) {
	reviewed := a.reviews(c)
	if err := a.advance(c, "start", step{Started: &agency.Started{Agent: a.agent()}}); err != nil {
		return attemptEnd{}, err
	}
	out, err := a.work(c)
	if err != nil {
		return attemptEnd{}, err
	}
	if out.Kind != session.Claimed {
		return a.unclaimed(c, out)
	}
	verdict, end, err := a.prove(c, *out.Claim)
	switch {
	case err != nil || end != nil:
		return orEnd(end), err
	case reviewed && verdict.Tree != verdict.Base:
		return a.review(c, *out.Claim, verdict)
	}
	if err := a.advance(c, "verified", step{Verified: &agency.Verified{}}); err != nil {
		return attemptEnd{}, err
	}
	return a.land(c, *out.Claim)
}

// unclaimed ends an attempt whose session made no claim.
func (a *attempts) unclaimed(c flow.Ctx, out session.Outcome) (attemptEnd, error) {
	switch out.Kind {
	case session.Blocked:
		return a.blocked(c, out)
	case session.Stopped:
		a.stopped = true
		return attemptEnd{final: out.Reason}, nil
	default:
		return a.failed(c, session.Feedback{Attempt: a.n, Reason: out.Reason, Reviews: a.open()})
	}
}

// prove verifies a claim. An end: it does not hold, or a person does not accept
// what it does.
func (a *attempts) prove(c flow.Ctx, claim agency.Claim) (verdict agency.Verdict, end *attemptEnd, err error) {
	if err := a.advance(c, "claim", step{ClaimMade: &agency.ClaimMade{Outputs: claim.Outputs}}); err != nil {
		return verdict, nil, err
	}
	refused, err := a.dependencies(c, claim)
	if err == nil && refused == nil {
		if verdict, err = a.verify(c, "verify", claim); err == nil && !verdict.Pass {
			a.unproved = true
			refused = &session.Feedback{Attempt: a.n, Reason: firstReason(verdict), Verdict: &verdict}
		}
	}
	if err == nil && refused == nil {
		if refused, err = a.resolves(c, claim); err == nil && refused == nil {
			refused, err = a.accepted(c, verdict)
		}
	}
	if err != nil || refused == nil {
		if a.proved == nil {
			a.proved = map[agency.OID][]string{}
		}
		a.proved[claim.Tree], a.owed = verdict.NewlyPass, owed(verdict)
		return verdict, nil, err
	}
	refused.Reviews = a.open()
	e, err := a.failed(c, *refused)
	return verdict, &e, err
}

// accepted asks a person to accept, each by its name, what a claim weakened
// and did not mend. One agent alone goes on to the merge gate, which names it.
func (a *attempts) accepted(c flow.Ctx, v agency.Verdict) (*session.Feedback, error) {
	if len(v.Weakened) == 0 || a.crew == nil && !a.how.staged || flow.Version(c, "weakened", 1) < 1 {
		return nil, nil
	}
	lines := make([]string, len(v.Weakened))
	for i, w := range v.Weakened {
		lines[i] = "- " + w.String()
	}
	d, err := ask(c, agency.Gate{
		ID: gateID(a.in.Run, fmt.Sprintf("weakened-%s-%s", a.contract.ID, a.nth())), RunID: a.in.Run, Kind: agency.GateWeakened, ContractID: a.contract.ID,
		Summary: firstLine(fmt.Sprintf("%s passes, but %s weakened: %s", a.contract.ID, agency.Things(len(v.Weakened), "check was", "checks were"), v.Weakened[0])),
		Body: "The work on " + string(a.contract.ID) + " passes its checks, and weakens some of them. It was sent back once:\n\n" + strings.Join(lines, "\n") +
			"\n\nApprove to accept each of them by its name and let the work land; reject with a reason to send it back.",
		NoYes: true, Weakened: v.Weakened,
	})
	if err != nil || d.Verb != agency.Reject {
		return nil, err
	}
	return &session.Feedback{Attempt: a.n, Reason: "a person does not accept the weakened checks: " + v.Weakened[0].String(), Note: d.Note, Verdict: &v}, nil
}

// verify judges a claim. A weakening or a file left behind goes back once; if it
// stays, or if there is no attempt left to mend it, a person decides.
func (a *attempts) verify(c flow.Ctx, key string, claim agency.Claim) (agency.Verdict, error) {
	spec := a.verifySpec(claim)
	verdict, err := flow.Call(c, verify.Activity, a.key(key), spec)
	if err != nil {
		return verdict, err
	}
	a.weakened = append(a.weakened, verdict.Weakened...)
	for _, l := range verdict.Leftovers {
		a.left = append(a.left, l.Path)
	}
	if verdict.Pass || len(verdict.Weakened)+len(verdict.Leftovers) == 0 || !a.last() {
		return verdict, nil
	}
	spec.WeakenedBefore, spec.LeftBefore = a.weakened, a.left
	return flow.Call(c, verify.Activity, a.key(key+"/again"), spec)
}

// verifySpec is how a claim of this attempt is verified.
func (a *attempts) verifySpec(claim agency.Claim) verify.Spec {
	return verify.Spec{
		Run: a.in.Run, Contract: a.contract.ID, Type: a.contract.Type, Attempt: a.n, Criteria: a.contract.AcceptanceCriteria,
		Base: a.base, Claim: claim.Tree, ClaimInfo: claim, Writes: a.contract.Writes, Thresholds: a.contract.QualityThresholds,
		Commands: a.in.Commands, WeakenedBefore: a.weakened, LeftBefore: a.left, Beside: a.beside,
		After:    a.how.after,
		Expected: slices.Concat(a.contract.ExpectedOutputs.FilesCreated, a.contract.ExpectedOutputs.FilesModified),
	}
}

func (a *attempts) land(c flow.Ctx, claim agency.Claim) (attemptEnd, error) {
	if err := a.advance(c, "landing", step{LandingBegun: &agency.LandingBegun{}}); err != nil {
		return attemptEnd{}, err
	}
	out, err := flow.Call(c, land.Activity, a.key("land"), land.Spec{Run: a.in.Run, Contract: a.contract.ID, Tree: claim.Tree, Lost: a.lost})
	switch {
	case err != nil:
		return attemptEnd{}, err
	case out.Landed == nil:
		a.behind = true
		a.met(claim, out.Conflict)
		if err := a.clashes(c, out.Conflict); err != nil {
			return attemptEnd{}, err
		}
		return a.failed(c, session.Feedback{Attempt: a.n, Reason: out.Reason, Conflict: out.Conflict})
	}
	if err := a.settled(c, out.Landed.Commit); err != nil {
		return attemptEnd{}, err
	}
	return attemptEnd{landed: out.Landed}, a.advance(c, "landed", step{HasLanded: &agency.HasLanded{Results: a.results(claim, *out.Landed)}})
}

// results are what a landing came to; nil where it changed nothing, or was
// recorded by a build that did not measure it.
func (a *attempts) results(claim agency.Claim, l land.Landed) *agency.Results {
	if l.Files == nil {
		return nil
	}
	r := agency.Measure(l.Commit, *l.Files, a.proved[claim.Tree])
	return &r
}

// blocked asks a person: an approval with a note is one more attempt.
func (a *attempts) blocked(c flow.Ctx, out session.Outcome) (attemptEnd, error) {
	d, err := ask(c, agency.Gate{
		ID: gateID(a.in.Run, fmt.Sprintf("escalation-%s-%s", a.contract.ID, a.nth())), RunID: a.in.Run,
		Kind: agency.GateEscalation, ContractID: a.contract.ID,
		Summary: "the agent is blocked: " + firstLine(out.Reason),
		Body:    "**Blocked:** " + out.Reason + "\n\n**Tried:** " + out.Attempted + "\n\nApprove with a note for one more attempt; reject to end the run.",
	})
	if err != nil {
		return attemptEnd{}, err
	}
	if d.Verb == agency.Reject {
		return attemptEnd{final: "blocked: " + out.Reason}, nil
	}
	if err := a.grant(c); err != nil {
		return attemptEnd{}, err
	}
	return a.failed(c, session.Feedback{Attempt: a.n, Reason: "blocked: " + out.Reason, Note: d.Note, Reviews: a.open()})
}

func (a *attempts) failed(c flow.Ctx, f session.Feedback) (attemptEnd, error) {
	if f.Conflict == nil { // that others were faster is no matter of the model
		a.up++
	}
	return attemptEnd{feedback: f}, a.advance(c, "returned", step{Returned: &agency.Returned{Reason: f.Reason}})
}

// grant allows one more attempt where none is left.
func (a *attempts) grant(c flow.Ctx) error {
	if !a.last() {
		return nil
	}
	a.granted++
	return a.advance(c, "grant", step{Granted: &agency.Granted{Attempts: 1}})
}

// withdraw ends a contract that a new plan replaces.
func (a *attempts) withdraw(c flow.Ctx, reason string) error {
	_, err := flow.Call(c, advanceContract, path(a.contract.ID, "withdraw"),
		step{Run: a.in.Run, Contract: a.contract.ID, Withdrawn: &agency.Withdrawn{Reason: reason}})
	return err
}

func (a *attempts) giveUp(c flow.Ctx, reason string) error {
	if err := a.settled(c, ""); err != nil {
		return err
	}
	_, err := flow.Call(c, advanceContract, path(a.contract.ID, "give-up"),
		step{Run: a.in.Run, Contract: a.contract.ID, GaveUp: &agency.GaveUp{Reason: reason}})
	return err
}

func (a *attempts) advance(c flow.Ctx, key string, s step) error {
	s.Run, s.Contract = a.in.Run, a.contract.ID
	_, err := flow.Call(c, advanceContract, a.key(key), s)
	return err
}
