// Package quality finds, in the lines that a change brought, what tests do not show:
// secrets, injections, paths from requests, unbounded reads, functions that became too
// long to read, copies of what is there, dead code. It asks no model and runs nothing:
// the same two trees give the same findings in the same order.
//
// A rule is here where syntax alone is certain enough; a false alarm costs an agent a
// turn and a person their trust, so a rule that cannot tell keeps quiet. Test matter is
// looked through for secrets only.
//
// What follows from a score is not decided here: that is verify's and contractrun's.
package quality

import (
	"bytes"
	"context"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/regexp"
	"agency/internal/secretscan"
)

const (
	// analyzer is the name of what is built in.
	analyzer = "agency"
	// maxSource is the size of a source that is read by its syntax; nobody writes longer ones.
	maxSource = 512 << 10
	// maxFunction is the size of a function that is looked through for what else stands in
	// it; of a longer one its length is told. It bounds what a file made to be slow costs.
	maxFunction = 32 << 10
)

// File is a file that a change brought or edited.
type File struct {
	Path          string
	Before, After []byte // Before is nil of a new file
	Added         []int  // the lines of After that the change brought, in order
	Test          bool   // nothing but tests uses it
}

// Report is what was found, and of which dimensions anything could have been.
type Report struct {
	Findings []agency.QualityFinding
	Measured []agency.Dimension
}

// looked notes that an analyzer of a dimension looked at something.
func (r *Report) looked(all ...agency.Dimension) {
	for _, d := range all {
		if !slices.Contains(r.Measured, d) {
			r.Measured = append(r.Measured, d)
		}
	}
}

// Analyze looks through a change. The error is the context's.
func Analyze(ctx context.Context, syntax *code.Engine, files []File) (Report, error) {
	var r Report
	for _, f := range files {
		if err := ctx.Err(); err != nil {
			return r, err
		}
		if f.After == nil || len(f.Added) == 0 || generated.Match(f.After[:min(len(f.After), 2048)]) {
			continue
		}
		r.looked(agency.Security)
		r.Findings = append(r.Findings, secrets(f)...)
		if f.Test || code.LanguageOf(f.Path) == "" || len(f.After) > maxSource {
			continue
		}
		found, ok, err := f.syntax(ctx, syntax)
		if err != nil {
			return r, err
		}
		if ok {
			r.looked(agency.Correctness, agency.Readability, agency.Maintainability)
			if found.performance {
				r.looked(agency.Performance)
			}
			r.Findings = append(r.Findings, found.all...)
		}
	}
	slices.SortFunc(r.Findings, agency.CompareFindings)
	return r, nil
}

// generated is what tools write at the head of files that nobody edits.
var generated = regexp.MustCompile(`(?m)^(?://|#|/\*|\*| \*).*(?:Code generated .* DO NOT EDIT|@generated\b)`)

// syntax reads a file as its language has it; not ok where it cannot be read.
func (f File) syntax(ctx context.Context, e *code.Engine) (found *findings, ok bool, err error) {
	found = &findings{file: f}
	if code.LanguageOf(f.Path) == code.Go {
		return found, goFile(found), nil
	}
	root, err := e.Tree(ctx, f.Path, f.After)
	if err != nil {
		return nil, false, code.Skip(err)
	}
	var before code.Node
	if f.Before != nil {
		if before, err = e.Tree(ctx, f.Path, f.Before); err != nil {
			return nil, false, code.Skip(err)
		}
	}
	treeFile(found, root, before)
	return found, true, nil
}

// findings gathers what is found of a file.
type findings struct {
	file        File
	all         []agency.QualityFinding
	performance bool // rules of performance looked, too
}

// rule is a rule with what it says where it holds.
type rule struct {
	name     string
	severity agency.IssueSeverity
	of       agency.Dimension
	says     string
}

// tell notes a finding of a line, if the change brought it.
func (f *findings) tell(line int, r rule) {
	if _, added := slices.BinarySearch(f.file.Added, line); added {
		f.add(line, r, r.says)
	}
}

func (f *findings) add(line int, r rule, says string) {
	f.all = append(f.all, agency.QualityFinding{
		Analyzer: analyzer, Rule: r.name, Severity: r.severity, Dimension: r.of, File: f.file.Path, Line: line, Message: says,
	})
}

// touched tells whether the change brought one of these lines.
func (f File) touched(from, to int) bool {
	i, _ := slices.BinarySearch(f.Added, from)
	return i < len(f.Added) && f.Added[i] <= to
}

// secrets are what looks like a secret in added lines and stood nowhere in the file
// before. A test's secret is more often made up than not.
func secrets(f File) (out []agency.QualityFinding) {
	old := map[string]bool{}
	for _, s := range agency.SecretsIn(f.Path, f.Before) {
		old[s.Text] = true
	}
	severity := agency.IssueCritical
	if f.Test {
		severity = agency.IssueMinor
	}
	for _, s := range agency.SecretsIn(f.Path, f.After) {
		_, added := slices.BinarySearch(f.Added, s.Line)
		if added && !old[s.Text] && !bytes.Contains([]byte(s.Text), []byte("EXAMPLE")) {
			out = append(out, agency.QualityFinding{
				Analyzer: analyzer, Rule: "secret", Severity: severity, Dimension: agency.Security, File: f.Path, Line: s.Line,
				Message: s.What + " stands in the source",
			})
		}
	}
	return append(out, leaks(f, severity, out)...)
}

// leaks are the secrets by gitleaks' rules that nothing else told of. Its rule for any key
// is not for tests, whose keys are made up.
func leaks(f File, severity agency.IssueSeverity, told []agency.QualityFinding) (out []agency.QualityFinding) {
	if len(f.After) > maxSource || bytes.IndexByte(f.After, 0) >= 0 {
		return nil
	}
	lines := strings.SplitAfter(string(f.After), "\n")
	for i := 0; i < len(f.Added); {
		from, n := f.Added[i], 0
		for i < len(f.Added) && f.Added[i] == from+n {
			i, n = i+1, n+1
		}
		if from < 1 || from-1+n > len(lines) {
			return out
		}
		for _, l := range secretscan.Leaks(f.Path, strings.Join(lines[from-1:from-1+n], ""), from) {
			known := func(k agency.QualityFinding) bool { return k.Line == l.Line }
			if f.Test && l.Rule == "generic-api-key" || bytes.Contains(f.Before, []byte(l.Secret)) && l.Secret != "" || slices.ContainsFunc(told, known) || slices.ContainsFunc(out, known) {
				continue
			}
			out = append(out, agency.QualityFinding{
				Analyzer: analyzer, Rule: "secret", Severity: severity, Dimension: agency.Security, File: f.Path, Line: l.Line,
				Message: "a secret by gitleaks' rule " + l.Rule + " stands in the source",
			})
		}
	}
	return out
}
