// Package changeset reads a change between two trees of a repository: their
// files, each read once, and the lines that differ; and it stores trees that are
// made of both. It tells nothing of what the files mean.
package changeset

import (
	"context"
	"os"
	"path"
	"path/filepath"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// MaxText is how many bytes of a file are looked at, at most.
const MaxText = 4 << 20

// Trees reads the trees of one repository and keeps what it has read. It is used
// by one caller at a time, who closes it.
type Trees struct {
	dir       git.Dir
	blobs     *git.Reader
	lists     map[agency.OID][]git.Entry
	entries   map[agency.OID]map[string]git.Entry // by path
	texts     map[agency.OID][]byte               // of the change, by their blob
	mentioned map[string][]string                 // files that hold a text, by tree and text
}

// Open reads the trees of a repository; nothing is read yet.
func Open(dir git.Dir) *Trees {
	return &Trees{
		dir: dir, blobs: dir.Objects().Reader(), lists: map[agency.OID][]git.Entry{}, entries: map[agency.OID]map[string]git.Entry{},
		texts: map[agency.OID][]byte{}, mentioned: map[string][]string{},
	}
}

// Close ends the reading.
func (t *Trees) Close() { t.blobs.Close() }

// Blobs reads the contents of the repository.
func (t *Trees) Blobs() *git.Reader { return t.blobs }

// List has the files of a tree.
func (t *Trees) List(ctx context.Context, tree agency.OID) ([]git.Entry, error) {
	if have, ok := t.lists[tree]; ok {
		return have, nil
	}
	entries, err := t.dir.Objects().Tree(ctx, tree)
	if err == nil {
		t.lists[tree] = entries
	}
	return entries, err
}

// Entry is a file of a tree; of mode 0 where there is none.
func (t *Trees) Entry(ctx context.Context, tree agency.OID, p string) (git.Entry, error) {
	if at := t.entries[tree]; at != nil {
		return at[p], nil
	}
	entries, err := t.List(ctx, tree)
	if err != nil {
		return git.Entry{}, err
	}
	at := make(map[string]git.Entry, len(entries))
	for _, e := range entries {
		at[e.Path] = e
	}
	t.entries[tree] = at
	return at[p], nil
}

// Content is the content of a plain file of at most so many bytes; nil of another
// one. The error tells, by git.IsTooLong, of one that is longer.
func (t *Trees) Content(ctx context.Context, mode uint32, id agency.OID, most int) ([]byte, error) {
	if !Regular(mode) {
		return nil, nil
	}
	b, err := t.blobs.Content(ctx, id, int64(max(1, most)))
	if b == nil && err == nil {
		b = []byte{}
	}
	return b, err
}

// Regular tells whether a mode is one of a plain file.
func Regular(mode uint32) bool { return mode == 0o100644 || mode == 0o100755 }

// Keep keeps the texts of a changed file on both sides, which Text then gives.
func (t *Trees) Keep(c git.Change, before, after []byte) {
	t.texts[c.Old.ID], t.texts[c.New.ID] = before, after
}

// Text is the content of a file of a tree; nil where there is none, or more than
// is looked at.
func (t *Trees) Text(ctx context.Context, tree agency.OID, p string) ([]byte, error) {
	e, err := t.Entry(ctx, tree, p)
	if err != nil {
		return nil, err
	}
	if text, ok := t.texts[e.ID]; ok {
		return text, nil
	}
	return t.short(ctx, e)
}

// Sides are the contents of a changed file on both sides; nil of what is too long
// to be looked at.
func (t *Trees) Sides(ctx context.Context, c git.Change) (before, after []byte, err error) {
	if before, err = t.short(ctx, c.Old); err != nil {
		return nil, nil, err
	}
	after, err = t.short(ctx, c.New)
	return before, after, err
}

// Reader hands out the files of a tree by their paths; nil where there is none.
// The first fault ends it, and is given by failed.
func (t *Trees) Reader(ctx context.Context, tree agency.OID) (read func(name string) []byte, failed func() error) {
	var fault error
	read = func(name string) []byte {
		if fault != nil {
			return nil
		}
		e, err := t.Entry(ctx, tree, name)
		var b []byte
		if err == nil {
			b, err = t.short(ctx, e)
		}
		fault = err
		return b
	}
	return read, func() error { return fault }
}

func (t *Trees) short(ctx context.Context, e git.Entry) ([]byte, error) {
	b, err := t.Content(ctx, e.Mode, e.ID, MaxText)
	if git.IsTooLong(err) {
		return nil, nil
	}
	return b, err
}

// Mentions are the files of a tree that hold one of the texts.
func (t *Trees) Mentions(ctx context.Context, tree agency.OID, texts ...string) ([]string, error) {
	key := string(tree) + "\x00" + strings.Join(texts, "\x00")
	if files, ok := t.mentioned[key]; ok {
		return files, nil
	}
	files, err := t.dir.Diff().Mentions(ctx, tree, texts...)
	if err == nil {
		t.mentioned[key] = files
	}
	return files, err
}

// Store stores a text as a file for a tree.
func (t *Trees) Store(ctx context.Context, p string, mode uint32, text []byte) (git.Entry, error) {
	id, err := t.dir.Objects().WriteBlob(ctx, text)
	return git.Entry{Path: path.Clean(p), Mode: mode, ID: id}, err
}

// With is a tree with some of its files replaced, added or, with mode 0, gone.
func (t *Trees) With(ctx context.Context, tree agency.OID, set []git.Entry) (agency.OID, error) {
	dir, err := os.MkdirTemp("", "agency-index-")
	if err != nil {
		return "", git.Disk(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system sweeps what is left
	return t.dir.Index().TreeWith(ctx, tree, filepath.Join(dir, "index"), set)
}
