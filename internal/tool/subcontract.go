package tool

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"agency/internal/agency"
)

// Amend gives a contract that has not begun other words. A noted one is changed
// at once; for one that waits for its turn the session parks.
type Amend struct {
	Contract agency.ContractID
	Change   func(agency.Contract) agency.Contract
}

func (Amend) effect() {}

// Team knows the contracts of a plan: those that are only noted, and those that
// agents work on.
type Team interface {
	// Contract is one of them. KindNotFound names those that there are.
	Contract(ctx context.Context, id agency.ContractID) (TeamContract, error)
	// Contracts are all of them, as Contract gives them without receipts.
	Contracts(ctx context.Context) ([]TeamContract, error)
}

// TeamContract is a contract with what the harness knows of the work on it.
type TeamContract struct {
	agency.Contract
	Noted    bool            // not started: nobody but its author knows of it
	Agent    agency.AgentID  // empty where it is only noted
	Verdict  *agency.Verdict // the last one; nil: no claim was verified
	Receipts []agency.Receipt
	Reviews  []agency.Review
	Proofs   []agency.Proof // of what landed
}

// amendArgs are the fields of a contract that are to change.
type amendArgs struct {
	ID                 string             `json:"id" jsonschema_description:"Id of the contract; it stays."`
	Title              *string            `json:"title,omitempty"`
	Description        *string            `json:"description,omitempty"`
	AssignedRole       *string            `json:"assigned_role,omitempty"`
	AcceptanceCriteria []criterion        `json:"acceptance_criteria,omitempty" jsonschema_description:"All of them, not only the new ones."`
	Type               *string            `json:"type,omitempty" jsonschema:"enum=feature,enum=refactor,enum=test,enum=review,enum=design,enum=verify"`
	ParentID           *string            `json:"parent_id,omitempty"`
	FeatureID          *string            `json:"feature_id,omitempty"`
	DependsOn          []string           `json:"depends_on,omitempty" jsonschema_description:"All of them; an empty list is none."`
	Writes             []string           `json:"writes,omitempty"`
	Inputs             map[string]string  `json:"inputs,omitempty"`
	ExpectedOutputs    *outputs           `json:"expected_outputs,omitempty"`
	RelevantFiles      []string           `json:"relevant_files,omitempty"`
	APIDefinitions     []string           `json:"api_definitions,omitempty"`
	Constraints        []string           `json:"constraints,omitempty"`
	TestRequirements   []string           `json:"test_requirements,omitempty"`
	QualityThresholds  map[string]float64 `json:"quality_thresholds,omitempty"`
	ExecutionMode      *string            `json:"execution_mode,omitempty" jsonschema:"enum=parallel,enum=sequential"`
	Priority           *int               `json:"priority,omitempty"`
	Complexity         *string            `json:"estimated_complexity,omitempty" jsonschema_description:"small, medium or large."`
	Lines              *int               `json:"estimated_lines,omitempty"`
	Talent             *string            `json:"talent,omitempty"`
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
	if a.AcceptanceCriteria != nil {
		c.AcceptanceCriteria = criteria(a.AcceptanceCriteria)
	}
	if a.DependsOn != nil {
		c.DependsOn = contractIDs(a.DependsOn)
	}
	for _, l := range []struct {
		to   *[]string
		from []string
	}{
		{&c.Writes, a.Writes},
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
	return c
}

// set takes a value over where there is one.
func set[T, F any](to *T, from *F, read func(F) T) {
	if from != nil {
		*to = read(*from)
	}
}

func same[T any](v T) T { return v }

func as[T ~string](s string) T { return T(s) }

func updateSubcontract() Tool {
	t := define("update_subcontract", Write, func(_ context.Context, _ *Env, a amendArgs) (Result, error) {
		return Result{Text: "asked", Effect: Amend{Contract: agency.ContractID(a.ID), Change: a.apply}}, nil
	}).joins()
	run := t.run
	t.run = func(ctx context.Context, env *Env, raw json.RawMessage) (Result, error) {
		var given map[string]json.RawMessage
		if json.Unmarshal(raw, &given) == nil && len(given) == 1 && given["id"] != nil {
			return refuse("nothing to change is named beside the id"), nil
		}
		return run(ctx, env, raw)
	}
	return t
}

type contractArgs struct {
	ID string `json:"id"`
}

type statusArgs struct {
	ID string `json:"id,omitempty" jsonschema_description:"One contract; a line for each where absent."`
}

func getSubcontractStatus() Tool {
	return define("get_subcontract_status", Read, func(ctx context.Context, env *Env, a statusArgs) (Result, error) {
		if a.ID != "" {
			c, err := env.Team.Contract(ctx, agency.ContractID(a.ID))
			if err != nil {
				return Result{}, err
			}
			return ok(c.status()), nil
		}
		all, err := env.Team.Contracts(ctx)
		if err != nil {
			return Result{}, err
		}
		if len(all) == 0 {
			return ok("no contract is noted or started yet"), nil
		}
		var b strings.Builder
		for _, c := range all {
			b.WriteString(c.Stands() + "\n")
		}
		return ok(b.String()), nil
	}).board()
}

// Stands is the contract on one line, with how it stands.
func (c TeamContract) Stands() string {
	return fmt.Sprintf("%s: %s  %s", c.ID, c.stands(), line(c.Title))
}

// stands says in a few words where a contract stands.
func (c TeamContract) stands() string {
	switch {
	case c.Noted:
		return "noted, not started"
	case c.Stage != "" && c.Status != agency.StatusPending:
		return fmt.Sprintf("%s (%s), attempt %d, %s", c.Status, c.Stage, c.Attempts, c.Agent)
	case c.Attempts > 0:
		return fmt.Sprintf("%s, %s, %s", c.Status, agency.Things(c.Attempts, "attempt", "attempts"), c.Agent)
	default:
		return fmt.Sprintf("%s, not begun, for %s", c.Status, c.Agent)
	}
}

func (c TeamContract) status() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", c.ID, c.stands())
	if c.Noted {
		return b.String()
	}
	fmt.Fprintf(&b, "attempts: %d of %d\n", c.Attempts, c.RetryBudget)
	if len(c.DependsOn) > 0 {
		fmt.Fprintf(&b, "depends on: %s\n", joined(c.DependsOn))
	}
	if c.Error != "" {
		fmt.Fprintf(&b, "last reason: %s\n", line(c.Error))
	}
	if v := c.Verdict; v != nil {
		word := "not verified"
		if v.Pass {
			word = "verified"
		}
		fmt.Fprintf(&b, "last claim: attempt %d, %s\n", v.Attempt, word)
		for _, reason := range v.Reasons {
			fmt.Fprintf(&b, "- %s\n", line(reason))
		}
	}
	for _, r := range c.Receipts {
		fmt.Fprintf(&b, "receipt: %s `%s` on the %s: exit code %d", r.Kind, line(r.Command), r.Stage, r.ExitCode)
		if r.Parsed {
			fmt.Fprintf(&b, ", passed %d, failed %d, skipped %d", r.Passed, r.Failed, r.Skipped)
		}
		b.WriteByte('\n')
	}
	if n := len(c.Reviews); n > 0 {
		fmt.Fprintf(&b, "reviews: %d, the last: %s\n", n, c.Reviews[n-1].Line())
	}
	return b.String()
}

func markSubcontractComplete() Tool {
	return define("mark_subcontract_complete", Read, func(ctx context.Context, env *Env, a contractArgs) (Result, error) {
		c, err := env.Team.Contract(ctx, agency.ContractID(a.ID))
		if err != nil {
			return Result{}, err
		}
		var b strings.Builder
		if missing := c.missing(); len(missing) > 0 {
			return fail("contract %s is not complete. Missing:\n- %s", c.ID, strings.Join(missing, "\n- ")), nil
		}
		fmt.Fprintf(&b, "contract %s is complete: it has landed. What proves it:\n", c.ID)
		for _, p := range c.Proofs {
			fmt.Fprintf(&b, "- %s: %s", p.ID, p.Proof)
			if p.Note != "" {
				fmt.Fprintf(&b, " (%s)", line(p.Note))
			}
			fmt.Fprintf(&b, "  %s\n", line(p.Text))
		}
		return ok(b.String()), nil
	}).board()
}

// missing is what keeps a contract from being complete, criterion by criterion.
func (c TeamContract) missing() (missing []string) {
	switch {
	case c.Noted:
		return []string{"nobody works on it: spawn_agent starts it now, submit_plan with the rest"}
	case c.Status == agency.StatusComplete:
		for _, p := range c.Proofs {
			if p.Proof == agency.ProofOpen {
				missing = append(missing, fmt.Sprintf("nothing proves criterion %s: %s", p.ID, line(p.Text)))
			}
		}
		return missing
	case c.Error != "":
		missing = append(missing, fmt.Sprintf("it is %s, not landed: %s", c.stands(), line(c.Error)))
	default:
		missing = append(missing, fmt.Sprintf("it is %s, not landed", c.stands()))
	}
	proofs := map[string]agency.Proof{}
	if c.Verdict != nil {
		for _, p := range c.Verdict.Proofs {
			proofs[p.ID] = p
		}
	}
	for _, cr := range c.AcceptanceCriteria {
		what := "nothing shows it yet"
		if p, ok := proofs[cr.ID]; ok {
			what = fmt.Sprintf("%s in the last claim, which has not landed", p.Proof)
			if p.Note != "" {
				what += " (" + line(p.Note) + ")"
			}
		}
		missing = append(missing, fmt.Sprintf("criterion %s: %s: %s", cr.ID, line(cr.Text), what))
	}
	return missing
}

func joined(ids []agency.ContractID) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, ", ")
}

// line is a text on one line, of a length that a list can bear.
func line(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 300 {
		s = string(r[:299]) + "…"
	}
	return s
}
