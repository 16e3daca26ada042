package tui

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/api"
)

// inspect names what is red, unproved and edited, in full.
func TestInspectShowsDoubts(t *testing.T) {
	before := true
	d := api.InspectDoc{Contracts: []api.ContractDoc{{
		Contract: agency.Contract{ID: "main", Title: "parse"},
		Red: []agency.Red{{
			Kind: agency.CheckTest, Command: "go test ./...", ExitCode: 1, Before: &before, Failed: 1,
			Tests: []agency.RedTest{{Name: "p.TestOld", Before: true}}, Last: []string{"FAIL \x1b[31mp\x1b[0m"},
		}},
		Unproved: &agency.Unproved{
			Lines: 7, Changed: 41, Files: []agency.UnprovedFile{{Path: "parse.go", Lines: 7, Changed: 41, Where: []string{"parse.go:3-5", "parse.go:9-12"}}},
		},
		Expectations: []agency.Expectation{{Test: "p.TestSum", Before: agency.TestPassed, Now: "failed"}},
	}}}
	want := `  red       test ` + "`go test ./...`" + `: exit code 1; red before too
            failed: p.TestOld (failed before)
            | FAIL p
  unproved  7 of 41 changed lines (no test fails without them): parse.go 7 of 41
            parse.go:3-5, parse.go:9-12
  edited    edited expectations: 1 test fails in its old form: p.TestSum
            p.TestSum: passed on the base, failed in its old form now
`
	if got := Inspect(Style{}, d); !strings.Contains(got, want) {
		t.Errorf("inspect does not say\n%s\nbut\n%s", want, got)
	}
	d.Contracts[0].Red, d.Contracts[0].Unproved, d.Contracts[0].Expectations = nil, nil, nil
	if got := Inspect(Style{}, d); strings.Contains(got, "unproved") || strings.Contains(got, "edited") {
		t.Errorf("doubts where there are none:\n%s", got)
	}
}
