package verify

import (
	"bytes"
	"cmp"
	"context"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/code"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/regexp"
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
func (p *splitter) split(ctx context.Context, changes []git.Change) (s sides) {
	shadowing := p.shadowing.all(ctx, changes)
	for _, c := range changes {
		m := p.usage.matterOf(ctx, c)
		var before, after []byte
		var inside bool
		if m == ofProduct {
			before, after = p.trees.Sides(ctx, c)
			if languageOf(c.Path) == ecosystem.Python && doctests(before) != doctests(after) {
				m = doubtful // tests and product in one: it proves the least
			}
			inside = readAs(c.Path).Tests.Beside && p.innerTests(ctx, c.Path, before) != p.innerTests(ctx, c.Path, after)
		}
		switch {
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
		case !p.sameCode(ctx, c, before, after):
			s.product = append(s.product, c)
		}
	}
	return s
}

// examples are code in comments, which Rust tests.
var examples = []byte("```")

// sameCode tells whether a source differs in comments and blanks alone.
func (p *splitter) sameCode(ctx context.Context, c git.Change, before, after []byte) bool {
	if code.LanguageOf(c.Path) == "" || c.Status != 'M' || c.Old.Mode != c.New.Mode || before == nil || after == nil ||
		bytes.Contains(before, examples) || bytes.Contains(after, examples) {
		return false
	}
	was, err := p.syntax.Shape(ctx, c.Path, before)
	is, err2 := p.syntax.Shape(ctx, c.Path, after)
	p.trees.Fail(cmp.Or(code.Skip(err), code.Skip(err2)))
	return err == nil && err2 == nil && was == is
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
	inner := p.spliced(ctx, s.inner, productOfClaim)
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
func (p *splitter) spliced(ctx context.Context, changes []git.Change, productOfClaim bool) (out []git.Entry) {
	for _, c := range changes {
		before, after := p.trees.Sides(ctx, c)
		product, tests, mode := after, before, c.New.Mode
		if !productOfClaim {
			product, tests, mode = before, after, c.Old.Mode
		}
		if product == nil { // the file is only on the other side
			out = append(out, git.Entry{Path: c.Path})
			continue
		}
		text, err := p.syntax.ReplaceTests(ctx, c.Path, product, tests)
		if p.trees.Fail(code.Skip(err)) {
			return nil
		}
		if text == nil {
			text = product
		}
		out = append(out, p.trees.Store(ctx, c.Path, mode, text))
	}
	return out
}

// innerTests are the tests inside of a source of the product.
func (p *splitter) innerTests(ctx context.Context, file string, src []byte) (text string) {
	if src == nil {
		return ""
	}
	spans, err := p.syntax.TestSpans(ctx, file, src)
	p.trees.Fail(code.Skip(err))
	for _, s := range spans {
		text += string(src[s.Start:s.End])
	}
	return text
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
