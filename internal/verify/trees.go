package verify

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"slices"

	"agency/internal/agency"
	"agency/internal/git"
)

// oldTests is the tree of the base's test matter on the claim's product.
func (j *job) oldTests(ctx context.Context, s sides) (agency.OID, error) {
	inner, err := j.spliced(ctx, s.inner, true)
	if err != nil {
		return "", err
	}
	return j.withEntries(ctx, j.task.base, slices.Concat(entriesOf(s.product), entriesOf(s.both), inner))
}

// newTests is the tree of the claim's test matter on the base's product.
func (j *job) newTests(ctx context.Context, s sides) (agency.OID, error) {
	inner, err := j.spliced(ctx, s.inner, false)
	if err != nil {
		return "", err
	}
	return j.withEntries(ctx, j.task.base, slices.Concat(entriesOf(s.tests), entriesOf(s.both), inner))
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
func (j *job) spliced(ctx context.Context, changes []git.Change, productOfClaim bool) ([]git.Entry, error) {
	var out []git.Entry
	for _, c := range changes {
		before, after, err := j.texts(ctx, c)
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
		text, err := j.v.o.Syntax.ReplaceTests(ctx, c.Path, product, tests)
		if err = skipped(err); err != nil {
			return nil, err
		}
		if text == nil {
			text = product
		}
		e, err := j.blob(ctx, c.Path, text)
		if err != nil {
			return nil, err
		}
		e.Mode = mode
		out = append(out, e)
	}
	return out, nil
}

// testsInside tells whether a changed source of the product holds tests that
// changed.
func (j *job) testsInside(ctx context.Context, c git.Change) (bool, error) {
	before, after, err := j.texts(ctx, c)
	if err != nil {
		return false, err
	}
	was, err := j.innerTests(ctx, c.Path, before)
	if err != nil {
		return false, err
	}
	now, err := j.innerTests(ctx, c.Path, after)
	return was != now, err
}

func (j *job) innerTests(ctx context.Context, p string, src []byte) (string, error) {
	if src == nil {
		return "", nil
	}
	spans, err := j.v.o.Syntax.TestSpans(ctx, p, src)
	if err != nil {
		return "", skipped(err)
	}
	text := ""
	for _, s := range spans {
		text += string(src[s.Start:s.End])
	}
	return text, nil
}

// blob stores a text as a plain file of a tree.
func (j *job) blob(ctx context.Context, p string, text []byte) (git.Entry, error) {
	id, err := j.run.Dir().WriteBlob(ctx, text)
	return git.Entry{Path: path.Clean(p), Mode: 0o100644, ID: id}, err
}

// withEntries is a tree with some of its files replaced, added or, with mode 0,
// gone.
func (j *job) withEntries(ctx context.Context, tree agency.OID, set []git.Entry) (agency.OID, error) {
	dir, err := os.MkdirTemp("", "agency-index-")
	if err != nil {
		return "", git.Disk(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system sweeps what is left
	return j.run.Dir().TreeWith(ctx, tree, filepath.Join(dir, "index"), set)
}
