package team

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/tool"
)

// amendArgs are the fields of a contract that are to change.
type amendArgs struct {
	ID                 string             `json:"id" jsonschema_description:"Id of the contract; it stays."`
	Title              *string            `json:"title,omitempty"`
	Description        *string            `json:"description,omitempty"`
	AssignedRole       *string            `json:"assigned_role,omitempty"`
	AcceptanceCriteria []criterion        `json:"acceptance_criteria,omitempty" jsonschema_description:"All of them, not only the new ones."`
	Type               *string            `json:"type,omitempty" jsonschema:"enum=feature,enum=refactor,enum=test,enum=review,enum=design,enum=verify"`
	ParentID           *string            `json:"parent_id,omitempty" jsonschema_description:"Contract of the plan or the run that it belongs to; of a part, the one that came back to be split, whose place its parts take."`
	FeatureID          *string            `json:"feature_id,omitempty"`
	DependsOn          []string           `json:"depends_on,omitempty" jsonschema_description:"All of them; an empty list is none."`
	Writes             []string           `json:"writes,omitempty"`
	Inputs             agency.Inputs      `json:"inputs,omitempty"`
	ExpectedOutputs    *outputs           `json:"expected_outputs,omitempty"`
	RelevantFiles      []string           `json:"relevant_files,omitempty"`
	APIDefinitions     []string           `json:"api_definitions,omitempty"`
	Constraints        []string           `json:"constraints,omitempty"`
	StyleGuide         *string            `json:"style_guide,omitempty"`
	TestRequirements   []string           `json:"test_requirements,omitempty"`
	QualityThresholds  map[string]float64 `json:"quality_thresholds,omitempty"`
	ExecutionMode      *string            `json:"execution_mode,omitempty" jsonschema:"enum=parallel,enum=sequential"`
	Priority           *int               `json:"priority,omitempty"`
	Complexity         *string            `json:"estimated_complexity,omitempty" jsonschema_description:"small, medium or large."`
	Lines              *int               `json:"estimated_lines,omitempty"`
	Resources          []string           `json:"resources,omitempty"`
	Talent             *string            `json:"talent,omitempty"`
	Dependencies       []string           `json:"dependencies,omitempty" jsonschema_description:"Another name of depends_on."`
}

// apply gives the contract with what the arguments say.
func (a amendArgs) apply(c agency.Contract) agency.Contract {
	set(&c.Title, a.Title, strings.TrimSpace)
	set(&c.Description, a.Description, same[string])
	set(&c.AssignedRole, a.AssignedRole, roleOf)
	set(&c.Type, a.Type, as[agency.ContractType])
	set(&c.ParentID, a.ParentID, as[agency.ContractID])
	set(&c.FeatureID, a.FeatureID, as[agency.FeatureID])
	set(&c.ExpectedOutputs, a.ExpectedOutputs, func(o outputs) agency.Outputs { return agency.Outputs(o) })
	set(&c.ExecutionMode, a.ExecutionMode, as[agency.ExecutionMode])
	set(&c.Priority, a.Priority, same[int])
	set(&c.Complexity, a.Complexity, complexity)
	set(&c.EstimatedLines, a.Lines, same[int])
	set(&c.Talent, a.Talent, same[string])
	set(&c.StyleGuide, a.StyleGuide, same[string])
	if a.AcceptanceCriteria != nil {
		c.AcceptanceCriteria = criteria(a.AcceptanceCriteria)
	}
	if a.DependsOn != nil || a.Dependencies != nil {
		c.DependsOn = contractIDs(both(a.DependsOn, a.Dependencies))
	}
	for _, l := range []struct {
		to   *[]string
		from []string
	}{
		{&c.Writes, a.Writes},
		{&c.Resources, a.Resources},
		{&c.RelevantFiles, a.RelevantFiles},
		{&c.APIDefinitions, a.APIDefinitions},
		{&c.Constraints, a.Constraints},
		{&c.TestRequirements, a.TestRequirements},
	} {
		if l.from != nil {
			*l.to = l.from
		}
	}
	if a.Inputs != nil {
		c.Inputs = a.Inputs
	}
	if a.QualityThresholds != nil {
		c.QualityThresholds = a.QualityThresholds
	}
	return agency.Promised(agency.Depending(c))
}

// set takes a value over where there is one.
func set[T, F any](to *T, from *F, read func(F) T) {
	if from != nil {
		*to = read(*from)
	}
}

func same[T any](v T) T { return v }

func as[T ~string](s string) T { return T(s) }

func updateSubcontract() tool.Tool {
	return tool.Define(texts, "update_subcontract", tool.Write, func(_ context.Context, _ *tool.Env, a amendArgs) (tool.Result, error) {
		return tool.Result{Text: "asked", Effect: tool.Amend{Contract: agency.ContractID(a.ID), Change: a.apply}}, nil
	}).Joining().Unless(func(raw json.RawMessage) string {
		var given map[string]json.RawMessage
		if json.Unmarshal(raw, &given) == nil && len(given) == 1 && given["id"] != nil {
			return "nothing to change is named beside the id"
		}
		return ""
	})
}

type contractArgs struct {
	ID string `json:"id"`
}

type statusArgs struct {
	ID string `json:"id,omitempty" jsonschema_description:"One contract; a line for each where absent."`
}

func getSubcontractStatus() tool.Tool {
	return tool.Define(texts, "get_subcontract_status", tool.Read, func(ctx context.Context, env *tool.Env, a statusArgs) (tool.Result, error) {
		if a.ID != "" {
			c, err := env.Team.Contract(ctx, agency.ContractID(a.ID))
			return tool.OK(c.Standing()), err
		}
		all, err := env.Team.Contracts(ctx)
		if err != nil {
			return tool.Result{}, err
		}
		if len(all) == 0 {
			return tool.OK("no contract is noted or started yet"), nil
		}
		var b strings.Builder
		for _, c := range all {
			b.WriteString(c.Stands() + "\n")
		}
		return tool.OK(b.String()), nil
	}).OnBoard()
}

func markSubcontractComplete() tool.Tool {
	return tool.Define(texts, "mark_subcontract_complete", tool.Read, func(ctx context.Context, env *tool.Env, a contractArgs) (tool.Result, error) {
		c, err := env.Team.Contract(ctx, agency.ContractID(a.ID))
		if err != nil {
			return tool.Result{}, err
		}
		var b strings.Builder
		if missing := c.Missing(); len(missing) > 0 {
			return tool.Fail("contract %s is not complete. Missing:\n- %s", c.ID, strings.Join(missing, "\n- ")), nil
		}
		fmt.Fprintf(&b, "contract %s is complete: it has landed. What proves it:\n", c.ID)
		for _, p := range c.Proofs {
			fmt.Fprintf(&b, "- %s: %s", p.ID, p.State())
			if p.Note != "" {
				fmt.Fprintf(&b, " (%s)", tool.Line(p.Note))
			}
			fmt.Fprintf(&b, "  %s\n", tool.Line(p.Text))
		}
		return tool.OK(b.String()), nil
	}).OnBoard()
}
