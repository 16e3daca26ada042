package preview

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/bounded"
	"agency/internal/config"
	"agency/internal/contractrun/planning"
	"agency/internal/host/resources"
	"agency/internal/mode"
	"agency/internal/tool/team"
)

// readPlan is the plan of a team file for a run of a configuration; nil where the
// file has no contracts. It is held to the rules to which a manager's is held, and
// every fault is named at its place; the error holds all and is KindInvalid.
func readPlan(team *config.Team, c config.Config) (*agency.Plan, error) {
	if team.Planned.Line == 0 {
		if team.Multiplier.Line == 0 {
			return nil, nil
		}
		return nil, team.Err([]config.TeamFault{at(team.Multiplier, "retry_budget_multiplier is of a plan, and the file has no contracts")})
	}
	if c.Mode == agency.ModeSingle {
		return nil, team.Err([]config.TeamFault{at(team.Planned, "mode single has no plan: contracts want mode multi_agent or full")})
	}
	if c.Mode == agency.ModeTiered {
		return nil, team.Err([]config.TeamFault{at(team.Planned, "mode tiered takes no contracts, for its visionary plans: contracts want mode multi_agent or full")})
	}
	r := planReader{team: team, plan: agency.Plan{GoalAnchor: team.Goal.Text, RetryBudgetMultiplier: 1}, places: map[agency.ContractID]config.Value{}}
	r.multiplier()
	for i, one := range team.Contracts {
		r.contract(i+1, one)
	}
	r.plan.Contracts = agency.Ordered(r.plan.Contracts)
	if len(r.faults) == 0 { // of what can be read
		for _, f := range resources.PlanFaults(c, r.plan, nil) {
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

type planReader struct {
	team   *config.Team
	plan   agency.Plan
	places map[agency.ContractID]config.Value // of the ids; of two alike the second is at fault
	faults []config.TeamFault
}

func (r *planReader) place(id agency.ContractID) config.Value {
	if v, ok := r.places[id]; ok {
		return v
	}
	return r.team.Planned
}

func (r *planReader) multiplier() {
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

func (r *planReader) contract(n int, one config.TeamContract) {
	all, required := team.DraftFields()
	before := len(r.faults)
	doc := map[string]json.RawMessage{}
	name := fmt.Sprintf("contract %d", n)
	where := config.Value{Line: one.Line, Col: one.Col}
	for _, f := range one.Fields {
		doc[f.Name] = f.JSON
		if f.Name == "id" {
			name, where = "contract "+strings.Trim(string(f.JSON), `"`), config.Value{Line: f.Line, Col: f.Col}
		}
		switch err := team.CheckDraftField(f.Name, f.JSON); {
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
	c, err := team.ReadDraft(raw)
	if err != nil {
		r.faults = append(r.faults, at(where, "%s: %v", name, err))
		return
	}
	r.places[c.ID] = where
	r.plan.Contracts = append(r.plan.Contracts, c)
}

// PlanOf is a run's plan as it stands, in the form that submit_plan takes:
// without what the harness adds, and without what a new plan replaced.
func PlanOf(run api.InspectDoc) (agency.Plan, error) {
	plan := agency.Plan{GoalAnchor: run.Goal, RetryBudgetMultiplier: 1}
	for _, c := range run.Contracts {
		if c.Status != agency.StatusCancelled && !mode.IsReserved(c.ID) {
			plan.Contracts = append(plan.Contracts, c.Contract)
		}
	}
	if len(plan.Contracts) == 0 { // a person is asked about it, or nobody accepted it
		for _, p := range run.Planned {
			if p.Contract == agency.PlanContract {
				plan.Contracts, plan.RetryBudgetMultiplier = p.Contracts, p.RetryBudgetMultiplier
			}
		}
	}
	if len(plan.Contracts) == 0 {
		return plan, noPlan(run)
	}
	for _, p := range run.Plans {
		if p.Contract == agency.PlanContract {
			plan.RetryBudgetMultiplier = p.RetryBudgetMultiplier
		}
	}
	return plan, nil
}

func noPlan(run api.InspectDoc) error {
	return agency.Errorf(agency.KindNotFound, "run %s has no plan", run.ID).WithMend("agency inspect %s", run.ID)
}

// EstimateOf is what was reckoned of the plan that was accepted; nil where that
// is not known, or a new plan made it another.
func EstimateOf(run api.InspectDoc) *agency.PlanEstimate {
	last := len(run.Plans) - 1
	if last < 0 || run.Plans[last].Estimate == nil || run.Plans[last].Contract != agency.PlanContract {
		return nil
	}
	return &run.Plans[last].Estimate.PlanEstimate
}

// PlanText is a plan for people, with what it may take where that is known.
func PlanText(p agency.Plan, e *agency.PlanEstimate, parallel int) string {
	return planning.PlanText(p.Contracts, e, parallel)
}

// maxTeamFile bounds a file that a run is started with, in bytes. It is below
// what the host takes in a request.
const maxTeamFile = 6 << 20

// teamFile reads the file that stands in the place of a goal; none where it is
// a goal.
func teamFile(arg string) (config.Source, error) {
	if !isTeamFile(arg) {
		return config.Source{}, notGoal(arg)
	}
	path := strings.TrimSpace(arg)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return config.Source{}, agency.Errorf(agency.KindInvalid, "run %s: there is no such file", path).
			WithMend("name a file that exists, or say as a goal what should be different: agency run \"GOAL\"")
	case err != nil:
		return config.Source{}, agency.Errorf(agency.KindInvalid, "run %s: %v", path, agency.Cause(err))
	case !info.Mode().IsRegular(): // a pipe would never end
		return config.Source{}, agency.Errorf(agency.KindInvalid, "run %s: not a plain file", path)
	}
	b, err := bounded.ReadAt(path, maxTeamFile)
	switch {
	case errors.Is(err, bounded.ErrTooLarge):
		return config.Source{}, agency.Errorf(agency.KindInvalid, "run %s: larger than %d bytes", path, maxTeamFile)
	case err != nil:
		return config.Source{}, agency.Errorf(agency.KindInvalid, "run %s: %v", path, agency.Cause(err))
	case filepath.Base(path) == config.RepoFile && len(b) > 0:
		return config.Source{}, agency.Errorf(agency.KindInvalid, "run %s: this is the configuration, and is read anyway", path).
			WithMend("say what should be different: agency run \"GOAL\"")
	}
	if b == nil {
		b = []byte{}
	}
	return config.Source{Path: path, Data: b}, nil
}

// GoalIn is the goal that is the text of a file.
func GoalIn(path string) (string, error) {
	raw, err := bounded.ReadAt(path, agency.MaxGoal)
	if err != nil {
		return "", agency.Errorf(agency.KindInvalid, "run -f %s: %w", path, agency.Cause(err))
	}
	if strings.TrimSpace(string(raw)) == "" {
		return "", agency.Errorf(agency.KindInvalid, "run -f %s: the file is empty", path)
	}
	return string(raw), agency.CheckGoal(string(raw))
}

// given is the goal and plan of a run: those of its file, where it has one.
func given(l *config.Loaded, cfg config.Config, goal string) (string, *agency.Plan, error) {
	team := l.Team
	if team == nil {
		return goal, nil, nil
	}
	at := config.TeamFault{Line: max(1, team.Goal.Line), Col: max(1, team.Goal.Col)}
	if strings.TrimSpace(team.Goal.Text) == "" {
		at.What = "the file says no goal: what should be different"
		return "", nil, team.Err([]config.TeamFault{at})
	}
	if err := agency.CheckGoal(team.Goal.Text); err != nil {
		at.What = err.Error()
		return "", nil, team.Err([]config.TeamFault{at})
	}
	plan, err := readPlan(team, cfg)
	return strings.TrimSpace(team.Goal.Text), plan, err
}

// isTeamFile tells a file's name from a goal: one word that ends like one,
// whether there is such a file or not. A typing error must not become a goal
// that costs money.
func isTeamFile(arg string) bool {
	arg = strings.TrimSpace(arg)
	low := strings.ToLower(arg)
	named := strings.HasSuffix(low, ".yaml") || strings.HasSuffix(low, ".yml") || strings.HasSuffix(low, ".json")
	return named && (!strings.ContainsFunc(arg, unicode.IsSpace) || fileExists(arg))
}

// notGoal refuses a word that names something: work on a goal that nobody meant costs money.
func notGoal(arg string) error {
	arg = strings.TrimSpace(arg)
	if strings.ContainsFunc(arg, unicode.IsSpace) {
		return nil
	}
	if strings.Contains(arg, "://") {
		return agency.Errorf(agency.KindInvalid, "run %s: this is an address, and no goal", arg).
			WithMend("say what should be different, with the address in it: agency run \"GOAL\"")
	}
	info, err := os.Stat(arg)
	switch {
	case err != nil:
		return nil
	case info.IsDir():
		return agency.Errorf(agency.KindInvalid, "run %s: this is a folder, and no goal", arg).WithMend("say what should be different in it: agency run \"GOAL\"")
	}
	return agency.Errorf(agency.KindInvalid, "run %s: this is a file, and no goal", arg).WithMend("agency run -f %s, if the goal stands in it", arg)
}

func fileExists(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}
