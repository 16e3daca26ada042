package verify

import (
	"context"
	"slices"

	"agency/internal/agency"
	"agency/internal/check"
)

// maxReruns is how many newly red tests are run again: with more of them the
// change, not chance, is at work.
const maxReruns = 40

// claimReruns is how often a newly red test runs alone on the claim (DESIGN 8).
const claimReruns = 2

// flaky runs newly red tests alone, twice on the claim and once on the base,
// and names those whose results are mixed.
func (j *job) flaky(ctx context.Context, cmd check.Command, c comparison, before suite, claim, base *bench) ([]string, error) {
	red := append(slices.Clone(c.regressed), c.newRed...)
	line, ok := check.Rerun(cmd.Line, red)
	if len(red) == 0 || len(red) > maxReruns || !ok {
		return nil, nil
	}
	claim.renew()
	mixed := map[string]bool{}
	for range claimReruns {
		r, err := claim.fresh(ctx, check.Command{Kind: cmd.Kind, Line: line, Timeout: cmd.Timeout})
		if err != nil {
			return nil, err
		}
		note(mixed, red, readSuite(r), agency.TestPassed)
	}
	known := slices.DeleteFunc(slices.Clone(red), func(t string) bool { return before.tests[t] != agency.TestPassed })
	if line, ok = check.Rerun(cmd.Line, known); ok && len(known) > 0 {
		base.renew()
		r, err := base.fresh(ctx, check.Command{Kind: cmd.Kind, Line: line, Timeout: cmd.Timeout})
		if err != nil {
			return nil, err
		}
		note(mixed, known, readSuite(r), agency.TestFailed)
	}
	return slices.DeleteFunc(red, func(t string) bool { return !mixed[t] }), nil
}

// note marks the tests whose result differs from what it was before.
func note(mixed map[string]bool, tests []string, s suite, other agency.TestStatus) {
	for _, t := range tests {
		if s.tests[t] == other {
			mixed[t] = true
		}
	}
}
