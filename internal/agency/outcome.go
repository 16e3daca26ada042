package agency

import (
	"cmp"
	"slices"
	"time"
)

// Outcome is what a contract came to: how it was worked on, what it took and
// whether it is complete. It has no words of the goal, the plan or the code, and
// stays where its run is removed: what a repository has learned is no run's.
// What was withdrawn, or ended with its run, has none.
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
	// Level is that of the first attempt; empty: its role's own models. Raised is by
	// how many levels failures of the work raised the last one.
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

// Try is one attempt at a contract.
type Try struct {
	Effort
	Model    string  `json:"model"` // asked first: provider/model
	Tokens   int64   `json:"tokens"`
	CostUSD  float64 `json:"cost_usd"`
	Unpriced bool    `json:"unpriced,omitempty"`
}

// AtOnce tells whether the first attempt was the last.
func (o Outcome) AtOnce() bool { return o.Complete && o.Attempts == 1 }

// work is all that was done, without what critics did.
func (o Outcome) work() (e Effort) {
	for _, t := range o.Tries {
		e = e.Add(t.Effort)
	}
	return e
}

// Rate is what some contracts came to.
type Rate struct {
	Contracts   int     `json:"contracts"`
	Complete    int     `json:"complete"`
	SuccessRate float64 `json:"success_rate"` // of 1
	// First attempts are those that began a contract. Of a model they are those that
	// it made.
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

// Stats are the success rates of a repository. What has no kind is under "none".
type Stats struct {
	Total        Rate                `json:"total"`
	ByMode       map[Mode]Rate       `json:"by_mode"`
	ByRole       map[RoleID]Rate     `json:"by_role"`
	ByModel      map[string]Rate     `json:"by_model"`
	ByKind       map[string]Rate     `json:"by_kind"`
	ByComplexity map[Complexity]Rate `json:"by_complexity"`
}

// StatsOf sums outcomes up. A contract counts for each model that made an attempt
// at it, with what that attempt took, and is complete for the one that made the
// last.
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
			s, last := of[t.Model], i == len(o.Tries)-1
			s.first = s.first || i == 0
			s.held = s.held || i == 0 && o.AtOnce()
			s.complete = s.complete || last && o.Complete
			s.attempts++
			s.tokens, s.usd, s.unpriced = s.tokens+t.Tokens, s.usd+t.CostUSD, s.unpriced || t.Unpriced
			of[t.Model] = s
		}
		for m, s := range of {
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
		r.Contracts++
		r.Attempts += s.attempts
		r.Complete += one(s.complete)
		r.FirstAttempts += one(s.first)
		r.FirstSuccesses += one(s.held)
		r.Tokens, r.CostUSD, r.Seconds = r.Tokens+s.tokens, r.CostUSD+s.usd, r.Seconds+s.seconds
		r.Unpriced = r.Unpriced || s.unpriced
		tokens, usd, seconds = append(tokens, s.tokens), append(usd, s.usd), append(seconds, s.seconds)
	}
	r.SuccessRate, r.FirstRate = part(r.Complete, r.Contracts), part(r.FirstSuccesses, r.FirstAttempts)
	r.MedianTokens, r.MedianCostUSD, r.MedianSeconds = percentile(tokens, 50), percentile(usd, 50), percentile(seconds, 50)
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

// percentile is the smallest value that at least p of 100 are not above; 0 of none.
func percentile[T cmp.Ordered](values []T, p int) (v T) {
	if len(values) == 0 {
		return v
	}
	values = slices.Sorted(slices.Values(values))
	return values[max(0, (len(values)*p+99)/100-1)]
}
