package codebase

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"agency/internal/code"
	"agency/internal/code/gotypes"
)

// counted counts what is opened but folders.
type counted struct {
	fs.FS
	n *atomic.Int64
}

func (c counted) Open(name string) (fs.File, error) {
	if name != "." {
		c.n.Add(1)
	}
	return c.FS.Open(name)
}

// A file that is as it was is not read again by the next search, once the file system's clock
// has moved on; one that changed is, also where it keeps its size and its time of writing.
func TestUnchangedFilesAreNotRead(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "a.go")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("package a\n\nfunc Yak() {}\n")
	var n atomic.Int64
	tr := indexed(t).Of(counted{os.DirFS(dir), &n}).At(dir)
	found := func(word string) bool {
		t.Helper()
		out, err := tr.Search(t.Context(), word, 3)
		if err != nil {
			t.Fatal(err)
		}
		return len(out.Passages) > 0
	}
	quiet := func() bool {
		before := n.Load()
		return found("yak") && n.Load() == before
	}
	if tr.at != "" { // else nothing is known of this file system
		for until := time.Now().Add(10 * time.Second); !quiet(); {
			if time.Now().After(until) {
				t.Fatal("a file that nobody changed is read by each search")
			}
		}
	}
	info, err := os.Stat(file)
	if err != nil {
		t.Fatal(err)
	}
	write("package a\n\nfunc Gnu() {}\n")
	if err := os.Chtimes(file, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if !found("gnu") || found("yak") {
		t.Error("an edit that keeps size and time is not found")
	}
}

// Data is found by its keys.
func TestKeysAreFound(t *testing.T) {
	tr := indexed(t).Of(fstest.MapFS{
		"ci.yaml":      {Data: []byte("# What runs.\non: push\nretention:\n  days: 3\n")},
		"package.json": {Data: []byte("{\n  \"name\": \"x\",\n  \"workspaces\": [\"zebra\"]\n}\n")},
	})
	for words, want := range map[string]string{"retention days": "retention", "zebra": "workspaces"} {
		out, err := tr.Search(t.Context(), words, 1)
		if err != nil || len(out.Passages) != 1 || out.Passages[0].Symbol != want {
			t.Errorf("%s: %+v, %v", words, out, err)
		}
	}
	if out, err := tr.Find(t.Context(), "retention", "any", 5); err != nil || len(out.Symbols) != 0 {
		t.Errorf("a key among definitions: %+v, %v", out, err)
	}
}

// A folder of many files is watched: what changes in whatever way is found by the next search,
// and a search to which nothing happened looks at no file.
func TestManyFilesAreWatched(t *testing.T) {
	dir := t.TempDir()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	write := func(name, text string) {
		t.Helper()
		do(errors.Join(os.MkdirAll(filepath.Dir(at(name)), 0o700), os.WriteFile(at(name), []byte(text), 0o600)))
	}
	write("go.mod", "module m\n\ngo 1.26\n")
	for n := range manyFiles + 1 {
		write(fmt.Sprintf("p%d/f%d.go", n%50, n), fmt.Sprintf("package p%d\n\nfunc Step%d() {}\n", n%50, n))
	}
	e := New(code.New(code.Options{}), func() gotypes.Place { return gotypes.Place{} }, nil)
	t.Cleanup(func() { do(e.Close()) })
	tr := e.Of(os.DirFS(dir)).At(dir)
	if tr.at == "" {
		t.Skip("nothing is known of this file system")
	}
	list := func() found {
		t.Helper()
		l, err := tr.list(t.Context())
		do(err)
		return l
	}
	has := func(name string) bool {
		return slices.ContainsFunc(list().sources, func(s source) bool { return s.path == name })
	}
	list()
	list() // from now on it is watched
	l := e.listings.of(dir)
	if l.watch == nil {
		t.Fatal("it is not watched")
	}
	walked := l.walked
	before := keysOf(list().sources)
	write("p7/f7.go", "package p7\n\nfunc Okapi() {}\n")
	used, err := tr.References(t.Context(), "Okapi", "p7/f7.go")
	if err != nil || used.Certainty != Types || len(used.Places) != 1 {
		t.Errorf("what was written is %+v, %v", used, err)
	}
	for _, k := range list().keys {
		delete(before, k)
	}
	if len(before) != 1 {
		t.Errorf("an edit changed %d files", len(before))
	}
	write("p7/made.go", "package p7\n")
	if !has("p7/made.go") {
		t.Error("a new file is not found")
	}
	do(os.Rename(at("p7/made.go"), at("p8/made.go")))
	if has("p7/made.go") || !has("p8/made.go") {
		t.Error("a file that moved is not found where it is")
	}
	do(os.Remove(at("p8/made.go")))
	do(os.Symlink("f8.go", at("p8/made.go")))
	if has("p8/made.go") {
		t.Error("a link is taken for a file")
	}
	if l.walked != walked {
		t.Error("all files were looked at for one")
	}
	write("fresh/below/made.go", "package below\n")
	if !has("fresh/below/made.go") {
		t.Error("a file in a new folder is not found")
	}
	do(os.Rename(at("fresh"), at("other")))
	if has("fresh/below/made.go") || !has("other/below/made.go") {
		t.Error("a folder that moved is not found where it is")
	}
}

// Packages of Go lie also in folders that a search passes over: they are looked for then.
func TestHiddenPackagesAreFound(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":        "module m\n\ngo 1.26\n",
		"venv/v.go":     "package venv\n\nfunc Make() {}\n",
		"main.go":       "package main\n\nimport \"m/venv\"\n\nfunc main() { venv.Make() }\n",
		"vendor/x/x.go": "package x\n",
	} {
		at := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	used, err := indexed(t).Of(os.DirFS(dir)).At(dir).References(t.Context(), "Make", "venv/v.go")
	if err != nil || used.Certainty != Types || len(used.Places) != 2 || len(used.Unsure) != 0 {
		t.Errorf("%+v, %v", used, err)
	}
}
