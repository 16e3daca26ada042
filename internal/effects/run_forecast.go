package effects

import (
	"context"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/registry"
	"agency/internal/store"
)

// Staff is what the sessions of a role ask, on a level or of the role's own models.
type Staff func(agency.RoleID, agency.Level) (agency.Staffing, error)

// ReadForecast is what a run is likely to come to, from what it has spent, the
// contracts that have not ended, and what others of the repository took.
func ReadForecast(q store.Querier, id agency.RunID, routing agency.Routing, staff Staff) (f agency.RunForecast, err error) {
	run, err := registry.Run(q, id)
	if err != nil {
		return f, err
	}
	root, err := budget.Read(q, id, budget.Root)
	if err != nil {
		return f, err
	}
	contracts, err := registry.Contracts(q, id)
	if err != nil || run.State.Final() {
		return agency.ForecastRun(spentOf(root), nil), err
	}
	past, err := registry.Outcomes(q, lookBack)
	if err != nil {
		return f, err
	}
	rounds := 0
	if m := run.WorksIn(); m == agency.ModeProducerCritic || m.Team() {
		rounds = 1 // of the estimate only whether anybody reads counts here
	}
	var open []agency.Unfinished
	planning := false
	for _, c := range contracts {
		if c.Status.Final() {
			continue
		}
		lead := dutyOf(c) == agency.DutyLead
		planning = planning || lead && len(contracts) == 1
		n := rounds
		if lead {
			n = 0
		}
		b, err := BidOn(c, routing.Way(c, agency.Before{Past: past}, max(0, c.Attempts-1)), n, staff)
		if err != nil {
			return f, err
		}
		now, err := budget.Read(q, id, budget.ContractNode(c.ID))
		if err != nil && agency.KindOf(err) != agency.KindNotFound {
			return f, err
		}
		open = append(open, agency.Unfinished{Estimate: b.Estimate(past), Spent: spentOf(now)})
	}
	f = agency.ForecastRun(spentOf(root), open)
	f.Planning = planning
	return f, nil
}

func spentOf(s budget.State) agency.Spent {
	return agency.Spent{USD: s.Money.Float(), Tokens: s.Tokens}
}

// Forecast is ReadForecast of a run that is at work, for a gate that says what the
// budget will have to hold.
func (s *Activities) Forecast(ctx context.Context, id agency.RunID) (f agency.RunForecast, err error) {
	routing, err := s.models.Routing(ctx, id)
	if err != nil {
		return f, err
	}
	staff := func(role agency.RoleID, level agency.Level) (agency.Staffing, error) {
		return s.models.Staff(ctx, id, role, level)
	}
	err = s.db.Read(ctx, func(q *store.Snapshot) (err error) {
		f, err = ReadForecast(q, id, routing, staff)
		return err
	})
	return f, err
}
