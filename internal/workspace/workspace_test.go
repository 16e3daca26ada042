package workspace_test

import (
	"errors"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/git/gittest"
	"agency/internal/sandbox"
	"agency/internal/store"
	"agency/internal/store/storetest"
	"agency/internal/workspace"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	// A case costs some git commands; -rapid.checks asks for more.
	if err := flag.Set("rapid.checks", "25"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

type bench struct {
	t     testing.TB
	repo  *gittest.Repo
	host  *git.Program
	db    *store.DB
	m     *workspace.Manager
	state string
	info  workspace.RunInfo
}

func setup(t testing.TB, r *gittest.Repo) *bench {
	t.Helper()
	home := t.TempDir()
	h, err := git.NewProgram(t.Context(), git.Options{Getenv: func(k string) string {
		return map[string]string{"HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}[k]
	}})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, repo: r, host: h, state: t.TempDir()}
	b.db = storetest.Open(t, store.Options{
		Path: filepath.Join(b.state, "agency.db"), Sets: []store.Set{event.Migrations(), workspace.Migrations()},
	})
	b.m = workspace.New(workspace.Options{Git: h, DB: b.db})
	loc, err := git.Find(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	b.info = workspace.RunInfo{Run: "run-1", Repo: loc, Base: r.Rev("HEAD"), StateDir: b.state}
	return b
}

func (b *bench) open() *workspace.Run {
	b.t.Helper()
	run, err := b.m.OpenRun(b.t.Context(), b.info)
	if err != nil {
		b.t.Fatal(err)
	}
	return run
}

func (b *bench) work() *workspace.Workspace {
	b.t.Helper()
	run := b.open()
	w, err := run.Prepare(b.t.Context(), "main", run.Base(), workspace.Work)
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

// files lists a tree as "path content" lines.
func files(t testing.TB, w *workspace.Workspace, tree agency.OID) []string {
	t.Helper()
	entries, err := w.Run().Dir().Objects().Tree(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		if e.Mode == git.ModeGitlink {
			list = append(list, e.Path+" (gitlink)")
			continue
		}
		text, err := w.Run().Dir().Objects().Content(t.Context(), e.ID, 1<<20)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, e.Path+" "+strings.TrimSpace(string(text)))
	}
	return list
}

func snap(t testing.TB, w *workspace.Workspace) agency.OID {
	t.Helper()
	tree, err := w.Snapshot(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return tree
}

func TestSnapshotTakesTrackedAndUnignored(t *testing.T) {
	b := setup(t, gittest.New(t, "a.txt", "a", "dir/b.txt", "b", ".gitignore", "*.log\n/cache/\n", "dir/.gitignore", "!keep.log\ngen\n"))
	before := gittest.Fingerprint(t, b.repo.Dir, nil)
	w := b.work()
	if tree := snap(t, w); tree != b.open().BaseTree() {
		t.Errorf("a fresh checkout's tree is %s", tree)
	}
	gittest.WriteFiles(t, w.Path(), "a.txt", "A", "new/c.txt", "c", "x.log", "no", "dir/keep.log", "yes", "cache/z", "no", "dir/gen", "no", "gen", "yes")
	if err := os.Remove(filepath.Join(w.Path(), "dir/b.txt")); err != nil {
		t.Fatal(err)
	}
	want := []string{".gitignore *.log\n/cache/", "a.txt A", "dir/.gitignore !keep.log\ngen", "dir/keep.log yes", "gen yes", "new/c.txt c"}
	if diff := cmp.Diff(want, files(t, w, snap(t, w))); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff(before, gittest.Fingerprint(t, b.repo.Dir, nil)); diff != "" {
		t.Errorf("the user's repository changed: %s", diff)
	}
}

// The rules are those of the base, whatever the agent writes into ignore files.
func TestIgnoreFilesOfTheAgentAreContent(t *testing.T) {
	for name, write := range map[string][]string{
		"hide everything":        {".gitignore", "*\n"},
		"hide by a new file":     {"src/.gitignore", "*\n"},
		"hide source":            {".gitignore", "*.log\n*.go\n"},
		"show what was ignored":  {".gitignore", "!*.log\n"},
		"both, in a new folder":  {"fresh/.gitignore", "*.go\n", "fresh/x.go", "x"},
		"ignore files as folder": {"src/.gitignore/f", "f"},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, gittest.New(t, "src/a.go", "a", ".gitignore", "*.log\n", "kept.log", "k"))
			b.repo.Git("add", "-f", "kept.log")
			b.repo.Git("commit", "-q", "-m", "tracked although ignored")
			b.info.Base = b.repo.Rev("HEAD")
			w := b.work()
			snap(t, w)
			gittest.WriteFiles(t, w.Path(), append(write, "src/new.go", "n", "src/no.log", "no", "kept.log", "K")...)
			got := files(t, w, snap(t, w))
			for _, want := range []string{"src/new.go n", "src/a.go a", "kept.log K"} {
				if !slices.Contains(got, want) {
					t.Errorf("%q is missing in %q", want, got)
				}
			}
			if slices.Contains(got, "src/no.log no") {
				t.Errorf("an ignored file is in %q", got)
			}
			for i := 0; i < len(write); i += 2 {
				if want := write[i] + " " + strings.TrimSpace(write[i+1]); !slices.Contains(got, want) {
					t.Errorf("%q is missing in %q", want, got)
				}
			}
			// Deleted in one turn and written again in another: tracked still.
			if err := os.Remove(filepath.Join(w.Path(), "kept.log")); err != nil {
				t.Fatal(err)
			}
			if got := files(t, w, snap(t, w)); slices.Contains(got, "kept.log K") {
				t.Errorf("a deleted file is in %q", got)
			}
			gittest.WriteFiles(t, w.Path(), "kept.log", "again")
			if got := files(t, w, snap(t, w)); !slices.Contains(got, "kept.log again") {
				t.Errorf("a file of the base that came back is missing in %q", got)
			}
		})
	}
}

func TestSnapshotReturnsToTheFastWay(t *testing.T) {
	b := setup(t, gittest.New(t, "a.go", "a", ".gitignore", "*.log\n"))
	w := b.work()
	first := snap(t, w)
	gittest.WriteFiles(t, w.Path(), ".gitignore", "*\n")
	if snap(t, w) == first {
		t.Error("the changed ignore file is not in the tree")
	}
	gittest.WriteFiles(t, w.Path(), ".gitignore", "*.log\n")
	if got := snap(t, w); got != first {
		t.Errorf("back at the base's rules: %q", files(t, w, got))
	}
	gittest.WriteFiles(t, w.Path(), "b.go", "b", "c.log", "c")
	if diff := cmp.Diff([]string{".gitignore *.log", "a.go a", "b.go b"}, files(t, w, snap(t, w))); diff != "" {
		t.Error(diff)
	}
}

func TestFaultsAreNamed(t *testing.T) {
	gitIn := func(t *testing.T, dir string, args ...string) {
		t.Helper()
		cmd := exec.Command("git", args...)
		cmd.Dir = dir
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_AUTHOR_NAME=x", "GIT_AUTHOR_EMAIL=x@y", "GIT_COMMITTER_NAME=x", "GIT_COMMITTER_EMAIL=x@y"}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	must := func(t *testing.T, err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, c := range map[string]struct {
		kind workspace.ViolationKind
		path string
		do   func(t *testing.T, root string)
	}{
		"file": {workspace.GitReplaced, ".git", func(t *testing.T, root string) {
			must(t, os.Remove(root+"/.git"))
			gittest.WriteFiles(t, root, ".git", "gitdir: /tmp/evil\n")
		}},
		"symlink": {workspace.GitReplaced, ".git", func(t *testing.T, root string) {
			must(t, os.Remove(root+"/.git"))
			must(t, os.Symlink("/tmp", root+"/.git"))
		}},
		"folder with content": {workspace.GitReplaced, ".git/config", func(t *testing.T, root string) {
			gittest.WriteFiles(t, root, ".git/config", "[core]\n")
		}},
		"removed": {workspace.GitReplaced, ".git", func(t *testing.T, root string) { must(t, os.Remove(root+"/.git")) }},
		"nested repository": {workspace.NestedGit, "lib/.git", func(t *testing.T, root string) {
			must(t, os.Mkdir(root+"/lib", 0o755))
			gitIn(t, root+"/lib", "init", "-q")
			gitIn(t, root+"/lib", "commit", "-q", "--allow-empty", "-m", "x")
		}},
		"nested without a commit": {workspace.NestedGit, "lib/.git", func(t *testing.T, root string) {
			must(t, os.Mkdir(root+"/lib", 0o755))
			gitIn(t, root+"/lib", "init", "-q")
			gittest.WriteFiles(t, root, "lib/x", "x")
		}},
		"in a tracked folder": {workspace.NestedGit, "src/.git", func(t *testing.T, root string) { gitIn(t, root+"/src", "init", "-q") }},
		"gitfile": {workspace.NestedGit, "lib/.git", func(t *testing.T, root string) {
			gittest.WriteFiles(t, root, "lib/.git", "gitdir: /tmp/elsewhere\n", "lib/x.go", "x")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := setup(t, gittest.New(t, "src/a.go", "a"))
			w := b.work()
			base := snap(t, w)
			c.do(t, w.Path())
			for what, err := range map[string]error{"check": w.Check(t.Context()), "snapshot": second(w.Snapshot(t.Context()))} {
				fault := (*workspace.Violation)(nil)
				if !errors.As(err, &fault) || fault.Kind != c.kind || !slices.Contains(fault.Paths, c.path) || agency.KindOf(err) != agency.KindInvalid {
					t.Errorf("%s: %v", what, err)
				}
			}
			if c.path != "src/.git" { // a .git in a tracked folder is the agent's to remove
				if err := w.Restore(t.Context(), base); err != nil {
					t.Fatal(err)
				}
				if got := snap(t, w); got != base {
					t.Errorf("after restoring: %q", files(t, w, got))
				}
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

// A hidden bare repository is plain files to us, and its configuration never
// runs; nor do filters that the agent's attributes name, nor a submodule's.
func TestNothingInAWorkspaceRuns(t *testing.T) {
	inner := gittest.New(t, "lib.txt", "lib\n")
	r := gittest.New(t, "a.txt", "a\n")
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir, "lib")
	r.Commit("submodule")
	b := setup(t, r)
	w := b.work()
	base := snap(t, w)
	witness := filepath.Join(t.TempDir(), "ran")
	evil := gittest.Script(t, filepath.Join(t.TempDir(), "evil"), witness)
	config := "[core]\n\tfsmonitor = " + evil + "\n\tworktree = /tmp\n\thooksPath = hooks\n[filter \"x\"]\n\tclean = " + evil + "\n\tsmudge = " + evil + "\n"
	gittest.WriteFiles(t, w.Path(),
		"bare/HEAD", "ref: refs/heads/main\n", "bare/config", config+"\tbare = true\n", "bare/objects/x", "", "bare/refs/x", "",
		".gitattributes", "* filter=x diff=x merge=x\n", "a.txt", "A\n")
	tree := snap(t, w)
	if !slices.Contains(files(t, w, tree), "a.txt A") {
		t.Errorf("%q", files(t, w, tree))
	}
	// The submodule's folder becomes a repository with traps.
	lib := filepath.Join(w.Path(), "lib")
	if out, err := exec.Command("cp", "-a", inner.Dir+"/.git", lib+"/.git").CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	gittest.WriteFiles(t, lib, ".git/config", config, "lib.txt", "changed\n")
	if err := os.Chtimes(lib, time.Unix(1, 0), time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	f := (*workspace.Violation)(nil)
	if _, err := w.Snapshot(t.Context()); !errors.As(err, &f) || f.Kind != workspace.Submodule {
		t.Errorf("a change in a submodule is not named: %v", err)
	}
	if b, err := os.ReadFile(filepath.Join(lib, "lib.txt")); err != nil || string(b) == "changed\n" {
		t.Errorf("the submodule's file was not put back: %q, %v", b, err)
	}
	if got := snap(t, w); got != tree {
		t.Errorf("a submodule's content changed the tree: %q", files(t, w, got))
	}
	if err := w.Restore(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	if got := snap(t, w); got != base {
		t.Errorf("restored: %q", files(t, w, got))
	}
	if ran, err := os.ReadFile(witness); err == nil {
		t.Errorf("the workspace ran:\n%s", ran)
	}
}

func TestRestoreKeepsIgnoredFilesAndRemovesTheRest(t *testing.T) {
	b := setup(t, gittest.New(t, "a.txt", "a", "d/b.txt", "b", ".gitignore", "*.log\n"))
	w := b.work()
	base := snap(t, w)
	gittest.WriteFiles(t, w.Path(), "a.txt", "A", "new/deep/c.txt", "c", "x.log", "cache")
	if err := os.RemoveAll(filepath.Join(w.Path(), "d")); err != nil {
		t.Fatal(err)
	}
	later := snap(t, w)
	gittest.WriteFiles(t, w.Path(), "unseen.txt", "u", "d", "a file where a folder was")
	if err := w.Restore(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	got := gittest.Fingerprint(t, w.Path(), gittest.Files)
	if _, ok := got["x.log"]; !ok || len(got) != 6 { // ".", .gitignore, a.txt, d, d/b.txt, x.log
		t.Errorf("%v", got)
	}
	if snap(t, w) != base {
		t.Error("not the base")
	}
	if err := w.Restore(t.Context(), later); err != nil {
		t.Fatal(err)
	}
	if snap(t, w) != later {
		t.Error("not the later tree")
	}
}

func TestRestoreDoesNotFollowLinksOut(t *testing.T) {
	b := setup(t, gittest.New(t, "d/b.txt", "b"))
	w := b.work()
	base := snap(t, w)
	outside := t.TempDir()
	gittest.WriteFiles(t, outside, "b.txt", "mine", "other", "mine")
	if err := os.RemoveAll(filepath.Join(w.Path(), "d")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(w.Path(), "d")); err != nil {
		t.Fatal(err)
	}
	before := gittest.Fingerprint(t, outside, nil)
	if diff := cmp.Diff([]string{"d " + outside}, files(t, w, snap(t, w))); diff != "" {
		t.Error(diff)
	}
	if err := w.Restore(t.Context(), base); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, gittest.Fingerprint(t, outside, nil)); diff != "" {
		t.Errorf("written outside: %s", diff)
	}
	root, err := w.Root()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = root.Close() }()
	for _, p := range []string{"../../agency.db", "/etc/passwd", "d/../../x"} {
		if _, err := root.Open(p); err == nil {
			t.Errorf("%s was opened", p)
		}
	}
}

func TestCheckpointsSurviveARestart(t *testing.T) {
	b := setup(t, gittest.New(t, "a.txt", "a"))
	w := b.work()
	gittest.WriteFiles(t, w.Path(), "a.txt", "one")
	first, err := w.CreateCheckpoint(t.Context(), "cp-1", "before the rewrite")
	if err != nil {
		t.Fatal(err)
	}
	gittest.WriteFiles(t, w.Path(), "a.txt", "two")
	if again, err := w.CreateCheckpoint(t.Context(), "cp-1", "again"); err != nil || again != first {
		t.Errorf("%+v %v", again, err)
	}
	b.m = workspace.New(workspace.Options{Git: b.host, DB: b.db}) // the host was killed
	run, err := b.m.Run(t.Context(), b.info.Run)
	if err != nil {
		t.Fatal(err)
	}
	w, err = run.Prepare(t.Context(), "main", run.Base(), workspace.Work)
	if err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(w.Path(), "a.txt")); string(b) != "two" {
		t.Errorf("a finished workspace was not reused as it is: %q", b)
	}
	if _, err := w.Rollback(t.Context(), "nope"); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("%v", err)
	}
	if _, err := w.Rollback(t.Context(), "cp-1"); err != nil {
		t.Fatal(err)
	}
	if b, _ := os.ReadFile(filepath.Join(w.Path(), "a.txt")); string(b) != "one" {
		t.Errorf("rolled back to %q", b)
	}
	list, err := w.Checkpoints(t.Context())
	if err != nil || len(list) != 1 || list[0] != first {
		t.Errorf("%+v %v", list, err)
	}
}

// A checkout that is cut short goes: whoever asked for it has nothing to remove.
func TestCutShortCheckoutIsGone(t *testing.T) {
	b := setup(t, gittest.New(t, "a.txt", "a"))
	run := b.open()
	b.repo.Write("b.txt", "b")
	broken := b.repo.Commit("one more")
	blob := b.repo.Git("rev-parse", "HEAD:b.txt")
	if err := os.Remove(filepath.Join(b.repo.Dir, ".git", "objects", blob[:2], blob[2:])); err != nil {
		t.Fatal(err)
	}
	if _, err := run.Prepare(t.Context(), "main", broken, workspace.Verify); err == nil {
		t.Fatal("it was made although a file of it is missing")
	}
	if refs, err := run.List(); err != nil || len(refs) > 0 {
		t.Errorf("%v are left, %v", refs, err)
	}
}

func TestHalfMadeCheckoutIsMadeAnew(t *testing.T) {
	b := setup(t, gittest.New(t, "a.txt", "a"))
	run := b.open()
	gittest.WriteFiles(t, b.state, "runs/run-1/work/main/a.txt", "half", "runs/run-1/work/main/junk", "x", "runs/run-1/index/work/main.lock", "")
	w, err := run.Prepare(t.Context(), "main", run.Base(), workspace.Work)
	if err != nil {
		t.Fatal(err)
	}
	if snap(t, w) != run.BaseTree() {
		t.Error("the leftovers of a half-made checkout are in the tree")
	}
	// Its folder is gone: made anew, too.
	if err := os.RemoveAll(w.Path()); err != nil {
		t.Fatal(err)
	}
	if w, err = run.Prepare(t.Context(), "main", run.Base(), workspace.Work); err != nil || snap(t, w) != run.BaseTree() {
		t.Errorf("%v", err)
	}
	for _, bad := range []string{"../evil", "a/b", "", ".git", "x.lock", "-x"} {
		if _, err := run.Prepare(t.Context(), bad, run.Base(), workspace.Work); agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

func TestStaleIndexLockOfOurOwnIsNoObstacle(t *testing.T) {
	b := setup(t, gittest.New(t, "a.txt", "a"))
	b.work()
	gittest.WriteFiles(t, b.state, "runs/run-1/index/work/main.lock", "")
	b.m = workspace.New(workspace.Options{Git: b.host, DB: b.db})
	if w := b.work(); snap(t, w) != b.open().BaseTree() {
		t.Error("not the base")
	}
}

func TestSweepRemovesOrphans(t *testing.T) {
	b := setup(t, gittest.New(t, "a.txt", "a"))
	run := b.open()
	b.work()
	if _, err := run.Clean(t.Context(), "main-verify", run.Base()); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFiles(t, b.state, "runs/run-1/integrate/half/x", "", "runs/gone-1/work/x", "")
	if err := os.MkdirAll(filepath.Join(b.state, "runs/run-1/verify/ro/sub"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(filepath.Join(b.state, "runs/run-1/verify/ro/sub"), 0o500); err != nil {
		t.Fatal(err)
	}
	gone, err := run.Sweep(t.Context(), []workspace.Ref{{Kind: workspace.Work, Name: "main"}})
	if err != nil || len(gone) != 3 {
		t.Errorf("%v %v", gone, err)
	}
	if list, err := run.List(); err != nil || len(list) != 1 {
		t.Errorf("%v %v", list, err)
	}
	orphans, err := workspace.Orphans(b.state, []agency.RunID{"run-1"})
	if err != nil || len(orphans) != 1 || filepath.Base(orphans[0]) != "gone-1" {
		t.Errorf("%v %v", orphans, err)
	}
	if err := b.m.Forget(t.Context(), "run-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := b.m.Run(t.Context(), "run-1"); agency.KindOf(err) != agency.KindNotFound {
		t.Errorf("%v", err)
	}
}
