package mode

import (
	"context"
	_ "embed"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/session"
	"agency/internal/store"
)

//go:embed report.md
var reportWords string

// Books knows what a run's landings changed.
type Books interface {
	// Landings are those of a run, and what else a report wants that the store
	// does not know.
	Landings(ctx context.Context, run agency.RunID) (report.Input, error)
}

// words is what becomes of the manager's last session, for the record.
type words struct {
	Run agency.RunID `json:"run"`
	agency.ManagerWords
}

var (
	// measureRun gives a run's rollup as text, as it stands.
	measureRun = flow.Activity[agency.RunID, string]{Name: "mode.rollup"}
	keepWords  = flow.Activity[words, flow.None]{Name: "mode.keep_words"}
)

// maxRollup is how much of a rollup the manager is shown, in bytes; counts and
// failures stand first.
const maxRollup = 48 << 10

// report asks the manager once more, with what was measured, for its words. No
// run is lost over them: where none come, the report is the harness's own. Why
// is the reason to end the run.
func (t *team) report(c flow.Ctx) (why string, err error) {
	if flow.Version(c, "report", 1) < 1 {
		return "", nil
	}
	rollup, err := flow.Call(c, measureRun, "rollup", t.in.Run)
	if err != nil {
		return "", err
	}
	a := &attempts{in: t.in, contract: reportContract(t.in, rollup), role: manager, how: workOn{many: true, report: true}, crew: t.crew, n: 1}
	if _, err := flow.Call(c, createContract, path(a.contract.ID, "create"), a.contract); err != nil {
		return "", err
	}
	if err := a.advance(c, "start", step{Started: &agency.Started{Agent: manager}}); err != nil {
		return "", err
	}
	out, err := a.work(c)
	if err != nil {
		return "", err
	}
	say := words{Run: t.in.Run}
	if out.Kind == session.Reported {
		say.Session, say.Text = agency.SessionID(fmt.Sprintf("%s/%s/attempt-%d", t.in.Run, a.contract.ID, a.n)), out.Report
	} else {
		say.Missing = orElse(out.Reason, string(out.Kind))
	}
	if _, err := flow.Call(c, keepWords, "words", say); err != nil {
		return "", err
	}
	if out.Kind == session.Stopped && !a.alone {
		return out.Reason, a.withdraw(c, out.Reason)
	}
	if say.Missing != "" {
		return "", a.withdraw(c, "the report is the harness's own: "+say.Missing)
	}
	if err := a.advance(c, "claim", step{ClaimMade: &agency.ClaimMade{}}); err != nil {
		return "", err
	}
	return "", a.accept(c)
}

// reportContract is what the manager's last session holds.
func reportContract(in Input, rollup string) agency.Contract {
	c := planContract(in)
	c.ID, c.Type, c.RetryBudget = "report", agency.TypeReview, 1
	c.Title = firstLine("Report on: " + in.Goal)
	c.Description = in.Goal + "\n\n" + strings.TrimSpace(reportWords)
	c.AcceptanceCriteria = []agency.Criterion{{ID: "report", Text: "the report says what was done, what was not, and what a person should look at, in agreement with the rollup"}}
	c.Inputs = map[string]string{"rollup": rollup}
	return c
}

// accept takes the claim of a contract that changes no file to its end: there
// is nothing to verify in it.
func (a *attempts) accept(c flow.Ctx) error {
	for _, s := range []struct {
		key  string
		step step
	}{
		{"verified", step{Verified: &agency.Verified{}}},
		{"landing", step{LandingBegun: &agency.LandingBegun{}}},
		{"landed", step{HasLanded: &agency.HasLanded{}}},
	} {
		if err := a.advance(c, s.key, s.step); err != nil {
			return err
		}
	}
	return nil
}

// unasked is the answer to a manager that asks for something at the end.
const unasked = "Nobody is asked any more: the run is at its end. Write the report with what you know."

// atTheEnd meets what the manager's last session waits for without asking a
// person for anything: it ends without words instead.
func (a *attempts) atTheEnd(c flow.Ctx, out session.Outcome, key string) (answer *session.Answer, stop string, err error) {
	switch out.For {
	case session.ForPause:
		return nil, "", a.crew.resumed(c, key)
	case session.ForBudget:
		a.alone = true
		return nil, "no money is left for it: " + out.Reason, nil
	}
	return &session.Answer{ToolUse: out.ToolUse, Text: unasked}, "", nil
}

func (s *Steps) measure(ctx context.Context, run agency.RunID) (agency.Report, error) {
	in, err := s.books.Landings(ctx, run)
	if err != nil {
		return agency.Report{}, err
	}
	var r agency.Report
	err = s.db.Read(ctx, func(q *store.Snapshot) (err error) {
		r, err = report.Gather(q, run, in)
		return err
	})
	return r, err
}

func (s *Steps) rollup(ctx context.Context, _ agency.StepKey, run agency.RunID) (string, error) {
	r, err := s.measure(ctx, run)
	if err != nil {
		return "", err
	}
	text, err := report.Markdown(r)
	if err != nil || len(text) <= maxRollup {
		return text, err
	}
	return strings.ToValidUTF8(text[:maxRollup], "") + "\n[cut: the rest is too long]\n", nil
}

func (s *Steps) keepWords(ctx context.Context, _ agency.StepKey, in words) (flow.None, error) {
	return s.write(ctx, func(tx *store.Tx) error { return registry.KeepWords(tx, in.Run, in.ManagerWords) })
}

// fillReport takes what was measured of the whole run: one number for all who
// show it. The report as text stands at the gate of several contracts; one alone
// is shown by the rest of it.
func (v *mergeGateView) fillReport(r agency.Report) (err error) {
	v.Coverage, v.Cost, v.Tests, v.Local = r.Rollup.Coverage, report.CostLine(r.Rollup), report.TestsLine(r.Rollup), report.LocalText(r.Local)
	if r.Rollup.Total > 1 {
		v.Report, err = report.Gate(r)
	}
	return err
}
