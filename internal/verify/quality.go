package verify

import (
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/quality"
	"agency/internal/text"
)

// Bounds of what the quality score looks at.
const (
	maxScored    = 500     // changed files
	maxScoredSum = 8 << 20 // bytes of them, and of what copies are looked for in
	maxLikely    = 50      // files of the tree that may hold what was copied
	maxFedBack   = 12      // findings that an agent is told
)

// score scores what a claim brought that passes, and judges the score: what is low goes
// back once, and what the contract itself asks for binds. It never makes a claim pass.
func (j *job) score(ctx context.Context, f *facts, v *agency.Verdict) error {
	if j.v.o.Quality == nil || !v.Pass || !f.isClaim() || f.base == f.claim {
		return nil
	}
	rules, err := j.v.o.Quality(ctx, j.task.Run)
	if err != nil || rules == nil {
		return err
	}
	files, err := j.scored(ctx, f)
	if err != nil {
		return err
	}
	found, err := quality.Analyze(ctx, j.v.o.Syntax, files)
	if err != nil {
		return err
	}
	copies := quality.Copies(files, j.likely(ctx, files))
	all := slices.Concat(found.Findings, copies.Findings, untested(v))
	measured := slices.Concat(found.Measured, copies.Measured)
	if !v.NoTests && !v.NoneRan {
		measured = append(measured, agency.Correctness)
	}
	lint, err := j.lintFindings(ctx, f, v)
	if err != nil {
		return err
	}
	if len(lint) > 0 {
		measured = append(measured, agency.Maintainability)
	}
	measured = slices.DeleteFunc(measured, func(d agency.Dimension) bool { return slices.Contains(rules.Off, d) })
	scored := agency.ScoreQuality(append(all, lint...), measured)
	judgeQuality(v, &scored, *rules, j.task.Spec)
	return j.trees.Err()
}

// judgeQuality says what follows from a score.
func judgeQuality(v *agency.Verdict, q *agency.Quality, rules agency.QualityRules, s Spec) {
	v.Quality = q
	var r report
	tell := func() {
		for _, line := range q.Shown(maxFedBack) {
			r.fail("quality: %s", line)
		}
	}
	bound := q.Below(s.Thresholds)
	q.Low = q.Below(rules.Least)
	low := strings.Join(q.Low, ", ")
	switch {
	case len(bound) > 0:
		r.fail("quality_thresholds of the contract: %s", strings.Join(bound, ", "))
		tell()
	case low != "" && !s.LowBefore:
		r.fail("quality: the score is low: %s; mend what the findings name, this goes back once", low)
		tell()
	case low != "" && rules.Block:
		w := agency.Weakening{Kind: agency.WeakQuality, Name: string(v.ContractID) + ": " + low, Detail: strings.Join(q.Shown(3), "; ")}
		v.Weakened = append(v.Weakened, w)
		r.note("quality: the score is low: %s: a person has to accept it", low)
	case low != "":
		r.note("quality: the score is low: %s", low)
	}
	for d := range maps.Keys(s.Thresholds) {
		if _, ok := q.Of(d); !ok {
			r.note("quality_thresholds.%s: no analyzer measures it on what was changed", d)
		}
	}
	slices.Sort(r.notes)
	v.Pass = len(r.reasons) == 0
	v.Reasons = slices.Concat(r.reasons, v.Reasons, r.notes)
}

// scored are the changed files with the lines that the change brought. A line that stood
// elsewhere and is gone there has only moved.
func (j *job) scored(ctx context.Context, f *facts) (out []quality.File, err error) {
	gone, added := map[string]int{}, map[string][]changeset.Line{}
	words := map[string][]string{}
	err = changeset.EachLine(ctx, j.run.Dir(), f.base, f.claim, func(l changeset.Line) {
		said := strings.TrimSpace(string(l.Text))
		if !l.Added {
			gone[said]++
			return
		}
		added[l.File] = append(added[l.File], changeset.Line{At: l.At})
		words[l.File] = append(words[l.File], said)
	})
	if err != nil {
		return nil, err
	}
	tests := map[string]bool{}
	for _, s := range f.sources {
		tests[s.path] = s.test || s.support
	}
	sum := 0
	for _, c := range f.changes {
		if c.Status == 'D' || len(added[c.Path]) == 0 || len(out) == maxScored {
			continue
		}
		file := quality.File{Path: c.Path, Test: tests[c.Path] || isTestFile(c.Path)}
		file.Before, file.After = j.trees.Sides(ctx, c)
		if sum += len(file.Before) + len(file.After); sum > maxScoredSum {
			break
		}
		for i, l := range added[c.Path] {
			if said := words[c.Path][i]; said != "" && gone[said] > 0 {
				gone[said]--
				continue
			}
			file.Added = append(file.Added, l.At)
		}
		out = append(out, file)
	}
	return out, j.trees.Err()
}

// likely are the files of the claim in which a copy of added code may stand.
func (j *job) likely(ctx context.Context, files []quality.File) map[string][]byte {
	out := map[string][]byte{}
	probes := quality.Probes(files)
	if len(probes) == 0 {
		return out
	}
	left := maxScoredSum
	for _, p := range j.trees.Mentions(ctx, j.task.claim, probes...) {
		same := slices.ContainsFunc(files, func(f quality.File) bool { return path.Ext(f.Path) == path.Ext(p) })
		if !same || isTestFile(p) || len(out) == maxLikely || left <= 0 {
			continue
		}
		out[p] = j.trees.Text(ctx, j.task.claim, p)
		left -= len(out[p])
	}
	return out
}

// untested are the changed lines that no test reaches, and those that none holds, a finding
// a file.
func untested(v *agency.Verdict) (out []agency.QualityFinding) {
	tell := func(by, rule string, s agency.IssueSeverity, file string, where []string, says string) {
		lines := make([]string, len(where))
		for i, w := range where {
			lines[i] = strings.TrimPrefix(w, file+":")
		}
		from, _, _ := strings.Cut(lines[0], "-")
		at, _ := strconv.Atoi(from) // 0: the whole file
		out = append(out, agency.QualityFinding{
			Analyzer: by, Rule: rule, Severity: s, Dimension: agency.Correctness, File: file, Line: at,
			Message: fmt.Sprintf(says, text.Few(lines, 5)),
		})
	}
	missed := map[string][]string{}
	if v.Coverage != nil {
		for _, m := range v.Coverage.Missed {
			file := m[:max(0, strings.LastIndex(m, ":"))]
			missed[file] = append(missed[file], m)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(missed)) {
		tell("coverage", "unreached", agency.IssueMinor, file, missed[file], "no test runs the changed lines %s")
	}
	if v.Unproved != nil {
		for _, u := range v.Unproved.Files {
			if len(missed[u.Path]) == 0 && len(u.Where) > 0 {
				tell("verifier", "unproved", agency.IssueNitpick, u.Path, u.Where, "every test passes without the changed lines %s")
			}
		}
	}
	return out
}

// lintFindings are those that are new in a lint command that need not pass; where it must,
// a claim with any fails.
func (j *job) lintFindings(ctx context.Context, f *facts, v *agency.Verdict) (out []agency.QualityFinding, err error) {
	for _, g := range f.gates {
		if g.claim.Kind != agency.CheckLint || !v.LintRed {
			continue
		}
		now, err := j.checker.FindingsOf(ctx, g.claim.ID)
		if err != nil {
			return nil, err
		}
		before := map[string]int{}
		if g.base.ID != "" && !g.base.OK() {
			was, err := j.checker.FindingsOf(ctx, g.base.ID)
			if err != nil {
				return nil, err
			}
			for _, w := range was.List {
				before[w.File+" "+w.Text] += w.N
			}
		}
		for _, n := range now.List {
			if n.File != "" && n.N > before[n.File+" "+n.Text] {
				out = append(out, agency.QualityFinding{
					Analyzer: "lint", Rule: "lint", Severity: agency.IssueMinor, Dimension: agency.Maintainability,
					File: n.File, Message: text.Head(n.Text, 300),
				})
			}
		}
	}
	return out, nil
}
