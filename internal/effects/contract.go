package effects

import (
	"context"
	"errors"
	"fmt"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/reservation"
	"agency/internal/roster"
	"agency/internal/session/record"
	"agency/internal/store"
)

// CreateContract makes one contract known, CreateContracts those of a plan, all
// of them or none.
var (
	CreateContract  = flow.Activity[agency.Contract, flow.None]{Name: "mode.create_contract"}
	CreateContracts = flow.Activity[[]agency.Contract, flow.None]{Name: "mode.create_contracts"}
)

func createContract(tx *store.Tx, _ agency.StepKey, c agency.Contract) error {
	if err := openBudget(tx, c); err != nil {
		return err
	}
	return registry.CreateContract(tx, c)
}

// NewPost is the contract of an agent of a composition that begins, and that of the one
// which hands over to it: that one has answered.
type NewPost struct {
	Contract agency.Contract   `json:"contract"`
	After    agency.ContractID `json:"after,omitempty"`
}

// BeginPost makes the contract of an agent of a composition known and begins it.
var BeginPost = flow.Activity[NewPost, flow.None]{Name: "mode.begin_post"}

func beginPost(tx *store.Tx, key agency.StepKey, in NewPost) error {
	c := in.Contract
	if in.After != "" {
		before, err := registry.Advance(tx, c.RunID, in.After, key+"/answered", agency.Answered{})
		if err == nil {
			err = endAgents(tx, before)
		}
		if err != nil {
			return err
		}
	}
	if err := createContract(tx, key, c); err != nil {
		return err
	}
	_, err := registry.Advance(tx, c.RunID, c.ID, key, agency.Started{Agent: agency.AgentID(c.ID)})
	return err
}

// openBudget opens the contract's node in the tree of budgets, below its tier's or its
// stage's, and below the calls that it works for.
func openBudget(tx *store.Tx, c agency.Contract) error {
	above := budget.StageNode(string(dutyOf(c)))
	if c.Tier != "" {
		above = budget.TierNode(c.Tier)
	}
	if err := budget.Open(tx, c.RunID, above, budget.Root, budget.Limits{}); err != nil {
		return err
	}
	if c.Post != nil {
		for _, at := range c.Post.Caps {
			call := budget.CallNode(at.Call)
			if err := budget.Open(tx, c.RunID, call, above, budget.Limits{Tokens: at.Tokens}); err != nil {
				return err
			}
			above = call
		}
	}
	return budget.Open(tx, c.RunID, budget.ContractNode(c.ID), above, budget.Limits{})
}

func createContracts(tx *store.Tx, key agency.StepKey, all []agency.Contract) error {
	for _, c := range all {
		if err := createContract(tx, key, c); err != nil {
			return err
		}
	}
	return nil
}

// AmendContract gives a contract that nobody has begun other words.
var AmendContract = flow.Activity[agency.Contract, flow.None]{Name: "mode.amend"}

// Step is one fact about one contract.
type Step struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract"`
	Fact     fact              `json:"fact"`
}

// NewStep says a fact about a contract.
func NewStep(run agency.RunID, contract agency.ContractID, f agency.Fact) Step {
	return Step{Run: run, Contract: contract, Fact: fact{f}}
}

// Advance records a fact about a contract.
var Advance = flow.Activity[Step, flow.None]{Name: "mode.advance"}

func (s *Activities) advance(ctx context.Context, key agency.StepKey, in Step) (flow.None, error) {
	var c agency.Contract
	routing, err := routingOf(ctx, s.models, in.Run, in.Fact.Fact)
	if err != nil {
		return flow.None{}, err
	}
	done, err := s.write(ctx, func(tx *store.Tx) (err error) {
		if c, err = registry.Advance(tx, in.Run, in.Contract, key, in.Fact.Fact); err != nil || !c.Status.Final() {
			return err
		}
		return errors.Join(endAgents(tx, c), board.EndEdits(tx, in.Run, c.ID), reservation.Ended(tx, c), keepOutcome(tx, c, routing))
	})
	if err == nil && c.Status.Final() && c.Post == nil { // an agent of a composition lands nothing
		err = s.settleEnded(ctx, c)
	}
	return done, err
}

// endAgents ends the agents of a contract that has ended: mail that only they
// could read goes back as undeliverable.
func endAgents(tx *store.Tx, c agency.Contract) error {
	status := board.AgentFailed
	switch c.Status {
	case agency.StatusComplete:
		status = board.AgentCompleted
	case agency.StatusCancelled:
		status = board.AgentTerminated
	}
	reason := fmt.Sprintf("contract %s is %s", c.ID, c.Status)
	if c.Post != nil { // one, of the contract's name
		err := board.Leave(tx, c.RunID, agency.AgentID(c.ID), status, reason)
		if kind := agency.KindOf(err); kind == agency.KindNotFound || kind == agency.KindConflict {
			err = nil // it never came, or has left
		}
		return err
	}
	live, err := board.Live(tx, c.RunID)
	if err != nil {
		return err
	}
	for _, a := range live {
		if a.Contract != c.ID {
			continue
		}
		if err := board.Leave(tx, c.RunID, a.ID, status, reason); err != nil {
			return err
		}
	}
	return nil
}

// Blocking says that contracts can never start, and why.
type Blocking struct {
	Run       agency.RunID        `json:"run"`
	Contracts []agency.ContractID `json:"contracts"`
	Reason    string              `json:"reason"`
}

// BlockContracts records that contracts can never start.
var BlockContracts = flow.Activity[Blocking, flow.None]{Name: "mode.block_contracts"}

func blockContracts(tx *store.Tx, key agency.StepKey, in Blocking) error {
	for _, id := range in.Contracts {
		if _, err := registry.Advance(tx, in.Run, id, key+"/"+agency.StepKey(id), agency.Blocking{Reason: in.Reason}); err != nil {
			return err
		}
	}
	return nil
}

// lookBack is how many of the latest contracts count, of all that ended and of those
// that failed: older ones were of code, prompts and models that have changed since.
const (
	lookBack  = 1000
	lookBadly = 100
)

// keepOutcome keeps what a contract that ended by itself came to, in the
// transaction that ends it: what was withdrawn with attempts left tells nothing of the
// work. A plan is withdrawn also where its manager has used them up.
func keepOutcome(tx *store.Tx, c agency.Contract, routing agency.Routing) error {
	if c.Attempts == 0 || c.Post != nil || c.Status == agency.StatusCancelled && !c.UsedUp() {
		return nil
	}
	run, err := registry.Run(tx, c.RunID)
	if err != nil {
		return err
	}
	o := agency.Outcome{
		Run: c.RunID, Contract: c.ID, Mode: run.WorksIn(), Role: c.AssignedRole, Duty: dutyOf(c), Kind: c.Type,
		Complexity: routing.Size(c), Complete: c.Status == agency.StatusComplete, Attempts: c.Attempts, EndedAt: tx.Now,
	}
	if err := addRoute(tx, c, &o); err != nil {
		return err
	}
	if err := addTries(tx, c, &o); err != nil || len(o.Tries) == 0 { // a plan that a person gave
		return err
	}
	spent, err := budget.Read(tx, c.RunID, budget.ContractNode(c.ID))
	if err != nil && agency.KindOf(err) != agency.KindNotFound {
		return err
	}
	o.Tokens, o.CostUSD, o.Seconds = spent.Tokens, spent.Money.Float(), spent.Wall.Seconds()
	return registry.KeepOutcome(tx, o)
}

// dutyOf says what a contract is for.
func dutyOf(c agency.Contract) agency.Duty {
	switch {
	case roster.Leads(c.AssignedRole), c.AssignedRole == agency.RoleLead, c.AssignedRole == agency.RoleArchitect:
		return agency.DutyLead
	case c.AssignedRole == agency.RoleReviewer:
		return agency.DutyReview
	}
	return agency.DutyWork
}

// addRoute adds on which level its role began, and how far its failures raised it. Where a
// person had another model asked, what came of it tells nothing of a level.
func addRoute(q store.Querier, c agency.Contract, o *agency.Outcome) error {
	all, err := event.Of[agency.ModelRouted](q, event.Filter{Run: c.RunID, Contract: c.ID, Types: []agency.EventType{agency.ModelRoutedType}})
	for _, told := range all {
		if told.Role != c.AssignedRole {
			continue
		}
		if o.Level == "" && told.Detail.Up == 0 {
			o.Level = told.Detail.Level
		}
		o.Raised = max(o.Raised, told.Detail.Up)
	}
	if err != nil || o.Level == "" {
		return err
	}
	chosen, err := event.Of[agency.ModelChosen](q, event.Filter{Run: c.RunID, Types: []agency.EventType{agency.ModelChosenType}})
	for _, told := range chosen {
		if whom := told.Detail.Whom; whom == "" || whom == string(c.AssignedRole) || whom == string(o.Level) {
			o.Level = ""
		}
	}
	return err
}

// addTries adds which models worked in each attempt, and what critics did.
func addTries(q store.Querier, c agency.Contract, o *agency.Outcome) error {
	done, err := record.Efforts(q, c.RunID, c.ID)
	if err != nil {
		return err
	}
	last, counted := 0, agency.SessionID("")
	for _, w := range done {
		o.Unpriced = o.Unpriced || w.Unpriced
		if w.Role != c.AssignedRole && (w.Role == agency.RoleReviewer || w.Role == agency.RoleVerifier) {
			o.Review = o.Review.Add(w.Effort)
			continue
		}
		if w.Attempt != last { // others of the attempt are its later conversations
			o.Tries, last = append(o.Tries, agency.Try{}), w.Attempt
		}
		t := &o.Tries[len(o.Tries)-1]
		if w.Model != "" {
			t.Add(agency.Part{Model: w.Model, Effort: w.Effort, Unpriced: w.Unpriced})
		}
		if w.ID == counted {
			continue
		}
		counted = w.ID
		spent, err := budget.ByModel(q, c.RunID, budget.SessionNode(w.ID))
		if err != nil {
			return err
		}
		for _, l := range spent {
			t.Add(agency.Part{Model: l.Model, Tokens: l.Billed, CostUSD: l.Money.Float(), Unpriced: l.Unpriced})
		}
	}
	return nil
}

// routingOf is how the run of a contract picks levels, where a fact can end it.
func routingOf(ctx context.Context, m Models, run agency.RunID, f agency.Fact) (agency.Routing, error) {
	switch f.(type) {
	case agency.HasLanded, agency.Answered, agency.GaveUp, agency.Withdrawn:
		return m.Routing(ctx, run)
	}
	return agency.Routing{}, nil
}
