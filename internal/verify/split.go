package verify

import (
	"bytes"
	"context"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
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

// splitter parts changes into sides, and makes the trees that are of both.
type splitter struct {
	trees     *changeset.Trees
	usage     *usage
	shadowing *shadowing
	syntax    *code.Engine
	base      agency.OID
}

// split parts the changes of a claim.
func (p *splitter) split(ctx context.Context, changes []git.Change) (s sides, err error) {
	shadowing, err := p.shadowing.all(ctx, changes)
	if err != nil {
		return s, err
	}
	for _, c := range changes {
		m, err := p.usage.matterOf(ctx, c)
		if err != nil {
			return s, err
		}
		var before, after []byte
		var inside, same bool
		if m == ofProduct {
			before, after, err = p.trees.Sides(ctx, c)
		}
		switch lang := languageOf(c.Path); {
		case err != nil || m != ofProduct:
		case lang == python && doctests(before) != doctests(after):
			m = doubtful // tests and product in one: it proves the least
		case lang == rust:
			inside, err = p.testsInside(ctx, c.Path, before, after)
		}
		if err == nil && m == ofProduct && !inside {
			same, err = p.sameCode(ctx, c, before, after)
		}
		switch {
		case err != nil:
			return s, err
		case shadowing[c.Path] != "", m != ofProduct && !isLock(c.Path):
			s.tests = append(s.tests, c)
		case isLock(c.Path):
			s.both = append(s.both, c)
		case hasParts(c.Path):
			if changedPart(c.Path, before, after) != "" { // it says otherwise how tests run
				s.tests = append(s.tests, c)
			} else {
				s.both = append(s.both, c)
			}
		case inside:
			s.inner = append(s.inner, c)
		case !same:
			s.product = append(s.product, c)
		}
	}
	return s, nil
}

// examples are code in comments, which Rust tests.
var examples = []byte("```")

// sameCode tells whether a source differs in comments and blanks alone.
func (p *splitter) sameCode(ctx context.Context, c git.Change, before, after []byte) (bool, error) {
	if code.LanguageOf(c.Path) == "" || c.Status != 'M' || c.Old.Mode != c.New.Mode || before == nil || after == nil ||
		bytes.Contains(before, examples) || bytes.Contains(after, examples) {
		return false, nil
	}
	was, err := p.syntax.Shape(ctx, c.Path, before)
	if err != nil {
		return false, code.Skip(err)
	}
	is, err := p.syntax.Shape(ctx, c.Path, after)
	return err == nil && was == is, code.Skip(err)
}

// oldTests is the tree of the base's test matter on the claim's product.
func (p *splitter) oldTests(ctx context.Context, s sides) (agency.OID, error) {
	return p.mixed(ctx, s, s.product, true)
}

// newTests is the tree of the claim's test matter on the base's product.
func (p *splitter) newTests(ctx context.Context, s sides) (agency.OID, error) {
	return p.mixed(ctx, s, s.tests, false)
}

func (p *splitter) mixed(ctx context.Context, s sides, ofClaim []git.Change, productOfClaim bool) (agency.OID, error) {
	inner, err := p.spliced(ctx, s.inner, productOfClaim)
	if err != nil {
		return "", err
	}
	return p.trees.With(ctx, p.base, slices.Concat(entriesOf(ofClaim), entriesOf(s.both), inner))
}

// entriesOf are the claim's sides of changes: of mode 0 where the path is gone.
func entriesOf(changes []git.Change) []git.Entry {
	out := make([]git.Entry, len(changes))
	for i, c := range changes {
		out[i] = c.New
		out[i].Path = c.Path
	}
	return out
}

// spliced are sources with tests inside, of which the tests are of one side and
// the rest of the other.
func (p *splitter) spliced(ctx context.Context, changes []git.Change, productOfClaim bool) ([]git.Entry, error) {
	var out []git.Entry
	for _, c := range changes {
		before, after, err := p.trees.Sides(ctx, c)
		if err != nil {
			return nil, err
		}
		product, tests, mode := after, before, c.New.Mode
		if !productOfClaim {
			product, tests, mode = before, after, c.Old.Mode
		}
		if product == nil { // the file is only on the other side
			out = append(out, git.Entry{Path: c.Path})
			continue
		}
		text, err := p.syntax.ReplaceTests(ctx, c.Path, product, tests)
		if err = code.Skip(err); err != nil {
			return nil, err
		}
		if text == nil {
			text = product
		}
		e, err := p.trees.Store(ctx, c.Path, mode, text)
		if err != nil {
			return nil, err
		}
		out = append(out, e)
	}
	return out, nil
}

// testsInside tells whether the tests inside of a source of the product changed.
func (p *splitter) testsInside(ctx context.Context, file string, before, after []byte) (bool, error) {
	was, err := p.innerTests(ctx, file, before)
	if err != nil {
		return false, err
	}
	now, err := p.innerTests(ctx, file, after)
	return was != now, err
}

func (p *splitter) innerTests(ctx context.Context, file string, src []byte) (string, error) {
	if src == nil {
		return "", nil
	}
	spans, err := p.syntax.TestSpans(ctx, file, src)
	if err != nil {
		return "", code.Skip(err)
	}
	text := ""
	for _, s := range spans {
		text += string(src[s.Start:s.End])
	}
	return text, nil
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
