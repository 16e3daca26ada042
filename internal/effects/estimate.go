package effects

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/critic"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/store"
)

// PlanProposal is a plan whose estimate is asked for.
type PlanProposal struct {
	Run     agency.RunID      `json:"run"`
	By      agency.ContractID `json:"by"` // the manager's contract that made it
	Attempt int               `json:"attempt"`
	Plan    []agency.Contract `json:"plan"`
	Routing agency.Routing    `json:"routing"`
	Shared  []string          `json:"shared,omitempty"`
	// Rounds is how often a critic reads an attempt at most; 0: nobody does.
	Rounds int `json:"rounds,omitempty"`
}

// Forecast is what a plan may take, and what of the run's budget is left.
type Forecast struct {
	agency.PlanEstimate
	LeftUSD    float64 `json:"left_usd"`
	LeftTokens int64   `json:"left_tokens"`
}

// EstimatePlan says what a plan may take. The first answer stays, since prices and
// the failures that it is made from change.
var EstimatePlan = flow.Activity[PlanProposal, Forecast]{Name: "mode.estimate"}

// MaxListed is how many contracts of an estimate the log keeps one by one.
const MaxListed = 200

// estimatePlan computes the estimate and appends it to the log, where an inspection
// finds it, and where a repetition finds its first answer.
func (s *Activities) estimatePlan(ctx context.Context, _ agency.StepKey, in PlanProposal) (out Forecast, err error) {
	past, err := store.Get(ctx, s.db, registry.Outcomes, lookBack)
	if err != nil {
		return out, err
	}
	bids := make([]agency.Bid, len(in.Plan))
	for i, p := range in.Plan {
		if bids[i], err = s.bid(ctx, in, p, past); err != nil {
			return out, err
		}
	}
	out.PlanEstimate = agency.EstimatePlan(bids, past, in.Shared)
	told := agency.PlanEstimated{Attempt: in.Attempt, PlanEstimate: out.PlanEstimate}
	if n := len(told.Contracts) - MaxListed; n > 0 {
		told.Contracts, told.Cut = told.Contracts[:MaxListed], n
	}
	ev := agency.NewEvent(in.Run, agency.SeverityInfo, "estimate: "+sums(out.PlanEstimate), told)
	ev.ContractID = in.By
	_, err = s.write(ctx, func(tx *store.Tx) error {
		now, err := budget.Read(tx, in.Run, budget.Root)
		if err != nil {
			return err
		}
		out.LeftUSD = max(0, now.Limits.Money-now.Money).Float()
		out.LeftTokens = max(0, now.Limits.Tokens-now.Tokens)
		return AppendOnce(tx, ev, func(e *agency.PlanEstimated) bool { return e.Attempt == in.Attempt })
	})
	return out, err
}

// bid is who would work on a contract of the plan.
func (s *Activities) bid(ctx context.Context, in PlanProposal, p agency.Contract, past []agency.Outcome) (agency.Bid, error) {
	way, err := s.decide(ctx, in.Routing, p, past, 0)
	if err != nil {
		return agency.Bid{}, err
	}
	return BidOn(p, way, in.Rounds, func(role agency.RoleID, level agency.Level) (agency.Staffing, error) {
		return s.models.Staff(ctx, in.Run, role, level)
	})
}

// BidOn is who would work on a contract on a way that was decided, and who
// would read its work; rounds is how often in an attempt at most, 0: nobody.
func BidOn(p agency.Contract, way agency.Route, rounds int, staff Staff) (b agency.Bid, err error) {
	b = agency.Bid{Contract: p, Route: way, Works: roster.MostSessions(p.AssignedRole), Looks: p.AssignedRole == agency.RoleReviewer}
	if b.Work, err = staff(p.AssignedRole, way.Level); err != nil || rounds == 0 || b.Looks {
		return b, err
	}
	judge := agency.RoleReviewer
	if p.AssignedRole.Tier() != "" {
		judge = agency.RoleVerifier
	}
	review, err := staff(judge, "")
	// Producer and critic that go in a circle begin one conversation afresh.
	b.Review, b.Works, b.Reads = &review, 2, rounds*critic.MaxAsks
	return b, err
}

// sums is an estimate in a line.
func sums(e agency.PlanEstimate) string {
	return fmt.Sprintf("%s, about %d turns, %s tokens, %s, %s; at most %d attempts, %s tokens, %s", agency.Things(len(e.Contracts), "contract", "contracts"), e.Turns,
		agency.Count(e.Tokens), dollars(e.USD, e.Unpriced), e.Basis, e.Attempts, agency.Count(e.WorstTokens), dollars(e.WorstUSD, e.Unpriced))
}

func dollars(usd float64, unpriced []string) string {
	return agency.USD(usd).Amount(len(unpriced) > 0)
}

// Text is an estimate as the person at the plan gate reads it.
func (f Forecast) Text() string {
	return EstimateText(f.PlanEstimate, fmt.Sprintf(" The run stops at a gate before it spends the %s or %s tokens that its budget has left.",
		agency.USD(f.LeftUSD), agency.Count(f.LeftTokens)))
}

// EstimateText is an estimate for people; limit is a sentence on what bounds it.
func EstimateText(e agency.PlanEstimate, limit string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Estimate: about %s, %s tokens, %s (%s).\n", agency.Things(int(e.Turns), "turn", "turns"), agency.Count(e.Tokens), dollars(e.USD, e.Unpriced), e.Basis)
	low, high := dollars(e.Low.USD, e.Unpriced), dollars(e.High.USD, e.Unpriced)
	if low != high {
		high = low + " to " + high
	}
	fmt.Fprintf(&b, "Likely range: %d to %d turns, %s to %s tokens, %s.\n", e.Low.Turns, e.High.Turns, agency.Count(e.Low.Tokens), agency.Count(e.High.Tokens), high)
	fmt.Fprintf(&b, "At most, if every attempt but the last fails and each session goes to its limit: %s, %s tokens, %s; %s.", agency.Things(e.Attempts, "attempt", "attempts"), agency.Count(e.WorstTokens), dollars(e.WorstUSD, e.Unpriced), e.Odds)
	fmt.Fprintf(&b, " What fails for good is planned anew once, which is not in it.%s\n", limit)
	if len(e.Unpriced) > 0 {
		fmt.Fprintf(&b, "Unpriced, so that only the limit of tokens holds: %s.\n", strings.Join(e.Unpriced, ", "))
	}
	if len(e.Contracts) == 1 {
		return b.String() + "\n" + estimateTable(e.Contracts)
	}
	fmt.Fprintf(&b, "Critical path: %s; about %d turns one after the other of %d in all.\n", agency.JoinIDs(e.Path[:min(len(e.Path), MaxListed)], " -> "), e.PathTurns, e.Turns)
	if len(e.Unbounded) > 0 {
		fmt.Fprintf(&b, "Unbounded, which do not say what they will change: %s.\n", agency.JoinIDs(e.Unbounded[:min(len(e.Unbounded), MaxListed)], ", "))
	}
	if len(e.Serial) > 0 {
		b.WriteString("\nNot at the same time, although neither depends on the other:\n\n")
		for _, p := range e.Serial {
			fmt.Fprintf(&b, "- %s and %s: %s\n", p.A, p.B, p.Why)
		}
		if e.SerialMore {
			b.WriteString("- and there may be more\n")
		}
	}
	return b.String() + "\n" + estimateTable(e.Contracts)
}

// estimateTable is an estimate by contract.
func estimateTable(contracts []agency.ContractEstimate) string {
	var b strings.Builder
	b.WriteString("| contract | size | model | turns | tokens | cost | attempts | worst tokens | worst cost |\n|---|---|---|---|---|---|---|---|---|\n")
	for i, e := range contracts {
		if i == MaxListed {
			fmt.Fprintf(&b, "\nAnd %d more.\n", len(contracts)-i)
			break
		}
		cost, worst := agency.USD(e.USD).Amount(e.Unpriced), agency.USD(e.WorstUSD).Amount(e.Unpriced)
		fmt.Fprintf(&b, "| %s | %s | %s | %d | %s | %s | %d | %s | %s |\n", e.Contract, e.Complexity, e.Model, e.Turns,
			agency.Count(e.Tokens), cost, e.Attempts, agency.Count(e.WorstTokens), worst)
	}
	return b.String()
}

// Staff is what the sessions of a role ask, on a level or of the role's own models.
type Staff func(agency.RoleID, agency.Level) (agency.Staffing, error)

// ReadForecast is what a run is likely to come to, from what it has spent, the
// contracts that have not ended, and what others of the repository took.
func ReadForecast(q store.Querier, id agency.RunID, routing agency.Routing, staff Staff) (f agency.RunForecast, err error) {
	run, err := registry.Run(q, id)
	if err != nil {
		return f, err
	}
	contracts, err := registry.Contracts(q, id)
	if err != nil {
		return f, err
	}
	return ForecastOf(q, run, contracts, routing, staff)
}

// ForecastOf is ReadForecast of a run whose contracts were read.
func ForecastOf(q store.Querier, run agency.Run, contracts []agency.Contract, routing agency.Routing, staff Staff) (f agency.RunForecast, err error) {
	root, err := budget.Read(q, run.ID, budget.Root)
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
		now, err := budget.Read(q, run.ID, budget.ContractNode(c.ID))
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

// forecast is ReadForecast of a run that is at work, for a gate that says what the
// budget will have to hold.
func forecast(ctx context.Context, db *store.DB, m Models, id agency.RunID) (f agency.RunForecast, err error) {
	routing, err := m.Routing(ctx, id)
	if err != nil {
		return f, err
	}
	staff := func(role agency.RoleID, level agency.Level) (agency.Staffing, error) {
		return m.Staff(ctx, id, role, level)
	}
	err = db.Read(ctx, func(q *store.Snapshot) (err error) {
		f, err = ReadForecast(q, id, routing, staff)
		return err
	})
	return f, err
}
