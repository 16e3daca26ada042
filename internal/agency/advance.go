package agency

import (
	"cmp"
	"slices"
)

// Fact is something that happened to a contract. The set is closed: the types
// of this file.
type Fact interface{ fact() string }

type (
	// Started: admitted, a session works on it. Counts an attempt.
	Started struct{ Agent AgentID }
	// Parking: its session waits for a person, other agents or the budget.
	Parking struct{ For string }
	// Unparked: the wait is over, the same attempt goes on; with another agent,
	// where one is named.
	Unparked struct {
		Agent AgentID `json:"agent,omitempty"`
	}
	// ClaimMade: a session claims it complete. Outputs are its own words, and
	// become nobody's inputs.
	ClaimMade struct{ Outputs Outputs }
	// Verified: the claim passed; Review says whether a critic is next.
	Verified struct{ Review bool }
	// Returned: verification, review or the merge sent it back to its owner.
	Returned struct{ Reason string }
	// Reviewed: a critic's review is an approval.
	Reviewed struct{}
	// Reworked: a review asks for changes, the same attempt goes on with them.
	Reworked struct{ Reason string }
	// Reworded: its lead says otherwise what is to be done; it stays where it stands,
	// and its criteria stay as they are.
	Reworded struct {
		Description string `json:"description"`
	}
	// LandingBegun: the merge queue works on it.
	LandingBegun struct{}
	// Landing is done: merged onto the parent branch, or accepted with no diff.
	HasLanded struct {
		Results *Results `json:"results,omitempty"` // nil: nothing was measured
	}
	// Answered: the agent's answer to its input is there, and is nobody's to verify.
	Answered struct{}
	// Granted: a person allowed more attempts; it stays where it stands.
	Granted struct{ Attempts int }
	// Blocking: something that it depends on failed for good.
	Blocking struct{ Reason string }
	// Unblocked: a new plan mended what blocked it.
	Unblocked struct{}
	// GaveUp: it failed for good.
	GaveUp struct{ Reason string }
	// Withdrawn: cancelled by a person or a new plan.
	Withdrawn struct{ Reason string }
)

func (Started) fact() string      { return "started" }
func (Parking) fact() string      { return "parked" }
func (Unparked) fact() string     { return "unparked" }
func (ClaimMade) fact() string    { return "claimed" }
func (Verified) fact() string     { return "verified" }
func (Returned) fact() string     { return "returned" }
func (Reviewed) fact() string     { return "approved" }
func (Reworked) fact() string     { return "reworked" }
func (Reworded) fact() string     { return "reworded" }
func (LandingBegun) fact() string { return "landing begun" }
func (HasLanded) fact() string    { return "landed" }
func (Answered) fact() string     { return "answered" }
func (Granted) fact() string      { return "granted" }
func (Blocking) fact() string     { return "blocked" }
func (Unblocked) fact() string    { return "unblocked" }
func (GaveUp) fact() string       { return "given up" }
func (Withdrawn) fact() string    { return "withdrawn" }

// position is a status with its stage; the table below is written in it.
type position struct {
	status Status
	stage  Stage
}

var (
	atReady     = position{StatusPending, StageReady}
	atWorking   = position{StatusInProgress, StageWorking}
	atParked    = position{StatusInProgress, StageParked}
	atVerifying = position{StatusInReview, StageVerifying}
	atReviewing = position{StatusInReview, StageReviewing}
	atQueued    = position{StatusInReview, StageQueued}
	atLanding   = position{StatusInReview, StageLanding}
	atBlocked   = position{StatusBlocked, ""}
	atComplete  = position{StatusComplete, ""}
	atFailed    = position{StatusFailed, ""}
	atCancelled = position{StatusCancelled, ""}
)

var anywhereAlive = []position{atReady, atWorking, atParked, atVerifying, atReviewing, atQueued, atLanding, atBlocked}

// transitions is the whole table: from where a fact may come, and where it
// leads. Verified leads to reviewing or queued by its field, granted and reworded
// nowhere.
var transitions = map[string]struct {
	from []position
	to   position
}{
	"started":       {[]position{atReady, atWorking, atParked}, atWorking},
	"parked":        {[]position{atWorking}, atParked},
	"unparked":      {[]position{atParked}, atWorking},
	"claimed":       {[]position{atWorking}, atVerifying},
	"verified":      {[]position{atVerifying}, atQueued},
	"returned":      {[]position{atWorking, atParked, atVerifying, atReviewing, atQueued, atLanding}, atReady},
	"approved":      {[]position{atReviewing}, atQueued},
	"reworked":      {[]position{atReviewing}, atWorking},
	"landing begun": {[]position{atQueued}, atLanding},
	"landed":        {[]position{atLanding}, atComplete},
	"answered":      {[]position{atWorking, atParked}, atComplete},
	"granted":       {anywhereAlive, position{}},
	"reworded":      {anywhereAlive, position{}},
	"blocked":       {[]position{atReady}, atBlocked},
	"unblocked":     {[]position{atBlocked}, atReady},
	"given up":      {anywhereAlive, atFailed},
	"withdrawn":     {anywhereAlive, atCancelled},
}

// Advance is the only way in which a contract changes (docs/design.md, Contracts): the contract
// after the fact, or a conflict that names where it stands. Times are the
// caller's to set. A contract whose attempts are used up is not started again.
func Advance(c Contract, f Fact) (Contract, error) {
	t, ok := transitions[f.fact()]
	if !ok {
		return c, Errorf(KindInternal, "contract %s: fact %q is in no table", c.ID, f.fact())
	}
	at := position{c.Status, c.Stage}
	if c.Status == StatusPending {
		at = atReady
	}
	if !slices.Contains(t.from, at) {
		return c, Errorf(KindConflict, "contract %s: cannot be %s while %s", c.ID, f.fact(), describe(at))
	}
	to := t.to
	switch f := f.(type) {
	case Started:
		if c.UsedUp() {
			return c, Errorf(KindExhausted, "contract %s: %s", c.ID, AllUsed(c.RetryBudget, ""))
		}
		c.Attempts++
		c.AssignedAgentID = f.Agent
		c.Error, c.Iterations = "", 0
	case Unparked:
		c.AssignedAgentID = cmp.Or(f.Agent, c.AssignedAgentID)
	case Granted:
		c.RetryBudget += f.Attempts
		to = at
	case Reworded:
		c.Description = f.Description
		to = at
	case Verified:
		if f.Review {
			to = atReviewing
			c.Iterations++
		}
	case Reworked:
		c.Error = f.Reason
	case Returned:
		c.Error = f.Reason
	case Blocking:
		c.Error = f.Reason
	case GaveUp:
		c.Error = f.Reason
	case Withdrawn:
		c.Error = f.Reason
	case HasLanded:
		c.Error = ""
		if f.Results != nil {
			c.ActualOutputs = *f.Results
		}
	}
	c.Status, c.Stage = to.status, to.stage
	return c, nil
}

// UsedUp tells whether no attempt is left. Without a retry budget there is no end of them.
func (c Contract) UsedUp() bool { return c.RetryBudget > 0 && c.Attempts >= c.RetryBudget }

func describe(p position) string {
	if p.stage == "" || p.status == StatusPending {
		return string(p.status)
	}
	return string(p.status) + " (" + string(p.stage) + ")"
}
