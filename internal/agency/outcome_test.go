package agency

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// ended is an outcome whose attempts each took turns of 1000 new and 100 answered
// tokens.
func ended(role RoleID, size Complexity, complete bool, turns ...int64) Outcome {
	o := Outcome{Role: role, Duty: DutyWork, Complexity: size, Complete: complete, Attempts: len(turns), Mode: ModeMultiAgent, Seconds: 10}
	for i, n := range turns {
		p := Part{Model: fmt.Sprintf("p/m%d", i), Effort: Effort{n, Usage{In: 1000 * n, Out: 100 * n}}, Tokens: 1100 * n, CostUSD: float64(n)}
		o.Tries, o.Tokens, o.CostUSD = append(o.Tries, Try{[]Part{p}}), o.Tokens+p.Tokens, o.CostUSD+p.CostUSD
	}
	return o
}

// times are n outcomes alike.
func times(n int, o Outcome) (out []Outcome) {
	for range n {
		out = append(out, o)
	}
	return out
}

func TestStatsOf(t *testing.T) {
	red := ended("cleanup", Large, false, 1, 1, 1)
	red.Kind = TypeRefactor
	got := StatsOf([]Outcome{ended("scaffolder", Small, true, 2), ended("scaffolder", Small, true, 3, 4), red})
	total := Rate{
		Contracts: 3, Complete: 2, SuccessRate: 2.0 / 3, FirstAttempts: 3, FirstSuccesses: 1, FirstRate: 1.0 / 3, Attempts: 6,
		Tokens: 1100 * 12, MedianTokens: 1100 * 3, CostUSD: 12, MedianCostUSD: 3, Seconds: 30, MedianSeconds: 10,
	}
	near := cmpopts.EquateApprox(0, 1e-9)
	if diff := cmp.Diff(total, got.Total, near); diff != "" {
		t.Error(diff)
	}
	if r := got.ByRole["scaffolder"]; r.Contracts != 2 || r.SuccessRate != 1 || r.FirstRate != 0.5 {
		t.Errorf("scaffolder: %+v", r)
	}
	if r := got.ByComplexity[Large]; r.Contracts != 1 || r.SuccessRate != 0 || r.Attempts != 3 {
		t.Errorf("large: %+v", r)
	}
	if got.ByKind["none"].Contracts != 2 || got.ByKind["refactor"].Contracts != 1 || got.ByMode[ModeMultiAgent].Contracts != 3 {
		t.Errorf("kinds %v, modes %v", got.ByKind, got.ByMode)
	}
	// The first model began all three and ended one; the second one ended the other.
	first := Rate{
		Contracts: 3, Complete: 1, SuccessRate: 1.0 / 3, FirstAttempts: 3, FirstSuccesses: 1, FirstRate: 1.0 / 3, Attempts: 3,
		Tokens: 1100 * 6, MedianTokens: 1100 * 2, CostUSD: 6, MedianCostUSD: 2,
	}
	if diff := cmp.Diff(first, got.ByModel["p/m0"], near); diff != "" {
		t.Error(diff)
	}
	if r := got.ByModel["p/m1"]; r.Contracts != 2 || r.Complete != 1 || r.FirstAttempts != 0 || r.FirstRate != 0 {
		t.Errorf("the second model: %+v", r)
	}
	if diff := cmp.Diff(Rate{}, StatsOf(nil).Total); diff != "" {
		t.Error(diff)
	}
}

// Where several models answered in an attempt it is that of whoever gave most of the
// answers; each is paid for what it took.
func TestStatsOfWhoAnswered(t *testing.T) {
	of := func(complete bool, parts ...Part) Outcome {
		o := Outcome{Duty: DutyWork, Complete: complete, Attempts: 1, Tries: []Try{{}}}
		for _, p := range parts {
			o.Tries[0].Add(p)
		}
		return o
	}
	answered := func(model string, turns int64) Part { return Part{Model: model, Effort: Effort{Turns: turns}} }
	paid := func(model string, usd float64) Part { return Part{Model: model, Tokens: 10, CostUSD: usd} }
	got := StatsOf([]Outcome{
		of(true, answered("p/first", 1), answered("p/other", 3), paid("p/first", 1), paid("p/other", 2)),
		of(false, answered("p/first", 2), answered("p/other", 2), paid("p/first", 1), paid("p/other", 0.5)),
		of(true, answered("p/other", 1), paid("p/other", 1), paid("p/lost", 4)),
	}).ByModel
	for model, want := range map[string]Rate{
		"p/first": {Contracts: 1, FirstAttempts: 1, Attempts: 1, Tokens: 20, MedianTokens: 10, CostUSD: 2, MedianCostUSD: 1},
		"p/other": {
			Contracts: 3, Complete: 2, SuccessRate: 2.0 / 3, FirstAttempts: 3, FirstSuccesses: 2, FirstRate: 2.0 / 3, Attempts: 3,
			Tokens: 30, MedianTokens: 10, CostUSD: 3.5, MedianCostUSD: 1,
		},
		"p/lost": {Tokens: 10, CostUSD: 4},
	} {
		if diff := cmp.Diff(want, got[model], cmpopts.EquateApprox(0, 1e-9)); diff != "" {
			t.Errorf("%s: %s", model, diff)
		}
	}
}

func TestPercentile(t *testing.T) {
	var values []int
	for i := range 20 {
		values = append(values, 20-i)
	}
	for p, want := range map[int]int{0: 1, 10: 2, 50: 10, 90: 18, 100: 20} {
		if got := percentile(values, p); got != want {
			t.Errorf("%d of 100: %d, want %d", p, got, want)
		}
	}
	if percentile([]int{7}, 10) != 7 || percentile[int](nil, 50) != 0 {
		t.Error("of one it is that one, of none 0")
	}
}

func TestLike(t *testing.T) {
	mine, other := ended("scaffolder", Small, true, 1), ended("cleanup", Small, true, 1)
	lead := ended("project_manager", Small, true, 1)
	lead.Duty = DutyLead
	for name, tt := range map[string]struct {
		past []Outcome
		want int
	}{
		"nothing":            {nil, 0},
		"enough of the role": {append(times(20, mine), times(30, other)...), 20},
		"too few of the role, enough of the size": {append(times(19, mine), times(3, other)...), 22},
		"too few of either":                       {append(times(2, mine), times(3, other)...), 2},
		"none of the role":                        {times(3, other), 3},
		"other sizes do not count":                {times(30, ended("scaffolder", Large, true, 1)), 0},
		"who plans is not who works":              {times(30, lead), 0},
	} {
		if got := len(Like(tt.past, "scaffolder", Small)); got != tt.want {
			t.Errorf("%s: %d, want %d", name, got, tt.want)
		}
	}
}

func TestEstimateFromPast(t *testing.T) {
	var past []Outcome
	for i := range 20 {
		o := ended("scaffolder", Small, true, int64(i+1)) // 1 to 20 turns
		o.Review = Effort{1, Usage{In: 500}}
		past = append(past, o)
	}
	b := bidOn("a", Small, "a.go")
	b.Contract.AssignedRole = "scaffolder"
	table := b.Estimate(nil)
	half, double := Amount{3, table.Tokens / 2, table.USD / 2}, Amount{12, table.Tokens * 2, table.USD * 2}
	if table.Turns != 6 || table.Past != 0 || table.Low != half || table.High != double {
		t.Errorf("from the table: %+v", table)
	}

	// At 1 a million tokens in and 5 out a turn is 1500 millionths.
	got := b.Estimate(past)
	want := Amount{10, 11_000, 0.015}
	if (Amount{got.Turns, got.Tokens, got.USD}) != want || got.Low != (Amount{2, 2200, 0.003}) || got.High != (Amount{18, 19_800, 0.027}) || got.Past != 20 {
		t.Errorf("from twenty: %+v", got)
	}
	if got.Attempts != table.Attempts || got.WorstTokens != table.WorstTokens || got.WorstUSD != table.WorstUSD {
		t.Errorf("the worst case is what is allowed, whatever was: %+v", got)
	}
	reader := b.Work
	b.Review = &reader
	if got := b.Estimate(past); got.Turns != 11 || got.Tokens != 11_500 || got.USD != 0.0155 {
		t.Errorf("with who reads: %+v", got)
	}
	b.Review = nil

	few := b.Estimate(past[:19])
	if few.Turns != 6 || few.Tokens != table.Tokens || few.Past != 19 || few.Low.Turns != 1 || few.High.Turns != 19 {
		t.Errorf("from nineteen the table counts, in a range of both: %+v", few)
	}
	if one := b.Estimate(past[9:10]); one.Low.Turns != 6 || one.High.Turns != 10 {
		t.Errorf("from one: %+v", one)
	}
	b.Work.First.Price = nil
	if got := b.Estimate(past); got.USD != 0 || !got.Unpriced || got.Tokens != 11_000 {
		t.Errorf("without a price: %+v", got)
	}
}

func TestBasis(t *testing.T) {
	for want, past := range map[string][]int{
		"from a table, no past contract known":                                                    {0, 0},
		"from 34 past contracts of this size":                                                     {34, 34},
		"from 20 to 34 past contracts of each size":                                               {20, 34},
		"from a table, the range also from 1 past contract of this size: 20 are enough":           {1},
		"from a table, the range also from at most 3 past contracts of each size: 20 are enough":  {0, 3},
		"1 of 2 from past contracts of their size, the others from a table":                       {20, 0},
		"1 of 2 from past contracts of their size, the others from a table and too few past ones": {20, 19},
	} {
		if got := Basis(past); got != want {
			t.Errorf("%v: %q, want %q", past, got, want)
		}
	}
}

// The bounds are those of R's binom.confint(k, n, methods = "wilson").
func TestPoor(t *testing.T) {
	for _, tt := range []struct {
		tried, held int
		upper       float64
		poor        bool
	}{
		{20, 0, 0.1611, true},
		{20, 5, 0.4687, true},
		{20, 6, 0.5185, false},
		{19, 0, 0.1682, false},
		{100, 39, 0.4880, true},
		{100, 40, 0.4980, true},
		{100, 41, 0.5080, false},
		{20, 20, 1, false},
	} {
		if got := wilsonUpper(tt.held, tt.tried); got < tt.upper-0.001 || got > tt.upper+0.001 {
			t.Errorf("%d of %d: at most %.4f, want %.4f", tt.held, tt.tried, got, tt.upper)
		}
		if got := Poor(tt.tried, tt.held); got != tt.poor {
			t.Errorf("%d of %d: poor %v", tt.held, tt.tried, got)
		}
	}
}

func TestDecideByPast(t *testing.T) {
	by := Routing{Strategy: RouteByComplexity, Bounds: DefaultBounds()}
	red := ended("scaffolder", Small, true, 1, 1)
	red.Level, red.Raised = FastCheap, 1
	conflict := red // a second attempt that no failure of the work made
	conflict.Raised = 0
	other := red
	other.Role = "cleanup"
	at := func(l Level) Outcome { o := red; o.Level = l; return o }
	large := at(ReasoningHeavy)
	large.Complexity = Large
	for name, tt := range map[string]struct {
		c     Contract
		past  []Outcome
		level Level
		says  string
	}{
		"poor":                     {sized(1, 0, 1), times(20, red), Capable, "one level more: on fast-cheap 0 of 20 first attempts at such work held"},
		"too few":                  {sized(1, 0, 1), times(19, red), FastCheap, ""},
		"of another role":          {sized(1, 0, 1), times(20, other), FastCheap, ""},
		"of another level":         {sized(1, 0, 1), times(20, at(Capable)), FastCheap, ""},
		"others were faster":       {sized(1, 0, 1), times(20, conflict), FastCheap, ""},
		"not clear":                {sized(1, 0, 1), append(times(14, red), times(6, conflict)...), FastCheap, ""},
		"nothing is above the top": {sized(6, 1, 4), times(20, large), ReasoningHeavy, ""},
	} {
		r := by.Decide(tt.c, Before{Past: tt.past}, 0)
		if r.Level != tt.level {
			t.Errorf("%s: %+v, want %s", name, r, tt.level)
		}
		if says := len(r.Reason) >= len(tt.says) && r.Reason[len(r.Reason)-len(tt.says):] == tt.says; !says || tt.says == "" && len(r.Reason) > 80 {
			t.Errorf("%s: %q, want %q", name, r.Reason, tt.says)
		}
	}
}

func TestExpectUsage(t *testing.T) {
	past := append(times(10, ended("scaffolder", Small, true, 2, 4)), times(11, ended("scaffolder", Small, true, 9))...)
	if u, n := ExpectUsage(past, "scaffolder", Small); n != 21 || u.In != 9000 || u.Out != 900 {
		t.Errorf("%+v from %d", u, n)
	}
	if u, n := ExpectUsage(past[:19], "scaffolder", Small); n != 0 || u != EstimateUsage(Small) {
		t.Errorf("%+v from %d", u, n)
	}
}

func TestForecastRun(t *testing.T) {
	e := ContractEstimate{Tokens: 100, USD: 1, Low: Amount{Tokens: 50, USD: 0.5}, High: Amount{Tokens: 300, USD: 3}}
	told := e
	told.Past = 20
	for name, tt := range map[string]struct {
		open []Unfinished
		want RunForecast
	}{
		"nothing is open": {nil, RunForecast{Low: Spent{10, 1000}, Mid: Spent{10, 1000}, High: Spent{10, 1000}}},
		"one begins":      {[]Unfinished{{e, Spent{}}}, RunForecast{Low: Spent{10.5, 1050}, Mid: Spent{11, 1100}, High: Spent{13, 1300}, Open: 1, Basis: "from a table, no past contract known"}},
		"what it has taken is not taken again": {
			[]Unfinished{{told, Spent{0.75, 75}}},
			RunForecast{Low: Spent{10, 1000}, Mid: Spent{10.25, 1025}, High: Spent{12.25, 1225}, Open: 1, Basis: "from 20 past contracts of this size"},
		},
		"one that took more is likely to take some of that again, and nothing from others": {
			[]Unfinished{{e, Spent{5, 500}}, {e, Spent{}}},
			RunForecast{Low: Spent{10.5, 1050}, Mid: Spent{12.25, 1225}, High: Spent{18, 1800}, Open: 2, Basis: "from a table, no past contract known"},
		},
	} {
		tt.want.Spent = Spent{10, 1000}
		if diff := cmp.Diff(tt.want, ForecastRun(Spent{10, 1000}, tt.open)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// Odds are of work alone, and say nothing of too little of it.
func TestOdds(t *testing.T) {
	work := func(complete bool, attempts int, tokens int64) Outcome {
		return Outcome{Duty: DutyWork, Complete: complete, Attempts: attempts, Tokens: tokens, CostUSD: float64(tokens) / 100}
	}
	past := []Outcome{
		work(true, 1, 100), {Duty: DutyReview, Complete: true, Attempts: 1}, work(true, 1, 200), work(true, 3, 900), {Duty: DutyLead},
	}
	for _, tt := range []struct {
		past []Outcome
		want string
	}{
		{nil, "no contract has ended here yet: nothing says how likely that is"},
		{past, "3 contracts have ended here so far, too few to say how likely that is"},
		{append(past, work(false, 3, 5000), work(true, 1, 200)), "of 5 contracts here so far 3 held at the first attempt, 1 at a later one, 1 at none"},
	} {
		if got := OddsOf(tt.past).String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if o := OddsOf(append(past, work(false, 3, 5000))); o.Tokens != 200 || o.USD != 2 {
		t.Errorf("what held took %d tokens, $%v", o.Tokens, o.USD)
	}
}
