package effects

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/event"
	"agency/internal/registry"
	"agency/internal/store"
)

// mostNamed is how many spenders of a kind a gate names.
const mostNamed = 5

// addSpending adds to a budget gate what a person decides by: how fast the run spends,
// what it may still need, who spent it, and the limits above it.
func (s *Activities) addSpending(ctx context.Context, g *agency.Gate) error {
	var b strings.Builder
	err := s.db.Read(ctx, func(q *store.Snapshot) error {
		root, err := budget.Read(q, g.RunID, budget.Root)
		if err != nil {
			return err
		}
		lines, err := budget.Lines(q, g.RunID)
		if err != nil {
			return err
		}
		stages, err := budget.Stages(q, g.RunID)
		if err != nil {
			return err
		}
		b.WriteString(burnText(root, budget.Sum(lines, nil)))
		ahead, err := aheadText(q, g.RunID)
		b.WriteString(ahead + "\n\nWho spent it:\n" + stagesText(stages) +
			topText("contracts", budget.By(lines, func(l budget.Line) agency.ContractID { return l.Contract })) +
			topText("agents", budget.By(lines, func(l budget.Line) agency.AgentID { return l.Agent })))
		return err
	})
	if err != nil || s.above == nil {
		g.Body += b.String()
		return err
	}
	above, err := s.above.Tell(ctx)
	for _, line := range above {
		b.WriteString("\n" + line + "\n")
	}
	g.Body += b.String()
	return err
}

// burnText says what is spent, and how fast.
func burnText(root budget.State, all budget.Total) string {
	of := func(limit string) string {
		if limit == "" {
			return ""
		}
		return " of " + limit
	}
	usd, tokens := "", ""
	if root.Limits.Money > 0 {
		usd = root.Limits.Money.String()
	}
	if root.Limits.Tokens > 0 {
		tokens = agency.Count(root.Limits.Tokens)
	}
	s := fmt.Sprintf("\n\nThe run has spent %s%s and %s%s tokens in %s", dollars(root.Money.Float(), unpricedIn(all)), of(usd),
		agency.Count(root.Tokens), of(tokens), agency.Things(all.Requests, "request", "requests"))
	if root.Wall < time.Second {
		return s + "."
	}
	rate := func(per time.Duration) (agency.Money, int64) {
		f := float64(per) / float64(root.Wall)
		return agency.Money(float64(root.Money) * f), int64(float64(root.Tokens) * f)
	}
	perMinute, tokensMinute := rate(time.Minute)
	perHour, tokensHour := rate(time.Hour)
	return s + fmt.Sprintf(" and %s at work: %s and %s tokens a minute at work, %s and %s an hour.", root.Wall.Round(time.Second),
		perMinute, agency.Count(tokensMinute), perHour, agency.Count(tokensHour))
}

func unpricedIn(t budget.Total) []string {
	if t.Unpriced {
		return []string{"a model"}
	}
	return nil
}

// aheadText is what the contracts that are not done may still take, by the estimate of
// the last plan.
func aheadText(q store.Querier, run agency.RunID) (string, error) {
	told, err := event.Since(q, 0, event.Filter{Run: run, Types: []agency.EventType{agency.PlanEstimatedType}}, 0)
	if err != nil || len(told) == 0 {
		return "", err
	}
	d, err := agency.DecodeDetail(told[len(told)-1])
	if err != nil {
		return "", err
	}
	e, ok := d.(*agency.PlanEstimated)
	if !ok {
		return "", nil
	}
	open, usd, tokens := 0, 0.0, int64(0)
	for _, c := range e.Contracts {
		now, err := registry.Contract(q, run, c.Contract)
		switch {
		case agency.KindOf(err) == agency.KindNotFound, err == nil && now.Status.Final():
			continue
		case err != nil:
			return "", err
		}
		open, usd, tokens = open+1, usd+c.USD, tokens+c.Tokens
	}
	if open == 0 {
		return "", nil
	}
	return fmt.Sprintf(" By the plan's estimate the %s not done take about %s and %s tokens from their beginning to their end.",
		agency.Things(open, "contract that is", "contracts that are"), dollars(usd, e.Unpriced), agency.Count(tokens)), nil
}

func stagesText(stages []budget.Stage) string {
	var parts []string
	for _, s := range stages {
		parts = append(parts, fmt.Sprintf("%s %s, %s tokens", s.Node, s.Money, agency.Count(s.Tokens)))
	}
	return listed("stages", parts)
}

// topText names those who spent the most.
func topText[K ~string](what string, by map[K]budget.Total) string {
	keys := make([]K, 0, len(by))
	for k := range by {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b K) int {
		return cmp.Or(cmp.Compare(by[b].Money, by[a].Money), cmp.Compare(by[b].Tokens, by[a].Tokens), cmp.Compare(a, b))
	})
	var parts []string
	for _, k := range keys {
		parts = append(parts, fmt.Sprintf("%s %s, %s tokens", k, by[k].Money, agency.Count(by[k].Tokens)))
	}
	return listed(what, parts)
}

func listed(what string, parts []string) string {
	if len(parts) == 0 {
		return ""
	}
	if n := len(parts) - mostNamed; n > 0 {
		parts = append(parts[:mostNamed], fmt.Sprintf("and %d more", n))
	}
	return "- " + what + ": " + strings.Join(parts, "; ") + "\n"
}
