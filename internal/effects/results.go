package effects

import (
	"context"
	"encoding/json"
	"slices"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/report"
	"agency/internal/store"
	"agency/internal/text"
	"agency/internal/tool"
	"agency/internal/verdicts"
)

// ReadRollup gives a run's rollup as text, as it stands.
var ReadRollup = flow.Activity[agency.RunID, string]{Name: "mode.rollup"}

// maxRollup is how much of a rollup the manager is shown, in characters; counts and
// failures stand first.
const maxRollup = 48 << 10

func (s *Activities) measure(ctx context.Context, run agency.RunID) (agency.Report, error) {
	in, err := s.landings.Landings(ctx, run)
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

func (s *Activities) readRollup(ctx context.Context, _ agency.StepKey, run agency.RunID) (string, error) {
	r, err := s.measure(ctx, run)
	if err != nil {
		return "", err
	}
	words, err := report.Markdown(r)
	return text.Head(words, maxRollup), err
}

// ManagerReport is what becomes of the manager's last session, for the record.
type ManagerReport struct {
	Run agency.RunID `json:"run"`
	agency.ManagerWords
}

// KeepManagerWords records what became of the manager's report.
var KeepManagerWords = flow.Activity[ManagerReport, flow.None]{Name: "mode.keep_words"}

func keepManagerWords(tx *store.Tx, _ agency.StepKey, in ManagerReport) error {
	return registry.KeepWords(tx, in.Run, in.ManagerWords)
}

// ResultsQuery asks what has become of contracts: how they ended, or whole, what
// they came to.
type ResultsQuery struct {
	Run       agency.RunID        `json:"run"`
	Contracts []agency.ContractID `json:"contracts"`
	Wait      bool                `json:"wait,omitempty"`
	TimedOut  bool                `json:"timed_out,omitempty"`
}

// ReadResults answers with the JSON that a manager is shown.
var ReadResults = flow.Activity[ResultsQuery, string]{Name: "mode.results"}

// standing is how one agent's contract stands.
type standing struct {
	Agent    agency.AgentID    `json:"agent_id"`
	Contract agency.ContractID `json:"subcontract_id"`
	Status   agency.Status     `json:"status"`
	Stage    agency.Stage      `json:"stage,omitempty"`
	Commit   agency.OID        `json:"commit,omitempty"` // of its landing
	Reason   string            `json:"reason,omitempty"`
	Attempts int               `json:"attempts"`
}

// waitAnswer is the answer to wait_for_agents.
type waitAnswer struct {
	TimedOut bool             `json:"timed_out"`
	AtWork   []agency.AgentID `json:"at_work,omitempty"` // the first of them
	Agents   []standing       `json:"agents"`
	leftOut
}

// collectAnswer is the answer to collect_results.
type collectAnswer struct {
	Agents []result `json:"agents"`
	leftOut
}

// leftOut is who an answer has no room for.
type leftOut struct {
	LeftOut      int              `json:"left_out,omitempty"`
	LeftOutFirst []agency.AgentID `json:"left_out_first,omitempty"`
}

// result is what an agent's contract came to, all of it measured.
type result struct {
	standing
	Unfinished bool              `json:"unfinished,omitempty"`
	Commits    []agency.OID      `json:"commits,omitempty"`
	Outputs    *landedOutputs    `json:"actual_outputs,omitempty"` // of what landed
	Receipts   []receiptResult   `json:"receipts,omitempty"`
	Criteria   []criterionResult `json:"criteria"`
	Reviews    []reviewResult    `json:"reviews,omitempty"`
	Iterations int               `json:"iterations,omitempty"`
	Tokens     int64             `json:"tokens"`
	CostUSD    float64           `json:"cost_usd"`
}

// landedOutputs is what landed, by its commits and verdict.
type landedOutputs struct {
	Created  []string `json:"files_created"`
	Modified []string `json:"files_modified"`
	Deleted  []string `json:"files_deleted"`
	Tests    []string `json:"tests_passing"` // that pass now and did not before
}

type receiptResult struct {
	Kind     agency.CheckKind `json:"kind"`
	Command  string           `json:"command"`
	On       string           `json:"on"` // work, claim or landing
	ExitCode int              `json:"exit_code"`
	Parsed   bool             `json:"parsed"`
	Passed   int              `json:"passed"`
	Failed   int              `json:"failed"`
	Skipped  int              `json:"skipped"`
}

type criterionResult struct {
	ID    string           `json:"id"`
	Text  string           `json:"text"`
	Proof agency.ProofKind `json:"proof"`
	Note  string           `json:"note,omitempty"`
}

type reviewResult struct {
	Verdict  agency.ReviewVerdict `json:"verdict"`
	Reviewer agency.AgentID       `json:"reviewer"`
	Summary  string               `json:"summary"`
	Blocking []string             `json:"blocking,omitempty"`
}

// mostOf bounds the lists of one agent's result, so that many fit.
const mostOf = 40

// readResults answers from what was measured.
func (s *Activities) readResults(ctx context.Context, _ agency.StepKey, q ResultsQuery) (string, error) {
	whole, err := s.measure(ctx, q.Run)
	if err != nil {
		return "", err
	}
	var f findings
	if err := s.db.Read(ctx, func(sn *store.Snapshot) error { return f.read(sn, q.Run) }); err != nil {
		return "", err
	}
	var all []result
	for _, id := range q.Contracts {
		i := slices.IndexFunc(whole.Contracts, func(c agency.ReportContract) bool { return c.ID == id })
		if i < 0 {
			return "", agency.Errorf(agency.KindInternal, "contract %s is in no report of run %s", id, q.Run)
		}
		all = append(all, f.result(whole.Contracts[i]))
	}
	if !q.Wait {
		shown, left := firstThatFit(all, func(r result) agency.AgentID { return r.Agent })
		return tool.Cap(jsonText(collectAnswer{shown, left}), tool.MaxResult), nil
	}
	w := waitAnswer{TimedOut: q.TimedOut}
	for _, r := range all {
		w.Agents = append(w.Agents, r.standing)
		if r.Unfinished && len(w.AtWork) < mostOf {
			w.AtWork = append(w.AtWork, r.Agent)
		}
	}
	w.Agents, w.leftOut = firstThatFit(w.Agents, func(s standing) agency.AgentID { return s.Agent })
	return tool.Cap(jsonText(w), tool.MaxResult), nil
}

// firstThatFit are the first of many that an answer has room for, and who is left
// out: half a document would tell nothing. The first is always shown.
func firstThatFit[T any](all []T, agent func(T) agency.AgentID) (shown []T, left leftOut) {
	longest := 0
	for _, one := range all {
		longest = max(longest, len(jsonText(agent(one)))+1)
	}
	room := tool.MaxResult - 2*min(len(all), mostOf)*longest - 128 // two lists of names, and what is around them
	for i, one := range all {
		if room -= len(jsonText(one)) + 1; room < 0 && i > 0 {
			left.LeftOut = len(all) - i
			for _, o := range all[i:min(len(all), i+mostOf)] {
				left.LeftOutFirst = append(left.LeftOutFirst, agent(o))
			}
			return all[:i], left
		}
	}
	return all, left
}

// findings are the records that a report leaves out.
type findings struct {
	contracts []agency.Contract
	receipts  []agency.Receipt
	verdicts  []agency.Verdict
}

func (f *findings) read(q *store.Snapshot, run agency.RunID) (err error) {
	if f.contracts, err = registry.Contracts(q, run); err != nil {
		return err
	}
	if f.receipts, err = check.Receipts(q, run); err != nil {
		return err
	}
	f.verdicts, err = verdicts.All(q, run)
	return err
}

func (f *findings) result(c agency.ReportContract) result {
	r := result{
		standing: standing{
			Agent: agency.MemberID(c.Role, c.ID), Contract: c.ID, Status: c.Status, Reason: text.OneLine(c.Error, 400), Attempts: c.Attempts,
		},
		Unfinished: !c.Status.Final() && c.Status != agency.StatusBlocked, Commits: c.Commits,
		Iterations: c.Iterations, Tokens: c.Tokens, CostUSD: c.CostUSD, Criteria: []criterionResult{},
	}
	if n := len(c.Commits); n > 0 {
		r.Commit = c.Commits[n-1]
	}
	for _, o := range f.contracts {
		if o.ID == c.ID && r.Unfinished {
			r.Stage = o.Stage
		}
	}
	for _, p := range c.Criteria[:min(len(c.Criteria), mostOf)] {
		r.Criteria = append(r.Criteria, criterionResult{p.ID, text.OneLine(p.Text, 400), p.Proof, text.OneLine(p.Note, 400)})
	}
	for _, rv := range c.Reviews[max(0, len(c.Reviews)-mostOf):] {
		one := reviewResult{Verdict: rv.Verdict, Reviewer: rv.Reviewer, Summary: text.OneLine(rv.Summary, 400)}
		for _, i := range rv.Blocking() {
			one.Blocking = append(one.Blocking, text.OneLine(i.Where()+": "+i.Issue, 400))
		}
		r.Reviews = append(r.Reviews, one)
	}
	r.Receipts = f.checked(c.ID)
	r.Outputs = f.outputs(c)
	return r
}

// checked are the last receipts of the work on a contract, one for each command
// and place.
func (f *findings) checked(id agency.ContractID) (out []receiptResult) {
	for _, r := range f.receipts {
		if on := check.Stage(r.Stage); r.ContractID != id || on == check.StageBase || on.Trial() {
			continue
		}
		one := receiptResult{r.Kind, text.OneLine(r.Command, 400), r.Stage, r.ExitCode, r.Parsed, r.Passed, r.Failed, r.Skipped}
		out = slices.DeleteFunc(out, func(o receiptResult) bool { return o.Kind == one.Kind && o.Command == one.Command && o.On == one.On })
		out = append(out, one)
	}
	return out[max(0, len(out)-mostOf):]
}

// outputs are those of a contract that landed; nil: nothing has.
func (f *findings) outputs(c agency.ReportContract) *landedOutputs {
	if c.Files == nil || len(c.Commits) == 0 {
		return nil
	}
	m := &landedOutputs{Created: firstOf(c.Files.Created), Modified: firstOf(c.Files.Modified), Deleted: firstOf(c.Files.Deleted), Tests: []string{}}
	for _, v := range f.verdicts {
		if v.ContractID == c.ID && v.Pass {
			m.Tests = firstOf(v.NewlyPass)
		}
	}
	return m
}

func firstOf(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list[:min(len(list), mostOf)]
}

func jsonText(v any) string {
	b, err := json.Marshal(v)
	if err != nil { // of plain fields
		return err.Error()
	}
	return string(b)
}
