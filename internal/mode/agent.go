package mode

import (
	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/contractrun/pattern"
	"agency/internal/effects"
	"agency/internal/flow"
)

// Agent has an agent answer the goal, with all that it comes to; nothing lands
// (docs/design.md, Patterns).
func Agent(c flow.Ctx, in Input) (Result, error) {
	end, err := pattern.Play(c, pattern.Input{Facts: in.Facts, Cast: in.Cast, Agent: in.Agent, Text: in.Goal})
	if err != nil {
		return Result{}, err
	}
	if end.Failure != "" {
		why := contractrun.StopCause(end.Failure)
		if why.Kind == agency.FailedOther {
			why.Kind = agency.FailedAnswer
		}
		return failed(why), nil
	}
	if _, err := flow.Call(c, effects.KeepAnswer, "answer", effects.RunAnswer{Run: in.Run, Text: end.Answer}); err != nil {
		return Result{}, err
	}
	return Result{Succeeded: true}, nil
}
