package mode

import (
	"agency/internal/flow"
	"agency/internal/land"
)

// ProducerCritic makes the goal one formal contract, as Contract does, and lets
// it land only when a critic approves of it (DESIGN 9, 10).
func ProducerCritic(c flow.Ctx, in Input) (Result, error) {
	if _, err := flow.Call(c, land.BranchActivity, "branch", land.BranchSpec{Run: in.Run, Base: in.Base}); err != nil {
		return Result{}, err
	}
	return formal(c, in, workOn{reviewed: true})
}
