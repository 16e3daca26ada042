package effects

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/text/texttest"
)

// No text of an agent, nor any of a repository, makes a line of the merge gate. What is left out of
// what is planted is made of lines by the harness itself, of texts that it quotes.
func TestAgentsMakeNoLinesOfTheGate(t *testing.T) {
	v := texttest.Plant[mergeGateView]("Said", "Report", "Local", "Stat", "Tail")
	for _, unsure := range []bool{false, true} {
		v.NoTests, v.NoneRan, v.TestsRed, v.LintRed, v.Undoes, v.Apart, v.WeakProof = unsure, unsure, unsure, unsure, unsure, unsure, unsure
		body, err := v.render()
		if err != nil {
			t.Fatal(err)
		}
		texttest.Check(t, "the merge gate", body)
		if n := strings.Count(body, "\nChecks of the integrated tree:\n"); n != 1 {
			t.Errorf("%d times the checks:\n%s", n, body)
		}
	}
	for name, s := range map[string]string{"red": redText("c", texttest.Plant[[]agency.Red]()), "doubts": doubtText(nil, texttest.Plant[[]agency.Expectation]())} {
		texttest.Check(t, name, s)
	}
	var r agency.Report
	r.Contracts = []agency.ReportContract{{ID: "a", Status: agency.StatusComplete, Said: texttest.Forged}, {ID: "b", Status: agency.StatusComplete, Said: texttest.Forged}}
	r.Rollup.Total = 2
	texttest.Check(t, "what agents say", saidAt(r))
	r.Contracts, r.Rollup.Total = r.Contracts[:1], 1
	texttest.Check(t, "what an agent says", saidAt(r))
}
