// Package contractrun is one contract on its way: a session works on it, its
// claim is verified and reviewed, what holds lands on its level, and
// what is missed meanwhile is waited for. It is the same in every mode; which
// contracts there are, and who works on them, is the business of mode.
//
// Code here is deterministic: no clock, no goroutine, no map order. What acts
// is a typed activity of effects, session, verify, deps or land.
package contractrun

import (
	"fmt"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/schedule"
	"agency/internal/session"
)

// Facts are what each contract of a run is told; all of it comes from the run's
// own copy of the configuration, so that a resumed run is told the same.
type Facts struct {
	Run         agency.RunID
	Goal        string
	Feature     *agency.Feature // that the goal is; nil: it is none
	Base        agency.OID
	RetryBudget int
	Commands    check.Commands
	// DependencyGate asks a person before anything is installed, also where the
	// configuration allows it.
	DependencyGate bool
	// Routing picks the models of contracts; its zero value leaves each role its
	// own.
	Routing agency.Routing
	// Review are the rules of a critic; without rounds there is none.
	Review agency.ReviewRules
	// Rollback says from which files an attempt after a failed one begins.
	Rollback agency.Rollback
}

// Work says how a contract is pursued; Shared.Work begins one.
type Work struct {
	Shared    *Shared             // with the other contracts of the run
	Slot      *schedule.Slot      // that it gives back while it waits
	Agents    Agents              // that it starts while it plans
	Base      agency.OID          // that its work begins from
	InTeam    bool                // others work at the same time; it has an agent of its own
	Staged    bool                // its context is staged
	baseKnown bool                // its base is known
	mends     []agency.ContractID // whose work it mends
	of        agency.OID          // whose files its claim is
	source    string              // the line that it brings together with the level
	conflict  *openConflict       // that its first claim resolves
	After     agency.ContractID   // whose work, that a person rejected, it goes on with
	Again     bool                // a person sent work back: where this fails, what was there before stands
	GoesOn    agency.SessionID    // the conversation that its first attempt goes on with, where it fits
	Before    Handed              // what another contract left
	Many      bool                // a plan of many contracts
	Report    bool                // its lead's report on it
	Drafts    bool                // what it submits first is a draft, which others are shown
	answers   agency.MessageID    // the question that its lead answers
	// Returns has a session that speaks in a team return to its caller whenever it has
	// spoken; GoOn has it go on.
	Returns bool
	// Reviewed has a critic read what its claims change.
	Reviewed bool
}

// Work is how a contract is pursued that no executor started, by an agent that
// starts nobody.
func (w *Shared) Work() Work { return Work{Shared: w, Slot: &schedule.Slot{}, Agents: nobody{}} }

// Leading is how the lead's own contracts are pursued that are about a plan of many.
func (w *Shared) Leading() Work {
	how := w.Work()
	how.Many = true
	return how
}

// Member is how a contract of a plan is pursued that an executor started.
func (w *Shared) Member(slot *schedule.Slot) Work {
	return Work{Shared: w, Slot: slot, Agents: nobody{}, InTeam: true, Staged: true, Reviewed: true}
}

// Handed is what a contract goes on from that another could not finish: the files
// as they were left, and why that was not enough. Zero: it begins anew.
type Handed struct {
	Tree     agency.OID
	Feedback session.Feedback
	Cause    agency.Failure // that was met first
}

// Agents are those that a lead starts while it plans.
type Agents interface {
	// Open tells whether any may be started at all.
	Open() bool
	// Over tells whether everything ends, why, and with which error: a lead is
	// asked for nothing more then.
	Over() (over bool, stop string, err error)
	// Answer answers what a lead asks of its agents. Base is what its next part
	// stands on, where that has changed; stop the reason why the run ends instead.
	Answer(c flow.Ctx, out session.Outcome, key string) (answer *session.Answer, base agency.OID, stop string, err error)
	// Begun is what the lead's next attempt is told of what was started.
	Begun() string
}

// nobody is the agents of one that starts none.
type nobody struct{}

func (nobody) Open() bool { return false }

func (nobody) Over() (bool, string, error) { return false, "", nil }

func (nobody) Begun() string { return "" }

func (nobody) Answer(_ flow.Ctx, out session.Outcome, _ string) (*session.Answer, agency.OID, string, error) {
	return nil, "", nobodyAnswers(out), nil
}

// nobodyAnswers says why a run ends: its session waits for what nobody can answer in
// its mode.
func nobodyAnswers(out session.Outcome) string {
	return fmt.Sprintf("a session waits for %q, which nothing in this mode can give", out.For)
}

// Run is the way of one contract: what was told and has come of it, and those
// who act on it.
type Run struct {
	*state
	conversation *conversation
	waiting      *waiting
	conflicts    *conflicts
	claims       *claims
	reviews      *reviews
}

// New begins the way of a contract.
func New(contract agency.Contract, how Work) *Run {
	s := &state{in: how.Shared.Facts, Contract: contract, role: contract.AssignedRole, base: how.Base, how: how, causes: causes{first: how.Before.Cause}}
	s.causes.of = s
	w := &waiting{state: s}
	t := &conversation{state: s, waiting: w}
	k := &conflicts{state: s, conflict: how.conflict}
	v := &claims{state: s, conflicts: k}
	return &Run{state: s, waiting: w, conversation: t, conflicts: k, claims: v, reviews: &reviews{state: s, conversation: t, claims: v}}
}

// NewStarted is New for a contract with one attempt, which has begun.
func NewStarted(contract agency.Contract, how Work) *Run {
	a := New(contract, how)
	a.N = 1
	return a
}

// Slot is that in which the contract is worked on.
func (a *Run) Slot() *schedule.Slot { return a.how.Slot }

// Converse is the session of an attempt, to its end.
func (a *Run) Converse(c flow.Ctx) (session.Outcome, error) { return a.conversation.converse(c) }

// Session is the conversation of its last attempt.
func (a *Run) Session() agency.SessionID { return a.conversation.going.ID() }

// GoOn has a conversation go on that has spoken in a team or has reported.
func (a *Run) GoOn(c flow.Ctx, say session.Answer) (session.Outcome, error) {
	return a.conversation.goOn(c, &say)
}

// Begin makes the contract of an agent of a composition known and begins its only attempt;
// whoever hands over to it, where after names one, has answered.
func (a *Run) Begin(c flow.Ctx, after agency.ContractID) error {
	_, err := flow.Call(c, effects.BeginPost, Path(a.Contract.ID, "begin"), effects.NewPost{Contract: a.Contract, After: after})
	return err
}

// Answered ends it with its answer.
func (a *Run) Answered(c flow.Ctx) error { return a.Advance(c, "answered", agency.Answered{}) }

// CreateAndConverse is the one session of a new contract whose only attempt has
// begun.
func (a *Run) CreateAndConverse(c flow.Ctx) (session.Outcome, error) {
	if err := a.Create(c); err != nil {
		return session.Outcome{}, err
	}
	if err := a.Advance(c, "start", agency.Started{Agent: a.Agent()}); err != nil {
		return session.Outcome{}, err
	}
	return a.Converse(c)
}

// GiveReview works a contract of a reviewer; a failure is why it failed for good.
func (a *Run) GiveReview(c flow.Ctx) (failure string, err error) { return a.reviews.giveReview(c) }

// Unproved tells whether its attempts were used up by claims that do not hold.
func (a *Run) Unproved() bool { return a.claims.unproved }

// Deferred are the criteria of what landed that are to be checked when all have
// landed.
func (a *Run) Deferred() []agency.Criterion { return a.claims.deferred }

// OutOfMoney tells whether it ends for want of money, and nothing else does.
func (a *Run) OutOfMoney() bool { return a.waiting.outOfMoney }

// Denied tells whether it ends because a person granted no more money for it.
func (a *Run) Denied() bool { return a.waiting.denied }
