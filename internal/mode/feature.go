package mode

import (
	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/land"
	"agency/internal/text"
)

// BacklogContract is the id of the contract by which the harness itself marks
// a feature; no plan may take it.
const BacklogContract agency.ContractID = "features.json"

// markDone lands the word that the run's feature is done on top of its work, so
// that both reach the target by one merge. Without a feature, or where the
// backlog cannot say it, the work goes on alone; a warning tells why. N counts how often
// the work is done, from 1.
func markDone(c flow.Ctx, in Input, landed land.Landed, n int) (land.Landed, error) {
	if in.Feature == nil {
		return landed, nil
	}
	contract := agency.Contract{
		ID: BacklogContract, RunID: in.Run, FeatureID: in.Feature.ID, Type: agency.TypeVerify, AssignedRole: agency.RoleGeneralist,
		Title:       text.FirstLine("Mark "+string(in.Feature.ID)+" as done", 100),
		Description: "The harness itself writes it into features.json, with what proves it.", GoalAnchor: in.Goal, RetryBudget: 1,
		AcceptanceCriteria: []agency.Criterion{},
	}
	contract.ID = numbered(contract.ID, n)
	how := in.alone(false)
	how.Base = landed.Commit
	a := contractrun.NewStarted(contract, how)
	if err := a.Create(c); err != nil {
		return landed, err
	}
	out, err := flow.Call(c, effects.MarkFeature, contractrun.Path(a.Contract.ID, "mark"), effects.FeatureToMark{
		Run: in.Run, Contract: a.Contract.ID, Feature: in.Feature.ID, At: landed.Commit,
	})
	if err != nil {
		return landed, err
	}
	if out.Reason != "" {
		return landed, a.Withdraw(c, out.Reason)
	}
	err = a.AdvanceAll(
		c, contractrun.Told{Key: "start", Fact: agency.Started{Agent: a.Agent()}}, contractrun.Told{Key: "claim", Fact: agency.ClaimMade{}},
		contractrun.Told{Key: "verified", Fact: agency.Verified{}}, contractrun.Told{Key: "landing", Fact: agency.LandingBegun{}},
	)
	if err != nil {
		return landed, err
	}
	end, err := flow.Call(c, land.Activity, a.Key("land"), land.Spec{Run: in.Run, Contract: a.Contract.ID, Tree: out.Tree})
	switch {
	case err != nil:
		return landed, err
	case end.Landed == nil:
		return landed, a.GiveUp(c, end.Reason)
	}
	landed.Commit = end.Landed.Commit // its tree stays the work's: that is what was judged
	return landed, a.Advance(c, "landed", agency.HasLanded{})
}
