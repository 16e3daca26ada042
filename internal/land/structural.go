package land

import (
	"context"
	"errors"
	"path/filepath"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/textmerge"
)

// maxContests bounds how many files of one landing are merged structurally: a
// claim that meets more of them was made for another tree.
const maxContests = 20

// maxContest bounds each side of a file that is merged, or looked at for what a
// merge lost, in bytes.
const maxContest = 2 << 20

// structurally merges what conflicts by lines only. It gives no tree where any
// of the files stays in conflict: then all of them go back to the owner.
func (l *landing) structurally(ctx context.Context, m git.Merge) (tree agency.OID, paths []string, err error) {
	if len(m.Contents) == 0 || len(m.Contents) > maxContests {
		return "", nil, nil
	}
	d := l.run.Dir()
	var entries []git.Entry
	for _, c := range m.Contents {
		content, ok, err := contested(ctx, d, c)
		if err != nil || !ok {
			return "", nil, err
		}
		e := c.Ours
		e.Stage = 0
		if e.ID, err = d.WriteBlob(ctx, content); err != nil {
			return "", nil, err
		}
		entries, paths = append(entries, e), append(paths, c.Base.Path)
	}
	tree, err = d.TreeWith(ctx, m.Tree, filepath.Join(l.run.Folder(), "index.landing"), entries)
	return tree, paths, err
}

// contested merges one file; ok is false where it conflicts.
func contested(ctx context.Context, d git.Dir, c git.Contest) (content []byte, ok bool, err error) {
	regular := func(e git.Entry) bool {
		return e.Mode == c.Base.Mode && (e.Mode == git.ModeFile || e.Mode == git.ModeExec)
	}
	if !regular(c.Base) || !regular(c.Ours) || !regular(c.Theirs) {
		return nil, false, nil
	}
	var texts [3][]byte
	for i, e := range []git.Entry{c.Base, c.Ours, c.Theirs} {
		if texts[i], err = d.Content(ctx, e.ID, maxContest); git.IsTooLong(err) {
			return nil, false, nil
		}
		if err != nil {
			return nil, false, err
		}
	}
	content, err = textmerge.Merge(c.Base.Path, texts[0], texts[1], texts[2])
	if in := textmerge.Doubt(""); errors.As(err, &in) {
		return nil, false, nil
	}
	return content, err == nil, err
}
