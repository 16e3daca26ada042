package check

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
	"agency/internal/testreport"
	"agency/internal/text"
)

// lastLines is how much of a red command's output is shown at a gate.
const lastLines = 8

// Reds are the checks among some receipts that do not pass, in their order. All
// are the receipts of the run, among which those of the base say what was red
// before.
func Reds(of, all []agency.Receipt) []agency.Red {
	var out []agency.Red
	for _, r := range of {
		if red, ok := RedOf(r, all); ok {
			out = append(out, red)
		}
	}
	return out
}

// AtStart are, of the receipts of a run in their order, those on the files that it began
// from: what was red before the run, not before one of its contracts.
func AtStart(all []agency.Receipt) (out []agency.Receipt) {
	for _, r := range all {
		if r.Stage == string(StageBase) && (len(out) == 0 || r.Tree == out[0].Tree) {
			out = append(out, r)
		}
	}
	return out
}

// OnBase are the receipts on the bases of contracts, of some in their order.
func OnBase(all []agency.Receipt) (out []agency.Receipt) {
	for _, r := range all {
		if r.Stage == string(StageBase) {
			out = append(out, r)
		}
	}
	return out
}

// LastReds are the checks that fail of each contract's own files as they were last
// checked, wherever that was. All are the receipts of the run.
func LastReds(all []agency.Receipt) map[agency.ContractID][]agency.Red {
	own, base, out := map[agency.ContractID][]agency.Receipt{}, OnBase(all), map[agency.ContractID][]agency.Red{}
	for _, r := range all {
		if r.Stage != string(StageBase) {
			own[r.ContractID] = append(own[r.ContractID], r)
		}
	}
	for id, rs := range own {
		if red := Reds(Latest(rs), base); len(red) > 0 {
			out[id] = red
		}
	}
	return out
}

// RedOf is a receipt as a red check; false where it passes, and of a trial. All are the
// receipts of the run, or those on its bases alone.
func RedOf(r agency.Receipt, all []agency.Receipt) (agency.Red, bool) {
	if r.OK() || Stage(r.Stage).Trial() {
		return agency.Red{}, false
	}
	out := agency.Red{
		Kind: r.Kind, Command: r.Command, Contract: r.ContractID, Receipt: r.ID, Stage: r.Stage, ExitCode: r.ExitCode, Cause: ended(r),
		Last: LastLines(r),
	}
	base := baseOf(r, all)
	was := map[string]agency.TestStatus{}
	findings := map[string]int{}
	if len(base) > 0 {
		before := slices.ContainsFunc(base, func(b agency.Receipt) bool { return !b.OK() })
		out.Before = &before
	}
	for _, b := range base {
		for _, t := range b.Tests {
			if was[t.Name] != agency.TestFailed {
				was[t.Name] = t.Status
			}
		}
		for _, f := range findingsOf(b.Output) {
			findings[f.key]++
		}
	}
	for _, t := range Failed(r.Tests) {
		out.Tests = append(out.Tests, agency.RedTest{Name: t.Name, Before: was[t.Name] == agency.TestFailed})
	}
	out.Failed = len(out.Tests)
	if len(base) > 0 && finds(r.Kind) {
		for _, f := range findingsOf(r.Output) {
			if findings[f.key]--; findings[f.key] < 0 {
				out.Findings = append(out.Findings, f.text)
			}
		}
	}
	return out, true
}

// baseOf are the receipts of the same check on the base: of the contract where
// there are some, of one tree. Tests count whatever line picked them.
func baseOf(r agency.Receipt, all []agency.Receipt) (out []agency.Receipt) {
	if r.Stage == string(StageBase) {
		return nil
	}
	own := false
	for _, b := range slices.Backward(all) {
		if b.Stage != string(StageBase) || b.Kind != r.Kind || b.Kind != agency.CheckTest && b.Command != r.Command {
			continue
		}
		mine := b.ContractID == r.ContractID
		switch {
		case len(out) == 0, mine && !own:
			out, own = []agency.Receipt{b}, mine
		case mine == own && b.Tree == out[0].Tree:
			out = append(out, b)
		}
	}
	return out
}

// Latest are the newest receipts of each check among some, in the order of the
// kinds: of the test command the one of the newest tree that has most results,
// for what is run again alone has few. Trials are none.
func Latest(rs []agency.Receipt) (out []agency.Receipt) {
	for _, r := range rs {
		if Stage(r.Stage).Trial() {
			continue
		}
		i := slices.IndexFunc(out, func(o agency.Receipt) bool {
			return o.ContractID == r.ContractID && o.Kind == r.Kind && (r.Kind != agency.CheckCommand || o.Command == r.Command)
		})
		switch {
		case i < 0:
			out = append(out, r)
		case r.Kind != agency.CheckTest || r.Tree != out[i].Tree || r.Stage != out[i].Stage || results(r) >= results(out[i]):
			out[i] = r
		}
	}
	return out
}

func results(r agency.Receipt) int { return r.Passed + r.Failed + r.Skipped }

// finds tells whether checks of a kind print findings.
func finds(k agency.CheckKind) bool {
	return k == agency.CheckLint || k == agency.CheckTypecheck || k == agency.CheckBuild
}

// finding is a line of a linter's output; key is it without its place in the
// file, which moves with every line above it.
type finding struct{ key, text string }

var (
	// placed is file:line or file:line:column, or file(line,column).
	placed = regexp.MustCompile(`^\s*(\S[^:()]*\.\w+)(?::\d+(?::\d+)?|\(\d+(?:,\d+)?\))`)
	// below is line:column of a file that is named above.
	below = regexp.MustCompile(`^\s+\d+:\d+\s+`)
)

func findingsOf(output string) (out []finding) {
	file := ""
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n ")
		switch m := placed.FindStringSubmatch(line); {
		case m != nil:
			out = append(out, finding{m[1] + strings.TrimPrefix(line, m[0]), strings.TrimSpace(line)})
		case below.MatchString(line) && file != "":
			rest := below.ReplaceAllString(line, "")
			out = append(out, finding{file + ": " + strings.Join(strings.Fields(rest), " "), file + ": " + strings.Join(strings.Fields(line), " ")})
		case strings.TrimSpace(line) != "":
			file = strings.TrimSpace(line)
		}
	}
	return out
}

// LastLines are the last lines of a command's output that say something.
func LastLines(r agency.Receipt) []string {
	var out []string
	for line := range strings.Lines(agency.PlainOutput(r.Output)) {
		if line = strings.TrimRight(line, "\r\n\t "); strings.TrimSpace(line) != "" {
			out = append(out, text.Head(line, longest))
		}
	}
	return out[max(0, len(out)-lastLines):]
}

// longest is how much of one line is shown.
const longest = 200

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

// Outcome is how a check ended, on one line.
func Outcome(r agency.Receipt) string {
	line := fmt.Sprintf("exit code %d", r.ExitCode)
	if r.Parsed || len(r.Tests) > 0 {
		line += ", " + counts(r)
	}
	return line
}

// ended says why a command did not end by itself.
func ended(r agency.Receipt) string {
	switch r.Cause {
	case "":
		return ""
	case CauseIncomplete:
		return "output cut: results are missing"
	case causeUnreadable:
		return r.Why() + ": results are missing"
	default:
		return "stopped: " + r.Cause
	}
}

// Summary is a receipt as the agent's tools tell it: the exit
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
		for p := range testreport.Parents(t.Name) {
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
