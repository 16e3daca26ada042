package effects

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/store"
)

// OpenGate asks a person.
var OpenGate = flow.Activity[agency.Gate, flow.None]{Name: "mode.gate"}

func (s *Activities) openGate(ctx context.Context, _ agency.StepKey, g agency.Gate) (flow.None, error) {
	if showsRed(g.Kind) {
		if err := s.db.Read(ctx, func(q *store.Snapshot) error { return addRed(q, &g) }); err != nil {
			return flow.None{}, err
		}
	}
	if g.Kind == agency.GateBudget {
		if err := s.addSpending(ctx, &g); err != nil {
			return flow.None{}, err
		}
	}
	return s.write(ctx, func(tx *store.Tx) error { return registry.OpenGate(tx, g) })
}

// showsRed tells whether a gate of this kind asks about work whose checks a
// person wants to know. The merge gate shows those of what landed itself.
func showsRed(k agency.GateKind) bool {
	return k == agency.GateWeakened || k == agency.GateEscalation || k == agency.GateBudget
}

// addRed adds to a gate which checks are red where it asks: of its contract, or
// without one of all that are at work or have failed, and what its last verdict
// left without proof.
func addRed(q *store.Snapshot, g *agency.Gate) error {
	var f findings
	if err := f.read(q, g.RunID); err != nil {
		return err
	}
	for _, c := range f.contracts {
		if g.ContractID != "" && c.ID != g.ContractID || g.ContractID == "" && c.Status == agency.StatusComplete {
			continue
		}
		red := check.LastRed(f.receipts, c.ID)
		g.Red = append(g.Red, red...)
		g.Body += redText(c.ID, red)
		for _, v := range slices.Backward(f.verdicts) {
			if v.ContractID == c.ID {
				g.Body += doubtText(v)
				break
			}
		}
	}
	return nil
}

func redText(id agency.ContractID, red []agency.Red) string {
	if len(red) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n\nRed on the work on %s, as it was last checked:\n", id)
	for _, r := range red {
		fmt.Fprintf(&b, "- %s\n", r.Head())
		for _, l := range r.Lines() {
			fmt.Fprintf(&b, "    - %s\n", l)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// doubtText is what a verdict leaves to a person's judgement.
func doubtText(v agency.Verdict) string {
	s := ""
	if line := v.Unproved.Line(); line != "" {
		s += "\n\nunproved: " + line
	}
	if line := agency.ExpectationsLine(v.Expectations); line != "" {
		s += "\n\nedited expectations: " + line
	}
	return s
}

// ReadPaused reads what a person wants of the run now.
var ReadPaused = flow.Activity[agency.RunID, bool]{Name: "mode.is_paused"}

func (s *Activities) readPaused(ctx context.Context, _ agency.StepKey, run agency.RunID) (bool, error) {
	ctl, err := store.Get(ctx, s.db, registry.ReadControl, run)
	return ctl.Pause, err
}

// BudgetRaise is what a person granted.
type BudgetRaise struct {
	Run   agency.RunID `json:"run"`
	Node  string       `json:"node"`
	Limit string       `json:"limit"` // that was reached: usd, tokens or wall
	USD   float64      `json:"usd,omitempty"`
}

// RaiseBudget raises a limit of the run.
var RaiseBudget = flow.Activity[BudgetRaise, flow.None]{Name: "mode.raise_budget"}

func raiseBudget(tx *store.Tx, _ agency.StepKey, g BudgetRaise) error {
	now, err := budget.Read(tx, g.Run, g.Node)
	if err != nil {
		return err
	}
	return budget.Raise(tx, g.Run, g.Node, raised(now.Limits, g))
}

// raised are the limits after a person granted more: a sum named is the new
// money limit; without one, or where another limit was reached, that limit is
// doubled.
func raised(now budget.Limits, g BudgetRaise) budget.Limits {
	switch {
	case g.Limit == "tokens":
		now.Tokens *= 2
	case g.Limit == "wall":
		now.Wall *= 2
	case g.USD == 0:
		now.Money *= 2
	}
	if g.USD > 0 {
		now.Money = agency.USD(g.USD)
	}
	return now
}
