package verify

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
	"agency/internal/testreport"
	"agency/internal/text"
)

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

func (s silence) String() string { return fmt.Sprintf("%s:%d", s.path, s.line) }

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

// silencing finds out what the silences of a change hide.
type silencing struct {
	*job
	f *facts
}

// find names what the change silences in a check that the run has, and takes a
// check of the plan for no proof that passes only so.
func (j silencing) find(ctx context.Context) (out []agency.Weakening, err error) {
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
			w.Proves, w.Why = false, "it passes only with what silences its findings: "+text.Few(namesOfWeak(named), maxLines)
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
func (j silencing) worse(ctx context.Context, now, claim agency.Receipt) (*diff, error) {
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

func namesOfWeak(all []agency.Weakening) (out []string) {
	for _, w := range all {
		out = append(out, w.Name)
	}
	return out
}

// spokenOut is the claim without these silences; a comment stays one, so that
// what is left is no finding itself.
func (j silencing) spokenOut(ctx context.Context, all []silence) (agency.OID, error) {
	var set []git.Entry
	for _, s := range j.f.sources {
		text := s.after
		for i := len(all) - 1; i >= 0; i-- {
			if at := all[i]; at.path == s.path {
				text = slices.Concat(text[:at.from], plainComment(text[at.from:at.to]), text[at.to:])
			}
		}
		if !bytes.Equal(text, s.after) {
			at := slices.IndexFunc(j.f.changes, func(c git.Change) bool { return c.Path == s.path })
			set = append(set, j.trees.Store(ctx, s.path, j.f.changes[at].New.Mode, text))
		}
	}
	return j.trees.With(ctx, j.task.claim, set)
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
