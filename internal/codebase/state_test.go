package codebase

import (
	"io/fs"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"
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
