package tool

import (
	"fmt"

	"agency/internal/agency"
)

// Effect is what a call asks of its session. The set is closed: the types
// below.
type Effect interface{ effect() }

type (
	// Complete ends the session with a claim.
	Complete struct {
		Summary  string
		Evidence []agency.Evidence
		Outputs  agency.Outputs
	}
	// Blocked ends the session without one.
	Blocked struct{ Reason, Attempted string }
	// Report ends the session with an agent's own words, in Markdown, and where it
	// was to decide, with what it decided.
	Report struct {
		Text    string
		Decided agency.Decided
	}
	// Question parks the session until a person has answered.
	Question struct {
		Text    string
		Options []string
	}
)

func (Complete) effect() {}
func (Blocked) effect()  {}
func (Report) effect()   {}
func (Question) effect() {}

// Todo is the agent's own plan, in the place of the one before.
type Todo struct{ Items []Step }

// Step is one of a plan.
type Step struct {
	Text string `json:"text"`
	Done bool   `json:"done,omitempty"`
}

func (Todo) effect() {}

// Line says how far the plan is, and what comes next.
func (t Todo) Line() string {
	if len(t.Items) == 0 {
		return "no plan"
	}
	done, next := 0, ""
	for _, s := range t.Items {
		if s.Done {
			done++
		} else if next == "" {
			next = "; next: " + s.Text
		}
	}
	return fmt.Sprintf("%d of %d done%s", done, len(t.Items), next)
}

// Steps are the plan's, a line each.
func Steps(items []Step) []string {
	out := make([]string, len(items))
	for i, s := range items {
		mark := "[ ] "
		if s.Done {
			mark = "[x] "
		}
		out[i] = mark + s.Text
	}
	return out
}

// Draft notes a contract that create_subcontract wrote; submit_plan without a
// plan submits what was noted.
type Draft struct{ Contract agency.Contract }

// Plan ends the session with a plan. Its contracts are none where those that
// were noted one by one are the plan.
type Plan struct {
	agency.Plan
	Tiers *agency.TierPlan // of workstreams, instead of contracts
	// Form is what is wrong with how it is written, of which the rest was read: whoever
	// mends a plan is told all of it at once.
	Form []string
}

func (Draft) effect() {}
func (Plan) effect()  {}

// Clarification parks the session until its question is answered.
type Clarification struct{ Text string }

func (Clarification) effect() {}

// Handoff asks for another role to go on with the contract.
type Handoff struct {
	Role   agency.RoleID
	Reason string
}

func (Handoff) effect() {}

// ImplementationChange parks the session until the implementation that it tests
// is mended, or nobody could.
type ImplementationChange struct {
	Bug, Test string
	Receipt   agency.ReceiptID // that shows the test failing
}

func (ImplementationChange) effect() {}

// The effects of a manager that leads: the session parks until the run has
// answered, for several calls of one turn together.
type (
	// Spawn has an agent of a role start on a contract.
	Spawn struct {
		Role     agency.RoleID
		Contract agency.ContractID
	}
	// Await waits until the agents have ended.
	Await struct{ Agents []agency.AgentID }
	// Collect asks what the agents' work came to, as it was measured.
	Collect struct{ Agents []agency.AgentID }
)

func (Spawn) effect()   {}
func (Await) effect()   {}
func (Collect) effect() {}

// Amend gives a contract that has not begun other words. A noted one is changed
// at once; for one that waits for its turn the session parks.
type Amend struct {
	Contract agency.ContractID
	Change   func(agency.Contract) agency.Contract
}

func (Amend) effect() {}

// Reviewed ends the session with a review. The harness fills in what it is of,
// and decides what it comes to.
type Reviewed struct{ Review agency.Review }

func (Reviewed) effect() {}

// Verdict ends the session with a verdict: a verifier's on a slice is its review, a squad
// lead's on a workstream the joint one.
type Verdict struct {
	Review agency.Review
	Joint  agency.JointVerdict
}

// Accept ends the session with what a visionary says of the whole.
type Accept struct{ agency.Acceptance }

func (Verdict) effect() {}
func (Accept) effect()  {}

// The effects of an agent of a composition. HandTo and a last Broadcast end the session;
// the others park it, several calls of one turn together but for Broadcast.
type (
	// HandTo hands the request over to another agent.
	HandTo struct{ Agent, Message string }
	// CallAgent has an agent answer a prompt.
	CallAgent struct {
		Agent, Prompt, Reason string
		MaxTokens             int64 // of it and all whom it comes to; 0: no limit of the call's own
	}
	// AskAgain asks an agent more that was called.
	AskAgain struct {
		ID       agency.ContractID
		Question string
	}
	// Release lets an agent go that could be asked again.
	Release struct{ ID agency.ContractID }
	// Broadcast tells a team something.
	Broadcast struct {
		Message       string
		Final, Failed bool
	}
)

func (HandTo) effect()    {}
func (CallAgent) effect() {}
func (AskAgain) effect()  {}
func (Release) effect()   {}
func (Broadcast) effect() {}
