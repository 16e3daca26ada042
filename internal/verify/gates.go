package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/testreport"
	"agency/internal/text"
)

// gateFact is one command before the tests on both sides.
type gateFact struct {
	ran         bool
	claim, base agency.Receipt // base is empty where the claim passes
	diff        diff           // where both are red
}

// failed tells whether the claim broke it, or broke more of what was broken.
func (g gateFact) failed() bool {
	return g.ran && !g.claim.OK() && (g.base.OK() || g.diff.fails())
}

// stops tells whether nothing after it was run.
func (g gateFact) stops() bool {
	return g.failed() && (g.claim.Kind == agency.CheckSetup || g.claim.Kind == agency.CheckBuild)
}

func (j judgement) judgeGates() {
	for _, g := range j.gates {
		red := j.r.named(!j.Commands.MayFail(g.claim.Kind), func() { g.judge(j.r) })
		j.v.LintRed = j.v.LintRed || g.claim.Kind == agency.CheckLint && red
	}
}

func (g gateFact) judge(r *report) {
	switch {
	case g.claim.OK():
	case g.base.OK():
		r.fail("%s: `%s` fails: %s", g.claim.Kind, g.claim.Command, outline(g.claim))
	default:
		g.diff.judge(r, string(g.claim.Kind), g.claim)
	}
}

// diff is what a command that is red on both sides complains of on the claim
// and did not on the base. Its exit code says nothing then: what was red before
// would hide what is red by the change.
type diff struct {
	fresh, old []string // each a line for people
	lines      bool     // compared line by line: the output names no places
	unknown    string   // why it cannot be told what is new
}

func (d diff) fails() bool { return len(d.fresh) > 0 || d.unknown != "" }

// judge names what is new, which fails the claim, and what was red before too.
func (d diff) judge(r *report, kind string, now agency.Receipt) {
	how := "compared finding by finding"
	if d.lines {
		how = "compared line by line, for its output names no places"
	}
	switch {
	case d.unknown != "":
		r.fail("%s: `%s` fails, as on the base, but what is new of it cannot be told: %s: mend what was red before, or have the command say where and what in fewer words", kind, now.Command, d.unknown)
	case len(d.fresh) > 0:
		r.fail("%s: `%s` failed before too, and complains of more now (%s)", kind, now.Command, how)
	case len(d.old) == 0:
		r.note("pre-existing: %s: `%s` fails on the base too, and says nothing that could be compared", kind, now.Command)
	default:
		r.note("pre-existing: %s: `%s` fails on the base too, and complains of nothing new (%s)", kind, now.Command, how)
	}
	lines(r.fail, kind+": new: %s", d.fresh)
	lines(r.note, kind+": red before too: %s", d.old)
}

// complaints compares what a command says that is red on both sides.
func complaints(ctx context.Context, checker *check.Checker, claim, base agency.Receipt, changes []git.Change) (diff, error) {
	if claim.OK() || base.OK() {
		return diff{}, nil
	}
	now, err := checker.FindingsOf(ctx, claim.ID)
	if err != nil {
		return diff{}, err
	}
	was, err := checker.FindingsOf(ctx, base.ID)
	if err != nil {
		return diff{}, err
	}
	d := newFindings(was, now, changes)
	d.unknown = incomparable(base, claim, was, now)
	return d, nil
}

// incomparable is why the outputs of two red commands cannot be compared.
func incomparable(base, claim agency.Receipt, was, now testreport.Findings) string {
	switch {
	case claim.Cause != "" && claim.Why() != base.Why():
		return "it did not come to its end: " + claim.Why()
	case claim.ExitCode >= 126 && claim.ExitCode != base.ExitCode: // it could not be run, or was killed
		return fmt.Sprintf("it ended with exit code %d, and on the base with %d", claim.ExitCode, base.ExitCode)
	case now.Cut:
		return "its output is too long to be kept"
	case len(now.List) == 0 && len(was.List) > 0:
		return "it says nothing any more"
	}
	return ""
}

// newFindings compares findings as a multiset, by file and text: lines move. Of
// a file that the change took away those may stand in one that it added.
func newFindings(was, now testreport.Findings, changes []git.Change) diff {
	type key struct{ file, text string }
	before := map[key]int{}
	for _, f := range was.List {
		before[key{f.File, f.Text}] += f.N
	}
	added, gone := map[string]bool{}, map[string]bool{}
	for _, c := range changes {
		added[c.Path] = added[c.Path] || c.Status == 'A'
		gone[c.Path] = gone[c.Path] || c.Status == 'D'
	}
	moved := map[string]int{} // by text, what files that are gone complained of
	for k, n := range before {
		if gone[k.file] {
			moved[k.text] += n
		}
	}
	d := diff{lines: !now.Read}
	for _, f := range now.List {
		k := key{f.File, f.Text}
		known := min(f.N, before[k])
		if more := min(f.N-known, moved[f.Text]); added[f.File] && more > 0 {
			moved[f.Text] -= more
			known += more
		}
		if known > 0 {
			d.old = append(d.old, times(f, known))
		}
		if f.N > known {
			d.fresh = append(d.fresh, times(f, f.N-known))
		}
	}
	return d
}

// times is a finding as a verdict has it.
func times(f testreport.Finding, n int) string {
	s := text.Head(strings.Join(strings.Fields(f.String()), " "), 300)
	if n > 1 {
		s += fmt.Sprintf(" (%d times)", n)
	}
	return s
}

// A comment can silence what a linter or a type checker would complain of. The
// commands that passed are run on the claim without the new ones of these: what
// fails then passed by them.

// silence is a place where a change made a tool be quiet.
type silence struct {
	path     string
	text     string
	line     int
	from, to int // in the claim's text
}

// silences are those that the change brought: as many of one text as were there
// before may have moved.
func silences(files []source) (out []silence) {
	old := map[string]int{}
	each := func(f source, src []byte, do func(from, to int, text string)) {
		for _, at := range readAs(f.path).Forms.Silences.Find(string(src)) {
			do(at[0], at[1], strings.Join(strings.Fields(string(src[at[0]:at[1]])), " "))
		}
	}
	for _, f := range files {
		each(f, f.before, func(_, _ int, text string) { old[f.path+text]++ })
		if f.after == nil {
			each(f, f.before, func(_, _ int, text string) { old[text]++ })
		}
	}
	for _, f := range files {
		each(f, f.after, func(from, to int, text string) {
			switch {
			case old[f.path+text] > 0:
				old[f.path+text]--
			case f.before == nil && old[text] > 0:
				old[text]--
			default:
				out = append(out, silence{path: f.path, text: text, line: 1 + bytes.Count(f.after[:from], []byte("\n")), from: from, to: to})
			}
		})
	}
	return out
}

// silenced names what the change silences in a check that the run has, and takes a
// check of the plan for no proof that passes only so.
func (j *testRun) silenced(ctx context.Context) (out []agency.Weakening, err error) {
	f := j.f
	all := silences(f.sources)
	if len(all) == 0 {
		return nil, nil
	}
	tree, err := j.spokenOut(ctx, all)
	if err != nil {
		return nil, err
	}
	b := j.checkouts.New(check.StageSpoken, tree)
	defer func() { err = errors.Join(err, b.Close(ctx)) }()
	for _, g := range f.gates {
		if g.claim.Kind == agency.CheckSetup || g.failed() || g.claim.Kind == agency.CheckBuild && !builds(all) {
			continue
		}
		r, err := b.Run(ctx, j.task.Commands.Command(g.claim.Kind))
		if err != nil {
			return nil, err
		}
		d, err := j.worse(ctx, r, g.claim)
		if err != nil {
			return nil, err
		}
		out = append(out, weakSilences(all, d, string(g.claim.Kind))...)
	}
	for _, cr := range f.Criteria {
		if cr.Check == nil || cr.Check.Command == "" || !f.refWorth[*cr.Check].Proves {
			continue
		}
		if _, tests := f.testsOf(*cr.Check); tests {
			continue
		}
		r, err := b.RunClean(ctx, j.task.asCommand(*cr.Check))
		if err != nil {
			return nil, err
		}
		d, err := j.worse(ctx, r, f.refs[*cr.Check])
		if err != nil {
			return nil, err
		}
		named := weakSilences(all, d, "`"+cr.Check.Command+"`")
		if out = append(out, named...); len(named) > 0 {
			w := f.refWorth[*cr.Check]
			w.Proves, w.Why = false, "it passes only with what silences its findings: "+text.Few(namesOf(named), maxLines)
			f.refWorth[*cr.Check] = w
		}
	}
	return out, nil
}

// builds tells whether some are of a language whose compiler warns.
func builds(all []silence) bool {
	return slices.ContainsFunc(all, func(s silence) bool { return readAs(s.path).Forms.Warns })
}

// worse is what a command complains of that it did not, nil where that is
// nothing.
func (j *testRun) worse(ctx context.Context, now, claim agency.Receipt) (*diff, error) {
	switch {
	case now.OK():
		return nil, nil
	case claim.OK():
		found, err := j.checker.FindingsOf(ctx, now.ID)
		d := newFindings(testreport.Findings{}, found, j.f.changes)
		return &d, err
	}
	d, err := complaints(ctx, j.checker, now, claim, j.f.changes)
	if err != nil || !d.fails() {
		return nil, err
	}
	return &d, nil
}

// weakSilences are the silences to which findings belong: those of the files
// that the findings name, all of them where they name none.
func weakSilences(all []silence, d *diff, what string) (out []agency.Weakening) {
	if d == nil {
		return nil
	}
	of := func(s silence) bool {
		return slices.ContainsFunc(d.fresh, func(line string) bool { return strings.Contains(line, s.path) })
	}
	some := slices.ContainsFunc(all, of)
	at := map[string]int{}
	for _, s := range all {
		if some && !of(s) {
			continue
		}
		name := s.path + ": " + text.Head(s.text, 100) // lines move from one claim to the next
		if i, known := at[name]; known {
			out[i].Detail = strings.Replace(out[i].Detail, ", of ", fmt.Sprintf(", %d, of ", s.line), 1)
			continue
		}
		at[name] = len(out)
		out = append(out, agency.Weakening{Kind: agency.WeakSilenced, Name: name, Detail: fmt.Sprintf("line %d, of %s", s.line, what)})
	}
	return out
}

func namesOf(all []agency.Weakening) (out []string) {
	for _, w := range all {
		out = append(out, w.Name)
	}
	return out
}

// spokenOut is the claim without these silences.
func (j *testRun) spokenOut(ctx context.Context, all []silence) (agency.OID, error) {
	return j.trees.With(ctx, j.task.claim, j.f.spoken(ctx, j.trees, all))
}

// spoken are the changed sources without these silences; a comment stays one, so that
// what is left is no finding itself.
func (f *facts) spoken(ctx context.Context, trees *changeset.Trees, all []silence) (set []git.Entry) {
	for _, s := range f.sources {
		text := s.after
		for i := len(all) - 1; i >= 0; i-- {
			if at := all[i]; at.path == s.path {
				text = slices.Concat(text[:at.from], plainComment(text[at.from:at.to]), text[at.to:])
			}
		}
		if !bytes.Equal(text, s.after) {
			at := slices.IndexFunc(f.changes, func(c git.Change) bool { return c.Path == s.path })
			set = append(set, trees.Store(ctx, s.path, f.changes[at].New.Mode, text))
		}
	}
	return set
}

// plainComment is what stands in the place of a silence, with as many lines.
func plainComment(text []byte) []byte {
	lines := strings.Repeat("\n", bytes.Count(text, []byte("\n")))
	switch s := string(text); {
	case strings.HasPrefix(s, "//"):
		return []byte("// -")
	case strings.HasPrefix(s, "/*"):
		return []byte("/* -" + lines + " */")
	case strings.HasPrefix(s, "#[") || strings.HasPrefix(s, "#!"), strings.HasPrefix(s, "@"):
		return []byte(lines)
	}
	return []byte("# -")
}
