package agency

import (
	"slices"
)

// Offer is a model that a session may ask: no price where nobody knows it, no
// window where only its provider does.
type Offer struct {
	Model  string `json:"model"`
	Price  *Price `json:"price,omitempty"`
	Window int64  `json:"window,omitempty"` // tokens; 0: unknown
}

// Staffing is what the sessions of a role ask and how far each may go.
type Staffing struct {
	First  Offer   `json:"first"` // asked first
	May    []Offer `json:"may"`   // all that may be asked, First among them
	Tokens int64   `json:"tokens"`
	Turns  int     `json:"turns"`
}

// SessionMost is the most that a session costs: its tokens at the dearest they
// can be, and each turn a prompt from the cache, as long as the window or as
// all that the session was ever charged for. Known is false where a model has
// no price, so that only the limit of tokens holds.
func (s Staffing) SessionMost() (most Money, known bool) {
	known = true
	for _, o := range s.May {
		if o.Price == nil {
			known = false
			continue
		}
		most = max(most, o.Price.session(o.Window, s.Tokens, s.Turns))
	}
	return most, known
}

func (p Price) session(window, tokens int64, turns int) Money {
	if window == 0 || window > tokens {
		window = tokens
	}
	long := p.For(window)
	fresh := max(p.Cost(Usage{Out: tokens}), long.Cost(Usage{Out: tokens}), long.Cost(Usage{In: tokens, CacheWrite: tokens}))
	again := long.Cost(Usage{In: window, Cached: window})
	return fresh + Money(turns)*again
}

// Bid is who would work on a contract and, where a critic reads its work, who
// that is.
type Bid struct {
	Contract Contract
	Route    Route
	Work     Staffing
	Review   *Staffing
	// Works and Reads are the most sessions of either in one attempt.
	Works, Reads int
	// Looks is set for a contract that changes no file.
	Looks bool
}

// ContractEstimate is what a contract may take, as work of its size goes, between a
// low and a high value, and all that it is allowed at most. From a table it is of
// one attempt; from past contracts, of all that these took.
type ContractEstimate struct {
	Contract   ContractID `json:"contract_id"`
	Complexity Complexity `json:"complexity"`
	Level      Level      `json:"level,omitempty"` // empty: its role's own model
	Model      string     `json:"model"`
	Turns      int64      `json:"turns"`
	Tokens     int64      `json:"tokens"`
	USD        float64    `json:"usd"`
	Low        Amount     `json:"low"`
	High       Amount     `json:"high"`
	Past       int        `json:"past_contracts"`     // like it that are known; fewer than 20: a table counts
	Unpriced   bool       `json:"unpriced,omitempty"` // a model has no known price and is not in the sums

	Attempts    int     `json:"attempts"`
	WorstTokens int64   `json:"worst_tokens"`
	WorstUSD    float64 `json:"worst_usd"`
}

// SerialPair is two contracts that do not run at the same time although
// neither depends on the other.
type SerialPair struct {
	A   ContractID `json:"a"`
	B   ContractID `json:"b"`
	Why string     `json:"why"`
}

// PlanEstimate is what a plan may take, by contract and in sum (docs/design.md, Promises).
// The worst case is that of the plan as it stands: a second plan, of which
// there may be one, is bounded by the run's budget alone.
type PlanEstimate struct {
	Contracts []ContractEstimate `json:"contracts"`
	Turns     int64              `json:"turns"`
	Tokens    int64              `json:"tokens"`
	USD       float64            `json:"usd"`
	// Low and High are the sums of the contracts', as if all went well or all badly.
	Low   Amount `json:"low"`
	High  Amount `json:"high"`
	Basis string `json:"basis"` // what it is made from, for people

	Attempts    int      `json:"attempts"`
	WorstTokens int64    `json:"worst_tokens"`
	WorstUSD    float64  `json:"worst_usd"`
	Odds        Odds     `json:"odds,omitzero"`      // that they are needed
	Unpriced    []string `json:"unpriced,omitempty"` // models without a known price

	// Path is the critical path: the chain of dependencies with the most turns.
	Path      []ContractID `json:"critical_path"`
	PathTurns int64        `json:"critical_turns"`

	// Unbounded do not say what they will change.
	Unbounded []ContractID `json:"unbounded,omitempty"`
	Serial    []SerialPair `json:"serial,omitempty"`
	// SerialMore is set where there may be more such pairs.
	SerialMore bool `json:"serial_more,omitempty"`
}

// EstimatePlan sums up what a valid plan may take, by what contracts of the
// repository took before. Shared globs do not count as overlap.
func EstimatePlan(bids []Bid, past []Outcome, shared []string) PlanEstimate {
	e := PlanEstimate{Contracts: make([]ContractEstimate, 0, len(bids)), Path: []ContractID{}}
	var usd, worst Money
	var known []int
	for _, b := range bids {
		one, cost, most := b.estimate(past)
		e.Low, e.High, known = e.Low.Add(one.Low), e.High.Add(one.High), append(known, one.Past)
		e.Contracts = append(e.Contracts, one)
		e.Turns, e.Tokens, usd = e.Turns+one.Turns, e.Tokens+one.Tokens, usd+cost
		e.Attempts, e.WorstTokens, worst = e.Attempts+one.Attempts, e.WorstTokens+one.WorstTokens, worst+most
		e.Unpriced = append(e.Unpriced, b.unpriced()...)
		if len(b.Contract.WriteSet()) == 0 && !b.Looks {
			e.Unbounded = append(e.Unbounded, b.Contract.ID)
		}
	}
	slices.Sort(e.Unpriced)
	e.Unpriced = slices.Compact(e.Unpriced)
	e.USD, e.WorstUSD, e.Basis, e.Odds = usd.Float(), worst.Float(), Basis(known), OddsOf(past)
	e.Path, e.PathTurns = criticalPath(bids, e.Contracts)
	e.Serial, e.SerialMore = serialPairs(bids, shared)
	return e
}

// Estimate is what the contract of a bid may take.
func (b Bid) Estimate(past []Outcome) ContractEstimate {
	e, _, _ := b.estimate(past)
	return e
}

func (b Bid) estimate(past []Outcome) (out ContractEstimate, cost, most Money) {
	out = ContractEstimate{
		Contract: b.Contract.ID, Complexity: b.Route.Complexity, Level: b.Route.Level, Model: b.Work.First.Model, Attempts: b.Contract.RetryBudget,
	}
	var table Amount // one attempt
	session := func(s Staffing, size Complexity, times int) {
		usage := EstimateUsage(size)
		table = table.Add(Amount{EstimateTurns(size), usage.Billed(), s.First.cost(usage).Float()})
		once, known := s.SessionMost()
		most += once * Money(times)
		out.WorstTokens += s.Tokens * int64(times)
		out.Unpriced = out.Unpriced || !known || s.First.Price == nil
	}
	session(b.Work, b.Route.Complexity, out.Attempts*max(1, b.Works))
	if b.Review != nil { // whoever reads is done sooner than whoever writes
		session(*b.Review, Small, out.Attempts*max(1, b.Reads))
	}
	var mid Amount
	out.Low, mid, out.High, out.Past = b.expect(past, table)
	out.Turns, out.Tokens, out.USD, out.WorstUSD = mid.Turns, mid.Tokens, mid.USD, most.Float()
	return out, USD(mid.USD), most
}

func (b Bid) unpriced() (out []string) {
	add := func(s Staffing) {
		for _, o := range append([]Offer{s.First}, s.May...) {
			if o.Price == nil {
				out = append(out, o.Model)
			}
		}
	}
	add(b.Work)
	if b.Review != nil {
		add(*b.Review)
	}
	return out
}

// criticalPath is the chain of dependencies with the most turns, the first in
// the plan's order where several have as many.
func criticalPath(bids []Bid, sizes []ContractEstimate) ([]ContractID, int64) {
	at := make(map[ContractID]int, len(bids))
	for i, b := range bids {
		at[b.Contract.ID] = i
	}
	const unknown, onTrail = -1, -2
	length, before := make([]int64, len(bids)), make([]int, len(bids))
	for i := range before {
		length[i] = unknown
	}
	var walk func(int) int64
	walk = func(i int) int64 {
		switch length[i] {
		case unknown:
		case onTrail: // a circle, which validation refuses
			return 0
		default:
			return length[i]
		}
		length[i], before[i] = onTrail, unknown
		longest := int64(0)
		for _, d := range bids[i].Contract.DependsOn {
			if j, ok := at[d]; ok {
				if n := walk(j); n > longest {
					longest, before[i] = n, j
				}
			}
		}
		length[i] = longest + sizes[i].Turns
		return length[i]
	}
	last := unknown
	for i := range bids {
		if walk(i); last == unknown || length[i] > length[last] {
			last = i
		}
	}
	if last == unknown {
		return []ContractID{}, 0
	}
	turns := length[last]
	path := []ContractID{}
	for i := last; i != unknown; i = before[i] {
		path = append(path, bids[i].Contract.ID)
	}
	slices.Reverse(path)
	return path, turns
}

// Bounds of the search for pairs that do not run together: a person reads a
// few, and ten thousand contracts make fifty million pairs.
const (
	maxSerial = 20
	maxLooks  = 500_000 // at pairs and at dependencies
)

// serialPairs are the contracts that may not run at the same time although
// neither depends on the other, in the plan's order. More is set where not all
// were looked for.
func serialPairs(bids []Bid, shared []string) (out []SerialPair, more bool) {
	h := heritage{bids: bids, at: make(map[ContractID]int, len(bids)), left: maxLooks}
	for i, b := range bids {
		h.at[b.Contract.ID] = i
	}
	for i := range bids {
		for j := i + 1; j < len(bids); j++ {
			a, b := bids[i].Contract, bids[j].Contract
			if why, ok := Admissible(b, []Contract{a}, shared); !ok && !h.above(i, j) && !h.above(j, i) {
				out = append(out, SerialPair{A: a.ID, B: b.ID, Why: why})
			}
			if h.left--; h.left < 0 || len(out) > maxSerial {
				return out[:min(len(out), maxSerial)], true
			}
		}
	}
	return out, false
}

// heritage knows who depends on whom.
type heritage struct {
	bids []Bid
	at   map[ContractID]int
	left int // looks; below zero its answers are yes
}

// above tells whether one contract depends on another, directly or not.
func (h *heritage) above(i, on int) bool {
	seen := map[int]bool{i: true}
	for next := []int{i}; len(next) > 0; {
		n := next[len(next)-1]
		next = next[:len(next)-1]
		for _, d := range h.bids[n].Contract.DependsOn {
			if h.left--; h.left < 0 {
				return true
			}
			j, ok := h.at[d]
			if !ok || seen[j] {
				continue
			}
			if j == on {
				return true
			}
			seen[j] = true
			next = append(next, j)
		}
	}
	return false
}

// Unfinished is a contract that has not ended: what it was likely to take when it
// began, and what it has taken by now.
type Unfinished struct {
	Estimate ContractEstimate
	Spent    Spent
}

// RunForecast is what a run is likely to come to: what is spent, and what the
// contracts that have not ended are still estimated at. What nobody has planned yet
// is not in it.
type RunForecast struct {
	Spent Spent  `json:"spent"`
	Low   Spent  `json:"low"`
	Mid   Spent  `json:"likely"`
	High  Spent  `json:"high"`
	Open  int    `json:"open_contracts"`
	Basis string `json:"basis,omitempty"` // what the estimates are made from, for people; empty: nothing is open
	// Planning is set while a lead still plans.
	Planning bool `json:"planning,omitempty"`
	// Unpriced is set where a model has no known price: what it takes is not in the
	// dollars.
	Unpriced bool `json:"unpriced,omitempty"`
}

// left is what is still to come of an estimate, and where more was spent a part of that.
func left[N ~int64](estimate, spent, part N) N {
	if spent < estimate {
		return estimate - spent
	}
	return spent / part
}

// ForecastRun adds up what a run is likely to come to. Of a contract that has taken more
// than it was estimated at nobody knows how far from its end it is: it is likely to take
// a quarter of that again, and at most all of it.
func ForecastRun(spent Spent, open []Unfinished) RunForecast {
	f := RunForecast{Spent: spent, Open: len(open)}
	low, mid, high := USD(spent.USD), USD(spent.USD), USD(spent.USD)
	f.Low.Tokens, f.Mid.Tokens, f.High.Tokens = spent.Tokens, spent.Tokens, spent.Tokens
	var past []int
	for _, c := range open {
		e := c.Estimate
		low += max(0, USD(e.Low.USD)-USD(c.Spent.USD))
		mid += left(USD(e.USD), USD(c.Spent.USD), 4)
		high += left(USD(e.High.USD), USD(c.Spent.USD), 1)
		f.Low.Tokens += max(0, e.Low.Tokens-c.Spent.Tokens)
		f.Mid.Tokens += left(e.Tokens, c.Spent.Tokens, 4)
		f.High.Tokens += left(e.High.Tokens, c.Spent.Tokens, 1)
		f.Unpriced = f.Unpriced || e.Unpriced
		past = append(past, e.Past)
	}
	f.Low.USD, f.Mid.USD, f.High.USD = low.Float(), mid.Float(), high.Float()
	if len(open) > 0 {
		f.Basis = Basis(past)
	}
	return f
}
