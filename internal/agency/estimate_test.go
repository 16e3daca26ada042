package agency

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func bidOn(id ContractID, size Complexity, writes string, after ...ContractID) Bid {
	priced := Offer{Model: "p/m", Price: &Price{In: 1, CachedIn: 0.1, Out: 5}, Window: 200_000}
	staff := Staffing{First: priced, May: []Offer{priced}, Tokens: 100_000, Turns: 50}
	b := Bid{Contract: Contract{ID: id, RetryBudget: 3, DependsOn: after}, Route: Route{Complexity: size}, Work: staff}
	if writes != "" {
		b.Contract.Writes = []string{writes}
	}
	return b
}

func TestEstimatePlan(t *testing.T) {
	a, b, c := bidOn("a", Small, "a.go"), bidOn("b", Large, "b.go"), bidOn("c", Medium, "a.go", "b")
	d, e := bidOn("d", Small, "", "a"), bidOn("e", Small, "")
	e.Looks = true
	unpriced := Offer{Model: "p/free"}
	d.Work.First, d.Work.May = unpriced, []Offer{unpriced}
	reader := a.Work
	c.Review, c.Works, c.Reads = &reader, 2, 10
	got := EstimatePlan([]Bid{a, b, c, d, e}, nil, nil)

	if want := []ContractID{"b", "c"}; !slices.Equal(got.Path, want) || got.PathTurns != 25+12+6 {
		t.Errorf("the critical path is %v, %d turns", got.Path, got.PathTurns)
	}
	if got.Turns != 6+25+12+6+6+6 {
		t.Errorf("%d turns", got.Turns)
	}
	// A session is 100 000 tokens at 5 dollars a million and 50 prompts of 100 000
	// from the cache at 0.1: a dollar. Of c there are two and ten an attempt.
	if got.Attempts != 15 || got.WorstTokens != 100_000*(3+3+3*12+3+3) || got.WorstUSD != 3+3+3*12+3 {
		t.Errorf("at worst %d attempts, %d tokens, $%v", got.Attempts, got.WorstTokens, got.WorstUSD)
	}
	price := *a.Work.First.Price
	want := price.Cost(EstimateUsage(Small))*3 + price.Cost(EstimateUsage(Large)) + price.Cost(EstimateUsage(Medium))
	if got.USD != want.Float() || got.Tokens != 4*EstimateUsage(Small).Billed()+EstimateUsage(Large).Billed()+EstimateUsage(Medium).Billed() {
		t.Errorf("about $%v, %d tokens; want $%v", got.USD, got.Tokens, want.Float())
	}
	var usd float64
	var worst int64
	for _, one := range got.Contracts {
		usd, worst = usd+one.USD, worst+one.WorstTokens
	}
	if diff := usd - got.USD; worst != got.WorstTokens || diff > 1e-9 || diff < -1e-9 {
		t.Errorf("the contracts come to $%v and %d tokens, the plan to $%v and %d", usd, worst, got.USD, got.WorstTokens)
	}
	if !slices.Equal(got.Unpriced, []string{"p/free"}) || !got.Contracts[3].Unpriced || got.Contracts[0].Unpriced {
		t.Errorf("unpriced: %v", got.Unpriced)
	}
	if !slices.Equal(got.Unbounded, []ContractID{"d"}) {
		t.Errorf("unbounded: %v", got.Unbounded)
	}
	serial := []SerialPair{{A: "a", B: "c", Why: "a.go is also written by a (a.go)"}}
	if diff := cmp.Diff(serial, got.Serial); diff != "" || got.SerialMore {
		t.Errorf("what does not run together (-want +got):\n%s", diff)
	}
}

// One that depends on another is no pair that only its files keep apart, nor is
// one whose files are shared.
func TestEstimateSerial(t *testing.T) {
	chain := []Bid{bidOn("a", Small, "x.go"), bidOn("b", Small, "y.go", "a"), bidOn("c", Small, "x.go", "b")}
	if got := EstimatePlan(chain, nil, nil).Serial; len(got) > 0 {
		t.Errorf("a chain: %v", got)
	}
	if got := EstimatePlan([]Bid{bidOn("a", Small, "go.sum"), bidOn("b", Small, "go.sum")}, nil, []string{"go.sum"}).Serial; len(got) > 0 {
		t.Errorf("shared: %v", got)
	}
	beside := []Bid{bidOn("a", Small, "x.go"), bidOn("b", Small, "y.go")}
	beside[1].Contract.ExecutionMode = ExecutionSequential
	if got := EstimatePlan(beside, nil, nil).Serial; len(got) != 1 {
		t.Errorf("sequential: %v", got)
	}
}

// A large plan is estimated, and not for minutes.
func TestEstimateLarge(t *testing.T) {
	bids := make([]Bid, 10_000)
	for i := range bids {
		bids[i] = bidOn(ContractID(fmt.Sprintf("c%d", i)), Small, "all.go")
		if i > 0 {
			bids[i].Contract.DependsOn = []ContractID{ContractID(fmt.Sprintf("c%d", i-1))}
		}
	}
	if got := EstimatePlan(bids, nil, nil); len(got.Path) != 10_000 || got.Attempts != 30_000 || !got.SerialMore {
		t.Errorf("a path of %d, %d attempts, more %v", len(got.Path), got.Attempts, got.SerialMore)
	}
	if got := EstimatePlan(nil, nil, nil); len(got.Path) != 0 {
		t.Errorf("nothing: %v", got)
	}
}
