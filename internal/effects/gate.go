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
	"agency/internal/check"
	"agency/internal/flow"
	"agency/internal/registry"
	"agency/internal/store"
	"agency/internal/text"
)

// OpenGate asks a person.
var OpenGate = flow.Activity[agency.Gate, flow.None]{Name: "mode.gate"}

func (s *Activities) openGate(ctx context.Context, _ agency.StepKey, g agency.Gate) (flow.None, error) {
	if showsRed(g.Kind) {
		if err := s.db.Read(ctx, func(q *store.Snapshot) error { return addRed(q, &g) }); err != nil {
			return flow.None{}, err
		}
	}
	if g.Kind == agency.GatePlan || g.Kind == agency.GateInspection || g.Kind == agency.GateEscalation {
		lines, err := store.Get(ctx, s.db, amended, g.RunID)
		if err != nil {
			return flow.None{}, err
		}
		if len(lines) > 0 {
			g.Body += "\n\nDeeper than planned:\n\n- " + strings.Join(lines, "\n- ") + "\n"
		}
	}
	if g.Kind != agency.GateMerge { // which has all of them where they belong
		if err := s.db.Read(ctx, func(q *store.Snapshot) error { return addRejects(q, &g) }); err != nil {
			return flow.None{}, err
		}
	}
	if g.Kind == agency.GateBudget {
		if err := s.addSpending(ctx, &g); err != nil {
			return flow.None{}, err
		}
	}
	return s.write(ctx, func(tx *store.Tx) error { return registry.OpenGate(tx, g) })
}

// addRejects adds to a gate for what people rejected others of its kind.
func addRejects(q store.Querier, g *agency.Gate) error {
	gates, err := registry.Gates(q, g.RunID)
	said := ""
	for _, w := range agency.WordsOf(gates) {
		if w.Kind == g.Kind && w.Verb == agency.Reject && w.Gate != g.ID {
			said += "- " + w.String() + "\n"
		}
	}
	if said != "" {
		g.Body += "\n\nSaid before:\n\n" + said
	}
	return err
}

// Withdrawal is a gate at which there is nothing to decide any more, and why.
type Withdrawal struct {
	Gate agency.GateID `json:"gate"`
	Why  string        `json:"why"`
}

// WithdrawGate closes a gate that waits. It gives the decision that counts: a person's, where
// that was faster.
var WithdrawGate = flow.Activity[Withdrawal, agency.Decision]{Name: "mode.withdraw_gate"}

func withdrawGate(ctx context.Context, s *Activities, in Withdrawal) (d agency.Decision, err error) {
	err = s.db.WriteFenced(ctx, s.fence, func(tx *store.Tx) error {
		g, err := registry.Gate(tx, in.Gate)
		if err == nil && g.Open() {
			g, err = registry.Decide(tx, in.Gate, agency.Decision{Verb: agency.Approve, By: agency.ByHarness, Note: in.Why})
		}
		d = g.Decision
		return err
	})
	return d, err
}

// amended says which workstreams of a run go through more tiers than were planned, and why.
func amended(q store.Querier, run agency.RunID) (out []string, err error) {
	all, err := registry.PathAmendments(q, run, "")
	for _, m := range all {
		out = append(out, text.OneLine(fmt.Sprintf("%s: %s before %s, as %s found: %s", m.Workstream, agency.PathText(m.AddTiers), m.InsertBefore, m.ProposedBy, m.Reason), text.MostLine))
	}
	return out, err
}

// showsRed tells whether a gate of this kind asks about work whose checks a
// person wants to know. The merge gate shows those of what landed itself.
func showsRed(k agency.GateKind) bool {
	return k == agency.GateWeakened || k == agency.GateEscalation || k == agency.GateBudget
}

// addRed adds to a gate which checks are red where it asks: of its contract, or
// without one of all that are at work or have failed. It adds what was left without proof:
// by the contract's last verdict, or without one by those on what landed, for nothing
// else of a team's work would be merged.
func addRed(q *store.Snapshot, g *agency.Gate) error {
	var f findings
	if err := f.read(q, g.RunID); err != nil {
		return err
	}
	reds := check.LastReds(f.receipts)
	for _, c := range f.contracts {
		if g.ContractID != "" && c.ID != g.ContractID || g.ContractID == "" && c.Status == agency.StatusComplete {
			continue
		}
		red := reds[c.ID]
		g.Red = append(g.Red, red...)
		g.Body += redText(c.ID, red)
		for _, v := range slices.Backward(f.verdicts) {
			if v.ContractID == c.ID && g.ContractID != "" {
				g.Body += doubtText(v.Unproved, v.Expectations)
				break
			}
		}
	}
	if g.ContractID != "" {
		return nil
	}
	var landed judgedWork
	_, err := landed.fillVerdicts(q, MergeGate{Run: g.RunID}, nil)
	g.Body += doubtText(landed.Unproved, landed.Expectations)
	return err
}

func redText(id agency.ContractID, red []agency.Red) string {
	if len(red) == 0 {
		return ""
	}
	var b strings.Builder
	fmt.Fprintf(&b, "\n\nRed on the work on %s, as it was last checked:\n", id)
	for _, r := range text.InLines(red, text.MostLine) {
		fmt.Fprintf(&b, "- %s\n", r.Head())
		for _, l := range r.Lines() {
			fmt.Fprintf(&b, "    - %s\n", l)
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// doubtText is what verdicts leave to a person's judgement.
func doubtText(unproved *agency.Unproved, edited []agency.Expectation) string {
	s := ""
	if line := unproved.Line(); line != "" {
		s += "\n\nunproved: " + text.OneLine(line, text.MostLine)
	}
	if line := agency.ExpectationsLine(edited); line != "" {
		s += "\n\nedited expectations: " + text.OneLine(line, text.MostLine)
	}
	return s
}

// ReadPaused reads what a person wants of the run now.
var ReadPaused = flow.Activity[agency.RunID, bool]{Name: "mode.is_paused"}

func (s *Activities) readPaused(ctx context.Context, _ agency.StepKey, run agency.RunID) (bool, error) {
	ctl, err := store.Get(ctx, s.db, registry.ReadControl, run)
	return ctl.Pause, err
}

// BudgetRaise is what a person granted.
type BudgetRaise struct {
	Run   agency.RunID `json:"run"`
	Node  string       `json:"node"`
	Limit string       `json:"limit"` // that was reached: usd, tokens or wall
	USD   float64      `json:"usd,omitempty"`
	// Need and NeedTokens are what the request reserves that waits.
	Need       agency.Money `json:"need,omitempty"`
	NeedTokens int64        `json:"need_tokens,omitempty"`
}

// RaiseBudget raises a limit of the run.
var RaiseBudget = flow.Activity[BudgetRaise, flow.None]{Name: "mode.raise_budget"}

func raiseBudget(tx *store.Tx, _ agency.StepKey, g BudgetRaise) error {
	now, err := budget.Read(tx, g.Run, g.Node)
	if err != nil {
		return err
	}
	return budget.Raise(tx, g.Run, g.Node, raised(now, g))
}

// raised are the limits after a person granted more: a sum named is the new
// money limit; without one, or where another limit was reached, that limit is
// doubled, and more where that would not hold some requests like the one that waits: a
// person is not asked again at the next.
func raised(st budget.State, g BudgetRaise) budget.Limits {
	now, enough := st.Limits, st.Enough(requestsAhead*g.Need, requestsAhead*g.NeedTokens)
	switch {
	case g.Limit == "tokens":
		now.Tokens = max(2*now.Tokens, enough.Tokens)
	case g.Limit == "wall":
		now.Wall = max(2*now.Wall, st.Wall+now.Wall)
	case g.USD == 0:
		now.Money = max(2*now.Money, enough.Money)
	}
	if g.USD > 0 {
		now.Money = agency.USD(g.USD)
	}
	return now
}

// requestsAhead is for how many requests like the one that waits a plain approval is
// enough.
const requestsAhead = 10

// Plain is the limit in dollars that an approval without a sum sets, in whole cents: what a
// person is told is what is set.
func Plain(st budget.State, g agency.Grant) agency.Money {
	return raised(st, BudgetRaise{Limit: g.Limit, Need: g.Need, NeedTokens: g.NeedTokens}).Money.Cents()
}

// Raises says what a plain approval makes of a limit of tokens or of time at work;
// empty for one of dollars.
func Raises(st budget.State, g agency.Grant) string {
	from, to := st.Limits, raised(st, BudgetRaise{Limit: g.Limit, Need: g.Need, NeedTokens: g.NeedTokens})
	of := "the whole run"
	if g.Node != budget.Root {
		of = g.Node
	}
	switch g.Limit {
	case "tokens":
		return fmt.Sprintf("raise the limit of %s from %s to %s tokens", of, agency.Count(from.Tokens), agency.Count(to.Tokens))
	case "wall":
		return fmt.Sprintf("raise the limit of %s from %s to %s at work", of, from.Wall, to.Wall)
	}
	return ""
}

// addGrant says which limit holds the request that waits, and what raises it, as it is
// typed.
func addGrant(q store.Querier, g *agency.Gate) error {
	if g.Grant == nil || g.Approving != "" { // no limit of the run
		return nil
	}
	st, err := budget.Read(q, g.RunID, g.Grant.Node)
	if err != nil {
		return err
	}
	grant := *g.Grant
	if grant.Raises = Raises(st, grant); grant.Raises != "" {
		g.Grant = &grant
		g.Body += fmt.Sprintf("\n\nTo %s: `agency approve %s`", grant.Raises, g.ID)
		return nil
	}
	plain := Plain(st, grant)
	grant.PlainUSD = plain.Float()
	g.Grant = &grant
	if grant.Need == 0 {
		g.Body += fmt.Sprintf("\n\nWithout a sum the new limit is %s: `agency approve %s`", plain, g.ID)
		return nil
	}
	enough := st.Enough(grant.Need, 0).Money.Cents()
	grant.EnoughUSD = enough.Float()
	g.Body += fmt.Sprintf("\n\nThe smallest limit that helps is %s: %s is spent, %s reserved, and the next request reserves %s. To set it: `agency approve %s --budget %s`. Without a sum the new limit is %s.",
		enough, st.Money, st.Reserved, g.Grant.Need, g.ID, enough.Typed(), plain)
	return nil
}

// mostNamed is how many spenders of a kind a gate names.
const mostNamed = 5

// addSpending adds to a budget gate what a person decides by: how fast the run spends,
// what it may still need, who spent it, and the limits above it.
func (s *Activities) addSpending(ctx context.Context, g *agency.Gate) error {
	var b strings.Builder
	ahead, err := forecast(ctx, s.db, s.models, g.RunID)
	if err != nil {
		return err
	}
	err = s.db.Read(ctx, func(q *store.Snapshot) error {
		if err := addGrant(q, g); err != nil {
			return err
		}
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
		b.WriteString(aheadText(ahead) + "\n")
		if len(lines) > 0 {
			b.WriteString("\nWho spent it:\n" + stagesText(stages) +
				topText("contracts", budget.By(lines, func(l budget.Line) agency.ContractID { return l.Contract })) +
				topText("agents", budget.By(lines, func(l budget.Line) agency.AgentID { return l.Agent })))
		}
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
	money := root.Money.Amount(all.Unpriced) + of(usd) + " and "
	if all.Unpriced && root.Money == 0 { // that limit holds none of it
		money, tokens = "", tokens+" unpriced"
	}
	s := fmt.Sprintf("\n\nThe run has spent %s%s%s tokens in %s", money,
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
		perMinute.Amount(all.Unpriced), agency.Count(tokensMinute), perHour.Amount(all.Unpriced), agency.Count(tokensHour))
}

// aheadText is what the run is likely to come to.
func aheadText(f agency.RunForecast) string {
	if f.Open == 0 {
		return ""
	}
	to := agency.Count(f.Mid.Tokens) + " tokens"
	if usd := agency.USD(f.Mid.USD); usd > 0 {
		to = fmt.Sprintf("%s (%s to %s) and %s", usd, agency.USD(f.Low.USD), agency.USD(f.High.USD), to)
	}
	return fmt.Sprintf(" With the %s not done it is likely to come to %s, %s.",
		agency.Things(f.Open, "contract that is", "contracts that are"), to, f.Basis)
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
