package team

import (
	"cmp"
	_ "embed"
	"strings"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/effects"
	"agency/internal/flow"
	"agency/internal/session"
	"agency/internal/text"
)

//go:embed report.md
var reportWords string

// Report asks the manager once more, with what was measured, for its words. No
// run is lost over them: where none come, the report is the harness's own. Why
// is the reason to end the run.
func (t *Team) Report(c flow.Ctx) (why string, err error) {
	rollup, err := flow.Call(c, effects.ReadRollup, "rollup", t.in.Run)
	if err != nil {
		return "", err
	}
	how := t.Shared.Leading()
	how.Report = true
	a := contractrun.NewStarted(reportContract(t.Shared, rollup), how)
	out, err := a.CreateAndConverse(c)
	if err != nil {
		return "", err
	}
	say := effects.ManagerReport{Run: t.in.Run}
	if out.Kind == session.Reported {
		say.Session, say.Text = session.Spec{Run: t.in.Run, Contract: a.Contract.ID, Attempt: a.N}.ID(), out.Report
	} else {
		say.Missing = cmp.Or(out.Reason, string(out.Kind))
	}
	if _, err := flow.Call(c, effects.KeepManagerWords, "words", say); err != nil {
		return "", err
	}
	if out.Kind == session.Stopped && !a.OutOfMoney() {
		return out.Reason, a.Withdraw(c, out.Reason)
	}
	if say.Missing != "" {
		return "", a.Withdraw(c, "the report is the harness's own: "+say.Missing)
	}
	return "", a.ClaimComplete(c)
}

// ReportContract is the one in which a manager reports on what came of its plan.
const ReportContract agency.ContractID = "report"

// reportContract is what the manager's last session holds.
func reportContract(w *contractrun.Shared, rollup string) agency.Contract {
	c := w.PlanContract()
	c.ID, c.Type, c.RetryBudget = ReportContract, agency.TypeReview, 1
	c.Title = text.FirstLine("Report on: "+w.Goal, 100)
	c.Description = strings.TrimSpace(reportWords)
	c.AcceptanceCriteria = []agency.Criterion{{ID: "report", Text: "the report says what was done, what was not, and what a person should look at, in agreement with the rollup"}}
	c.Inputs = agency.Inputs{"rollup": agency.TextInput(rollup)}
	return c
}
