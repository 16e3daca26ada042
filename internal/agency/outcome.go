package agency

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Outcome is what a contract came to: how it was worked on, what it took and
// whether it is complete. It has no words of the goal, the plan or the code, and
// stays where its run is removed: what a repository has learned is no run's.
// What was withdrawn with attempts left, or ended with its run, has none.
type Outcome struct {
	Run        RunID        `json:"run_id"`
	Contract   ContractID   `json:"contract_id"`
	Mode       Mode         `json:"mode"` // in which the run worked when it ended
	Role       RoleID       `json:"role"`
	Duty       Duty         `json:"duty"`
	Kind       ContractType `json:"kind,omitempty"`
	Complexity Complexity   `json:"complexity"` // by the size, as the run counts it
	Complete   bool         `json:"complete"`
	Attempts   int          `json:"attempts"`
	// Level is that of the first attempt; empty: its role's own models, or one that a person
	// chose meanwhile. Raised is by how many levels failures of the work raised the last one.
	Level  Level `json:"level,omitempty"`
	Raised int   `json:"raised,omitempty"`
	// Tries are the attempts by whoever worked, in their order; Review is all that
	// critics did.
	Tries  []Try  `json:"tries,omitempty"`
	Review Effort `json:"review,omitzero"`

	Tokens   int64     `json:"tokens"` // that count, of all who worked and read
	CostUSD  float64   `json:"cost_usd"`
	Unpriced bool      `json:"unpriced,omitempty"`
	Seconds  float64   `json:"seconds"` // at work
	EndedAt  time.Time `json:"ended_at"`
}

// Duty says what a contract is for.
type Duty string

// The duties: who leads plans, who reviews reads; all others work.
const (
	DutyLead   Duty = "lead"
	DutyWork   Duty = "work"
	DutyReview Duty = "review"
)

// Effort is turns and their tokens.
type Effort struct {
	Turns int64 `json:"turns"`
	Usage Usage `json:"usage"`
}

// Add sums two.
func (e Effort) Add(f Effort) Effort { return Effort{e.Turns + f.Turns, e.Usage.Add(f.Usage)} }

// Try is one attempt at a contract: what each model took of it, the first to answer first.
type Try struct {
	Parts []Part `json:"by"`
}

// Part is what one model took of an attempt: the answers that it gave, and what was paid for
// it, be it without an answer.
type Part struct {
	Effort
	Model    string  `json:"model"` // provider/model
	Tokens   int64   `json:"tokens"`
	CostUSD  float64 `json:"cost_usd"`
	Unpriced bool    `json:"unpriced,omitempty"`
}

// Add takes in what a model took.
func (t *Try) Add(p Part) {
	i := slices.IndexFunc(t.Parts, func(o Part) bool { return o.Model == p.Model })
	if i < 0 {
		t.Parts = append(t.Parts, p)
		return
	}
	to := &t.Parts[i]
	to.Effort, to.Unpriced = to.Effort.Add(p.Effort), to.Unpriced || p.Unpriced
	to.Tokens, to.CostUSD = to.Tokens+p.Tokens, USD(to.CostUSD+p.CostUSD).Float()
}

// most is how many answers whoever gave most of them gave. The attempt is theirs, however it
// ended: who stood in for some answers neither brought it to its end nor failed at it.
func (t Try) most() (turns int64) {
	for _, p := range t.Parts {
		turns = max(turns, p.Turns)
	}
	return turns
}

// AtOnce tells whether the first attempt was the last.
func (o Outcome) AtOnce() bool { return o.Complete && o.Attempts == 1 }

// work is all that was done, without what critics did.
func (o Outcome) work() (e Effort) {
	for _, t := range o.Tries {
		for _, p := range t.Parts {
			e = e.Add(p.Effort)
		}
	}
	return e
}

// Rate is what some contracts came to.
type Rate struct {
	Contracts   int     `json:"contracts"`
	Complete    int     `json:"complete"`
	SuccessRate float64 `json:"success_rate"` // of 1
	// First attempts are those that began a contract. Of a model they are those that
	// it made: in which no other gave more of the answers.
	FirstAttempts  int     `json:"first_attempts"`
	FirstSuccesses int     `json:"first_successes"`
	FirstRate      float64 `json:"first_success_rate"`
	Attempts       int     `json:"attempts"`

	Tokens        int64   `json:"tokens"`
	MedianTokens  int64   `json:"median_tokens"` // of a contract
	CostUSD       float64 `json:"cost_usd"`
	MedianCostUSD float64 `json:"median_cost_usd"`
	Unpriced      bool    `json:"unpriced,omitempty"` // a model has no known price and is not in the costs
	Seconds       float64 `json:"seconds"`            // at work; no model has a time of its own
	MedianSeconds float64 `json:"median_seconds"`
}

// Odds are how contracts of work of a repository held so far: by them a person weighs what
// all attempts of all contracts would take.
type Odds struct {
	Contracts int     `json:"contracts"`
	AtOnce    int     `json:"first_attempt"` // held at their first attempt
	Later     int     `json:"later_attempt"`
	Tokens    int64   `json:"median_tokens"` // of those that held
	USD       float64 `json:"median_usd"`
}

// leastKnown is from how many contracts on odds say anything.
const leastKnown = 5

// OddsOf counts them.
func OddsOf(past []Outcome) (o Odds) {
	var tokens []int64
	var usd []float64
	for _, p := range past {
		if p.Duty != DutyWork {
			continue
		}
		o.Contracts++
		switch {
		case p.AtOnce():
			o.AtOnce++
		case p.Complete:
			o.Later++
		default:
			continue
		}
		tokens, usd = append(tokens, p.Tokens), append(usd, p.CostUSD)
	}
	if len(tokens) > 0 {
		o.Tokens, o.USD = median(tokens), median(usd)
	}
	return o
}

// Known tells whether they say anything.
func (o Odds) Known() bool { return o.Contracts >= leastKnown }

// String says how likely it is that every attempt is needed.
func (o Odds) String() string {
	if o.Contracts == 0 {
		return "no contract has ended here yet: nothing says how likely that is"
	}
	if !o.Known() {
		return fmt.Sprintf("%s ended here so far, too few to say how likely that is", Things(o.Contracts, "contract has", "contracts have"))
	}
	return fmt.Sprintf("of %d contracts here so far %d held at the first attempt, %d at a later one, %d at none",
		o.Contracts, o.AtOnce, o.Later, o.Contracts-o.AtOnce-o.Later)
}

// Stats are the success rates of a repository. What has no kind is under "none".
type Stats struct {
	Total        Rate                `json:"total"`
	ByMode       map[Mode]Rate       `json:"by_mode"`
	ByRole       map[RoleID]Rate     `json:"by_role"`
	ByModel      map[string]Rate     `json:"by_model"`
	ByKind       map[string]Rate     `json:"by_kind"`
	ByComplexity map[Complexity]Rate `json:"by_complexity"`
}

// StatsOf sums outcomes up. A contract counts for each model that gave most of the answers
// of an attempt at it, and is complete for the one that did so in the last; what a model
// took counts for it wherever it answered.
func StatsOf(all []Outcome) Stats {
	whole := func(o Outcome) share {
		return share{
			complete: o.Complete, first: true, held: o.AtOnce(), attempts: o.Attempts,
			tokens: o.Tokens, usd: o.CostUSD, unpriced: o.Unpriced, seconds: o.Seconds,
		}
	}
	var total []share
	for _, o := range all {
		total = append(total, whole(o))
	}
	return Stats{
		Total:        rate(total),
		ByMode:       rates(all, func(o Outcome) Mode { return o.Mode }, whole),
		ByRole:       rates(all, func(o Outcome) RoleID { return o.Role }, whole),
		ByKind:       rates(all, func(o Outcome) string { return cmp.Or(string(o.Kind), "none") }, whole),
		ByComplexity: rates(all, func(o Outcome) Complexity { return o.Complexity }, whole),
		ByModel:      modelRates(all),
	}
}

// share is what of a contract counts in a rate.
type share struct {
	complete, first, held, unpriced bool
	helped                          bool // it made no attempt of its own: only what it took counts
	attempts                        int
	tokens                          int64
	usd, seconds                    float64
}

func rates[K cmp.Ordered](all []Outcome, key func(Outcome) K, of func(Outcome) share) map[K]Rate {
	by := map[K][]share{}
	for _, o := range all {
		by[key(o)] = append(by[key(o)], of(o))
	}
	out := map[K]Rate{}
	for k, shares := range by {
		out[k] = rate(shares)
	}
	return out
}

func modelRates(all []Outcome) map[string]Rate {
	by := map[string][]share{}
	for _, o := range all {
		of := map[string]share{}
		for i, t := range o.Tries {
			most, last := t.most(), i == len(o.Tries)-1
			for _, p := range t.Parts {
				s := of[p.Model]
				if p.Turns > 0 && p.Turns == most {
					s.first = s.first || i == 0
					s.held = s.held || i == 0 && o.AtOnce()
					s.complete = s.complete || last && o.Complete
					s.attempts++
				}
				s.tokens, s.usd, s.unpriced = s.tokens+p.Tokens, s.usd+p.CostUSD, s.unpriced || p.Unpriced
				of[p.Model] = s
			}
		}
		for m, s := range of {
			s.helped = s.attempts == 0
			by[m] = append(by[m], s)
		}
	}
	out := map[string]Rate{}
	for m, shares := range by {
		out[m] = rate(shares)
	}
	return out
}

func rate(shares []share) (r Rate) {
	var tokens []int64
	var usd, seconds []float64
	for _, s := range shares {
		r.Tokens, r.CostUSD, r.Seconds = r.Tokens+s.tokens, r.CostUSD+s.usd, r.Seconds+s.seconds
		r.Unpriced = r.Unpriced || s.unpriced
		if s.helped {
			continue
		}
		r.Contracts++
		r.Attempts += s.attempts
		r.Complete += one(s.complete)
		r.FirstAttempts += one(s.first)
		r.FirstSuccesses += one(s.held)
		tokens, usd, seconds = append(tokens, s.tokens), append(usd, s.usd), append(seconds, s.seconds)
	}
	r.SuccessRate, r.FirstRate = part(r.Complete, r.Contracts), part(r.FirstSuccesses, r.FirstAttempts)
	r.MedianTokens, r.MedianCostUSD, r.MedianSeconds = median(tokens), median(usd), median(seconds)
	return r
}

func one(yes bool) int {
	if yes {
		return 1
	}
	return 0
}

func part(n, of int) float64 {
	if of == 0 {
		return 0
	}
	return float64(n) / float64(of)
}

// median is the value in the middle, or halfway between the two that are; 0 of none.
func median[T int64 | float64](values []T) (v T) {
	n := len(values)
	if n == 0 {
		return v
	}
	values = slices.Sorted(slices.Values(values))
	return values[(n-1)/2] + (values[n/2]-values[(n-1)/2])/2
}

// percentile is the smallest value that at least p of 100 are not above; 0 of none.
func percentile[T cmp.Ordered](values []T, p int) (v T) {
	if len(values) == 0 {
		return v
	}
	values = slices.Sorted(slices.Values(values))
	return values[max(0, (len(values)*p+99)/100-1)]
}

// EnoughPast is how many contracts of a repository have to have ended before
// what they came to counts instead of a table.
const EnoughPast = 20

// Like are the outcomes that tell most of work of a size by a role: those of both
// where there are enough, else those of the size, whoever worked, else the few that
// there are.
func Like(past []Outcome, role RoleID, size Complexity) []Outcome {
	var same, sized []Outcome
	for _, o := range past {
		if o.Complexity != size {
			continue
		}
		if o.Role == role {
			same = append(same, o)
		}
		if o.Duty == DutyWork {
			sized = append(sized, o)
		}
	}
	if len(same) < EnoughPast && (len(sized) >= EnoughPast || len(same) == 0) {
		return sized
	}
	return same
}

// Amount is what work takes.
type Amount struct {
	Turns  int64   `json:"turns"`
	Tokens int64   `json:"tokens"`
	USD    float64 `json:"usd"`
}

// Add sums two.
func (a Amount) Add(b Amount) Amount {
	return Amount{a.Turns + b.Turns, a.Tokens + b.Tokens, USD(a.USD + b.USD).Float()}
}

// expect is what a bid's contract is likely to take, all its attempts: the median of
// contracts like it that ended here, between the values that one in ten stays below
// and one in ten passes. Before there are enough of them it is the table, and the
// range holds all that are known; without any it is from half of the table to its
// double. Their tokens are paid at today's prices.
func (b Bid) expect(past []Outcome, table Amount) (low, mid, high Amount, n int) {
	like := Like(past, b.Contract.AssignedRole, b.Route.Complexity)
	if len(like) == 0 {
		return Amount{table.Turns / 2, table.Tokens / 2, table.USD / 2}, table, Amount{table.Turns * 2, table.Tokens * 2, table.USD * 2}, 0
	}
	var turns, tokens []int64
	var usd []float64
	for _, o := range like {
		work := o.work()
		all, cost := work, b.Work.First.cost(work.Usage)
		if b.Review != nil {
			all, cost = all.Add(o.Review), cost+b.Review.First.cost(o.Review.Usage)
		}
		turns, tokens, usd = append(turns, all.Turns), append(tokens, all.Usage.Billed()), append(usd, cost.Float())
	}
	at := func(p int) Amount { return Amount{percentile(turns, p), percentile(tokens, p), percentile(usd, p)} }
	if len(like) >= EnoughPast {
		return at(10), at(50), at(90), len(like)
	}
	least, most := at(0), at(100)
	low = Amount{min(least.Turns, table.Turns), min(least.Tokens, table.Tokens), min(least.USD, table.USD)}
	high = Amount{max(most.Turns, table.Turns), max(most.Tokens, table.Tokens), max(most.USD, table.USD)}
	return low, table, high, len(like)
}

func (o Offer) cost(u Usage) Money {
	if o.Price == nil {
		return 0
	}
	return o.Price.Cost(u)
}

// ExpectUsage is a guess at the tokens of one attempt by a role at work of a size:
// those of the contract in the middle of the past ones, else of the table; n is how
// many past contracts it is from.
func ExpectUsage(past []Outcome, role RoleID, size Complexity) (u Usage, n int) {
	like := Like(past, role, size)
	if len(like) < EnoughPast {
		return EstimateUsage(size), 0
	}
	var all []Usage
	for _, o := range like {
		w, tries := o.work().Usage, int64(max(1, len(o.Tries)))
		all = append(all, Usage{In: w.In / tries, Cached: w.Cached / tries, CacheWrite: w.CacheWrite / tries, Out: w.Out / tries})
	}
	slices.SortFunc(all, func(a, b Usage) int { return cmp.Compare(a.Billed(), b.Billed()) })
	return all[(len(all)-1)/2], len(like)
}

// Basis says for people what estimates are made from; each is of how many past
// contracts.
func Basis(past []int) string {
	known, least, most := 0, math.MaxInt, 0
	few := false
	for _, n := range past {
		if n >= EnoughPast {
			known++
		}
		few = few || n > 0 && n < EnoughPast
		least, most = min(least, n), max(most, n)
	}
	switch {
	case most == 0:
		return "from a table, no past contract known"
	case known == len(past) && least == most:
		return fmt.Sprintf("from %d past contracts of this size", most)
	case known == len(past):
		return fmt.Sprintf("from %d to %d past contracts of each size", least, most)
	case known == 0 && least == most:
		return fmt.Sprintf("from a table, the range also from %s of this size: %d are enough", Things(most, "past contract", "past contracts"), EnoughPast)
	case known == 0:
		return fmt.Sprintf("from a table, the range also from at most %s of each size: %d are enough", Things(most, "past contract", "past contracts"), EnoughPast)
	case few:
		return fmt.Sprintf("%d of %d from past contracts of their size, the others from a table and too few past ones", known, len(past))
	}
	return fmt.Sprintf("%d of %d from past contracts of their size, the others from a table", known, len(past))
}

// poorBelow is the share of first attempts that a level is to bring to an end.
const poorBelow = 0.5

// FirstTries counts the first attempts of a role at work of a size on a level, and
// those after which no failure of the work itself followed.
func FirstTries(past []Outcome, role RoleID, size Complexity, level Level) (tried, held int) {
	for _, o := range past {
		if o.Role == role && o.Complexity == size && o.Level == level && level != "" {
			tried++
			held += one(o.Complete && o.Raised == 0)
		}
	}
	return tried, held
}

// Poor tells whether first attempts do clearly less often than not: there are
// enough of them, and even the upper bound of the rate, by Wilson's interval at
// 95 %, is below a half. Of twenty that is five or fewer.
func Poor(tried, held int) bool { return tried >= EnoughPast && wilsonUpper(held, tried) < poorBelow }

// wilsonUpper is the upper bound of a rate of which k of n were seen (E. B. Wilson,
// Probable Inference, 1927), at 95 %.
func wilsonUpper(k, n int) float64 {
	const z = 1.959964
	p, m := float64(k)/float64(n), float64(n)
	return (p + z*z/(2*m) + z*math.Sqrt(p*(1-p)/m+z*z/(4*m*m))) / (1 + z*z/m)
}
