package agency

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

// ForecastRun adds up what a run is likely to come to. A contract that has taken
// more than it was estimated at adds nothing: nobody knows how far from its end it is.
func ForecastRun(spent Spent, open []Unfinished) RunForecast {
	f := RunForecast{Spent: spent, Open: len(open)}
	low, mid, high := USD(spent.USD), USD(spent.USD), USD(spent.USD)
	f.Low.Tokens, f.Mid.Tokens, f.High.Tokens = spent.Tokens, spent.Tokens, spent.Tokens
	var past []int
	for _, c := range open {
		e := c.Estimate
		low += max(0, USD(e.Low.USD)-USD(c.Spent.USD))
		mid += max(0, USD(e.USD)-USD(c.Spent.USD))
		high += max(0, USD(e.High.USD)-USD(c.Spent.USD))
		f.Low.Tokens += max(0, e.Low.Tokens-c.Spent.Tokens)
		f.Mid.Tokens += max(0, e.Tokens-c.Spent.Tokens)
		f.High.Tokens += max(0, e.High.Tokens-c.Spent.Tokens)
		f.Unpriced = f.Unpriced || e.Unpriced
		past = append(past, e.Past)
	}
	f.Low.USD, f.Mid.USD, f.High.USD = low.Float(), mid.Float(), high.Float()
	if len(open) > 0 {
		f.Basis = Basis(past)
	}
	return f
}
