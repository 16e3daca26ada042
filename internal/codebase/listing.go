package codebase

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/code"
	"agency/internal/code/gotypes"
	"agency/internal/fingerprint"
	"agency/internal/linux/inotify"
)

// Bounds of what is remembered of folders.
const (
	maxListings = 16
	maxWatched  = 4           // folders, of the kernel's 128 watchers that a user may have
	manyFiles   = 5000        // from which on a folder is watched, since to look at all of it takes long
	maxTrusted  = time.Minute // after which all is looked at again: a write to memory that is a file's is not noted
)

// listings are what is known of the files of folders, so that a search looks only at what
// changed.
type listings struct {
	mu  sync.Mutex
	all []*listing // the last used first
}

// of is that of a folder.
func (ls *listings) of(dir string) *listing {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	n := slices.IndexFunc(ls.all, func(l *listing) bool { return l.dir == dir })
	l := &listing{dir: dir}
	if n >= 0 {
		l = ls.all[n]
		ls.all = slices.Delete(ls.all, n, n+1)
	}
	ls.all = slices.Insert(ls.all, 0, l)
	for _, old := range ls.all[min(len(ls.all), maxWatched):] {
		old.unwatch()
	}
	ls.all = ls.all[:min(len(ls.all), maxListings)]
	return l
}

func (ls *listings) close() {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	for _, l := range ls.all {
		l.unwatch()
	}
}

// file is one that is searched, or says what code is of, as it was looked at.
type file struct {
	source        // without its text; its key is "" where it is no text
	state  string // "": it changed a moment ago, and may again without another sign
}

// listing is what is known of a folder's files. The zero value knows nothing, and is for a
// checkout of which the kernel says nothing that can be relied on.
type listing struct {
	dir  string
	room int // bytes of files; 0: maxSearched

	mu     sync.Mutex
	watch  *inotify.Watcher // nil: all is looked at each time
	walked time.Time
	files  []file // sorted by path
	large  bool   // watching is worth it
	hidden bool   // a folder was passed over in which there may be packages of Go
	found
}

// found is a listing as of one time. What it holds is replaced, never changed.
type found struct {
	sources []source // sorted by path
	keys    []string // of sources
	partial bool     // files were left out
	golang  []gotypes.Listed
}

func (l *listing) unwatch() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drop()
}

func (l *listing) drop() {
	if l.watch != nil {
		_ = l.watch.Close() // was only read
		l.watch = nil
	}
}

// look brings a listing up to date. Sources may have the texts that were read for it.
func (l *listing) look(ctx context.Context, t Tree) (found, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.watch != nil && time.Since(l.walked) < maxTrusted {
		if changed, ok := l.watch.Changed(); ok {
			l.update(t, changed)
			return l.found, nil
		}
	}
	return l.walk(ctx, t)
}

// update looks at the files that changed, and those that may have without a sign.
func (l *listing) update(t Tree, changed map[string]bool) {
	for _, f := range l.files {
		if f.state == "" {
			changed[f.path] = true
		}
	}
	var edited []file
	texts, same := map[string][]byte{}, true
	for name := range changed {
		if !listed(name) {
			continue
		}
		at, have := slices.BinarySearchFunc(l.files, name, func(f file, n string) int { return f.compare(n) })
		info, err := os.Lstat(filepath.Join(l.dir, filepath.FromSlash(name)))
		switch there := err == nil && info.Mode().IsRegular(); {
		case there && have:
			now, was := fileOf(t, name, info, l.files[at], texts), l.files[at]
			l.files[at] = now
			same = same && (now.key == "") == (was.key == "")
			if now.key != was.key || now.state != was.state {
				edited = append(edited, now)
			}
		case there:
			l.files, same = slices.Insert(l.files, at, fileOf(t, name, info, file{}, texts)), false
		case have:
			l.files, same = slices.Delete(l.files, at, at+1), false
		}
	}
	if same {
		l.replace(edited)
	} else {
		l.put()
	}
}

// walk looks at all files, from now on with a watch where they are many.
func (l *listing) walk(ctx context.Context, t Tree) (found, error) {
	l.drop()
	if l.large {
		l.watch, _ = inotify.Open(l.dir, Skipped) // what cannot be watched is looked at each time
	}
	l.walked = time.Now()
	known := make(map[string]file, len(l.files))
	for _, f := range l.files {
		known[f.path] = f
	}
	l.files, l.partial, l.hidden = nil, false, false
	texts, left := map[string][]byte{}, cmp.Or(l.room, maxSearched)
	err := entries(ctx, t, ".", func(p string, d fs.DirEntry) bool {
		info, err := d.Info()
		switch {
		case d.IsDir():
			l.hidden = l.hidden || !gotypes.Skips(d.Name())
			return true
		case err != nil || !listed(p): // it went away, or is of no interest
			return true
		}
		f := fileOf(t, p, info, known[p], texts)
		if left -= f.size; left < 0 {
			l.partial = true
			return false
		}
		l.files = append(l.files, f)
		return true
	})
	if l.partial = l.partial || errors.Is(err, errTooMany); err != nil && !l.partial {
		l.files = nil
		l.drop()
		return found{}, err
	}
	slices.SortFunc(l.files, func(a, b file) int { return a.compare(b.path) })
	if l.large = l.dir != "" && len(l.files) > manyFiles && !l.partial; !l.large {
		l.drop()
	}
	l.put()
	return l.with(texts), nil
}

// put makes what is told of the files.
func (l *listing) put() {
	sources, keys, golang := make([]source, 0, len(l.files)), make([]string, 0, len(l.files)), []gotypes.Listed(nil)
	for _, f := range l.files {
		if f.key != "" {
			keys, sources = append(keys, f.key), append(sources, f.source)
		}
		if gotypes.Reads(f.path) {
			golang = append(golang, gotypes.Listed{Name: f.path, State: f.state})
		}
	}
	if l.dir == "" || l.hidden || l.partial {
		golang = nil
	}
	l.sources, l.keys, l.golang = sources, keys, golang
}

// replace puts files in the place of those of their names.
func (l *listing) replace(edited []file) {
	if len(edited) == 0 {
		return
	}
	l.sources, l.keys, l.golang = slices.Clone(l.sources), slices.Clone(l.keys), slices.Clone(l.golang)
	for _, f := range edited {
		if i, ok := slices.BinarySearchFunc(l.sources, f.path, source.compare); ok {
			l.sources[i], l.keys[i] = f.source, f.key
		}
		if i, ok := slices.BinarySearchFunc(l.golang, f.path, func(g gotypes.Listed, n string) int { return strings.Compare(g.Name, n) }); ok {
			l.golang[i].State = f.state
		}
	}
}

// with is what is told, with texts that were read.
func (l *listing) with(texts map[string][]byte) found {
	out := l.found
	if len(texts) == 0 {
		return out
	}
	out.sources = slices.Clone(out.sources)
	for i, s := range out.sources {
		out.sources[i].text = texts[s.path]
	}
	return out
}

// golang are a checkout's files of Go.
func golang(ctx context.Context, t Tree) gotypes.Files {
	out := gotypes.Files{FS: t.fsys}
	if t.at != "" {
		l, _ := t.list(ctx) // what cannot be listed is looked through, which says why it cannot
		out.Listed = l.golang
	}
	return out
}

// listed tells whether a file is in a listing.
func listed(name string) bool { return searched(name) || gotypes.Reads(name) }

// fileOf is a file of the checkout: the one before where it is as it was, else as it is read,
// its text among the texts.
func fileOf(t Tree, name string, info fs.FileInfo, before file, texts map[string][]byte) file {
	f := file{source: source{path: name}}
	if t.at != "" {
		f.state = fingerprint.File(info, time.Now())
	}
	if f.state != "" && f.state == before.state {
		return before
	}
	if !searched(name) {
		return f
	}
	text := t.read(name)
	f.size = len(text)
	if l := code.SyntaxOf(name); text == nil || f.size > maxData && (l == code.JSON || l == code.YAML) {
		return f
	}
	f.key, texts[name] = keyOf(name, text), text
	return f
}
