package agency

import (
	"cmp"
	"fmt"
	"math"
	"slices"
)

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
		return "from a table, nothing known yet"
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
