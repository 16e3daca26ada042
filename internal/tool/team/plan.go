package team

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/roster"
	"agency/internal/tool"

	"github.com/invopop/jsonschema"
)

// draftArgs is a contract as a manager writes it.
type draftArgs struct {
	ID                 string             `json:"id" jsonschema_description:"A letter or digit, then letters, digits, '.', '_' and '-', at most 64."`
	Title              string             `json:"title" jsonschema_description:"One line that could be the commit's subject."`
	Description        string             `json:"description" jsonschema_description:"What must be different afterwards, and what must stay, complete enough for someone who sees nothing else."`
	AssignedRole       string             `json:"assigned_role" jsonschema_description:"Role that works on it."`
	AcceptanceCriteria []criterion        `json:"acceptance_criteria"`
	Type               string             `json:"type,omitempty" jsonschema:"enum=feature,enum=refactor,enum=test,enum=review,enum=design,enum=verify"`
	ParentID           string             `json:"parent_id,omitempty" jsonschema_description:"Contract of the plan or the run that it belongs to; of a part, the one that came back to be split, whose place its parts take."`
	FeatureID          string             `json:"feature_id,omitempty" jsonschema_description:"Feature of features.json that it is for."`
	DependsOn          []string           `json:"depends_on,omitempty"`
	Blocks             []string           `json:"blocks,omitempty" jsonschema_description:"Contracts that depend on it: the other way round of depends_on."`
	Writes             []string           `json:"writes,omitempty" jsonschema_description:"Files, globs or file#Symbol that it may change."`
	Inputs             agency.Inputs      `json:"inputs,omitempty" jsonschema_description:"What it is given to work with, by name: any values. dependencies is a list of contracts that it depends on."`
	ExpectedOutputs    outputs            `json:"expected_outputs,omitempty"`
	RelevantFiles      []string           `json:"relevant_files,omitempty" jsonschema_description:"Files to read first."`
	APIDefinitions     []string           `json:"api_definitions,omitempty" jsonschema_description:"Signatures to use or keep."`
	Constraints        []string           `json:"constraints,omitempty" jsonschema_description:"What must not be done or must stay as it is."`
	StyleGuide         string             `json:"style_guide,omitempty" jsonschema_description:"How the code shall look, where it differs from the repository's own guides."`
	TestRequirements   []string           `json:"test_requirements,omitempty" jsonschema_description:"Names of tests that must pass."`
	QualityThresholds  map[string]float64 `json:"quality_thresholds,omitempty"`
	ExecutionMode      string             `json:"execution_mode,omitempty" jsonschema:"enum=parallel,enum=sequential"`
	Priority           int                `json:"priority,omitempty"`
	Complexity         string             `json:"estimated_complexity,omitempty" jsonschema_description:"small, medium or large."`
	Lines              int                `json:"estimated_lines,omitempty"`
	Resources          []string           `json:"resources,omitempty" jsonschema_description:"Names of what is scarce on the machine that its commands need; leave it out where none are listed."`
	Talent             string             `json:"talent,omitempty" jsonschema_description:"Name of a specialist whose expertise its engineer has beside the role's; leave it out where none fits."`
	Dependencies       []string           `json:"dependencies,omitempty" jsonschema_description:"Another name of depends_on."`
}

type outputs struct {
	FilesCreated  []string `json:"files_created,omitempty"`
	FilesModified []string `json:"files_modified,omitempty"`
	TestsPassing  []string `json:"tests_passing,omitempty"`
}

// criterion is a text, or a text with its id and check.
type criterion struct{ agency.Criterion }

type criterionItem struct {
	ID    string     `json:"id"`
	Text  string     `json:"text"`
	Check *checkItem `json:"check,omitempty" jsonschema_description:"What the harness can look at itself: exactly one of them."`
	// From stands in a criterion that a model was shown, and another field promises.
	From string `json:"from,omitempty" jsonschema:"-"`
}

type checkItem struct {
	Test    string `json:"test,omitempty" jsonschema_description:"Name of a test."`
	Command string `json:"command,omitempty" jsonschema_description:"Command that exits 0 only if it holds."`
	File    string `json:"file,omitempty" jsonschema_description:"File that must exist."`
	// The others stand in criteria that another field promises, and are made from that.
	Created  string  `json:"created,omitempty" jsonschema:"-"`
	Modified string  `json:"modified,omitempty" jsonschema:"-"`
	Coverage float64 `json:"coverage,omitempty" jsonschema:"-"`
}

// JSONSchema is called by the schema's maker.
func (criterion) JSONSchema() *jsonschema.Schema {
	return &jsonschema.Schema{OneOf: []*jsonschema.Schema{{Type: "string"}, tool.SchemaOf[criterionItem]()}}
}

// UnmarshalJSON is strict, as the rest of the arguments is.
func (c *criterion) UnmarshalJSON(raw []byte) error {
	if raw = bytes.TrimSpace(raw); len(raw) > 0 && raw[0] == '"' {
		return json.Unmarshal(raw, &c.Text)
	}
	var item criterionItem
	s := tool.Shape{Names: []string{"id", "text", "check", "from"}, Required: []string{"id", "text"}}
	if err := s.Decode(raw, &item); err != nil {
		return fmt.Errorf("acceptance_criteria: %w", err)
	}
	c.ID, c.Text, c.From = item.ID, item.Text, item.From
	if item.Check != nil {
		c.Check = &agency.Check{Test: item.Check.Test, Command: item.Check.Command, File: item.Check.File}
	}
	return nil
}

// contract is what the arguments say, with what they leave out filled in.
func (a draftArgs) contract() agency.Contract {
	return agency.Promised(agency.Depending(agency.Contract{
		ID: agency.ContractID(a.ID), Title: strings.TrimSpace(a.Title), Description: a.Description,
		AssignedRole: roleOf(a.AssignedRole), Type: agency.ContractType(a.Type), ParentID: agency.ContractID(a.ParentID),
		FeatureID: agency.FeatureID(a.FeatureID), Writes: a.Writes, Inputs: a.Inputs, RelevantFiles: a.RelevantFiles,
		ExpectedOutputs: agency.Outputs(a.ExpectedOutputs), APIDefinitions: a.APIDefinitions, Constraints: a.Constraints,
		TestRequirements: a.TestRequirements, QualityThresholds: a.QualityThresholds, Priority: a.Priority,
		ExecutionMode: agency.ExecutionMode(a.ExecutionMode), EstimatedLines: a.Lines, Talent: a.Talent,
		Complexity: complexity(a.Complexity), AcceptanceCriteria: criteria(a.AcceptanceCriteria), DependsOn: contractIDs(both(a.DependsOn, a.Dependencies)),
		Blocks: contractIDs(a.Blocks), StyleGuide: a.StyleGuide, Resources: a.Resources,
	}))
}

// complexity keeps an unknown word, so that the validation of the plan names it.
func complexity(s string) agency.Complexity {
	if known, err := agency.ParseComplexity(s); err == nil {
		return known
	}
	return agency.Complexity(s)
}

// criteria gives those without an id one.
func criteria(in []criterion) (out []agency.Criterion) {
	for i, cr := range in {
		if cr.ID == "" {
			cr.ID = fmt.Sprintf("c%d", i+1)
		}
		out = append(out, cr.Criterion)
	}
	return out
}

// both are two lists of which the second holds other names of the first's field.
func both(a, b []string) []string {
	return append(slices.Clone(a), slices.DeleteFunc(slices.Clone(b), func(s string) bool { return slices.Contains(a, s) })...)
}

func contractIDs(in []string) (out []agency.ContractID) {
	for _, id := range in {
		out = append(out, agency.ContractID(id))
	}
	return out
}

// roleOf accepts the names that a reference design gives the roles.
func roleOf(name string) agency.RoleID {
	switch name {
	case "pm":
		return agency.RoleProjectManager
	case "producer":
		return agency.RoleScaffolder
	case "critic":
		return agency.RoleReviewer
	case "tester":
		return agency.RoleTestEngineer
	}
	return agency.RoleID(name)
}

func createSubcontract() tool.Tool {
	return tool.Define(texts, "create_subcontract", tool.Write, func(_ context.Context, _ *tool.Env, a draftArgs) (tool.Result, error) {
		c := a.contract()
		return tool.Result{Text: fmt.Sprintf("contract %s is noted; submit_plan submits it", c.ID), Effect: tool.Draft{Contract: c}}, nil
	}).OnBoard()
}

type submitPlanArgs struct {
	Plan planArgs `json:"plan,omitempty"`
}

type planArgs struct {
	agency.Plan
	form []string
}

// JSONSchema is called by the schema's maker.
func (planArgs) JSONSchema() *jsonschema.Schema {
	props := jsonschema.NewProperties()
	props.Set("contracts", &jsonschema.Schema{Type: "array", Items: tool.SchemaOf[draftArgs]()})
	props.Set("retry_budget_multiplier", &jsonschema.Schema{
		Type: "integer", Minimum: "1", Maximum: "2", Description: "2 where the work is so uncertain that each contract should have twice the attempts; else 1.",
	})
	return &jsonschema.Schema{
		Type: "object", Properties: props, Required: []string{"contracts"},
		Description: "The plan; absent where its contracts were noted by create_subcontract.",
	}
}

// UnmarshalJSON reads what can be read, and says what is wrong with the form of the rest.
func (p *planArgs) UnmarshalJSON(raw []byte) error {
	var doc struct {
		Contracts  []json.RawMessage `json:"contracts"`
		Multiplier *int              `json:"retry_budget_multiplier"`
		Goal       string            `json:"goal_anchor"` // a plan of another run carries it; the run's own stands
	}
	wrong := func(format string, args ...any) { p.form = append(p.form, fmt.Sprintf(format, args...)) }
	outer := tool.Shape{Names: []string{"contracts", "retry_budget_multiplier", "goal_anchor"}, Required: []string{"contracts"}}
	if err := outer.Decode(raw, &doc); err != nil {
		wrong("plan: %v", err)
	}
	p.GoalAnchor, p.RetryBudgetMultiplier = doc.Goal, 1
	if m := doc.Multiplier; m != nil {
		if err := agency.CheckMultiplier(*m); err != nil {
			wrong("plan: %v", err)
		} else {
			p.RetryBudgetMultiplier = *m
		}
	}
	for i, one := range doc.Contracts {
		c, err := ReadDraft(one)
		if err != nil {
			wrong("contract %d: %v", i+1, err)
		}
		if c.ID != "" {
			p.Contracts = append(p.Contracts, c)
		}
	}
	return nil
}

// DraftFields are the names of all fields of a contract that its author may
// write, and of those that it must have.
func DraftFields() (all, required []string) {
	s := draftShape()
	return s.Names, s.Required
}

// CheckDraftField refuses a value that a field of a contract cannot have.
func CheckDraftField(name string, value json.RawMessage) error {
	raw, err := json.Marshal(map[string]json.RawMessage{name: value})
	if err != nil {
		return err
	}
	var a draftArgs
	s := draftShape()
	s.Required = nil
	return s.Decode(raw, &a)
}

// ReadDraft reads a contract as its author writes it, beside an error as far as it can be read.
func ReadDraft(raw json.RawMessage) (agency.Contract, error) {
	var a draftArgs
	err := draftShape().Decode(raw, &a)
	return a.contract(), err
}

func draftShape() tool.Shape {
	names := []string{
		"assigned_role", "type", "parent_id", "feature_id", "depends_on", "blocks", "writes", "inputs", "expected_outputs", "relevant_files",
		"api_definitions", "constraints", "style_guide", "test_requirements", "quality_thresholds", "execution_mode", "priority",
		"estimated_complexity", "estimated_lines", "resources", "talent", "dependencies",
	}
	required := []string{"id", "title", "description", "acceptance_criteria"}
	return tool.Shape{Names: append(names, required...), Required: append(required, "assigned_role")}
}

func submitPlan() tool.Tool {
	return tool.Define(texts, "submit_plan", tool.Write, func(_ context.Context, _ *tool.Env, a submitPlanArgs) (tool.Result, error) {
		return tool.Result{Text: "plan accepted", Effect: tool.Plan{Plan: a.Plan.Plan, Form: a.Plan.form}}, nil
	}).Concludes()
}

// DraftFaults names everything in a contract that its own words show to be
// wrong; what concerns a whole plan is agency.ValidatePlan's.
func DraftFaults(c agency.Contract) []agency.PlanFault {
	var out []agency.PlanFault
	add := func(format string, args ...any) {
		out = append(out, agency.PlanFault{Contract: c.ID, What: fmt.Sprintf(format, args...)})
	}
	if c.Title == "" {
		add("has no title")
	}
	if strings.TrimSpace(c.Description) == "" {
		add("has no description")
	}
	types := []agency.ContractType{"", agency.TypeFeature, agency.TypeRefactor, agency.TypeTest, agency.TypeReview, agency.TypeDesign, agency.TypeVerify}
	if !slices.Contains(types, c.Type) {
		add("type %q is none of feature, refactor, test, review, design, verify", c.Type)
	}
	if !slices.Contains([]agency.ExecutionMode{"", agency.ExecutionParallel, agency.ExecutionSequential}, c.ExecutionMode) {
		add("execution_mode %q is none of parallel, sequential", c.ExecutionMode)
	}
	if _, err := agency.ParseComplexity(string(c.Complexity)); err != nil {
		add("%v", err)
	}
	if _, err := c.Inputs.Dependencies(); err != nil {
		add("%v", err)
	}
	for _, cr := range c.AcceptanceCriteria {
		if cr.From != "" {
			continue
		}
		for _, what := range criterionFaults(cr) {
			add("criterion %q: %s", cr.ID, what)
		}
	}
	for _, what := range agency.PromiseFaults(c) {
		add("%s", what)
	}
	if r, err := roster.Find(c.AssignedRole); err == nil && !r.Offers("write_file") && len(c.TierPath) == 0 {
		checked := slices.ContainsFunc(c.AcceptanceCriteria, func(cr agency.Criterion) bool { return cr.From == "" && cr.Check != nil })
		switch {
		case c.Changes():
			add("role %s changes nothing: expected_outputs, test_requirements and quality_thresholds are promises of those who work", c.AssignedRole)
		case checked:
			add("role %s changes nothing, and no check is run on its word: give the check to the contract that it reviews", c.AssignedRole)
		}
	}
	if c.EstimatedLines < 0 {
		add("estimated_lines is %d, want 0 or more", c.EstimatedLines)
	}
	for _, name := range slices.Sorted(maps.Keys(c.QualityThresholds)) {
		switch v := c.QualityThresholds[name]; {
		case !slices.Contains(agency.QualityThresholds(), name):
			add("quality threshold %s cannot be measured here; these can: %s", name, strings.Join(agency.QualityThresholds(), ", "))
		case v > 0 && v < 1:
			percent := math.Round(v*1e4) / 100
			add("quality threshold %s is %v, less than 1 percent: write %v for %v percent", name, v, percent, percent)
		case v <= 0 || v > 100:
			add("quality threshold %s is %v, not a percentage above 0", name, v)
		}
	}
	return out
}

func criterionFaults(cr agency.Criterion) (out []string) {
	if err := agency.CheckContractID(agency.ContractID(cr.ID)); err != nil {
		out = append(out, "its id wants a letter or digit, then letters, digits, '.', '_' and '-'")
	}
	if strings.TrimSpace(cr.Text) == "" {
		out = append(out, "has no text")
	}
	if cr.Check == nil {
		return out
	}
	set := 0
	for _, s := range []string{cr.Check.Test, cr.Check.Command, cr.Check.File} {
		if strings.TrimSpace(s) != "" {
			set++
		}
	}
	if set != 1 {
		out = append(out, fmt.Sprintf("its check names %d of test, command and file, not one", set))
	}
	if cr.Check.File != "" {
		if err := agency.CheckRelPath(cr.Check.File); err != nil {
			out = append(out, err.Error())
		}
	}
	return out
}
