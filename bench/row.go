package main

import (
	"context"
	"fmt"
	"slices"
)

// row measures one or more figures in the same rounds.
type row struct {
	figures []string // the names of what it gives
	cheap   bool     // belongs to -short
	long    bool     // only with -long
	measure func(context.Context, *bench) ([]figure, error)
}

// figure is one line of the table.
type figure struct {
	name  string
	ratio float64
	aim   aim
	raw   []string // what was measured, for -v
}

// aim is the bound that a ratio shall keep.
type aim struct {
	least bool // the ratio shall not be smaller, else not larger
	bound float64
}

func atMost(v float64) aim  { return aim{false, v} }
func atLeast(v float64) aim { return aim{true, v} }

func (a aim) kept(ratio float64) bool {
	if a.least {
		return ratio >= a.bound
	}
	return ratio <= a.bound
}

// within tells whether a figure misses the aim by a part of it at most.
func (a aim) within(ratio, part float64) bool {
	if a.least {
		part = -part
	}
	return aim{a.least, a.bound * (1 + part)}.kept(ratio)
}

func (a aim) String() string {
	if a.least {
		return fmt.Sprintf(">=%g", a.bound)
	}
	return fmt.Sprintf("<=%g", a.bound)
}

func (f figure) verdict() string {
	if f.aim.kept(f.ratio) {
		return "ok"
	}
	return "short"
}

// contender is one side of a comparison. It gives one sample, whose unit is
// the row's affair.
type contender struct {
	name string
	once func(context.Context) (float64, error)
}

// samples are what the rounds gave, by contender.
type samples map[string][]float64

// rounds lets the contenders measure in turn, each round in the opposite order
// of the one before, so that what drifts on the machine cancels.
func (b *bench) rounds(ctx context.Context, contenders ...contender) (samples, error) {
	out := samples{}
	for round := range b.n {
		order := slices.Clone(contenders)
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, c := range order {
			v, err := c.once(ctx)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.name, err)
			}
			out[c.name] = append(out[c.name], v)
		}
	}
	return out, nil
}

// ratio is the median of the rounds' own ratios.
func (s samples) ratio(a, b string) float64 {
	out := make([]float64, len(s[a]))
	for i := range out {
		out[i] = s[a][i] / s[b][i]
	}
	return median(out)
}

// raw shows a contender's samples, scaled to a unit.
func (s samples) raw(name string, scale float64, unit string) string {
	v := s[name]
	return fmt.Sprintf("%-14s %10.4g %s (%.4g to %.4g)", name, median(v)/scale, unit, slices.Min(v)/scale, slices.Max(v)/scale)
}

func median(v []float64) float64 {
	v = slices.Sorted(slices.Values(v))
	if n := len(v); n%2 == 0 {
		return (v[n/2-1] + v[n/2]) / 2
	}
	return v[len(v)/2]
}
