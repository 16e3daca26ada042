package agency

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Red is a check that does not pass, with what a person needs to know of it:
// the names of what failed, what of it was red before the work too, and the
// command's own last words.
type Red struct {
	Kind     CheckKind  `json:"kind"`
	Command  string     `json:"command"`
	Contract ContractID `json:"contract_id,omitempty"`
	Receipt  ReceiptID  `json:"receipt,omitempty"`
	Stage    string     `json:"stage,omitempty"` // as in Receipt
	ExitCode int        `json:"exit_code"`
	Cause    string     `json:"cause,omitempty"`
	// Before tells whether the check is red on the base too; nil where it was
	// not run there.
	Before *bool `json:"failed_before,omitempty"`
	// Failed is how many tests failed; Tests names them.
	Failed int       `json:"failed,omitempty"`
	Tests  []RedTest `json:"tests,omitempty"`
	// Findings are those of a linter or compiler that the base does not have.
	Findings []string `json:"new_findings,omitempty"`
	// Last are the last lines that the command printed.
	Last []string `json:"last_lines,omitempty"`
}

// RedTest is a failed test. Before is set where it failed on the base too.
type RedTest struct {
	Name   string `json:"name"`
	Before bool   `json:"failed_before,omitempty"`
}

func (t RedTest) String() string {
	if t.Before {
		return t.Name + " (failed before)"
	}
	return t.Name
}

// mostRed bounds the names of one red check in a text or an event; its receipt
// has all.
const mostRed = 30

// Short is a red check with no more names than an event holds.
func (r Red) Short() Red {
	r.Tests, r.Findings = r.Tests[:min(len(r.Tests), mostRed)], r.Findings[:min(len(r.Findings), mostRed)]
	return r
}

// Head is the first line of what people read of it.
func (r Red) Head() string {
	s := fmt.Sprintf("%s `%s`: exit code %d", r.Kind, r.Command, r.ExitCode)
	if r.Cause != "" {
		s += ", " + r.Cause
	}
	if r.Before != nil && *r.Before {
		s += "; red before too"
	}
	return s
}

// Lines are what is below the first line: failed tests, new findings, and the
// last lines of the command.
func (r Red) Lines() []string {
	var out []string
	for _, t := range r.Tests[:min(len(r.Tests), mostRed)] {
		out = append(out, "failed: "+t.String())
	}
	if n := r.Failed - min(len(r.Tests), mostRed); n > 0 {
		out = append(out, fmt.Sprintf("and %d more failed", n))
	}
	for i, f := range r.Findings {
		if i == mostRed {
			out = append(out, fmt.Sprintf("and %d more", len(r.Findings)-i))
			break
		}
		out = append(out, "new: "+f)
	}
	for _, l := range r.Last {
		out = append(out, "| "+l)
	}
	return out
}

// PlainOutput is what a command printed as people read it: of the events of go test -json, which
// a script may have asked for, the texts in them. What is no whole event stays as it is.
func PlainOutput(output string) string {
	if !strings.Contains(output, `"Action":"`) {
		return output
	}
	var b strings.Builder
	for line := range strings.Lines(output) {
		var ev struct{ Action, Package, ImportPath, Output string }
		if err := json.Unmarshal([]byte(line), &ev); err != nil || ev.Action == "" || ev.Package+ev.ImportPath == "" {
			b.WriteString(line)
			continue
		}
		b.WriteString(ev.Output)
	}
	if b.Len() == 0 { // events that say nothing are better than nothing
		return output
	}
	return b.String()
}

// RedLine names in a line what is red: for the log.
func RedLine(tests []RedTest) string {
	const most = 10
	names := make([]string, 0, len(tests))
	for i, t := range tests {
		if i == most {
			names = append(names, fmt.Sprintf("and %d more", len(tests)-most))
			break
		}
		names = append(names, t.String())
	}
	return strings.Join(names, ", ")
}
