package verify

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/git"
	"agency/internal/quality"
	"agency/internal/quality/linters"
	"agency/internal/regexp"
	"agency/internal/sandbox"
	"agency/internal/testreport"
	"agency/internal/text"
)

// Bounds of what the quality score looks at.
const (
	maxScored    = 500     // changed files
	maxScoredSum = 8 << 20 // bytes of them, and of what copies are looked for in
	maxLikely    = 50      // files of the tree that may hold what was copied
	maxFedBack   = 12      // findings that an agent is told
)

// maxTime is how long the analyzers of the project and the machine may take together.
const maxTime = 2 * time.Minute

// scoring is the quality score of a claim in the making: analyzers of the project and the
// machine are at work beside the tests.
type scoring struct {
	*job
	rules   agency.QualityRules
	files   []quality.File
	tree    agency.OID // the claim as analyzers see it
	calls   []linters.Call
	stopped context.CancelFunc
	done    chan struct{}

	// What the analyzers came to, once done.
	found    []agency.QualityFinding
	measured []agency.Dimension
	failed   []string
	err      error
}

// scoring begins the score of a claim; nil where none is wanted.
func (j *job) scoring(ctx context.Context, f *facts) (*scoring, error) {
	if j.v.o.Quality == nil || !f.isClaim() || f.base == f.claim {
		return nil, nil
	}
	rules, err := j.v.o.Quality(ctx, j.task.Run)
	if err != nil || rules == nil {
		return nil, err
	}
	s := &scoring{job: j, rules: *rules, done: make(chan struct{})}
	if s.files, err = j.scored(ctx, f); err != nil {
		return nil, err
	}
	if err = s.plan(ctx, f); err != nil {
		return nil, err
	}
	ctx, s.stopped = context.WithTimeout(ctx, j.v.o.AnalyzersFor)
	go func() {
		defer close(s.done)
		s.err = s.run(ctx)
	}()
	return s, nil
}

// stop ends the analyzers and waits for their end.
func (s *scoring) stop() error {
	if s == nil {
		return nil
	}
	s.stopped()
	<-s.done
	return s.err
}

// score scores what a claim brought that passes, and judges the score: what is low goes
// back once, and what the contract itself asks for binds. It never makes a claim pass.
func (s *scoring) score(ctx context.Context, f *facts, v *agency.Verdict) error {
	if s == nil || !v.Pass {
		return nil
	}
	found, err := quality.Analyze(ctx, s.v.o.Syntax, s.files)
	if err != nil {
		return err
	}
	copies := quality.Copies(s.files, s.likely(ctx, s.files))
	all := slices.Concat(found.Findings, copies.Findings, untested(v))
	measured := slices.Concat(found.Measured, copies.Measured)
	if !v.NoTests && !v.NoneRan {
		measured = append(measured, agency.Correctness)
	}
	lint, err := s.lintFindings(ctx, f, v)
	if err != nil {
		return err
	}
	if len(lint) > 0 {
		measured = append(measured, agency.Maintainability)
	}
	<-s.done // its own time ends it
	if s.err != nil {
		return s.err
	}
	all = append(all, linters.Beside(all, append(lint, s.found...))...)
	measured = append(measured, s.measured...)
	measured = slices.DeleteFunc(measured, func(d agency.Dimension) bool { return slices.Contains(s.rules.Off, d) })
	scored := agency.ScoreQuality(all, measured)
	scored.Failed = s.failed
	judgeQuality(v, &scored, s.rules, s.task.Spec)
	return s.trees.Err()
}

// plan says which analyzers run, and on what: the claim with the settings of the base, and
// without the comments by which the change has them keep quiet.
func (s *scoring) plan(ctx context.Context, f *facts) error {
	set := s.ofBase(ctx, f)
	kept := map[string]bool{}
	for _, e := range set {
		kept[e.Path] = true
	}
	for _, e := range f.spoken(ctx, s.trees, silences(f.sources)) {
		if !kept[e.Path] {
			set = append(set, e)
		}
	}
	s.tree = s.task.claim
	if len(set) > 0 {
		var err error
		if s.tree, err = s.trees.With(ctx, s.task.claim, set); err != nil {
			return err
		}
	}
	c := linters.Change{
		Read: func(p string) []byte { return s.trees.Text(ctx, s.tree, p) }, Names: s.names(ctx), Lint: s.task.Commands.Lint,
	}
	if len(kept) > 0 {
		c.Lint = "" // it ran with the settings of the change
	}
	for _, file := range s.files {
		if !file.Test && !kept[file.Path] && len(file.Added) > 0 {
			c.Files = append(c.Files, file.Path)
		}
	}
	setup := s.task.Commands.Setup != ""
	tracked := func(p string) bool { return s.trees.Entry(ctx, s.tree, p).Mode != 0 }
	for _, call := range linters.Plan(c) {
		if call.GoTool || slices.ContainsFunc(call.Own, tracked) || s.checker.Has(call.Program, call.Own, setup) {
			s.calls = append(s.calls, call)
		}
	}
	return s.trees.Err()
}

// names lists the files of a folder of the tree that is analyzed.
func (s *scoring) names(ctx context.Context) func(dir string) []string {
	var in map[string][]string
	return func(dir string) []string {
		if in == nil {
			in = map[string][]string{}
			for _, e := range s.trees.List(ctx, s.tree) {
				in[path.Dir(e.Path)] = append(in[path.Dir(e.Path)], path.Base(e.Path))
			}
		}
		return in[dir]
	}
}

// partsOfLinters are the parts of other files by which analyzers decide.
var partsOfLinters = regexp.MustCompile(`ruff|eslint|lints`)

// ofBase are the changed files that are as on the base for analyzers: their settings, and
// what those load.
func (s *scoring) ofBase(ctx context.Context, f *facts) (set []git.Entry) {
	changed := map[string]git.Change{}
	for _, c := range f.changes {
		changed[c.Path] = c
	}
	var queue []string
	take := func(p string) {
		if c, ok := changed[p]; ok {
			delete(changed, p)
			set = append(set, git.Entry{Path: p, Mode: c.Old.Mode, ID: c.Old.ID})
			queue = append(queue, p)
		}
	}
	for _, c := range f.changes {
		before, after := s.trees.Sides(ctx, c)
		if linters.IsSetting(c.Path) || isRunner(c.Path) || partsOfLinters.MatchString(changedPart(c.Path, before, after)) {
			take(c.Path)
		}
	}
	for _, e := range s.trees.List(ctx, s.task.base) {
		if linters.IsSetting(e.Path) && !isVendored(e.Path) && len(queue) < maxLikely {
			queue = append(queue, e.Path)
		}
	}
	for len(queue) > 0 {
		p := queue[0]
		queue = queue[1:]
		for _, loaded := range linters.Loads(p, s.trees.Text(ctx, s.task.base, p)) {
			take(loaded)
		}
	}
	return set
}

// run runs the analyzers, one after the other, and keeps what the change brought. That one
// gives nothing is told, and stops nothing.
func (s *scoring) run(ctx context.Context) (err error) {
	if len(s.calls) == 0 {
		return nil
	}
	own := s.checkouts.Aside()
	now, before := own.New(check.StageAnalyzed, s.tree), own.New(check.StageFamiliar, s.task.base)
	defer func() { err = errors.Join(err, now.Close(ctx), before.Close(ctx)) }()
	silent := map[string]bool{}
	for calls := s.calls; len(calls) > 0; {
		call := calls[0]
		calls = calls[1:]
		found, gave := s.ask(ctx, now, call)
		if gave != nil {
			if !silent[call.Analyzer] && !errors.Is(gave, linters.ErrMissing) && !errors.Is(gave, context.Canceled) {
				s.failed = append(s.failed, call.Analyzer+" failed: "+gave.Error())
			}
			silent[call.Analyzer] = true
			continue
		}
		calls = linters.Without(calls, call)
		if call.Left > 0 {
			s.failed = append(s.failed, fmt.Sprintf("%s was asked about %d of %d files", call.Analyzer, len(call.Files), len(call.Files)+call.Left))
		}
		s.measured = append(s.measured, call.Of()...)
		touched := linters.OnAdded(found, s.added)
		var old []agency.QualityFinding
		if there, ok := call.On(s.stood); ok && len(touched) > 0 {
			old, _ = s.ask(ctx, before, there) // one that fails there knew nothing of it
		}
		s.found = append(s.found, linters.Fresh(touched, found, old)...)
	}
	return nil
}

// added tells whether the change brought a line, stood whether the base has a file.
func (s *scoring) added(file string, line int) bool {
	at := slices.IndexFunc(s.files, func(f quality.File) bool { return f.Path == file })
	if at < 0 {
		return false
	}
	_, ok := slices.BinarySearch(s.files[at].Added, line)
	return ok
}

func (s *scoring) stood(file string) bool {
	return slices.ContainsFunc(s.files, func(f quality.File) bool { return f.Path == file && f.Before != nil })
}

// ask asks one analyzer on a checkout, without a way out. No one has more than half of the
// time of all.
func (s *scoring) ask(ctx context.Context, on *checkout.Checkout, call linters.Call) ([]agency.QualityFinding, error) {
	if call.Loads() {
		on.Renew() // neither what others left there counts, nor what it leaves
		defer on.Renew()
	}
	late := fmt.Errorf("no time was left of %s", s.v.o.AnalyzersFor)
	if err := on.Prepare(ctx); err != nil {
		if errors.Is(err, context.DeadlineExceeded) {
			err = late
		}
		return nil, err
	}
	subject := on.Subject()
	subject.Dir = call.Dir
	out, res, err := s.checker.Ask(ctx, subject, check.Command{Line: call.Line(), Timeout: s.v.o.AnalyzersFor / 2}, nil)
	if errors.Is(err, context.DeadlineExceeded) {
		err = late
	}
	if err != nil {
		return nil, err
	}
	said := linters.Said{Out: out, Exit: res.ExitCode, Last: lastLine(res.Output), Full: res.StdoutErr != nil, Root: subject.Place.At}
	if res.Cause == sandbox.CauseTimeout {
		said.Cause = fmt.Sprintf("it took longer than %s", s.v.o.AnalyzersFor/2)
	} else if res.Cause != sandbox.CauseExited {
		said.Cause = "it was ended: " + string(res.Cause)
	}
	return call.Read(said)
}

// lastLine is the last line that says something.
func lastLine(out []byte) string {
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	return strings.TrimSpace(lines[len(lines)-1])
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

// lineOf is the line of a finding, of several one that the change brought; 0 where the
// command names none.
func (s *scoring) lineOf(all testreport.Findings, at int) int {
	if at >= len(all.Lines) || len(all.Lines[at]) == 0 {
		return 0
	}
	for _, n := range all.Lines[at] {
		if s.added(all.List[at].File, n) {
			return n
		}
	}
	return all.Lines[at][0]
}

// lintFindings are those that are new in a lint command that need not pass; where it must,
// a claim with any fails.
func (s *scoring) lintFindings(ctx context.Context, f *facts, v *agency.Verdict) (out []agency.QualityFinding, err error) {
	for _, g := range f.gates {
		if g.claim.Kind != agency.CheckLint || !v.LintRed {
			continue
		}
		now, err := s.checker.FindingsOf(ctx, g.claim.ID)
		if err != nil {
			return nil, err
		}
		before := map[string]int{}
		if g.base.ID != "" && !g.base.OK() {
			was, err := s.checker.FindingsOf(ctx, g.base.ID)
			if err != nil {
				return nil, err
			}
			for _, w := range was.List {
				before[w.File+" "+w.Text] += w.N
			}
		}
		for i, n := range now.List {
			if n.File != "" && n.N > before[n.File+" "+n.Text] {
				out = append(out, agency.QualityFinding{
					Analyzer: "lint", Rule: "lint", Severity: agency.IssueMinor, Dimension: agency.Maintainability,
					File: n.File, Line: s.lineOf(now, i), Message: text.Head(n.Text, 300),
				})
			}
		}
	}
	return out, nil
}
