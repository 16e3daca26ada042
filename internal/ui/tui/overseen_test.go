package tui

import (
	"strings"
	"testing"

	"agency/internal/agency"
)

// What acted is shown in full, what was only logged is counted by behaviour.
func TestInterventionsThatOnlyLoggedAreCounted(t *testing.T) {
	noted := agency.Intervention{Action: "log", Agent: "a", Cause: "scope_creep", Reason: "scope creep: much"}
	waits := agency.Intervention{Action: "log", Agent: "a", Cause: "looping", Reason: "looping: again", Cooldown: 60}
	nudge := agency.Intervention{
		Action: "nudge", Agent: "a", Cause: "looping", Reason: "looping: 5 times read_file main.go",
		After: agency.Aftermath{Outcome: agency.AfterEnded, Turns: 3, What: "claimed: done"},
	}
	got := interventions(Style{}, []agency.Intervention{noted, nudge, noted, waits, noted})
	for _, want := range []string{
		"nudge     a: looping: 5 times read_file main.go\n", "then its session ended 3 turns later: claimed: done\n",
		"  scope creep: 3 times seen and only logged\n", "  looping: 1 time seen and only logged; 1 nudge waited for the cooldown of 60s\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "nothing yet") || strings.Count(got, "\n") != 6 {
		t.Errorf("what was only logged is shown:\n%s", got)
	}
	ev := agency.NewEvent("r", agency.SeverityInfo, "seen: looping: "+strings.Repeat("word ", 20)+"internal/far/away.go", agency.Log{})
	if text := fitted(ev.Summary, 60, 4, telling(ev)); !strings.Contains(text, "internal/far/away.go") {
		t.Errorf("the evidence is cut:\n%s", text)
	}
}
