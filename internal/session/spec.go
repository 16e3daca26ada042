// Package session is one agent at work on one contract, whatever runs it: which
// session and which part of it (Spec), how a part ends (Outcome), what the
// effects of its tool calls come to (Effects), and what every runtime of sessions
// does alike: its mail, its presence on the board, the files that it edits beside
// others, its account in the run's budget, the tools of a workspace. A Runtime
// runs it; package native is the one that asks a model itself, package record has
// the tables.
//
// A runtime is added as a package below this one with a Runtime, under its name in
// the daemon's session.Options and among config.Runtimes. It is given a Part, asks the
// Host for the toolset and, where it asks models itself, for the lineup, has its agent
// told by package briefing, and writes by record what people look at.
//
// It does not decide what becomes of a claim (verify, land), how a wait ends
// (contractrun), what a tool does (tool) or what the agent is told at the start (brief).
package session

import (
	"cmp"
	"fmt"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/flow"
	"agency/internal/roster"
)

// Activity is a part of a session as a durable step: Do.
var Activity = flow.Activity[Spec, Outcome]{Name: "session"}

// Spec says which session, and which part of it. It holds only what is the
// same on every replay; everything else is the Host's to tell.
type Spec struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract"`
	Attempt  int               `json:"attempt"` // from 1; a new attempt is a new conversation
	Part     int               `json:"part"`    // from 1; the next part goes on after a Parked one, or with an answer after a Claimed one
	Role     agency.RoleID     `json:"role"`
	Agent    agency.AgentID    `json:"agent"`
	Tier     string            `json:"tier,omitempty"`
	// Leader is the role that is asked by the agent; empty: the project manager.
	Leader agency.RoleID `json:"leader,omitempty"`
	// Level is the capability level of its models; empty: those of its role.
	Level agency.Level `json:"level,omitempty"`
	// Feedback is what the attempt before was lacking.
	Feedback *Feedback `json:"feedback,omitempty"`
	// Round, where set, is the round of the attempt with which a new conversation
	// begins.
	Round int `json:"round,omitempty"`
	// Hand is how often the contract was handed over: who takes it begins a new
	// conversation within the attempt.
	Hand int `json:"hand,omitempty"`
	// Fresh, where set, is the conversation of the attempt that began in the place of
	// one that the overseer halted, or that handed over what it had learnt.
	Fresh int `json:"fresh,omitempty"`
	// GoesOn is the session of another contract, whose work a person wants otherwise: its
	// conversation goes on here where it fits, and else what it learnt is told.
	GoesOn agency.SessionID `json:"goes_on,omitempty"`
	// Answer is what the part before waited for; nil where nothing is to tell.
	// After a claim it is why the work goes on.
	Answer *Answer `json:"answer,omitempty"`
	// MaxContracts bounds the plan of a session that ends by one; 0 is any.
	MaxContracts int `json:"max_contracts,omitempty"`
	// Leads has a leader start agents while it plans, wait for them and look at
	// what they did.
	Leads bool `json:"leads,omitempty"`
	// Drafts has a leader show others what it submits first, before it submits it for good.
	Drafts bool `json:"drafts,omitempty"`
	// Report has a leader report on a plan that was carried out, instead of
	// making one.
	Report bool `json:"report,omitempty"`
	// Answers is the question that a leader's session answers, instead of making
	// a plan.
	Answers agency.MessageID `json:"answers,omitempty"`
	// Staged has the contract's context staged: in the brief, and as files.
	Staged bool `json:"staged,omitempty"`
	// From is the tree that the first attempt begins with where that is not the
	// base, or one that takes a contract over: what another has left.
	From agency.OID `json:"from,omitempty"`
	// Line is the line of the run whose head the work begins from where Onto names no
	// commit; empty: the run's branch.
	Line string `json:"line,omitempty"`
	// Review is set for a session that reviews a claim on the contract instead of
	// working on it.
	Review *ReviewOf `json:"review,omitempty"`
	// Post is set for an agent of a composition, which answers an input.
	Post *agency.Post `json:"post,omitempty"`
	// Onto is the commit that the work stands on: a workspace whose change counts
	// from another is carried onto it first. Empty leaves it as it is.
	Onto agency.OID `json:"onto,omitempty"`
	// Beside has an agent whose checkout stands on nobody's commit read what the others of
	// its run decide, and be told of what concerns its contract: who reviews in a team.
	Beside bool `json:"beside,omitempty"`
}

// Phase is what a leader does.
func (s Spec) Phase() roster.Phase {
	switch {
	case !roster.Leads(s.Role):
		return roster.Always
	case s.Report:
		return roster.Reporting
	case s.Leads:
		return roster.Leading
	case s.Answers != "":
		return roster.Answering
	}
	return roster.Planning
}

// ReviewOf is what a reviewer's session looks at: the files of a claim in a
// checkout of its own, against what the work began from.
type ReviewOf struct {
	Iteration int `json:"iteration"`     // from 1 in each attempt
	Try       int `json:"try,omitempty"` // from 1; 0 is 1: one that gave no review is made again
	// Base is what the work began from, a commit or tree.
	Base  agency.OID   `json:"base"`
	Claim agency.Claim `json:"claim,omitzero"`
	// Verdict is what verification found; nil for a contract that is itself a
	// review.
	Verdict *agency.Verdict `json:"verdict,omitempty"`
	// Frozen says that the review is held to the contract's criteria and to what
	// the first review found.
	Frozen bool `json:"frozen,omitempty"`
	// Oscillating says that producer and critic have gone in a circle: both histories
	// are to be weighed.
	Oscillating bool `json:"quarrel,omitempty"`
}

// ID is the session's id: RUN/CONTRACT/attempt-N, a reviewer's with
// /review-ITERATION after it, and with /round-N, /hand-N or /fresh-N that of a conversation
// which began within the attempt.
func (s Spec) ID() agency.SessionID {
	return agency.SessionID(fmt.Sprintf("%s/%s/attempt-%d%s", s.Run, s.Contract, s.Attempt, s.within()))
}

// within names the conversation in the attempt; the first has no name.
func (s Spec) within() (name string) {
	if s.Round > 0 {
		name += fmt.Sprintf("/round-%d", s.Round)
	}
	if s.Hand > 0 {
		name += fmt.Sprintf("/hand-%d", s.Hand)
	}
	if s.Fresh > 0 {
		name += fmt.Sprintf("/fresh-%d", s.Fresh)
	}
	if r := s.Review; r != nil {
		name += fmt.Sprintf("/review-%d", r.Iteration)
		if r.Try > 1 {
			name += fmt.Sprintf(".%d", r.Try)
		}
	}
	return name
}

// BesideOthers tells whether the session's agent works beside others of a team, judges their
// work or leads them.
func (s Spec) BesideOthers() bool { return s.Onto != "" || s.Leads || s.Tier != "" || s.Beside }

// leader is the role that the agent asks.
func (s Spec) leader() agency.RoleID { return cmp.Or(s.Leader, agency.RoleProjectManager) }

// Feedback is why an earlier attempt was not enough.
type Feedback = brief.Feedback

// Check reports a spec that names no session, or no part of it.
func (s Spec) Check() error {
	if s.Run == "" || s.Contract == "" || s.Attempt < 1 || s.Part < 1 || s.Agent == "" {
		return agency.Errorf(agency.KindInternal, "session: spec names no run, contract, agent, attempt or part: %+v", s)
	}
	return nil
}
