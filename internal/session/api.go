// Package session runs one agent at work on one contract: it asks the model,
// persists the answer before anything acts on it, runs the tool calls, takes a
// snapshot, settles what it cost, and goes on until a tool ends it, a limit is
// reached or it has to wait (DESIGN 7). Each turn is durable: after a crash a
// stored answer is never asked for again, and the transcript is always one
// that a model accepts.
//
// It does not decide what becomes of a claim (verify, land), how a wait is met
// (mode), what a tool does (tool) or what the agent is told at the start
// (brief). A conversation that nears its model's window goes on in a new epoch:
// what binds it is read from the store again, what was said is summed up.
package session

import (
	"fmt"

	"agency/internal/agency"
	"agency/internal/brief"
	"agency/internal/budget"
	"agency/internal/flow"
	"agency/internal/roster"
)

// Activity is a part of a session as a durable step: Runner.Do.
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
	// Answer is what the part before waited for; nil where nothing is to tell.
	// After a claim it is why the work goes on.
	Answer *Answer `json:"answer,omitempty"`
	// MaxContracts bounds the plan of a session that ends by one; 0 is any.
	MaxContracts int `json:"max_contracts,omitempty"`
	// Leads has a manager start agents while it plans, wait for them and look at
	// what they did.
	Leads bool `json:"leads,omitempty"`
	// Report has a manager report on a plan that was carried out, instead of
	// making one.
	Report bool `json:"report,omitempty"`
	// Answers is the question that a manager's session answers, instead of making
	// a plan.
	Answers agency.MessageID `json:"answers,omitempty"`
	// Staged has the contract's context staged: in the brief, and as files.
	Staged bool `json:"staged,omitempty"`
	// From is the tree that the first attempt begins with where that is not the
	// base, or one that takes a contract over: what another has left.
	From agency.OID `json:"from,omitempty"`
	// Review is set for a session that reviews a claim on the contract instead of
	// working on it.
	Review *ReviewOf `json:"review,omitempty"`
	// Onto is the commit that the work stands on: a workspace whose change counts
	// from another is carried onto it first. Empty leaves it as it is.
	Onto agency.OID `json:"onto,omitempty"`
}

// phase is what a manager does.
func (s Spec) phase() roster.Phase {
	switch {
	case s.Role != roster.ProjectManager:
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
	// Quarrel says that producer and critic have gone in a circle: both histories
	// are to be weighed.
	Quarrel bool `json:"quarrel,omitempty"`
}

// ID is the session's id: RUN/CONTRACT/attempt-N, a reviewer's with
// /review-ITERATION after it, and with /round-N or /hand-N that of a conversation
// which began within the attempt.
func (s Spec) ID() agency.SessionID {
	id := fmt.Sprintf("%s/%s/attempt-%d", s.Run, s.Contract, s.Attempt)
	if s.Round > 0 {
		id += fmt.Sprintf("/round-%d", s.Round)
	}
	if s.Hand > 0 {
		id += fmt.Sprintf("/hand-%d", s.Hand)
	}
	if r := s.Review; r != nil {
		id += fmt.Sprintf("/review-%d", r.Iteration)
		if r.Try > 1 {
			id += fmt.Sprintf(".%d", r.Try)
		}
	}
	return agency.SessionID(id)
}

// Feedback is why an earlier attempt was not enough.
type Feedback = brief.Feedback

// Answer is the result of the tool call that parked a session.
type Answer struct {
	ToolUse string `json:"tool_use_id"`
	Text    string `json:"text"`
	// Review, where set, is the answer to a claim, with how many rounds are left
	// after this one.
	Review *agency.Review `json:"review,omitempty"`
	Left   int            `json:"left,omitempty"`
	// Replies, where set, are the results of several calls that parked the session
	// together.
	Replies []Reply `json:"replies,omitempty"`
	// Message, where set, is the message that Text is of: it is read by being the
	// result of the call, and not shown again.
	Message agency.MessageID `json:"message,omitempty"`
	// Moved says that the files stand on another commit than before.
	Moved bool `json:"moved,omitempty"`
}

// Kind says how a part of a session ended.
type Kind string

// The closed set of outcomes.
const (
	Claimed    Kind = "claimed"    // Claim is set
	Blocked    Kind = "blocked"    // Reason and Attempted are set
	Incomplete Kind = "incomplete" // Cause and Reason are set
	Parked     Kind = "parked"     // For is set
	Reported   Kind = "reported"   // Report is set
	HandedOff  Kind = "handed_off" // To and Report are set
	Planned    Kind = "planned"    // Plan is set; Faults where it was faulty to the end
	Reviewed   Kind = "reviewed"   // Review is set, as its critic gave it
	Stopped    Kind = "stopped"    // Reason is set: a person cancelled the run
)

// Wait is what a parked session waits for.
type Wait string

// The closed set of waits.
const (
	ForHuman  Wait = "human"  // Question, Options and ToolUse are set
	ForAgents Wait = "agents" // Asks and the first one's ToolUse are set
	ForBudget Wait = "budget" // Reason and Exhausted are set
	ForPause  Wait = "pause"
	ForInbox  Wait = "inbox" // Question, Awaits and ToolUse are set
)

// Cause names why a session ended without an ending tool.
type Cause string

// The closed set of causes.
const (
	CauseTurns    Cause = "turns"    // limit of turns
	CauseTokens   Cause = "tokens"   // limit of session tokens
	CauseTime     Cause = "time"     // limit of time at work
	CauseWindow   Cause = "window"   // the conversation does not fit the model's context window any more
	CauseNoEnding Cause = "ending"   // stopped without an ending tool, was asked once, and stopped again
	CauseRefusal  Cause = "refusal"  // the model or its provider declined
	CauseEmpty    Cause = "empty"    // empty answers in a row
	CauseLength   Cause = "length"   // answers cut at the output limit in a row
	CauseRefusals Cause = "refusals" // turn after turn without one call that could run
)

// Outcome is how a part of a session ended. Kind says which fields are set.
type Outcome struct {
	Kind      Kind          `json:"kind"`
	Claim     *agency.Claim `json:"claim,omitempty"`
	Reason    string        `json:"reason,omitempty"` // for people
	Attempted string        `json:"attempted,omitempty"`
	Cause     Cause         `json:"cause,omitempty"`
	For       Wait          `json:"for,omitempty"`
	Question  string        `json:"question,omitempty"`
	Options   []string      `json:"options,omitempty"`
	ToolUse   string        `json:"tool_use_id,omitempty"`
	Asks      []AgentsAsk   `json:"asks,omitempty"`
	// Awaits is the message whose answer is waited for. It was sent in the commit
	// that parked the session.
	Awaits agency.MessageID `json:"awaits,omitempty"`
	// Change, where set, is what is asked for instead of an answer, and Handoff
	// what is to be done by another role if the answer agrees.
	Change    *Change           `json:"change,omitempty"`
	Handoff   *Handoff          `json:"handoff,omitempty"`
	Exhausted *budget.Exhausted `json:"exhausted,omitempty"`
	Report    string            `json:"report,omitempty"`
	To        agency.AgentID    `json:"to,omitempty"`
	// Plan is what was submitted, Faults what is wrong with it.
	Plan   []agency.Contract  `json:"plan,omitempty"`
	Faults []agency.PlanFault `json:"faults,omitempty"`
	// Multiplier is by how much the plan raises the attempts of its contracts;
	// 0: it does not.
	Multiplier int `json:"retry_budget_multiplier,omitempty"`
	// Review is a critic's; what it comes to is not decided yet.
	Review *agency.Review `json:"review,omitempty"`
	// Tree is the workspace as the part left it.
	Tree agency.OID `json:"tree,omitempty"`
}

// Event is what a watcher sees while a part of a session runs. It is lossy and
// stored nowhere; what is durable stands in the event log. The set is closed.
type Event interface{ event() }

type (
	// TextDelta is a piece of what the model writes.
	TextDelta struct{ Text string }
	// Voided says that what was streamed of this turn is void: the request is
	// made again, or another model is asked.
	Voided struct{ Cause string }
	// TurnStarted says that a request is about to be sent.
	TurnStarted struct{ Turn int }
	// ToolStarted and ToolEnded frame a tool call.
	ToolStarted struct {
		Turn, Index int
		Tool        string
	}
	ToolEnded struct {
		Turn, Index int
		Tool        string
		Failed      bool
	}
	// TurnEnded says that a turn is settled.
	TurnEnded struct {
		Turn  int
		Usage agency.Usage
	}
	// Ended is the last event of a sequence that ends without an error.
	Ended struct{ Outcome Outcome }
)

func (TextDelta) event()   {}
func (Voided) event()      {}
func (TurnStarted) event() {}
func (ToolStarted) event() {}
func (ToolEnded) event()   {}
func (TurnEnded) event()   {}
func (Ended) event()       {}
