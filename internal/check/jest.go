package check

import (
	"encoding/json"
	"slices"
	"strings"

	"agency/internal/agency"
)

// jestReport is what `jest --json` and Vitest's json reporter write.
type jestReport struct {
	TestResults []struct {
		Name             string          `json:"name"` // the file
		Status           string          `json:"status"`
		Message          string          `json:"message"`
		AssertionResults []jestAssertion `json:"assertionResults"`
	} `json:"testResults"`
}

type jestAssertion struct {
	AncestorTitles  []string `json:"ancestorTitles"`
	Title           string   `json:"title"`
	Status          string   `json:"status"`
	FailureMessages []string `json:"failureMessages"`
}

// parseJest adds the results of one report to t.
func parseJest(doc []byte, p paths, t *tally) (complete bool) {
	var r jestReport
	if json.Unmarshal(doc, &r) != nil || r.TestResults == nil {
		return false
	}
	seen := map[string]int{}
	for _, f := range r.TestResults {
		failed := false
		for _, a := range f.AssertionResults {
			status := jestStatus(a.Status)
			failed = failed || status == agency.TestFailed
			out := strings.Join(a.FailureMessages, "\n")
			name := slices.DeleteFunc(append(slices.Clone(a.AncestorTitles), a.Title), func(s string) bool { return s == "" }) // Vitest's root has no title
			addEvent(reportEvent{File: f.Name, Name: name, Status: status, Out: clip(ansi.ReplaceAllString(out, ""), maxTestOutput)}, p, t, seen)
		}
		if f.Status == "failed" && !failed { // the file could not be loaded, or a hook failed
			addEvent(reportEvent{File: f.Name, Status: agency.TestFailed, Out: clip(ansi.ReplaceAllString(f.Message, ""), maxTestOutput)}, p, t, seen)
		}
	}
	return true
}

func jestStatus(s string) agency.TestStatus {
	switch s {
	case "passed":
		return agency.TestPassed
	case "failed":
		return agency.TestFailed
	default: // pending, skipped, todo, disabled, focused
		return agency.TestSkipped
	}
}
