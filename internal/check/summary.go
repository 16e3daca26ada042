package check

import (
	"fmt"
	"strings"

	"agency/internal/agency"
)

// namesShown is how many failed tests a summary names.
const namesShown = 30

// Headline is a receipt in one line, for logs.
func Headline(r agency.Receipt) string {
	return fmt.Sprintf("`%s`: %s", r.Command, result(r))
}

func result(r agency.Receipt) string {
	var parts []string
	if r.Parsed || len(r.Tests) > 0 {
		parts = append(parts, counts(r))
	}
	if r.ExitCode != 0 || len(parts) == 0 {
		parts = append(parts, fmt.Sprintf("exit code %d", r.ExitCode))
	}
	if why := ended(r); why != "" {
		parts = append(parts, why)
	}
	return strings.Join(parts, ", ")
}

func counts(r agency.Receipt) string {
	return fmt.Sprintf("passed %d, failed %d, skipped %d", r.Passed, r.Failed, r.Skipped)
}

// ended says why a command did not end by itself.
func ended(r agency.Receipt) string {
	switch r.Cause {
	case "":
		return ""
	case CauseIncomplete:
		return "output cut: results are missing"
	default:
		return "stopped: " + r.Cause
	}
}

// Summary is a receipt as the agent's tools tell it (INTERFACES 7): the exit
// code, the numbers where the tests are known, the names of the failed tests,
// then the output, failures first.
func Summary(r agency.Receipt) string {
	var b strings.Builder
	fmt.Fprintf(&b, "exit code %d\n", r.ExitCode)
	if r.Parsed || len(r.Tests) > 0 {
		b.WriteString(counts(r) + "\n")
	}
	if why := ended(r); why != "" {
		b.WriteString(why + "\n")
	}
	if failed := Failed(r.Tests); len(failed) > 0 {
		b.WriteString("failed:\n")
		for i, t := range failed {
			if i == namesShown {
				fmt.Fprintf(&b, "  and %d more\n", len(failed)-i)
				break
			}
			b.WriteString("  " + t.Name + "\n")
		}
	}
	if r.Output != "" {
		b.WriteString(strings.TrimRight(r.Output, "\n") + "\n")
	}
	return b.String()
}

// Failed are the failed tests without those that failed only because a subtest
// of theirs did.
func Failed(tests []agency.TestResult) []agency.TestResult {
	parents := map[string]bool{}
	for _, t := range tests {
		if t.Status != agency.TestFailed {
			continue
		}
		for p := range Parents(t.Name) {
			parents[p] = true
		}
	}
	var out []agency.TestResult
	for _, t := range tests {
		if t.Status == agency.TestFailed && !parents[t.Name] {
			out = append(out, t)
		}
	}
	return out
}
