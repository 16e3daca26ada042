package effects

import (
	"context"
	"errors"
	"fmt"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/flow"
	"agency/internal/registry"
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

// openBudget opens the contract's node in the tree of budgets, below its tier's or its
// stage's.
func openBudget(tx *store.Tx, c agency.Contract) error {
	above := budget.StageNode(string(dutyOf(c)))
	if c.Tier != "" {
		above = budget.TierNode(c.Tier)
	}
	if err := budget.Open(tx, c.RunID, above, budget.Root, budget.Limits{}); err != nil {
		return err
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
		return errors.Join(endAgents(tx, c), board.EndEdits(tx, in.Run, c.ID), keepOutcome(tx, c, routing))
	})
	if err == nil && c.Status.Final() {
		err = s.settleEnded(ctx, c)
	}
	return done, err
}

// endAgents ends the agents of a contract that has ended: mail that only they
// could read goes back as undeliverable.
func endAgents(tx *store.Tx, c agency.Contract) error {
	live, err := board.Live(tx, c.RunID)
	if err != nil {
		return err
	}
	status := board.AgentFailed
	switch c.Status {
	case agency.StatusComplete:
		status = board.AgentCompleted
	case agency.StatusCancelled:
		status = board.AgentTerminated
	}
	for _, a := range live {
		if a.Contract != c.ID {
			continue
		}
		if err := board.Leave(tx, c.RunID, a.ID, status, fmt.Sprintf("contract %s is %s", c.ID, c.Status)); err != nil {
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
