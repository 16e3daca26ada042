package workspace_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/git/gittest"
	"agency/internal/workspace"

	"github.com/google/go-cmp/cmp"
)

var longRule = "a " + strings.Repeat("b", 3000) + "\n"

// oddTrees are what an agent may leave in a checkout. Each is taken and can be
// sent to the user's repository, or is a fault of a kind that names the path.
var oddTrees = map[string]struct {
	base  []string // of path and text; none: a.txt
	write []string
	kind  workspace.ViolationKind // empty: it is taken
	names string                  // what the fault names
}{
	"an encoding that nothing fits":        {nil, []string{".gitattributes", "*.txt working-tree-encoding=UTF-16LE\n", "wide.txt", "abc"}, workspace.Encoded, ".gitattributes"},
	"an encoding that fits":                {nil, []string{"sub/.gitattributes", "*.txt working-tree-encoding=UTF-16LE\n", "sub/wide.txt", "a\x00"}, workspace.Encoded, "sub/.gitattributes"},
	"an encoding that nobody knows":        {nil, []string{".gitattributes", "*.txt working-tree-encoding=NOSUCH\n", "q.txt", "a"}, workspace.Encoded, ".gitattributes"},
	"an encoding without a name":           {nil, []string{".gitattributes", "*.txt working-tree-encoding\n", "q.txt", "a"}, workspace.Encoded, ".gitattributes"},
	"an encoding by a macro":               {nil, []string{".gitattributes", "[attr]wide working-tree-encoding=UTF-16\n*.bom wide\n", "q.bom", "ab"}, workspace.Encoded, ".gitattributes"},
	"words about encodings":                {nil, []string{".gitattributes", "# no working-tree-encoding=x here\n*.txt text -working-tree-encoding\n"}, "", ""},
	"rules of line ends":                   {nil, []string{".gitattributes", "* text=auto eol=crlf\n", "crlf.txt", "a\r\nb\n"}, "", ""},
	"a file of the base's encoding":        {[]string{".gitattributes", "*.rc working-tree-encoding=UTF-16LE\n", "a.txt", "a\n"}, []string{"new.rc", "a\x00\n\x00"}, "", ""},
	"a file that is none of that encoding": {[]string{".gitattributes", "*.rc working-tree-encoding=UTF-16LE\n", "a.txt", "a\n"}, []string{"new.rc", "abc"}, workspace.Unreadable, "new.rc"},
	"one more rule of an encoding": {
		[]string{".gitattributes", "*.rc working-tree-encoding=UTF-16LE\n", "a.txt", "a\n"},
		[]string{".gitattributes", "*.rc working-tree-encoding=UTF-16LE\n*.sh working-tree-encoding=UTF-16LE\n", "t.sh", "a\x00"},
		workspace.Encoded, "t.sh",
	},
	"the base's encoding no more": {
		[]string{".gitattributes", "*.txt working-tree-encoding=UTF-16LE\n", "a.txt", "a\x00"},
		[]string{".gitattributes", ""},
		workspace.Encoded, "a.txt",
	},
	"other rules beside the base's encoding": {
		[]string{".gitattributes", "*.rc working-tree-encoding=UTF-16LE\n", "a.txt", "a\n"},
		[]string{".gitattributes", "*.rc working-tree-encoding=UTF-16LE\n*.md text\n"},
		"", "",
	},
	"attributes that are a folder":    {nil, []string{".gitattributes/x", "a"}, workspace.Refused, ".gitattributes (gitattributesBlob"},
	"submodules that are a folder":    {nil, []string{"sub/.gitmodules/x", "a"}, workspace.Refused, "sub/.gitmodules (gitmodulesBlob"},
	"a line that no git reads":        {nil, []string{"sub/.gitattributes", longRule}, workspace.Refused, "sub/.gitattributes (gitattributesLineLength"},
	"a submodule of a wrong name":     {nil, []string{".gitmodules", "[submodule \"../x\"]\n\tpath = y\n"}, workspace.Refused, ".gitmodules (gitmodulesName"},
	"submodules by a short name":      {nil, []string{"gitmod~1", "[submodule \"../x\"]\n\tpath = y\n"}, workspace.Refused, "gitmod~1 (gitmodulesName"},
	"submodules by a name with more":  {nil, []string{".g\u200citmodules", "[submodule \"../x\"]\n\tpath = y\n"}, workspace.Refused, "(gitmodulesName"},
	"submodules that nobody can read": {nil, []string{".gitmodules", "bad [ line\n"}, "", ""},
	"a long line of the base's": {
		[]string{".gitattributes", longRule, "a.txt", "a\n"}, []string{"a.txt", "b\n"}, "", "",
	},
	"an ignore file that is a folder": {nil, []string{".gitignore/x", "a"}, "", ""},
	"names": {nil, []string{
		"n\n\t", "", "t\t\"q\"\\'", "a", "-rf", "b", ":(exclude)x", "c", "\xff\xfe", "d", "\x01\x1b[2J", "e", strings.Repeat("x", 255), "f", " ", "g", "line\nd/\n", "h", "' '\nadd 'a.txt'", "i",
	}, "", ""},
}

func TestOddTreesAreTakenOrNamed(t *testing.T) {
	for name, c := range oddTrees {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if c.base == nil {
				c.base = []string{"a.txt", "a\n"}
			}
			b := setup(t, gittest.New(t, c.base...))
			w := b.work()
			before := snap(t, w)
			gittest.WriteFiles(t, w.Path(), c.write...)
			tree, err := w.Snapshot(t.Context())
			if c.kind == "" {
				if err != nil {
					t.Fatal(err)
				}
				wantFiles(t, w, tree, c.write)
				wantSent(t, w.Run(), tree)
				return
			}
			fault := (*workspace.Violation)(nil)
			if !errors.As(err, &fault) || fault.Kind != c.kind || !strings.Contains(fault.Error(), c.names) || agency.KindOf(err) != agency.KindInvalid {
				t.Fatalf("got %v, want a fault %q that names %q", err, c.kind, c.names)
			}
			// Another process finds it, too; and it can be undone.
			m := workspace.New(workspace.Options{Git: b.host, DB: b.db})
			run, err := m.OpenRun(t.Context(), b.info)
			if err != nil {
				t.Fatal(err)
			}
			w, err = run.Open(t.Context(), "main", workspace.Work)
			if err != nil {
				t.Fatal(err)
			}
			if _, err = w.Snapshot(t.Context()); !errors.As(err, &fault) {
				t.Fatalf("after a restart: %v", err)
			}
			if err := w.Restore(t.Context(), before); err != nil {
				t.Fatal(err)
			}
			if got := snap(t, w); got != before {
				t.Errorf("restored to %s, was %s", got, before)
			}
		})
	}
}

// wantFiles compares the paths of a tree with those that were written.
func wantFiles(t *testing.T, w *workspace.Workspace, tree agency.OID, written []string) {
	t.Helper()
	entries, err := w.Run().Dir().Objects().Tree(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	has := map[string]bool{}
	for _, e := range entries {
		has[e.Path] = true
	}
	for i := 0; i < len(written); i += 2 {
		if p := filepath.Clean(written[i]); !has[p] {
			t.Errorf("%q is not in the tree", p)
		}
	}
}

// wantSent sends a tree to the user's repository, which checks it.
func wantSent(t *testing.T, run *workspace.Run, tree agency.OID) {
	t.Helper()
	if err := run.Sound(t.Context(), tree); err != nil {
		t.Error(err)
	}
	tip, err := run.Dir().Commits().Write(t.Context(), tree, []agency.OID{run.Base()}, "m", git.Identity{Name: "n", Email: "e"})
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Send(t.Context(), tip, run.Base()); err != nil {
		t.Error(err)
	}
	left, err := filepath.Glob(filepath.Join(run.Folder(), "git", "*-*"))
	if diff := cmp.Diff([]string(nil), left); diff != "" || err != nil {
		t.Error(diff, err)
	}
}

// What no fault of a checkout stands behind stays an error: a disk, a folder of
// our own that is gone, an end.
func TestOtherErrorsAreNoFaults(t *testing.T) {
	for name, breaks := range map[string]func(*testing.T, *bench, *workspace.Workspace) context.Context{
		"our own folder is gone": func(t *testing.T, b *bench, w *workspace.Workspace) context.Context {
			if err := os.RemoveAll(filepath.Join(w.Run().Folder(), "git")); err != nil {
				t.Fatal(err)
			}
			return t.Context()
		},
		"an index that is none": func(t *testing.T, b *bench, w *workspace.Workspace) context.Context {
			if err := os.WriteFile(filepath.Join(w.Run().Folder(), "index", "work", "main", "index"), []byte("DIRC, or not"), 0o600); err != nil {
				t.Fatal(err)
			}
			return t.Context()
		},
		"it was ended": func(t *testing.T, b *bench, w *workspace.Workspace) context.Context {
			ctx, cancel := context.WithCancel(t.Context())
			cancel()
			return ctx
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := setup(t, gittest.New(t, "a.txt", "a\n"))
			w := b.work()
			snap(t, w)
			gittest.WriteFiles(t, w.Path(), "b.txt", "b\n", ".gitattributes", "* text\n")
			_, err := w.Snapshot(breaks(t, b, w))
			if fault := (*workspace.Violation)(nil); err == nil || errors.As(err, &fault) {
				t.Errorf("got %v", err)
			}
		})
	}
}

// What git says that it took in is a line a path: a name that looks like two lines
// must not hide a repository, nor what is tracked.
func TestANameThatLooksLikeTwo(t *testing.T) {
	r := gittest.New(t, "x", "x\n", "y", "y\n")
	w := setup(t, r).work()
	snap(t, w)
	name := "x'\nadd 'y"
	gittest.WriteFiles(t, w.Path(), name+"/f", "f\n")
	r.Git("init", "-q", filepath.Join(w.Path(), name))
	r.Git("-C", filepath.Join(w.Path(), name), "add", "f")
	r.Git("-C", filepath.Join(w.Path(), name), "commit", "-q", "-m", "m")
	fault := (*workspace.Violation)(nil)
	if tree, err := w.Snapshot(t.Context()); !errors.As(err, &fault) || fault.Kind != workspace.NestedGit || !strings.Contains(fault.Error(), name) {
		t.Fatalf("tree %q, %v", tree, err)
	}
	if err := os.RemoveAll(filepath.Join(w.Path(), name, ".git")); err != nil {
		t.Fatal(err)
	}
	wantFiles(t, w, snap(t, w), []string{"x", "", "y", "", name + "/f", ""})
}
