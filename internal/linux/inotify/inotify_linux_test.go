package inotify

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

// An answer has every write that ended before it was asked for; where folders change, it says
// that it does not know.
func TestChanged(t *testing.T) {
	dir := t.TempDir()
	do := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	at := func(name string) string { return filepath.Join(dir, name) }
	write := func(name string) { t.Helper(); do(os.WriteFile(at(name), []byte(name), 0o600)) }
	do(errors.Join(os.MkdirAll(at("a/b"), 0o700), os.MkdirAll(at("skipped/c"), 0o700)))
	write("a/b/old")
	open := func() *Watcher {
		t.Helper()
		w, err := Open(dir, func(name string) bool { return name == "skipped" })
		do(err)
		t.Cleanup(func() { _ = w.Close() })
		return w
	}
	w := open()
	want := func(ok bool, names ...string) {
		t.Helper()
		got, known := w.Changed()
		if list := slices.Sorted(maps.Keys(got)); known != ok || !slices.Equal(list, names) {
			t.Errorf("changed: %v, known %v; want %v, known %v", list, known, names, ok)
		}
	}
	want(true)
	for range 200 { // each is seen at once
		write("a/b/old")
		want(true, "a/b/old")
	}
	write("new")
	do(os.Rename(at("new"), at("a/moved")))
	do(os.Remove(at("a/b/old")))
	write("skipped/c/x")
	do(os.Mkdir(at("skipped/d"), 0o700))
	want(true, "a/b/old", "a/moved", "new")
	want(true)
	f, err := os.OpenFile(at("a/moved"), os.O_APPEND|os.O_WRONLY, 0)
	do(err)
	_, err = f.WriteString("more")
	do(err)
	want(true, "a/moved") // though it is still open
	do(f.Close())
	do(os.Mkdir(at("a/made"), 0o700))
	want(false)
	w = open()
	do(os.Rename(at("a/b"), at("a/c")))
	want(false)
	w = open()
	do(os.RemoveAll(at("a")))
	want(false)
}

// More than the kernel keeps of events is told as not known, not as what is left of them.
func TestOverflow(t *testing.T) {
	most, err := os.ReadFile("/proc/sys/fs/inotify/max_queued_events")
	if err != nil || len(most) > len("16384\n") {
		t.Skipf("the queue is large here: %s, %v", most, err)
	}
	dir := t.TempDir()
	w, err := Open(dir, func(string) bool { return false })
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = w.Close() }()
	for n := range 17_000 { // two events each, of two names in turn
		if err := os.WriteFile(filepath.Join(dir, string(rune('a'+n%2))), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if names, ok := w.Changed(); ok {
		t.Errorf("%v", names)
	}
}
