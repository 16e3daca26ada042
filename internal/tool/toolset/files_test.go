package toolset

import (
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/tool"
)

const at = "/home/ann/shop"

// room makes a workspace with an outside beside it.
func room(t testing.TB) (*tool.Files, string) {
	t.Helper()
	dir := t.TempDir()
	root := filepath.Join(dir, "work")
	for name, content := range map[string]string{
		"work/a.txt": "one\ntwo\nthree\n", "work/sub/b.go": "package sub\n\nfunc B() {}\n", "work/bin.dat": "a\x00b",
		"work/crlf.txt": "one\r\ntwo\r\n", "work/empty.txt": "", "work/.git/config": "[core]\n",
		"work-evil/x": "outside\n", "secret": "outside\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for link, target := range map[string]string{
		"in": "a.txt", "out": "../secret", "abs": filepath.Join(dir, "secret"), "dangling": "nowhere", "folder": "sub",
		"evil": "../work-evil", "git": ".git", "loop": "loop", "up": "sub/../../secret", "hop": "folder/b.go",
	} {
		if err := os.Symlink(target, filepath.Join(root, link)); err != nil {
			t.Fatal(err)
		}
	}
	files, err := tool.OpenFiles(root, at)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = files.Close() })
	return files, root
}

func TestResolve(t *testing.T) {
	files, _ := room(t)
	for p, want := range map[string]string{
		"": ".", ".": ".", "a.txt": "a.txt", "./sub//b.go": "sub/b.go", "sub/../a.txt": "a.txt", "new/deep/x": "new/deep/x",
		at: ".", at + "/a.txt": "a.txt", at + "/sub/../a.txt": "a.txt", "in": "a.txt", "folder/b.go": "sub/b.go", "hop": "sub/b.go",
		"folder/new.go": "sub/new.go", ".gitignore": ".gitignore", ".github/x": ".github/x",
	} {
		if got, err := files.Resolve(p); err != nil || got != want {
			t.Errorf("%q: %q, %v, want %q", p, got, err, want)
		}
	}
	for _, p := range []string{
		"..", "../secret", "sub/../../secret", "/etc/passwd", at + "-evil/x", at + "/../x", "out", "abs", "dangling", "evil/x", "git/config",
		".git", ".git/config", "sub/.git/x", ".GIT/config", ".Git", ".git./config", ".git /config", "git~1/config", ".git::$INDEX_ALLOCATION/x",
		".g\u200cit/config", "loop", "up", "a\x00b", strings.Repeat("x", 5000),
	} {
		if got, err := files.Resolve(p); agency.KindOf(err) != agency.KindDenied {
			t.Errorf("%q: %q, %v, want it denied", p, got, err)
		}
	}
}

// A pipe or a device is named, never opened: opening one may never return.
func TestNoRegularFile(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no pipes in folders")
	}
	files, root := room(t)
	if err := mkfifo(filepath.Join(root, "pipe")); err != nil {
		t.Skip("mkfifo: ", err)
	}
	if _, err := files.Load("pipe"); agency.KindOf(err) != agency.KindDenied {
		t.Errorf("pipe: %v", err)
	}
}

func TestSaveKeepsModeAndReplacesAtomically(t *testing.T) {
	files, root := room(t)
	script := filepath.Join(root, "run.sh")
	if err := os.WriteFile(script, []byte("#!/bin/sh\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	before, err := os.Stat(script)
	if err != nil {
		t.Fatal(err)
	}
	call(t, files, "edit_file", `{"path":"run.sh","old_text":"/bin/sh","new_text":"/bin/bash"}`)
	after, err := os.Stat(script)
	if err != nil {
		t.Fatal(err)
	}
	if after.Mode() != before.Mode() || os.SameFile(before, after) {
		t.Errorf("mode %v became %v; same file: %v", before.Mode(), after.Mode(), os.SameFile(before, after))
	}
	entries, err := os.ReadDir(root)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s is left behind", e.Name())
		}
	}
}

// A write through a link changes what it leads to and keeps the link; a
// deletion takes the link away and keeps what it leads to.
func TestLinks(t *testing.T) {
	files, root := room(t)
	call(t, files, "write_file", `{"path":"in","content":"new\n"}`)
	if b, err := os.ReadFile(filepath.Join(root, "a.txt")); err != nil || string(b) != "new\n" {
		t.Errorf("a.txt: %q, %v", b, err)
	}
	if _, err := os.Readlink(filepath.Join(root, "in")); err != nil {
		t.Error(err)
	}
	call(t, files, "delete_file", `{"path":"in"}`)
	if _, err := os.Lstat(filepath.Join(root, "in")); !os.IsNotExist(err) {
		t.Errorf("the link is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(root, "a.txt")); err != nil {
		t.Error(err)
	}
	// A dangling link can be deleted, not written through.
	call(t, files, "delete_file", `{"path":"dangling"}`)
}

func FuzzResolve(f *testing.F) {
	files, root := room(f)
	for _, p := range []string{"a.txt", "../secret", "folder/../out", ".git/config", at + "/a.txt", "evil/x", "hop/..", "in/x"} {
		f.Add(p)
	}
	real, err := filepath.EvalSymlinks(root)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, p string) {
		rel, err := files.Resolve(p)
		if err != nil {
			return
		}
		where, err := filepath.EvalSymlinks(filepath.Join(root, rel))
		if err != nil {
			return // does not exist
		}
		if where != real && !strings.HasPrefix(where, real+"/") {
			t.Errorf("%q resolves to %q, which is %s", p, rel, where)
		}
		if inside := strings.TrimPrefix(where, real); strings.HasPrefix(inside, "/.git/") || inside == "/.git" {
			t.Errorf("%q resolves to %q, inside of .git", p, rel)
		}
	})
}

func TestGuardedFilesAreNotWritten(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a.go"), []byte("a\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	files, err := tool.OpenFiles(dir, dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = files.Close() }()
	files.SetGuard(func(_ context.Context, rel string) error {
		return agency.Errorf(agency.KindDenied, "%s is kept", rel)
	})
	for name, args := range map[string]string{
		"write_file": `{"path":"new/b.go","content":"b"}`, "edit_file": `{"path":"a.go","old_text":"a","new_text":"b"}`, "delete_file": `{"path":"a.go"}`,
	} {
		if res := run(t, files, name, args); !res.Failed || !strings.HasPrefix(res.Text, "error: ") || !strings.Contains(res.Text, "is kept") {
			t.Errorf("%s: %+v", name, res)
		}
	}
	if b, err := os.ReadFile(filepath.Join(dir, "a.go")); err != nil || string(b) != "a\n" {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "new")); !os.IsNotExist(err) {
		t.Errorf("a folder was made: %v", err)
	}
}
