package native

import (
	"strings"
	"testing"

	"agency/internal/session"
)

// A manager that reports ends by its words, and cannot plan again.
func TestFinalReport(t *testing.T) {
	k, s := drafting(t, submit(good), calls("final_report", `{"report":" "}`), calls("final_report", `{"report":"All is well.","format":"markdown"}`))
	s.Report = true
	out := k.must(s)
	if out.Kind != session.Reported || out.Report != "All is well." {
		t.Fatalf("ended %+v", out)
	}
	first, last := string(k.model.seen[0]), string(k.model.seen[len(k.model.seen)-1])
	if !strings.Contains(first, `"final_report"`) || strings.Contains(first, `"submit_plan"`) || strings.Contains(first, "request_human_input") {
		t.Error("it is not offered what it may call")
	}
	for _, want := range []string{"there is no tool", "the report is empty"} {
		if !strings.Contains(last, want) {
			t.Errorf("it was not told %q", want)
		}
	}
	checkRequests(t, k.model)
}

// One that plans cannot report.
func TestNoReportBeforeThePlan(t *testing.T) {
	k, s := drafting(t, calls("final_report", `{"report":"done"}`), submit(good))
	if out := k.must(s); out.Kind != session.Planned {
		t.Fatalf("ended %+v", out)
	}
}
