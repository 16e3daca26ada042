// Package changeset reads a change between two trees of a repository: their
// files, and the lines that differ; and it stores trees that are made of both. It
// tells nothing of what the files mean.
package changeset

import (
	"cmp"
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

// Trees reads the trees of one repository and keeps what it has read. The first
// fault ends that: what is read after it is empty and means nothing, no tree is
// made any more, and Err tells it. It is used by one caller at a time, who closes
// it.
type Trees struct {
	fault     error
	dir       git.Dir
	blobs     *git.Reader
	lists     map[agency.OID][]git.Entry
	entries   map[agency.OID]map[string]git.Entry // by path
	mentioned map[string][]string                 // files that hold a text, by tree and text
}

// Open reads the trees of a repository; nothing is read yet.
func Open(dir git.Dir) *Trees {
	return &Trees{
		dir: dir, blobs: dir.Objects().Reader(), lists: map[agency.OID][]git.Entry{}, entries: map[agency.OID]map[string]git.Entry{},
		mentioned: map[string][]string{},
	}
}

// Close ends the reading.
func (t *Trees) Close() { t.blobs.Close() }

// Blobs reads the contents of the repository.
func (t *Trees) Blobs() *git.Reader { return t.blobs }

// Err is the first fault of the reading.
func (t *Trees) Err() error { return t.fault }

// Fail notes a fault of what is read, too; nil is none. It tells whether there is one.
func (t *Trees) Fail(err error) bool {
	t.fault = cmp.Or(t.fault, err)
	return t.fault != nil
}

// List has the files of a tree.
func (t *Trees) List(ctx context.Context, tree agency.OID) []git.Entry {
	have, ok := t.lists[tree]
	if ok || t.fault != nil {
		return have
	}
	entries, err := t.dir.Objects().Tree(ctx, tree)
	if t.Fail(err) {
		return nil
	}
	t.lists[tree] = entries
	return entries
}

// Entry is a file of a tree; of mode 0 where there is none.
func (t *Trees) Entry(ctx context.Context, tree agency.OID, p string) git.Entry {
	at := t.entries[tree]
	if at == nil {
		at = map[string]git.Entry{}
		for _, e := range t.List(ctx, tree) {
			at[e.Path] = e
		}
		t.entries[tree] = at
	}
	return at[p]
}

// Content is the content of a plain file of at most so many bytes; nil of another
// one. False where it has more.
func (t *Trees) Content(ctx context.Context, e git.Entry, most int) (b []byte, ok bool) {
	if !Regular(e.Mode) || t.fault != nil {
		return nil, true
	}
	b, err := t.blobs.Content(ctx, e.ID, int64(max(1, most)))
	if git.IsTooLong(err) {
		return nil, false
	}
	if t.Fail(err) {
		return nil, true
	}
	if b == nil {
		b = []byte{}
	}
	return b, true
}

// Regular tells whether a mode is one of a plain file.
func Regular(mode uint32) bool { return mode == 0o100644 || mode == 0o100755 }

// Text is the content of a file of a tree; nil where there is none, or more than
// is looked at.
func (t *Trees) Text(ctx context.Context, tree agency.OID, p string) []byte {
	return t.short(ctx, t.Entry(ctx, tree, p))
}

// Sides are the contents of a changed file on both sides; nil of what is too long
// to be looked at.
func (t *Trees) Sides(ctx context.Context, c git.Change) (before, after []byte) {
	return t.short(ctx, c.Old), t.short(ctx, c.New)
}

func (t *Trees) short(ctx context.Context, e git.Entry) []byte {
	b, _ := t.Content(ctx, e, MaxText)
	return b
}

// Mentions are the files of a tree that hold one of the texts.
func (t *Trees) Mentions(ctx context.Context, tree agency.OID, texts ...string) []string {
	key := string(tree) + "\x00" + strings.Join(texts, "\x00")
	have, ok := t.mentioned[key]
	if ok || t.fault != nil {
		return have
	}
	files, err := t.dir.Diff().Mentions(ctx, tree, texts...)
	if t.Fail(err) {
		return nil
	}
	t.mentioned[key] = files
	return files
}

// Store stores a text as a file for a tree.
func (t *Trees) Store(ctx context.Context, p string, mode uint32, text []byte) git.Entry {
	id, err := t.dir.Objects().WriteBlob(ctx, text)
	t.Fail(err)
	return git.Entry{Path: path.Clean(p), Mode: mode, ID: id}
}

// With is a tree with some of its files replaced, added or, with mode 0, gone.
func (t *Trees) With(ctx context.Context, tree agency.OID, set []git.Entry) (agency.OID, error) {
	if t.fault != nil {
		return "", t.fault
	}
	dir, err := os.MkdirTemp("", "agency-index-")
	if err != nil {
		return "", git.Disk(err)
	}
	defer func() { _ = os.RemoveAll(dir) }() // the system sweeps what is left
	return t.dir.Index().TreeWith(ctx, tree, filepath.Join(dir, "index"), set)
}
