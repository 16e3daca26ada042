package session

import (
	"fmt"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/roster"
)

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
	// Say, where set, is what the agent is told after the results of its calls: why a
	// session goes on that had ended.
	Say string `json:"say,omitempty"`
	// Moved says that the files stand on another commit than before.
	Moved bool `json:"moved,omitempty"`
}

// Reply is the result of one of the calls that parked a session together.
type Reply struct {
	ToolUse string `json:"tool_use_id"`
	Text    string `json:"text"`
	Refused bool   `json:"refused,omitempty"`
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
	HandedOff  Kind = "handed_off" // HandTo is set
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
	CauseHalted   Cause = "halted"   // by the overseer
	CauseBudget   Cause = "budget"   // the tokens of the call that it works for are used up
	CauseProvider Cause = "provider" // its provider answers others, and not it
)

// Reason says a cause in words for people and for the next attempt.
func (c Cause) Reason() string {
	return map[Cause]string{
		CauseTurns:    "the limit of turns is reached",
		CauseTokens:   "the session's limit of tokens is reached",
		CauseTime:     "the session's limit of time at work is reached",
		CauseWindow:   "the conversation does not fit the model's context window any more",
		CauseNoEnding: "the model stopped without an ending tool, was asked once, and stopped again",
		CauseRefusal:  "the model declined to answer",
		CauseEmpty:    "the model gave empty answers",
		CauseLength:   "the model's answers were cut at the limit of output again",
		CauseRefusals: "turn after turn, no call could run",
		CauseHalted:   "the overseer halted it",
		CauseBudget:   "the max_tokens of its call are used up",
		CauseProvider: "its model gave no answer",
	}[c]
}

// Unfinished is how a part ends without an ending tool; detail is what is known of
// the cause.
func Unfinished(cause Cause, detail string, tree agency.OID) *Outcome {
	reason := cause.Reason()
	if detail != "" {
		reason += ": " + detail
	}
	return &Outcome{Kind: Incomplete, Cause: cause, Reason: reason, Tree: tree}
}

// Outcome is how a part of a session ended. Kind says which fields are set.
type Outcome struct {
	Kind      Kind          `json:"kind"`
	Claim     *agency.Claim `json:"claim,omitempty"`
	Reason    string        `json:"reason,omitempty"` // for people
	Attempted string        `json:"attempted,omitempty"`
	Cause     Cause         `json:"cause,omitempty"`
	// Afresh says that a new conversation on the same files may do better than one that
	// was halted, or go on where one has used up what it may; Rollback is where the next
	// attempt is to begin after who was halted.
	Afresh   bool            `json:"afresh,omitempty"`
	Rollback agency.Rollback `json:"rollback,omitempty"`
	Danger   bool            `json:"danger,omitempty"` // it was halted for what it did, and a person is asked
	// Learnt is the record of its work that a session leaves which has used up what it may,
	// for the one that goes on in its place.
	Learnt   string      `json:"learnt,omitempty"`
	For      Wait        `json:"for,omitempty"`
	Question string      `json:"question,omitempty"`
	Options  []string    `json:"options,omitempty"`
	ToolUse  string      `json:"tool_use_id,omitempty"`
	Asks     []AgentsAsk `json:"asks,omitempty"`
	// Awaits is the message whose answer is waited for. It was sent in the commit
	// that parked the session.
	Awaits agency.MessageID `json:"awaits,omitempty"`
	// Change, where set, is what is asked for instead of an answer, and Handoff
	// what is to be done by another role if the answer agrees.
	Change    *Change           `json:"change,omitempty"`
	Handoff   *Handoff          `json:"handoff,omitempty"`
	Exhausted *budget.Exhausted `json:"exhausted,omitempty"`
	Report    string            `json:"report,omitempty"`
	// Failed says of a member's last broadcast, which is its report, that it could not
	// do its part.
	Failed bool    `json:"failed,omitempty"`
	HandTo *HandTo `json:"hand_to,omitempty"`
	// Turns are those that an agent of a composition has had and Left those that it has
	// yet, where there is a limit; Room is how many bytes it can still be told.
	Turns int   `json:"turns,omitempty"`
	Left  int   `json:"left,omitempty"`
	Room  int64 `json:"room,omitempty"`

	Decided agency.Decided `json:"decided,omitzero"` // with a report
	// Plan is what was submitted, Faults what is wrong with it.
	Plan   []agency.Contract  `json:"plan,omitempty"`
	Faults []agency.PlanFault `json:"faults,omitempty"`
	// Multiplier is by how much the plan raises the attempts of its contracts;
	// 0: it does not.
	Multiplier int `json:"retry_budget_multiplier,omitempty"`
	// Tiers, with a plan, is what a plan of workstreams says beside them; Joint and
	// Acceptance are with a report: a squad lead's and a visionary's.
	Tiers      *agency.TierFacts    `json:"tiers,omitempty"`
	Joint      *agency.JointVerdict `json:"joint,omitempty"`
	Acceptance *agency.Acceptance   `json:"acceptance,omitempty"`
	// Review is a critic's; what it comes to is not decided yet.
	Review *agency.Review `json:"review,omitempty"`
	// Tree is the workspace as the part left it.
	Tree agency.OID `json:"tree,omitempty"`
}

// HandTo is an agent that goes on in the place of this one, with what it is told.
type HandTo struct {
	Agent   string `json:"agent"`
	Message string `json:"message,omitempty"`
}

// AgentsAsk is what is asked of the run's agents: by a manager, or by an agent of a
// composition. Exactly one of the fields beside ToolUse is set.
type AgentsAsk struct {
	ToolUse string `json:"tool_use_id"`
	// Spawn is a contract to start: whole where it was only noted, else its id.
	Spawn *agency.Contract `json:"spawn,omitempty"`
	// Wait and Collect name agents.
	Wait    *Agents `json:"wait,omitempty"`
	Collect *Agents `json:"collect,omitempty"`
	// Amend is a contract as it is to be, which has not begun.
	Amend *agency.Contract `json:"amend,omitempty"`
	// Draft is what a leader means to plan: it goes on with the drafts of others.
	Draft []agency.Contract `json:"draft,omitempty"`
	// Call has an agent answer a prompt, Again asks one more that was called, Release
	// lets it go.
	Call    *CallAsk          `json:"call,omitempty"`
	Again   *AgainAsk         `json:"again,omitempty"`
	Release agency.ContractID `json:"release,omitempty"`
	// Broadcast is what a member of a team, or its supervisor, tells the others: it goes on
	// with what they say.
	Broadcast string `json:"broadcast,omitempty"`
}

// CallAsk is a call of an agent.
type CallAsk struct {
	Agent     string `json:"agent"`
	Prompt    string `json:"prompt"`
	MaxTokens int64  `json:"max_tokens,omitempty"`
}

// AgainAsk is a question to an agent that has answered before.
type AgainAsk struct {
	ID       agency.ContractID `json:"id"`
	Question string            `json:"question"`
}

// Broadcast is what the part tells a team and waits for it to go on; empty: nothing.
func (o Outcome) Broadcast() string {
	if o.Kind == Parked && len(o.Asks) == 1 {
		return o.Asks[0].Broadcast
	}
	return ""
}

// Agents names agents.
type Agents struct {
	IDs []agency.AgentID `json:"ids"`
}

// Change is a bug in what a contract tests, shown by a test that fails.
type Change struct {
	Bug     string           `json:"bug"`
	Test    string           `json:"test"`
	Receipt agency.ReceiptID `json:"receipt"`
	// Files are those that the tester has changed.
	Files []string `json:"files,omitempty"`
}

// Handoff is a contract that another role is to go on with.
type Handoff struct {
	Role   agency.RoleID `json:"role"`
	Reason string        `json:"reason"`
	// Files are those that were changed so far.
	Files []string `json:"files,omitempty"`
}

// Begun says why a contract cannot be amended, and what can be done instead.
func Begun(c agency.Contract) string {
	agent := agency.MemberID(c.AssignedRole, c.ID)
	switch {
	case c.Status == agency.StatusComplete:
		return fmt.Sprintf("contract %s has landed and cannot be changed; create another one that depends on it", c.ID)
	case c.Status.Final() || c.Status == agency.StatusBlocked:
		return fmt.Sprintf("contract %s is %s and never starts again; create another one in its place", c.ID, c.Status)
	}
	return fmt.Sprintf("contract %s has begun and cannot be changed; send_message tells %s what it has to know, or wait for it and create another one that depends on it", c.ID, agent)
}

// AnswerWithin is how long a question waits for a leader before a person is asked:
// as long as a session of that role may work.
func AnswerWithin(leader agency.RoleID) time.Duration {
	r, err := roster.Find(leader)
	if err != nil { // a constant of the roster
		return 15 * time.Minute
	}
	return r.Limits.Timeout()
}

// Paused is how a part ends when a person wants the run to pause.
func Paused(tree agency.OID) *Outcome {
	return &Outcome{Kind: Parked, For: ForPause, Reason: "the run is paused", Tree: tree}
}

// Cancelled is how a part ends when a person cancelled the run.
func Cancelled(tree agency.OID) Outcome {
	return Outcome{Kind: Stopped, Reason: "the run was cancelled", Tree: tree}
}
