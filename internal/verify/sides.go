package verify

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"

	"agency/internal/code"
	"agency/internal/git"
)

// sides parts a change into what is of the product and what is of the tests, so
// that either can be run with the other's base.
// What differs in comments alone is in neither.
type sides struct {
	product, tests []git.Change
	// both are manifests that decide nothing about tests, such as new
	// dependencies: either side needs their new form.
	both []git.Change
	// inner are sources of the product with tests of their own inside.
	inner []git.Change
}

// changesTests tells whether the run edited anything that tests are made of.
func (s sides) changesTests() bool { return len(s.tests)+len(s.inner) > 0 }

// changesProduct tells whether it edited anything that they test.
func (s sides) changesProduct() bool { return len(s.product)+len(s.both)+len(s.inner) > 0 }

// changesCode tells whether what it edited of that is code, or was.
func (s sides) changesCode() bool {
	return slices.ContainsFunc(slices.Concat(s.product, s.inner), func(c git.Change) bool { return code.LanguageOf(c.Path) != "" })
}

// part parts the changes of a claim.
func (j *job) part(ctx context.Context, f *facts) (s sides, err error) {
	displaced, err := j.displaced(ctx, f.changes)
	if err != nil {
		return s, err
	}
	for _, c := range f.changes {
		m, err := j.matterOf(ctx, c)
		if err != nil {
			return s, err
		}
		if m == ofProduct && languageOf(c.Path) == python {
			before, after, err := j.texts(ctx, c)
			if err != nil {
				return s, err
			}
			if doctests(before) != doctests(after) {
				m = doubtful // tests and product in one: it proves the least
			}
		}
		switch {
		case displaced[c.Path] != "":
			s.tests = append(s.tests, c)
		case isLock(c.Path):
			s.both = append(s.both, c)
		case m != ofProduct:
			s.tests = append(s.tests, c)
		case hasParts(c.Path):
			decides, err := j.decides(ctx, c)
			if err != nil {
				return s, err
			}
			if decides {
				s.tests = append(s.tests, c)
			} else {
				s.both = append(s.both, c)
			}
		case languageOf(c.Path) == rust:
			inside, err := j.testsInside(ctx, c)
			if err != nil {
				return s, err
			}
			if inside {
				s.inner = append(s.inner, c)
				continue
			}
			fallthrough
		default:
			same, err := j.sameCode(ctx, c)
			if err != nil {
				return s, err
			}
			if !same {
				s.product = append(s.product, c)
			}
		}
	}
	return s, nil
}

// examples are code in comments, which Rust tests.
var examples = []byte("```")

// sameCode tells whether a source differs in comments and blanks alone.
func (j *job) sameCode(ctx context.Context, c git.Change) (bool, error) {
	if code.LanguageOf(c.Path) == "" || c.Status != 'M' || c.Old.Mode != c.New.Mode {
		return false, nil
	}
	before, after, err := j.texts(ctx, c)
	if err != nil || before == nil || after == nil || bytes.Contains(before, examples) || bytes.Contains(after, examples) {
		return false, err
	}
	was, err := j.v.o.Syntax.Shape(ctx, c.Path, before)
	if err != nil {
		return false, skipped(err)
	}
	is, err := j.v.o.Syntax.Shape(ctx, c.Path, after)
	return err == nil && was == is, skipped(err)
}

// decides tells whether a changed manifest says otherwise how tests run.
func (j *job) decides(ctx context.Context, c git.Change) (bool, error) {
	before, after, err := j.texts(ctx, c)
	return changedPart(c.Path, before, after) != "", err
}

// texts are the contents of a changed file on both sides; nil of what is too
// long to be looked at.
func (j *job) texts(ctx context.Context, c git.Change) (before, after []byte, err error) {
	if before, err = j.text(ctx, c.Old.Mode, c.Old.ID, maxSourceSize); skipped(err) != nil {
		return nil, nil, err
	}
	after, err = j.text(ctx, c.New.Mode, c.New.ID, maxSourceSize)
	return before, after, skipped(err)
}

// doctests are the examples in the docstrings of a source of Python.
func doctests(src []byte) string {
	var b strings.Builder
	for _, m := range docstring.FindAll(src, -1) {
		if strings.Contains(string(m), ">>>") {
			b.Write(m)
		}
	}
	return b.String()
}

var docstring = regexp.MustCompile(`(?s)""".*?"""|'''.*?'''`)
