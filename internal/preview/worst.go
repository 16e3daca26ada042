package preview

import (
	"math"
	"slices"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/config"
	"agency/internal/effects"
	"agency/internal/mode"
	"agency/internal/roster"
)

// unstarted is a run that is not started.
type unstarted struct {
	Goal    string
	Feature *agency.Feature // that the goal is
	Strict  bool
	Config  config.Config
	// Plan is what a person gives in the place of a manager's plan; nil: none.
	Plan *agency.Plan
	Past []agency.Outcome // what contracts of the repository came to
	// Staff is what the sessions of a role ask, on a level or of its own models.
	Staff effects.Staff
}

// foresee says what a run would do, its gates and its worst case, from its goal and
// configuration alone: what a manager would plan it cannot know.
func (in unstarted) foresee() (api.DryDoc, error) {
	c := in.Config
	doc := api.DryDoc{
		Goal: in.Goal, Mode: c.Mode, Land: c.Land, BudgetUSD: c.Budget.USD, BudgetTokens: c.Budget.Tokens,
		Steps: []api.DryStep{}, Gates: gates(in), Unpriced: []string{}, Notes: []string{}, Odds: agency.OddsOf(in.Past),
	}
	if c.Mode == agency.ModeSingle {
		doc.MovesTo, doc.MovesUp = mode.MovesUp(in.Goal, in.Feature, c.MovesUpBy())
	}
	if in.Plan != nil {
		return doc, in.plan(&doc)
	}
	var worst agency.Money
	for _, s := range steps(c, doc.MovesTo) {
		most, tokens, err := in.step(&s, &doc)
		if err != nil {
			return doc, err
		}
		worst, doc.WorstTokens = worst+most, doc.WorstTokens+tokens
		doc.Steps = append(doc.Steps, s)
	}
	if c.Mode.Team() || doc.MovesTo.Team() { // nobody knows how many contracts there will be
		worst, doc.WorstTokens = math.MaxInt64, math.MaxInt64
	}
	doc.WorstUSD = min(worst, agency.USD(c.Budget.USD)).Float()
	doc.WorstTokens = min(doc.WorstTokens, c.Budget.Tokens)
	return doc, nil
}

// plan foresees a plan that is given: nobody has to be asked for it. Similar work that
// failed in earlier runs, which may raise the level of models, is not looked at.
func (in unstarted) plan(doc *api.DryDoc) error {
	c := in.Config
	rounds := 0
	if c.Mode != agency.ModeContract {
		rounds = c.ProducerCritic.MaxIterations
	}
	way := c.RoutingRules()
	var bids []agency.Bid
	for _, p := range in.Plan.Contracts {
		p.RetryBudget = in.Plan.Attempts(c.RetryBudget)
		if !c.Mode.Team() {
			p.AssignedRole = agency.RoleGeneralist
		}
		b, err := effects.BidOn(p, way.Way(p, agency.Before{Past: in.Past}, 0), rounds, in.Staff)
		if err != nil {
			return err
		}
		bids = append(bids, b)
	}
	e := agency.EstimatePlan(bids, in.Past, c.SharedWrites)
	doc.Plan, doc.Estimate, doc.Unpriced = in.Plan, &e, append(doc.Unpriced, e.Unpriced...)
	doc.WorstUSD, doc.WorstTokens = min(e.WorstUSD, c.Budget.USD), min(e.WorstTokens, c.Budget.Tokens)
	return nil
}

// steps are the contracts of a run as far as they are known before it begins.
func steps(c config.Config, to agency.Mode) []api.DryStep {
	plan := api.DryStep{Contract: string(agency.PlanContract), Title: "the goal becomes one formal contract", Role: agency.RoleProjectManager}
	work := api.DryStep{Contract: "(as planned)", Title: "the contract, by one agent with its context staged", Role: agency.RoleGeneralist}
	alone := api.DryStep{Contract: string(agency.MainContract), Title: "the goal, by one agent", Role: agency.RoleGeneralist}
	runs := func(m agency.Mode) bool { return c.Mode == m || to == m }
	if c.Mode == agency.ModeTiered {
		return []api.DryStep{
			{Contract: string(agency.PlanContract), Title: "the goal falls into workstreams, each as deep as its work", Role: agency.RoleVisionary},
			{Contract: "t2-boundaries, t2-architecture", Title: "what crosses domains is designed", Role: agency.RoleLead, Only: "a workstream goes through t2"},
			{Contract: "(each domain)", Title: "a domain is designed", Role: agency.RoleArchitect, Only: "a workstream goes through t2"},
			{Contract: "(each workstream)", Title: "a workstream is split into tasks, and judged", Role: agency.RoleSquadLead, Only: "it goes through t3"},
			{Contract: "(each task)", Title: "a task", Role: agency.RoleImplementer},
			{Contract: "(each task)", Title: "a verdict on each round of a task", Role: agency.RoleVerifier},
		}
	}
	if c.Mode.Team() || to.Team() {
		plan.Title = "the goal is split into contracts"
		work.Contract, work.Title, work.Role = "(each as planned)", "a contract, by an agent of the role that the plan names", agency.RoleScaffolder
		review := api.DryStep{Contract: "(each as planned)", Title: "a review of what a contract changes", Role: agency.RoleReviewer}
		return []api.DryStep{plan, work, review}
	}
	if runs(agency.ModeProducerCritic) {
		review := api.DryStep{Contract: "(as planned)", Title: "a review of each round's change", Role: agency.RoleReviewer}
		return []api.DryStep{plan, work, review}
	}
	if runs(agency.ModeContract) {
		return []api.DryStep{plan, work}
	}
	if !slices.Contains(c.MovesUpBy(), mode.OnFailure) {
		return []api.DryStep{alone}
	}
	plan.Only, work.Only = "no attempt at main is verified", "no attempt at main is verified"
	return []api.DryStep{alone, plan, work}
}

// step fills in how much work a step may take, and gives what all its attempts
// cost at most.
func (in unstarted) step(s *api.DryStep, doc *api.DryDoc) (agency.Money, int64, error) {
	staff, err := in.Staff(s.Role, "")
	if err != nil {
		return 0, 0, err
	}
	s.Attempts, s.Sessions, s.Turns, s.SessionTokens = in.Config.RetryBudget, roster.MostSessions(s.Role), staff.Turns, staff.Tokens
	if s.Role == agency.RoleReviewer || s.Role == agency.RoleVerifier { // one in each round
		s.Attempts *= in.Config.ProducerCritic.MaxIterations
	}
	for _, m := range staff.May {
		s.Models = append(s.Models, m.Model)
		if m.Price == nil && !slices.Contains(doc.Unpriced, m.Model) {
			doc.Unpriced = append(doc.Unpriced, m.Model)
		}
	}
	most, _ := agency.Staffing{May: staff.May, Tokens: s.SessionTokens, Turns: s.Turns}.SessionMost()
	s.SessionUSD = most.Float()
	sessions := s.Attempts * s.Sessions
	return most * agency.Money(sessions), s.SessionTokens * int64(sessions), nil
}

// gates are those at which the run will wait, and those at which it may.
func gates(in unstarted) []api.DryGate {
	var out []api.DryGate
	v := in.Config.Visibility
	if in.Strict || v.StrictMode || v.InspectionGates.Plan {
		out = append(out, api.DryGate{Kind: agency.GatePlan, When: "where a plan is made"})
	}
	if in.Config.Mode == agency.ModeTiered {
		out = []api.DryGate{{Kind: agency.GatePlan, When: "always, before anything of the plan begins; --yes answers it"}}
		strict, g := in.Strict || v.StrictMode, v.InspectionGates
		for _, one := range []struct {
			on   bool
			when string
		}{{g.T2Lead, "when boundaries are drawn"}, {g.T2Synthesis, "when the architecture is there"}, {g.T3Plan, "when a squad's tasks are planned"}, {g.T5Verdict, "at each joint verdict"}} {
			if strict || one.on {
				out = append(out, api.DryGate{Kind: agency.GateInspection, When: one.when})
			}
		}
	}
	merge := "always, before the work is merged; --yes answers it, but not files that act on others' machines"
	if in.Config.Land == agency.LandBranch {
		merge = "always, when the work is on its branch; --yes answers it, but not files that act on others' machines"
	}
	weakened := "before a contract is integrated, where it weakens tests, and at the merge, where nothing tested the work"
	if in.Config.Mode == agency.ModeSingle {
		weakened = "at the merge, where tests were weakened or nothing tested the work"
	}
	return append(
		out, api.DryGate{Kind: agency.GateMerge, When: merge},
		api.DryGate{Kind: agency.GateBudget, When: "before the budget would be passed"},
		api.DryGate{Kind: agency.GateEscalation, When: "when the agent is blocked"},
		api.DryGate{Kind: agency.GateWeakened, When: weakened},
		api.DryGate{Kind: agency.GateFault, When: "on a full disk"},
	)
}
