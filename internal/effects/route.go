package effects

import (
	"context"
	"fmt"
	"slices"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/store"
)

// RouteRequest asks for the level of a session of one attempt.
type RouteRequest struct {
	Run      agency.RunID      `json:"run"`
	Contract agency.ContractID `json:"contract"`
	Attempt  int               `json:"attempt"`
	Up       int               `json:"up,omitempty"` // levels above what the contract's size asks for
	Agent    agency.AgentID    `json:"agent"`
	Role     agency.RoleID     `json:"role"`
	Routing  agency.Routing    `json:"routing"`
}

// RouteModel decides the level of a session. The first decision stays, since the
// failures that it is made from change.
var RouteModel = flow.Activity[RouteRequest, agency.ModelRouted]{Name: "mode.route"}

// routeModel decides and tells the log, in one transaction. Asked again it finds
// its own decision there.
func (s *Activities) routeModel(ctx context.Context, _ agency.StepKey, in RouteRequest) (out agency.ModelRouted, err error) {
	var c agency.Contract
	var old *agency.ModelRouted
	err = s.db.Read(ctx, func(q *store.Snapshot) error {
		old, err = FindEvent(q, in.Run, in.Contract, agency.ModelRoutedType, func(ev agency.Event, r *agency.ModelRouted) bool {
			return r.Attempt == in.Attempt && r.Up == in.Up && ev.Role == in.Role
		})
		if err != nil || old != nil {
			return err
		}
		c, err = registry.Contract(q, in.Run, in.Contract)
		return err
	})
	if err != nil {
		return out, err
	}
	if old != nil {
		return *old, nil
	}
	c.AssignedRole = in.Role
	past, err := store.Get(ctx, s.db, registry.Outcomes, lookBack)
	if err != nil {
		return out, err
	}
	// What ended since the contract began is of no account: it would raise a second
	// attempt beside the failure that does.
	before := slices.DeleteFunc(slices.Clone(past), func(o agency.Outcome) bool {
		return !c.StartedAt.IsZero() && o.EndedAt.After(c.StartedAt)
	})
	if out.Route, err = s.decide(ctx, in.Routing, c, before, in.Up); err != nil {
		return out, err
	}
	model, price, err := s.models.Level(ctx, in.Run, out.Level)
	if err != nil {
		return out, err
	}
	out.Attempt, out.Up, out.Model = in.Attempt, in.Up, model
	usage, n := agency.ExpectUsage(past, in.Role, out.Complexity)
	out.EstimatedTokens, out.EstimatedFrom = usage.Billed(), n
	cost := agency.Money(0).Amount(true)
	if out.Unpriced = price == nil; price != nil {
		out.EstimatedUSD = price.Cost(usage).Float()
		cost = "about " + price.Cost(usage).String()
		if n > 0 {
			cost += fmt.Sprintf(" as %d past contracts", n)
		}
	}
	ev := agency.NewEvent(in.Run, agency.SeverityDebug, fmt.Sprintf("%s, %s, %s: %s", out.Level, model, cost, out.Reason), out)
	ev.ContractID, ev.AgentID, ev.Role = in.Contract, in.Agent, in.Role
	_, err = s.write(ctx, func(tx *store.Tx) error {
		_, err := event.Append(tx, ev)
		return err
	})
	return out, err
}

// decide is the level for a contract, by its size and by what came of work before.
func (s *Activities) decide(ctx context.Context, r agency.Routing, c agency.Contract, past []agency.Outcome, up int) (way agency.Route, err error) {
	var similar []string
	if slices.Contains(r.Roles, c.AssignedRole) {
		err = s.db.Read(ctx, func(q *store.Snapshot) (err error) {
			similar, err = failedLike(q, c)
			return err
		})
	}
	return r.Way(c, agency.Before{Similar: similar, Past: past}, up), err
}

// failedLike names the contracts like this one, of this and of earlier runs of
// the repository, that failed for good.
func failedLike(q store.Querier, c agency.Contract) ([]string, error) {
	failed, err := registry.Failed(q, lookBadly)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, f := range failed {
		if (f.RunID != c.RunID || f.ID != c.ID) && agency.Similar(c, f) {
			out = append(out, string(f.RunID)+"/"+string(f.ID))
		}
	}
	return out[:min(len(out), 3)], nil
}
