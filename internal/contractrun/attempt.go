package contractrun

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/session"
	"agency/internal/text"
)

// state is what a contract was told, and what has come of it by now. All that
// is done to the contract knows it.
type state struct {
	in       Facts
	how      Work
	Contract agency.Contract
	Feedback session.Feedback // what the next attempt is told
	Tree     agency.OID       // the files as the last session left them
	Stopped  bool             // a person ended it
	point
	causes

	role         agency.RoleID  // who has it
	base         agency.OID     // what the work begins from
	seenLandings int            // how many of the team's landings its base has
	granted      int            // attempts beyond the budget that a person granted
	levelsUp     int            // levels of models above what the contract's size asks for
	loop         reviewRounds   // of this attempt
	tried        []agency.Tried // claims that were verified
}

// point is where on its way a contract is.
type point struct {
	N     int // the attempt, from 1
	round int // of the attempt's reviews, from 1
	hands int // how often it was handed over
	fresh     // conversations of the attempt that began in the place of another
}

// fresh counts the conversations of an attempt that began in the place of another.
type fresh struct {
	n      int
	halted bool // one of them, in the place of one that the overseer halted
}

// Key is the key of a step of the attempt, of its round and of who has it.
func (a *state) Key(step string) string {
	if a.round > 1 {
		step = Path(fmt.Sprintf("round-%d", a.round), step)
	}
	if a.hands > 0 {
		step = Path(fmt.Sprintf("hand-%d", a.hands), step)
	}
	if a.fresh.n > 0 {
		step = Path(fmt.Sprintf("fresh-%d", a.fresh.n), step)
	}
	return Path(a.Contract.ID, fmt.Sprintf("attempt-%d", a.N), step)
}

// nth names the round in the names of gates.
func (a *state) nth() string {
	if a.round > 1 {
		return fmt.Sprintf("%d-r%d", a.N, a.round)
	}
	return fmt.Sprint(a.N)
}

// Next begins the next attempt, where one is left.
func (a *state) Next() bool {
	a.N++
	a.round, a.fresh = 0, fresh{}
	return a.N <= a.Contract.RetryBudget+a.granted
}

func (a *state) last() bool { return a.N == a.Contract.RetryBudget+a.granted }

// Agent is who works: the one of its role, or, in a team and below another
// contract, of its contract.
func (a *state) Agent() agency.AgentID {
	if a.Contract.Post != nil {
		return agency.AgentID(a.Contract.ID)
	}
	if !a.how.InTeam && a.Contract.ParentID == "" {
		return agency.AgentID(a.role)
	}
	return agency.MemberID(a.role, a.Contract.ID)
}

// Create makes the contract known.
func (a *state) Create(c flow.Ctx) error {
	_, err := flow.Call(c, effects.CreateContract, Path(a.Contract.ID, "create"), a.Contract)
	return err
}

// CreateAndFulfil takes a new contract to its landing. A failure is the reason
// why it failed for good; the caller records it.
func (a *Run) CreateAndFulfil(c flow.Ctx) (landed land.Landed, failure string, err error) {
	if err := a.Create(c); err != nil {
		return landed, "", err
	}
	return a.Fulfil(c)
}

// Fulfil is the same for a contract that is known.
func (a *Run) Fulfil(c flow.Ctx) (landed land.Landed, failure string, err error) {
	for a.Next() {
		if err := a.conflicts.takeBase(c); err != nil {
			return landed, "", err
		}
		work, err := a.attempt(c)
		switch {
		case err != nil:
			return landed, "", err
		case work.landed != nil:
			return *work.landed, "", nil
		case work.Final != "":
			a.claims.unproved = false
			return landed, work.Final, nil
		}
		a.Feedback = work.Feedback
	}
	return landed, a.UsedUp(""), nil
}

// Begun is what the next attempt is told of the agents that were started.
func (a *state) Begun() string { return a.how.Agents.Begun() }

// UsedUp is why a contract failed whose attempts, of the kind that is named, are
// used up.
func (a *state) UsedUp(kind string) string {
	return fmt.Sprintf("%s; the last one: %s", agency.AllUsed(a.Contract.RetryBudget+a.granted, kind), a.Feedback.Reason)
}

// causes are what a contract fails by.
type causes struct {
	of     *state
	first  agency.Failure // that the first attempt with one met
	final  agency.Failure // that ended it with attempts left
	latest agency.Failure // that the last one met
}

// Cause is why it failed for good: what ended it, else what its first attempt met.
func (k *causes) Cause(failure string) agency.Failure {
	f, a := k.first, k.of
	switch {
	case a.final.Kind != "":
		f = a.final
	case f.Kind == "":
		f = agency.Failure{Kind: agency.FailedOther, Cause: failure}
	case a.N > a.Contract.RetryBudget+a.granted:
		if f.Used = a.Contract.RetryBudget + a.granted; f.Contract == a.Contract.ID && k.latest.Kind == f.Kind && k.latest.Cause != f.Cause {
			f.Last = k.latest.Cause
		}
	}
	f.Contract, f.Team = cmp.Or(f.Contract, a.Contract.ID), f.Team || a.how.InTeam
	return f
}

// Met notes what an attempt failed by. The first counts; but where others were faster it is
// what the work itself fails by, if it does.
func (k *causes) Met(kind agency.FailureKind, cause string) {
	k.latest = agency.Failure{Kind: kind, Cause: cause}
	if k.first.Kind == "" || k.first.Kind == agency.FailedConflict {
		k.first = agency.Failure{Kind: kind, Cause: cause, Contract: k.of.Contract.ID, Attempt: k.of.N}
	}
}

// MetBelow is Met where it was met by a contract that this one is carried out by.
func (k *causes) MetBelow(f agency.Failure) {
	if k.first.Kind == "" && f.Kind != "" {
		k.first = f
	}
}

// Over ends a contract for good, whatever attempts are left; why says it to its lead.
func (k *causes) Over(kind agency.FailureKind, cause, why string) AttemptEnd {
	k.final = agency.Failure{Kind: kind, Cause: cause, Attempt: k.of.N}
	return AttemptEnd{Final: why}
}

// Ended ends a contract that is stopped, with all of its run.
func (k *causes) Ended(why string) AttemptEnd {
	f := StopCause(why)
	k.of.Stopped = true
	return k.Over(f.Kind, f.Cause, why)
}

// StopCause is why a run is stopped, by what the one who stopped it was told.
func StopCause(why string) agency.Failure {
	if cause, ok := strings.CutPrefix(why, noBudget); ok {
		return agency.Failure{Kind: agency.FailedBudget, Cause: cause}
	}
	return agency.Failure{Kind: agency.FailedOther, Cause: why}
}

// AttemptEnd is how one attempt ended: exactly one of its fields says how it ended.
type AttemptEnd struct {
	landed   *land.Landed
	Final    string           // failed for good
	Feedback session.Feedback // what the next attempt is told
}

func orEnd(end *AttemptEnd) AttemptEnd {
	if end == nil {
		return AttemptEnd{}
	}
	return *end
}

// attempt makes one attempt: a session to its claim, verification, landing.
func (a *Run) attempt(c flow.Ctx) (AttemptEnd, error) {
	reviewed := a.reviews.beginReviews(c)
	if err := a.Advance(c, "start", agency.Started{Agent: a.Agent()}); err != nil {
		return AttemptEnd{}, err
	}
	out, err := a.conversation.converse(c)
	if err != nil {
		return AttemptEnd{}, err
	}
	if out.Kind != session.Claimed {
		return a.unclaimed(c, out)
	}
	verdict, end, err := a.claims.verifyClaim(c, *out.Claim)
	switch {
	case err != nil || end != nil:
		return orEnd(end), err
	case reviewed && (verdict.Tree != verdict.Base || a.how.Shared.Lead.tiered()):
		return a.reviews.review(c, *out.Claim, verdict)
	}
	if err := a.Advance(c, "verified", agency.Verified{}); err != nil {
		return AttemptEnd{}, err
	}
	return a.claims.land(c, *out.Claim)
}

// Begin makes a contract known on which no agent works, and begins its one attempt.
func Begin(c flow.Ctx, contract agency.Contract, how Work) (*Run, error) {
	a := NewStarted(contract, how)
	err := a.Create(c)
	if err == nil {
		err = a.Advance(c, "start", agency.Started{Agent: a.Agent()})
	}
	return a, err
}

// Adopt takes a claim that no session made to its landing, as an attempt does that has
// begun; of is a commit whose files it is, where there is one. A failure is why it does not
// hold.
func (a *Run) Adopt(c flow.Ctx, claim agency.Claim, of agency.OID) (landed land.Landed, failure string, err error) {
	a.how.of = of
	_, end, err := a.claims.verifyClaim(c, claim)
	if err == nil && end == nil {
		var work AttemptEnd
		if err = a.Advance(c, "verified", agency.Verified{}); err == nil {
			work, err = a.claims.land(c, claim)
		}
		if err == nil && work.landed != nil {
			return *work.landed, "", nil
		}
		end = &work
	}
	if err == nil {
		failure = cmp.Or(end.Final, end.Feedback.Reason)
		err = a.GiveUp(c, failure)
	}
	return landed, failure, err
}

// unclaimed ends an attempt whose session made no claim.
func (a *state) unclaimed(c flow.Ctx, out session.Outcome) (AttemptEnd, error) {
	switch out.Kind {
	case session.Blocked:
		return a.Blocked(c, out)
	case session.Stopped:
		return a.Ended(out.Reason), nil
	}
	if out.Danger || out.Cause == session.CauseHalted && a.last() { // nudges, a fresh session and other models did not help
		return a.Blocked(c, out)
	}
	return a.Failed(c, session.Feedback{Attempt: a.N, Reason: out.Reason, Learnt: out.Learnt, Reviews: a.open(), Rollback: out.Rollback})
}

func (a *claims) land(c flow.Ctx, claim agency.Claim) (AttemptEnd, error) {
	if err := a.Advance(c, "landing", agency.LandingBegun{}); err != nil {
		return AttemptEnd{}, err
	}
	out, err := flow.Call(c, land.Activity, a.Key("land"), land.Spec{
		Run: a.in.Run, Contract: a.Contract.ID, Tree: claim.Tree, Lost: a.conflicts.lost, Line: a.how.Shared.Line, Source: a.how.source, Of: a.how.of,
	})
	switch {
	case err != nil:
		return AttemptEnd{}, err
	case out.Landed == nil:
		a.conflicts.outdated = true
		a.conflicts.rememberConflict(claim, out.Conflict)
		if err := a.conflicts.recordWriteConflict(c, out.Conflict); err != nil {
			return AttemptEnd{}, err
		}
		return a.Failed(c, session.Feedback{Attempt: a.N, Reason: out.Reason, Conflict: out.Conflict})
	}
	if err := a.conflicts.settleWriteConflicts(c, out.Landed.Commit); err != nil {
		return AttemptEnd{}, err
	}
	return AttemptEnd{landed: out.Landed}, a.Advance(c, "landed", agency.HasLanded{Results: a.results(claim, *out.Landed)})
}

// results are what a landing came to; nil where it changed nothing, or was
// recorded by a build that did not measure it.
func (a *claims) results(claim agency.Claim, l land.Landed) *agency.Results {
	if l.Files == nil {
		return nil
	}
	r := agency.Measure(l.Commit, *l.Files, a.passing[claim.Tree])
	return &r
}

// Blocked asks a person: an approval with a note is one more attempt. In a tiered run what
// is blocked goes to the tier above, without another attempt; what was halted for danger is
// a person's in any run.
func (a *state) Blocked(c flow.Ctx, out session.Outcome) (AttemptEnd, error) {
	if s := a.how.Shared; !out.Danger && s.Lead.tiered() && a.Contract.ID != s.Lead.Plan { // whoever leads it hears of it, and plans on
		return a.Over(agency.FailedBlocked, out.Reason, "blocked: "+out.Reason), nil
	}
	g := agency.Gate{
		ID: GateID(a.in.Run, fmt.Sprintf("escalation-%s-%s", a.Contract.ID, a.nth())), RunID: a.in.Run,
		Kind: agency.GateEscalation, ContractID: a.Contract.ID,
		Summary: "the agent is blocked: " + text.FirstLine(out.Reason, 100),
	}
	then := "end the run"
	if s := a.how.Shared; s.managed && a.Contract.ID != s.Lead.Plan { // what others made is not lost by it
		then = "give it up: what does not depend on it goes on, and where nothing lands the run ends, or one agent takes over (on_error)"
		g.Approving, g.Rejecting = "one more attempt; with --note TEXT it has your hint", then
	}
	if a.how.Again {
		then = "give it up: the merge gate asks again about what was there before"
		g.Approving, g.Rejecting = "one more attempt; with --note TEXT it has your hint", then
	}
	g.Body = blockedBody(a, out) + then + "."
	if out.Danger {
		g = dangerGate(a, out)
	}
	d, err := Ask(c, g)
	if err != nil {
		return AttemptEnd{}, err
	}
	kind, why := agency.FailedBlocked, "blocked: "+out.Reason
	if out.Danger {
		kind, why = agency.FailedDanger, out.Reason
	}
	a.Met(kind, out.Reason)
	if d.Verb == agency.Reject {
		a.final = a.first
		return AttemptEnd{Final: why}, nil
	}
	if err := a.Grant(c); err != nil {
		return AttemptEnd{}, err
	}
	return a.Failed(c, session.Feedback{Attempt: a.N, Reason: why, Note: d.Note, Reviews: a.open(), Rollback: out.Rollback})
}

// dangerGate asks whether there is to be another attempt after one that was halted for danger.
func dangerGate(a *state, out session.Outcome) agency.Gate {
	return agency.Gate{
		ID: GateID(a.in.Run, fmt.Sprintf("danger-%s-%s", a.Contract.ID, a.nth())), RunID: a.in.Run, Kind: agency.GateDanger, ContractID: a.Contract.ID,
		Summary: text.FirstLine(string(a.Contract.ID)+": "+out.Reason, 100),
		Body: fmt.Sprintf("%s, at work on %s: %s\n\n%s.\n\nNothing of it is integrated, and its files are kept as a checkpoint. `agency inspect %s --transcript %s` shows what it did and read.\n\nApprove for another attempt, which begins without these files and reads your note; reject to give the contract up.",
			a.Agent(), a.Contract.ID, text.OneLine(a.Contract.Title, 200), text.OneLine(out.Reason, text.MostLine), a.in.Run, session.Spec{Run: a.in.Run, Contract: a.Contract.ID, Attempt: a.N}.ID()),
		Approving: "one more attempt, from the files before; with --note TEXT it has your hint", Rejecting: "give it up",
	}
}

// blockedBody is what a person is told of a session that cannot go on.
func blockedBody(a *state, out session.Outcome) string {
	body := fmt.Sprintf("%s, at work on %s: %s\n\n%s", a.Agent(), a.Contract.ID, text.OneLine(a.Contract.Title, 200), text.Quote(out.Reason))
	if tried := strings.TrimSpace(out.Attempted); tried != "" {
		body += "\n\nIt tried:\n\n" + text.Quote(tried)
	}
	return body + fmt.Sprintf("\n\nThis is attempt %d of %d. Approve with a note for one more; reject to ", a.N, a.Contract.RetryBudget+a.granted)
}

// Failed ends an attempt; the next one is told why.
func (a *state) Failed(c flow.Ctx, f session.Feedback) (AttemptEnd, error) {
	kind := agency.FailedSession
	switch {
	case f.Conflict != nil: // that others were faster is no matter of the model
		kind = agency.FailedConflict
	case f.Verdict != nil:
		kind = agency.FailedChecks
	}
	if f.Conflict == nil {
		a.levelsUp++
	}
	a.Met(kind, f.Reason)
	return AttemptEnd{Feedback: f}, a.Advance(c, "returned", agency.Returned{Reason: f.Reason})
}

// Grant allows one more attempt where none is left.
func (a *state) Grant(c flow.Ctx) error {
	if !a.last() {
		return nil
	}
	a.granted++
	return a.Advance(c, "grant", agency.Granted{Attempts: 1})
}

// Withdraw ends a contract that a new plan replaces.
func (a *state) Withdraw(c flow.Ctx, reason string) error {
	_, err := flow.Call(c, effects.Advance, Path(a.Contract.ID, "withdraw"),
		effects.NewStep(a.in.Run, a.Contract.ID, agency.Withdrawn{Reason: reason}))
	return err
}

// GiveUp ends a contract that failed for good.
func (a *Run) GiveUp(c flow.Ctx, reason string) error {
	if err := a.conflicts.settleWriteConflicts(c, ""); err != nil {
		return err
	}
	_, err := flow.Call(c, effects.Advance, Path(a.Contract.ID, "give-up"),
		effects.NewStep(a.in.Run, a.Contract.ID, agency.GaveUp{Reason: reason}))
	return err
}

// Advance records a fact about the contract; key is that of the attempt's step.
func (a *state) Advance(c flow.Ctx, key string, f agency.Fact) error {
	_, err := flow.Call(c, effects.Advance, a.Key(key), effects.NewStep(a.in.Run, a.Contract.ID, f))
	return err
}

// Told is a fact about a contract with the key of its step.
type Told struct {
	Key  string
	Fact agency.Fact
}

// AdvanceAll records facts one after the other.
func (a *state) AdvanceAll(c flow.Ctx, facts ...Told) error {
	for _, f := range facts {
		if err := a.Advance(c, f.Key, f.Fact); err != nil {
			return err
		}
	}
	return nil
}

// level is the capability level on which the next session of the attempt
// works; empty: the role's own models. Each failure that is the work's own
// raises it by one.
func (a *state) level(c flow.Ctx) (agency.Level, error) {
	if !slices.Contains(a.in.Routing.Roles, a.role) {
		return "", nil
	}
	r, err := flow.Call(c, effects.RouteModel, a.Key(fmt.Sprintf("route/%d", a.levelsUp)), effects.RouteRequest{
		Run: a.in.Run, Contract: a.Contract.ID, Attempt: a.N, Up: a.levelsUp, Agent: a.Agent(), Role: a.role, Routing: a.in.Routing,
	})
	return r.Level, err
}
