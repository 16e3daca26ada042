package main

import (
	"strings"
	"testing"
)

// Settings stand before a goal that is typed into the application; the goal is kept as it was typed.
func TestTypedGoal(t *testing.T) {
	for line, want := range map[string]struct {
		goal, mode string
		budget     usd
		fault      string
	}{
		"Make  it --fast":                        {goal: "Make  it --fast"},
		" --mode tiered Make it":                 {goal: "Make it", mode: "tiered"},
		"--budget 5 --mode=contract  Make  it":   {goal: "Make  it", mode: "contract", budget: 5},
		"--budget 0 Make it":                     {fault: "--budget 0: want a number of US dollars"},
		"--budget much Make it":                  {fault: "want a number of US dollars"},
		"--yes Make it":                          {fault: "--yes is not known here"},
		"--mode":                                 {},
		"--budget=2.50 -- is no flag of a goal?": {fault: "-- is not known here"},
	} {
		goal, f, err := typedGoal(line)
		if want.fault != "" {
			if err == nil || !strings.Contains(err.Error(), want.fault) {
				t.Errorf("%q: %v", line, err)
			}
			continue
		}
		if err != nil || goal != want.goal || f.mode != want.mode || f.budget != want.budget || f.budgeted != (want.budget > 0) || !f.detach {
			t.Errorf("%q: %q, %+v, %v", line, goal, f, err)
		}
	}
}
