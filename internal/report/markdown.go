package report

import (
	_ "embed"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"unicode"

	"agency/internal/agency"
	"agency/internal/text"
)

//go:embed report.md
var page string

// Markdown is a report as people read it. What agents wrote stands in single
// lines or behind quote marks: it cannot look like the harness's own words.
func Markdown(r agency.Report) (string, error) { return render(r, true) }

// Gate is a report as the merge gate shows it, beside the goal, the criteria
// and the checks.
func Gate(r agency.Report) (string, error) { return render(r, false) }

func render(r agency.Report, whole bool) (string, error) {
	t, err := template.New("report.md").Option("missingkey=error").Funcs(template.FuncMap{
		"line": line, "quote": Quote, "names": names, "namesOf": namesOf, "files": filesOf, "tests": tests, "share": share, "money": money, "short": agency.OID.Short,
		"ids":    func(ids []agency.ContractID) string { return agency.JoinIDs(ids, ", ") },
		"kinds":  func(kinds []agency.CheckKind) string { return agency.JoinIDs(kinds, ", ") },
		"passed": passed, "things": agency.Things, "cost": CostLine, "localText": LocalText,
		"unproved": (*agency.Unproved).Line, "expectations": agency.ExpectationsLine, "deref": func(n *int) int { return *n }, "holds": func(b *bool) bool { return *b },
	}).Parse(page)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	if err := t.Execute(&b, struct {
		agency.Report
		Whole bool
	}{r, whole}); err != nil {
		return "", err
	}
	return strings.TrimSpace(b.String()) + "\n", nil
}

// Summary is a report in one line.
func Summary(r agency.Report) string {
	s := &r.Rollup
	parts := []string{fmt.Sprintf("%d of %s integrated", s.Complete, agency.Things(s.Total, "contract", "contracts"))}
	for _, p := range []struct {
		n    int
		word string
	}{{s.Failed, "failed"}, {s.Blocked, "blocked"}, {s.Cancelled, "cancelled"}, {s.Unfinished, "unfinished"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	if f := s.Files; f != nil {
		n := f.Count()
		parts = append(parts, fmt.Sprintf("%s created, %d modified, %d deleted", agency.Things(n.Created, "file", "files"), n.Modified, n.Deleted))
	}
	if s.After != nil {
		parts = append(parts, "tests: "+tests(s.After))
	}
	var edited []agency.Expectation
	for _, c := range r.Contracts {
		if c.Status == agency.StatusComplete {
			edited = append(edited, c.Expectations...)
		}
	}
	var asserted []agency.Proof
	for _, o := range r.LeftOpen.Asserted {
		asserted = append(asserted, o.Proof)
	}
	for _, line := range []string{agency.ExpectationsLine(edited), agency.AssertedLine(asserted)} {
		if line != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

const maxLine = 300

// line shows a text within a line.
func line(v any) string {
	return text.Head(strings.Join(strings.Fields(clean(fmt.Sprint(v))), " "), maxLine)
}

// Quote is what somebody else wrote as a block of Markdown that it cannot end.
func Quote(s string) string {
	return "> " + strings.ReplaceAll(strings.TrimSpace(clean(s)), "\n", "\n> ")
}

// clean leaves out letters that cannot be seen or that move the cursor.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return -1
	}, strings.NewReplacer("\r\n", "\n", "\r", " ").Replace(s))
}

// filesOf names the files that a contract created, modified and deleted.
func filesOf(f agency.Files) string {
	var parts []string
	n := f.Count()
	if both := slices.Concat(f.Created, f.Modified); len(both) > 0 {
		parts = append(parts, namesOf(both, n.Created+n.Modified))
	}
	if len(f.Deleted) > 0 {
		parts = append(parts, "deleted "+namesOf(f.Deleted, n.Deleted))
	}
	return strings.Join(parts, ", ")
}

const maxNames = 40

// names lists files, the first of many.
func names(files []string) string { return namesOf(files, len(files)) }

// namesOf lists files of which there may be more than are given.
func namesOf(files []string, all int) string {
	var out []string
	for i, f := range files {
		if i == maxNames {
			out = append(out, fmt.Sprintf("and %d more", all-maxNames))
			break
		}
		if q := strconv.Quote(f); q != `"`+f+`"` {
			f = q
		}
		out = append(out, "`"+strings.ReplaceAll(f, "`", "'")+"`")
	}
	return strings.Join(out, ", ")
}

func tests(c *agency.TestCount) string {
	if c == nil {
		return "not measured"
	}
	s := fmt.Sprintf("%d passed, %d failed", c.Passed, c.Failed)
	if c.Skipped > 0 {
		s += fmt.Sprintf(", %d skipped", c.Skipped)
	}
	return s
}

func share(c *agency.Coverage) string {
	if c.Lines == 0 {
		return "no line that could be measured"
	}
	return fmt.Sprintf("%d of %s (%d %%)", c.Covered, agency.Things(c.Lines, "changed line that can run", "changed lines that can run"), 100*c.Covered/c.Lines)
}

func passed(ok *bool) string {
	if *ok {
		return "passed"
	}
	return "failed"
}

func money(usd float64, unpriced bool) string {
	return agency.USD(usd).Amount(unpriced)
}
