package main

import (
	"context"
	"fmt"
	"time"
)

const demoContracts = 6 // of the team's demo

// demoRow is what a team gains over one agent: the demo of a team of six
// contracts against six demos of one agent. The binary is built for it.
func demoRow() row {
	return row{figures: []string{"demo/team"}, long: true, measure: measureDemo}
}

func measureDemo(ctx context.Context, b *bench) ([]figure, error) {
	bin, home, err := b.installed(ctx)
	if err != nil {
		return nil, err
	}
	demo := func(mode string) func(context.Context) (float64, error) {
		return func(ctx context.Context) (float64, error) {
			begun := time.Now()
			if out, err := home.run(ctx, bin, "demo", "--mode", mode); err != nil {
				return 0, fmt.Errorf("%w: %s", err, out)
			}
			return float64(time.Since(begun)), nil
		}
	}
	single := demo("single")
	if _, err := single(ctx); err != nil { // fills the cache of builds
		return nil, err
	}
	s, err := b.rounds(ctx, contender{"team", demo("multi_agent")}, contender{"single", single})
	if err != nil {
		return nil, err
	}
	return []figure{{"demo/team", median(s["team"]) / (demoContracts * median(s["single"])), atMost(1), []string{
		s.raw("team", 1e9, "s"), s.raw("single", 1e9, "s"),
	}}}, nil
}
