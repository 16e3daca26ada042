package mode

import (
	"context"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

// crew is what the contracts of a run wait for together: one resume lets all
// of them go on, one answer about the budget counts for all.
type crew struct {
	in     Input
	pauses int
	pause  *flow.Future[flow.None] // the next resume

	raises int
	asked  *flow.Future[flow.None] // the budget gate that is open
	answer agency.Decision

	fixes     int                     // contracts that mend what tests have shown
	plan      []agency.Contract       // that is carried out
	ended     []agency.ContractID     // of it
	news      []agency.ContractID     // contracts whose work on the run's branch grew, in order
	answering *flow.Future[flow.None] // the manager's last session over a question
}

// isPaused reads what a person wants of the run now.
var isPaused = flow.Activity[agency.RunID, bool]{Name: "mode.is_paused"}

func (s *Steps) isPaused(ctx context.Context, _ agency.StepKey, run agency.RunID) (paused bool, err error) {
	err = s.db.Read(ctx, func(q *store.Snapshot) error {
		ctl, err := registry.ReadControl(q, run)
		paused = ctl.Pause
		return err
	})
	return paused, err
}

// resumed waits until the run is not paused. It asks for the signal first and
// looks then: a resume that comes between the two is not missed.
func (w *crew) resumed(c flow.Ctx, key string) error {
	for n := 1; ; n++ {
		if w.pause == nil {
			w.pauses++
			f := flow.Go(c, fmt.Sprintf("%s/signal/%d", key, w.pauses), func(c flow.Ctx) error {
				_, err := flow.Receive(c, resume, "resume")
				return err
			})
			w.pause = &f
		}
		f := w.pause
		paused, err := flow.Call(c, isPaused, fmt.Sprintf("%s/paused/%d", key, n), w.in.Run)
		if err != nil || !paused {
			return err
		}
		if _, err := f.Get(c); err != nil {
			return err
		}
		if w.pause == f {
			w.pause = nil
		}
	}
}

// budget asks a person once for all whose money is used up, and raises the
// limit. Before is how often it had been raised when the asking part began:
// one that was out of money until then goes on. A rejection is for all, also for
// who runs out of money while the run comes to its end.
func (w *crew) budget(c flow.Ctx, key string, out session.Outcome, before int) (stop string, err error) {
	if w.answer.Verb == agency.Reject && flow.Version(c, "budget-rejected", 1) >= 1 {
		return noBudget + out.Reason, nil
	}
	if w.raises > before {
		return "", nil
	}
	if w.asked == nil {
		name := fmt.Sprintf("budget-%d", w.raises+1)
		f := flow.Go(c, key+"/"+name, func(c flow.Ctx) (err error) {
			w.answer, err = askBudget(c, w.in, "", name, "raise", out)
			return err
		})
		w.asked = &f
	}
	f := w.asked
	if _, err := f.Get(c); err != nil {
		return "", err
	}
	if w.asked == f {
		w.asked = nil
		w.raises++
	}
	if w.answer.Verb == agency.Reject {
		return noBudget + out.Reason, nil
	}
	return "", nil
}

// noBudget begins why a run waits or ends for want of it: what is left may be
// less than a request reserves before it is sent, which is the most that its
// answer can cost.
const noBudget = "the budget does not hold the next request: "

// askBudget opens a budget gate and does what its answer says; raise is the key
// of that step.
func askBudget(c flow.Ctx, in Input, contract agency.ContractID, name, raise string, out session.Outcome) (agency.Decision, error) {
	d, err := ask(c, agency.Gate{
		ID: gateID(in.Run, name), RunID: in.Run, Kind: agency.GateBudget,
		ContractID: contract, Summary: noBudget + out.Reason,
		Body: out.Reason + ".\n\nA request reserves the most that its answer can cost before it is sent. Nothing more is spent until this is answered. Approve with `--budget USD` to set a new limit in dollars for the whole run; without it the limit that is reached is doubled. Reject to end the run.",
	})
	if err != nil || d.Verb == agency.Reject {
		return d, err
	}
	more := grant{Run: in.Run, Node: budget.Root, USD: d.BudgetUSD}
	if out.Exhausted != nil {
		more.Limit = out.Exhausted.Limit
	}
	_, err = flow.Call(c, raiseBudget, raise, more)
	return d, err
}

// landedSince tells whether what a contract needs has landed, or was mended,
// after its base was taken.
func (a *attempts) landedSince() bool {
	if a.crew == nil {
		return false
	}
	needs := append(a.contract.DependsOn[:len(a.contract.DependsOn):len(a.contract.DependsOn)], a.how.mends...)
	return slices.ContainsFunc(a.crew.news[a.heard:], func(id agency.ContractID) bool { return slices.Contains(needs, id) })
}

// heardAll notes that the base was taken after all that has landed by now.
func (a *attempts) heardAll() {
	if a.crew != nil {
		a.heard = len(a.crew.news)
	}
}
