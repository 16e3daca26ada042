// Package planfile reads the plan that a person wrote into a team file, or that
// `agency inspect --plan --json` printed. It is held to the rules to which a
// manager's is held, and every fault is named at its place. Settings of the
// same file are config's.
package planfile

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/config"
	"agency/internal/tool"
)

// Read is the plan of a team file for a run of a configuration; nil where the
// file has no contracts. Judge names what is wrong with a plan that can be read.
// Its error holds every fault and is KindInvalid.
func Read(team *config.Team, c config.Config, judge func(config.Config, agency.Plan) []agency.PlanFault) (*agency.Plan, error) {
	if team.Planned.Line == 0 {
		if team.Multiplier.Line == 0 {
			return nil, nil
		}
		return nil, team.Err([]config.TeamFault{at(team.Multiplier, "retry_budget_multiplier is of a plan, and the file has no contracts")})
	}
	if c.Mode == agency.ModeSingle {
		return nil, team.Err([]config.TeamFault{at(team.Planned, "mode single has no plan: contracts want mode multi_agent or full")})
	}
	r := reader{team: team, plan: agency.Plan{GoalAnchor: team.Goal.Text, RetryBudgetMultiplier: 1}, places: map[agency.ContractID]config.Value{}}
	r.multiplier()
	for i, one := range team.Contracts {
		r.contract(i+1, one)
	}
	r.plan.Contracts = agency.Ordered(r.plan.Contracts)
	if len(r.faults) == 0 { // of what can be read
		for _, f := range judge(c, r.plan) {
			r.faults = append(r.faults, at(r.place(f.Contract), "%s", f))
		}
	}
	if err := team.Err(r.faults); err != nil {
		return nil, err
	}
	return &r.plan, nil
}

func at(v config.Value, format string, args ...any) config.TeamFault {
	return config.TeamFault{Line: v.Line, Col: v.Col, What: fmt.Sprintf(format, args...)}
}

type reader struct {
	team   *config.Team
	plan   agency.Plan
	places map[agency.ContractID]config.Value // of the ids; of two alike the second is at fault
	faults []config.TeamFault
}

func (r *reader) place(id agency.ContractID) config.Value {
	if v, ok := r.places[id]; ok {
		return v
	}
	return r.team.Planned
}

func (r *reader) multiplier() {
	m := r.team.Multiplier
	if m.Line == 0 {
		return
	}
	n, err := strconv.Atoi(m.Text)
	if err == nil {
		err = agency.CheckMultiplier(n)
	}
	if err != nil {
		r.faults = append(r.faults, at(m, "retry_budget_multiplier is %s, want 1 or 2", m.Text))
	}
	r.plan.RetryBudgetMultiplier = n
}

func (r *reader) contract(n int, one config.TeamContract) {
	all, required := tool.DraftFields()
	before := len(r.faults)
	doc := map[string]json.RawMessage{}
	name := fmt.Sprintf("contract %d", n)
	where := config.Value{Line: one.Line, Col: one.Col}
	for _, f := range one.Fields {
		doc[f.Name] = f.JSON
		if f.Name == "id" {
			name, where = "contract "+strings.Trim(string(f.JSON), `"`), config.Value{Line: f.Line, Col: f.Col}
		}
		switch err := tool.CheckDraftField(f.Name, f.JSON); {
		case !slices.Contains(all, f.Name):
			r.faults = append(r.faults, f.Unknown(all))
		case err != nil:
			r.faults = append(r.faults, config.TeamFault{Line: f.Line, Col: f.Col, What: err.Error()})
		}
	}
	for _, want := range required {
		if _, ok := doc[want]; !ok {
			r.faults = append(r.faults, at(where, "%s has no %s", name, want))
		}
	}
	if len(r.faults) > before {
		return
	}
	raw, err := json.Marshal(doc)
	if err != nil {
		r.faults = append(r.faults, at(where, "%s: %v", name, err))
		return
	}
	c, err := tool.ReadDraft(raw)
	if err != nil {
		r.faults = append(r.faults, at(where, "%s: %v", name, err))
		return
	}
	r.places[c.ID] = where
	r.plan.Contracts = append(r.plan.Contracts, c)
}
