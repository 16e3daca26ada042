package team

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"

	"github.com/invopop/jsonschema"
)

// SubmitWorkstreams is submit_plan as a visionary has it: its plan is of workstreams.
func SubmitWorkstreams() tool.Tool {
	t := tool.Define(texts, "submit_workstreams", tool.Write, func(_ context.Context, _ *tool.Env, a submitWorkstreamsArgs) (tool.Result, error) {
		plan := a.Plan
		return tool.Result{Text: "plan accepted", Effect: tool.Plan{Plan: agency.Plan{RetryBudgetMultiplier: plan.multiplier}, Tiers: &plan.TierPlan, Form: plan.form}}, nil
	}).Concludes()
	return t.Named("submit_plan", "")
}

type submitWorkstreamsArgs struct {
	Plan tierPlanArgs `json:"plan"`
}

type tierPlanArgs struct {
	agency.TierPlan
	multiplier int
	form       []string
}

// tierPlanDoc is the plan as its author writes it.
type tierPlanDoc struct {
	RunID        string          `json:"run_id,omitempty" jsonschema:"-"`      // the run's own stand
	Goal         string          `json:"goal_anchor,omitempty" jsonschema:"-"` // likewise
	Complexity   string          `json:"complexity" jsonschema:"enum=high,enum=medium,enum=low"`
	Multiplier   *int            `json:"retry_budget_multiplier,omitempty" jsonschema:"minimum=1,maximum=2" jsonschema_description:"2 where the work is so uncertain that each task should have twice the attempts; else 1."`
	Workstreams  []workstreamDoc `json:"workstreams"`
	Parallelism  parallelism     `json:"parallelism"`
	SelfCritique string          `json:"self_critique_summary,omitempty" jsonschema_description:"With the plan that you submit after you have looked for its faults: what you found, and what you changed."`
}

type workstreamDoc struct {
	ID                 string      `json:"id" jsonschema_description:"A letter or digit, then letters, digits, '.', '_' and '-', at most 64."`
	Name               string      `json:"name"`
	Domain             string      `json:"domain" jsonschema_description:"Part of the system, such as backend: workstreams of one domain have their tasks negotiated between them."`
	TierPath           []string    `json:"tier_path" jsonschema_description:"[t2, t3, t4, t5] where it has to be designed, [t3, t4, t5] where it has to be split into tasks, [t4, t5] where it is one task."`
	ParallelGroup      string      `json:"parallel_group"`
	T2Specialist       string      `json:"t2_specialist,omitempty" jsonschema_description:"Name of the specialist who designs it."`
	Talent             string      `json:"talent,omitempty" jsonschema_description:"Name of a specialist whose expertise whoever leads or implements it has."`
	Resources          []string    `json:"resources,omitempty" jsonschema_description:"Names of what is scarce on the machine that its commands need; leave it out where none are listed."`
	Notes              string      `json:"notes,omitempty" jsonschema_description:"What whoever takes it on has to know: what must be different afterwards, and what must stay."`
	AcceptanceCriteria []criterion `json:"acceptance_criteria,omitempty"`
	Writes             []string    `json:"writes,omitempty" jsonschema_description:"Files, globs or file#Symbol that it may change."`
	RelevantFiles      []string    `json:"relevant_files,omitempty" jsonschema_description:"Files to read first."`
	Constraints        []string    `json:"constraints,omitempty"`
}

type parallelism struct {
	Groups   map[string][]agency.ContractID `json:"groups" jsonschema_description:"Workstreams by the name of their group: those of a group run beside each other."`
	Sequence []string                       `json:"sequence" jsonschema_description:"All groups, in the order in which they run."`
}

// JSONSchema is called by the schema's maker.
func (tierPlanArgs) JSONSchema() *jsonschema.Schema { return tool.SchemaOf[tierPlanDoc]() }

// UnmarshalJSON reads what can be read, and says what is wrong with the form of the rest.
func (p *tierPlanArgs) UnmarshalJSON(raw []byte) error {
	var doc struct {
		tierPlanDoc
		Workstreams []json.RawMessage `json:"workstreams"`
	}
	outer := tool.Shape{
		Names:    []string{"run_id", "goal_anchor", "complexity", "retry_budget_multiplier", "workstreams", "parallelism", "self_critique_summary"},
		Required: []string{"complexity", "workstreams", "parallelism"},
	}
	wrong := func(format string, args ...any) { p.form = append(p.form, fmt.Sprintf(format, args...)) }
	if err := outer.Decode(raw, &doc); err != nil {
		wrong("plan: %v", err)
	}
	p.Complexity, p.multiplier = complexity(doc.Complexity), 1
	p.Groups, p.Sequence, p.SelfCritique = doc.Parallelism.Groups, doc.Parallelism.Sequence, tool.Cap(strings.TrimSpace(doc.SelfCritique), maxFinding)
	if m := doc.Multiplier; m != nil {
		if err := agency.CheckMultiplier(*m); err != nil {
			wrong("plan: %v", err)
		} else {
			p.multiplier = *m
		}
	}
	size := p.Complexity
	if _, err := agency.ParseComplexity(string(size)); err != nil { // which is a fault of the plan, not of each of its workstreams
		size = agency.Medium
	}
	names, required := workstreamFields()
	for i, one := range doc.Workstreams {
		var w workstreamDoc
		if err := (tool.Shape{Names: append(names, required...), Required: required}).Decode(one, &w); err != nil {
			wrong("workstream %d: %v", i+1, err)
		}
		if w.ID != "" {
			p.Workstreams = append(p.Workstreams, w.contract(size))
		}
	}
	return nil
}

func workstreamFields() (names, required []string) {
	return []string{"domain", "t2_specialist", "talent", "resources", "notes", "acceptance_criteria", "writes", "relevant_files", "constraints"},
		[]string{"id", "name", "tier_path", "parallel_group"}
}

// contract is a workstream as the contract that it is. One that says no criteria is held to
// what it says of itself.
func (w workstreamDoc) contract(size agency.Complexity) agency.Contract {
	about := strings.TrimSpace(w.Notes)
	c := agency.Contract{
		ID: agency.ContractID(w.ID), Title: strings.TrimSpace(w.Name), Description: about, Domain: strings.TrimSpace(w.Domain), Phase: strings.TrimSpace(w.ParallelGroup),
		Talent: specialist(w.Talent), AcceptanceCriteria: criteria(w.AcceptanceCriteria), Writes: w.Writes, RelevantFiles: w.RelevantFiles, Constraints: w.Constraints,
		Complexity: size, Resources: w.Resources,
	}
	if about == "" {
		c.Description = c.Title
	}
	for _, t := range w.TierPath {
		c.TierPath = append(c.TierPath, agency.Tier(strings.ToLower(strings.TrimSpace(t))))
	}
	if s := specialist(w.T2Specialist); s != "" {
		c.Inputs = agency.TextInputs(map[string]string{agency.SpecialistInput: s})
	}
	if len(c.AcceptanceCriteria) == 0 {
		c.AcceptanceCriteria = []agency.Criterion{{ID: "workstream", Text: c.Description}}
	}
	return agency.Promised(c)
}

// specialist is the name of a specialist, also where the file of one is given as the public
// collections lay them out: engineering/engineering-software-architect.md.
func specialist(s string) string {
	s = strings.TrimSuffix(strings.TrimSpace(s), ".md")
	folder, name := path.Split(s)
	if folder == "" {
		return name
	}
	return strings.TrimPrefix(name, path.Base(folder)+"-")
}

type submitTasksArgs struct {
	Tasks []taskArgs `json:"tasks"`
}

// taskArgs is a task of a squad: a contract whose role is given.
type taskArgs struct {
	draftArgs
	form error
}

// JSONSchema is called by the schema's maker.
func (taskArgs) JSONSchema() *jsonschema.Schema {
	s := tool.SchemaOf[draftArgs]()
	for _, name := range []string{"assigned_role", "parent_id", "feature_id", "dependencies", "blocks"} {
		s.Properties.Delete(name)
	}
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == "assigned_role" })
	return s
}

// UnmarshalJSON reads what can be read, as that of a plan does.
func (a *taskArgs) UnmarshalJSON(raw []byte) error {
	s := draftShape()
	s.Required = slices.DeleteFunc(s.Required, func(name string) bool { return name == "assigned_role" })
	a.form = s.Decode(raw, &a.draftArgs)
	return nil
}

func submitTasks() tool.Tool {
	return tool.Define(texts, "submit_tasks", tool.Write, func(_ context.Context, _ *tool.Env, a submitTasksArgs) (tool.Result, error) {
		plan := tool.Plan{Plan: agency.Plan{RetryBudgetMultiplier: 1}}
		for i, t := range a.Tasks {
			if t.form != nil {
				plan.Form = append(plan.Form, fmt.Sprintf("task %d: %v", i+1, t.form))
			}
			c := t.contract()
			if c.AssignedRole == "" {
				c.AssignedRole = agency.RoleImplementer
			}
			plan.Contracts = append(plan.Contracts, c)
		}
		if len(plan.Contracts) == 0 {
			return tool.Refuse("there are no tasks"), nil
		}
		return tool.Result{Text: "tasks accepted", Effect: plan}, nil
	}).Concludes()
}

type submitVerdictArgs struct {
	Verdict      string         `json:"verdict" jsonschema:"enum=pass,enum=partial,enum=fail" jsonschema_description:"partial is a joint verdict: of a squad lead."`
	Scope        string         `json:"scope,omitempty" jsonschema_description:"What was judged: the contract's id."`
	Issues       []verdictIssue `json:"issues,omitempty" jsonschema_description:"What is wrong: of each what, and what goes wrong because of it."`
	Criteria     []judgedItem   `json:"criteria,omitempty" jsonschema_description:"Of a slice: one entry for each acceptance criterion."`
	Notes        string         `json:"notes,omitempty" jsonschema_description:"What you found, in a few sentences for people."`
	FailedScopes []string       `json:"failed_scopes,omitempty" jsonschema_description:"With partial: the tasks that have to be done again."`
}

// verdictIssue is a finding, or only its text.
type verdictIssue struct{ issueItem }

// JSONSchema is called by the schema's maker.
func (verdictIssue) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, tool.SchemaOf[issueItem]()}}
}

// UnmarshalJSON is strict, as the rest of the arguments is.
func (v *verdictIssue) UnmarshalJSON(raw []byte) error {
	v.Severity = string(agency.IssueMajor)
	if raw = []byte(strings.TrimSpace(string(raw))); len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &v.Issue)
	}
	s := tool.Shape{Names: []string{"severity", "file", "line", "line_end", "criterion", "issue", "suggestion", "code_before", "code_after"}, Required: []string{"issue"}}
	return s.Decode(raw, &v.issueItem)
}

func submitVerdict() tool.Tool {
	return tool.Define(texts, "submit_verdict", tool.Write, func(ctx context.Context, env *tool.Env, a submitVerdictArgs) (tool.Result, error) {
		verdict := strings.ToLower(strings.TrimSpace(a.Verdict))
		if !slices.Contains([]string{agency.JointPass, agency.JointPartial, agency.JointFail}, verdict) {
			return tool.Refuse("verdict " + tool.QuoteName(a.Verdict) + " is none of pass, partial, fail"), nil
		}
		in := submitReviewArgs{Verdict: string(agency.ReviewChanges), Summary: firstOf(a.Notes, verdict), Criteria: a.Criteria}
		if verdict == agency.JointPass {
			in.Verdict = string(agency.ReviewApprove)
		}
		for _, i := range a.Issues {
			in.Issues = append(in.Issues, i.issueItem)
		}
		if len(in.Issues) == 0 && verdict != agency.JointPass {
			in.Issues = []issueItem{{Severity: string(agency.IssueMajor), Issue: strings.TrimSpace(a.Notes)}}
		}
		r, faults, err := in.review(ctx, env)
		if err != nil {
			return tool.Result{}, err
		}
		if scope := agency.ContractID(strings.TrimSpace(a.Scope)); scope != "" && scope != env.Contract {
			faults = append(faults, fmt.Sprintf("scope %s: what you judge is %s", tool.QuoteName(a.Scope), env.Contract))
		}
		if len(faults) > 0 {
			return tool.Refuse("the verdict is not accepted. Its faults, all of them:\n- " + strings.Join(faults, "\n- ")), nil
		}
		joint := agency.JointVerdict{Verdict: verdict, Summary: r.Summary, FailedScopes: contractIDs(a.FailedScopes)}
		return tool.Result{Text: "verdict recorded", Effect: tool.Verdict{Review: r, Joint: joint}}, nil
	}).Concludes()
}

type acceptRunArgs struct {
	Summary string `json:"summary" jsonschema_description:"By what the goal is met, and what a person should look at before the merge, in Markdown."`
}

func acceptRun() tool.Tool {
	return tool.Define(texts, "accept_run", tool.Write, func(_ context.Context, _ *tool.Env, a acceptRunArgs) (tool.Result, error) {
		words := strings.TrimSpace(a.Summary)
		if words == "" || len(words) > maxReport {
			return tool.Refuse("the summary is empty or longer than " + tool.Size(maxReport)), nil
		}
		return tool.Result{Text: "accepted", Effect: tool.Accept{Acceptance: agency.Acceptance{Accepted: true, Summary: words}}}, nil
	}).Concludes()
}

type rejectRunArgs struct {
	Reason      string   `json:"reason" jsonschema_description:"What of the goal is not met, and what shows it."`
	Workstreams []string `json:"workstreams,omitempty" jsonschema_description:"Ids of those that are not as they should be."`
}

func rejectRun() tool.Tool {
	return tool.Define(texts, "reject_run", tool.Write, func(_ context.Context, _ *tool.Env, a rejectRunArgs) (tool.Result, error) {
		words := strings.TrimSpace(a.Reason)
		if words == "" || len(words) > maxReport {
			return tool.Refuse("the reason is empty or longer than " + tool.Size(maxReport)), nil
		}
		return tool.Result{Text: "rejected", Effect: tool.Accept{Acceptance: agency.Acceptance{Summary: words, Workstreams: contractIDs(a.Workstreams)}}}, nil
	}).Concludes()
}
