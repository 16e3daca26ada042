package verify

import (
	"context"
	"fmt"
	"strings"

	"agency/internal/agency"
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
		switch {
		case g.claim.OK():
		case g.base.OK():
			j.r.fail("%s: `%s` fails: %s", g.claim.Kind, g.claim.Command, outline(g.claim))
		default:
			g.diff.judge(j.r, string(g.claim.Kind), g.claim)
		}
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
	case claim.Cause != "" && claim.Cause != base.Cause:
		return "it did not come to its end: " + claim.Cause
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
