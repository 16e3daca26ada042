package agency

import (
	"fmt"
	"math"
	"strconv"
)

// Money is an amount in billionths of a US dollar. Integers, so that a sum
// over a thousand turns equals the sum of its parts.
type Money int64

// Dollar is one US dollar.
const Dollar Money = 1_000_000_000

// USD converts from dollars, rounding to the nearest unit.
func USD(v float64) Money { return Money(math.Round(v * float64(Dollar))) }

// Float is the amount in dollars, for JSON.
func (m Money) Float() float64 { return float64(m) / float64(Dollar) }

// String prints dollars: four digits below one cent's reach, else two.
func (m Money) String() string {
	if m != 0 && m < Dollar/10 && m > -Dollar/10 {
		return fmt.Sprintf("$%.4f", m.Float())
	}
	return fmt.Sprintf("$%.2f", m.Float())
}

// Amount is the amount as people read it; unpriced: some of what it is of, or where it is
// nothing all of that, has no known price. Whoever shows money says it so.
func (m Money) Amount(unpriced bool) string {
	switch {
	case !unpriced:
		return m.String()
	case m == 0:
		return "unpriced"
	}
	return m.String() + " + unpriced"
}

// Cents is the amount rounded up to a whole cent, the least that holds it and is
// typed without a row of digits.
func (m Money) Cents() Money {
	const cent = Dollar / 100
	return (m + cent - 1) / cent * cent
}

// Typed is the amount in dollars as it is typed after --budget and in files: 5, 0.05.
func (m Money) Typed() string { return strconv.FormatFloat(m.Float(), 'f', -1, 64) }

// MostUSD is the highest limit that may be set, in dollars.
const MostUSD = 1_000_000

// Usage counts tokens of model requests. In is the whole prompt, of which
// Cached were read from and CacheWrite written to the provider's prompt cache.
type Usage struct {
	In         int64 `json:"tokens_in"`
	Cached     int64 `json:"tokens_cached"`
	CacheWrite int64 `json:"tokens_cache_write,omitempty"`
	Out        int64 `json:"tokens_out"`
	// Estimated is set where the provider gave no counts and the harness
	// counted bytes.
	Estimated bool `json:"estimated,omitempty"`
}

// Add sums two usages.
func (u Usage) Add(v Usage) Usage {
	return Usage{
		In: u.In + v.In, Cached: u.Cached + v.Cached, CacheWrite: u.CacheWrite + v.CacheWrite,
		Out: u.Out + v.Out, Estimated: u.Estimated || v.Estimated,
	}
}

// Billed is what counts against token limits: output plus uncached input
// (docs/design.md, Promises).
func (u Usage) Billed() int64 { return u.Out + max(0, u.In-u.Cached) }

// Price is what a model costs, in dollars per million tokens.
type Price struct {
	In       float64 `json:"in" yaml:"in"`
	CachedIn float64 `json:"cached_in" yaml:"cached_in"`
	Out      float64 `json:"out" yaml:"out"`
	// Long holds for requests with a long prompt; nil: there is one price.
	Long *LongPrice `json:"long,omitempty" yaml:"-"`
}

// LongPrice is what a whole request costs whose prompt has more than Above
// tokens, in dollars per million tokens.
type LongPrice struct {
	Above    int64   `json:"above"`
	In       float64 `json:"in"`
	CachedIn float64 `json:"cached_in"`
	Out      float64 `json:"out"`
}

// For is the price of a request whose prompt has so many tokens.
func (p Price) For(promptTokens int64) Price {
	if p.Long == nil || promptTokens <= p.Long.Above {
		return Price{In: p.In, CachedIn: p.CachedIn, Out: p.Out}
	}
	return Price{In: p.Long.In, CachedIn: p.Long.CachedIn, Out: p.Long.Out}
}

// cacheWriteFactor is the surcharge on prompt tokens written to a cache, the
// highest that a provider's price list shows for short-lived caches.
const cacheWriteFactor = 1.25

// Cost is what a usage costs at this price.
func (p Price) Cost(u Usage) Money {
	p = p.For(u.In)
	plain := float64(max(0, u.In-u.Cached-u.CacheWrite))
	perMillion := plain*p.In + float64(u.Cached)*p.CachedIn +
		float64(u.CacheWrite)*p.In*cacheWriteFactor + float64(u.Out)*p.Out
	return Money(math.Ceil(min(perMillion*float64(Dollar)/1e6, mostCost)))
}

// mostCost bounds what one request is said to cost, in billionths of a dollar:
// nine million dollars, so that the sum over a thousand absurd counts is still
// a number.
const mostCost = 1 << 53

// Most is the most that a request of so many tokens can cost, whatever of its
// prompt a cache reads or writes.
func (p Price) Most(in, out int64) Money {
	return max(p.Cost(Usage{In: in, Out: out}), p.Cost(Usage{In: in, CacheWrite: in, Out: out}), p.Cost(Usage{In: in, Cached: in, Out: out}))
}

// Count is a number of tokens for people, in thousands or millions where it is
// large.
func Count(n int64) string {
	switch {
	case n >= 10_000_000:
		return fmt.Sprintf("%d M", n/1_000_000)
	case n >= 1_000_000:
		return fmt.Sprintf("%.1f M", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%d k", n/1000)
	default:
		return fmt.Sprint(n)
	}
}

// Things is a number of things for people: 1 file, 2 files.
func Things(n int, one, many string) string {
	if n == 1 {
		many = one
	}
	return fmt.Sprintf("%d %s", n, many)
}

// AllUsed says that so many attempts are used; at is what they were at, behind a
// blank, or empty.
func AllUsed(attempts int, at string) string {
	if attempts == 1 {
		return "the only attempt" + at + " is used"
	}
	return fmt.Sprintf("all %d attempts%s are used", attempts, at)
}
