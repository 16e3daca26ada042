package git_test

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/git/gittest"

	"github.com/google/go-cmp/cmp"
)

func host(t testing.TB) *git.Program {
	t.Helper()
	home := t.TempDir()
	h, err := git.NewProgram(t.Context(), git.Options{Getenv: func(k string) string {
		switch k {
		case "HOME":
			return home
		case "GIT_CONFIG_NOSYSTEM":
			return "1"
		}
		return ""
	}})
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func find(t testing.TB, dir string) git.Location {
	t.Helper()
	loc, err := git.Find(dir)
	if err != nil {
		t.Fatal(err)
	}
	return loc
}

func TestVersionIsRefusedBelow238(t *testing.T) {
	for line, ok := range map[string]bool{
		"2.37.9": false, "1.9.1": false, "2.38.0": true, "2.39.5 (Apple Git-154)": true, "3.0.0-rc1": true, "nonsense": false,
	} {
		fake := filepath.Join(t.TempDir(), "git")
		gittest.Program(t, fake, "#!/bin/sh\necho git version '"+line+"'\n")
		_, err := git.NewProgram(t.Context(), git.Options{Binary: fake})
		if (err == nil) != ok {
			t.Errorf("%s: %v", line, err)
		}
		if err != nil && (agency.KindOf(err) != agency.KindTransient || agency.MendOf(err) == "") {
			t.Errorf("%s: kind %v, mend %q", line, agency.KindOf(err), agency.MendOf(err))
		}
	}
	if _, err := git.NewProgram(t.Context(), git.Options{Binary: "/no/such/git"}); agency.MendOf(err) == "" {
		t.Errorf("missing git: %v", err)
	}
}

func TestFind(t *testing.T) {
	r := gittest.New(t, "a/b/c.txt", "x\n")
	main := find(t, filepath.Join(r.Dir, "a", "b"))
	want := git.Location{WorkTree: r.Dir, GitDir: filepath.Join(r.Dir, ".git"), CommonDir: filepath.Join(r.Dir, ".git")}
	if diff := cmp.Diff(want, main); diff != "" {
		t.Error(diff)
	}
	linked := filepath.Join(filepath.Dir(r.Dir), "linked")
	r.Git("worktree", "add", "-q", "-b", "side", linked)
	loc := find(t, linked)
	if !loc.Linked() || loc.CommonDir != want.CommonDir || loc.WorkTree != linked {
		t.Errorf("linked worktree: %+v", loc)
	}
	r.Git("clone", "-q", "--bare", r.Dir, r.Dir+".bare")
	for dir, mend := range map[string]string{
		filepath.Dir(r.Dir):             "git init",
		r.Dir + ".bare":                 "worktree add",
		filepath.Join(r.Dir, ".git"):    "cd " + r.Dir,
		filepath.Join(r.Dir, "nowhere"): "",
	} {
		_, err := git.Find(dir)
		if agency.KindOf(err) != agency.KindInvalid || !strings.Contains(agency.MendOf(err), mend) {
			t.Errorf("%s: %v (mend %q)", dir, err, agency.MendOf(err))
		}
	}
	if err := os.RemoveAll(filepath.Join(r.Dir, ".git", "worktrees")); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Find(linked); !strings.Contains(agency.MendOf(err), "worktree repair") {
		t.Errorf("broken link: %v", err)
	}
}

func TestFindSubmodule(t *testing.T) {
	inner := gittest.New(t, "lib.txt", "lib\n")
	r := gittest.New(t, "a.txt", "a\n")
	r.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", inner.Dir, "lib")
	loc := find(t, filepath.Join(r.Dir, "lib"))
	if loc.GitDir != filepath.Join(r.Dir, ".git", "modules", "lib") {
		t.Errorf("submodule: %+v", loc)
	}
	r.Git("-C", loc.WorkTree, "sparse-checkout", "set", "--cone") // moves what leads back to another file
	if find(t, loc.WorkTree) != loc || !loc.Recorded() {
		t.Errorf("sparse submodule: %+v", loc)
	}
}

// TestFindAsksTheRepository: a folder that only says whose checkout it is does
// not count; one that the repository's records lead to does.
func TestFindAsksTheRepository(t *testing.T) {
	r := gittest.New(t, "a.txt", "a\n")
	dir, common := filepath.Dir(r.Dir), filepath.Join(r.Dir, ".git")
	at := func(name string) string { return filepath.Join(dir, name) }
	r.Git("worktree", "add", "-q", "-b", "side", at("linked"))
	r.Git("worktree", "add", "-q", "-b", "gone", at("before"))
	r.Git("clone", "-q", "--bare", r.Dir, at("bare"))
	r.Git("clone", "-q", "--separate-git-dir", at("apart"), r.Dir, at("parted"))
	file := func(text string) func(string) error {
		return func(dot string) error { return os.WriteFile(dot, []byte("gitdir: "+text+"\n"), 0o600) }
	}
	forged := map[string]func(dot string) error{
		"a file to the repository": file(common),
		"a link to the repository": func(dot string) error { return os.Symlink(common, dot) },
		"a file to a worktree":     file(filepath.Join(common, "worktrees", "linked")),
		"a file to a bare one":     file(at("bare")),
		"a folder of its own": func(dot string) error {
			return errors.Join(os.Mkdir(dot, 0o700), os.WriteFile(filepath.Join(dot, "HEAD"), []byte("ref: refs/heads/main\n"), 0o600),
				os.WriteFile(filepath.Join(dot, "commondir"), []byte(common+"\n"), 0o600),
				os.WriteFile(filepath.Join(dot, "gitdir"), []byte(dot+"\n"), 0o600))
		},
	}
	for name, make := range forged {
		fake := at(strings.ReplaceAll(name, " ", "-"))
		if err := errors.Join(os.Mkdir(fake, 0o700), make(filepath.Join(fake, ".git"))); err != nil {
			t.Fatal(err)
		}
		if loc, err := git.Find(fake); agency.KindOf(err) != agency.KindInvalid || agency.MendOf(err) == "" {
			t.Errorf("%s: %+v, %v", name, loc, err)
		}
	}
	if err := os.Rename(at("before"), at("after")); err != nil {
		t.Fatal(err)
	}
	if _, err := git.Find(at("after")); !strings.Contains(agency.MendOf(err), "git worktree repair") {
		t.Errorf("moved: %v", err)
	}
	r.Git("-C", at("after"), "worktree", "repair")
	for where, recorded := range map[string]bool{r.Dir: true, at("linked"): true, at("after"): true, at("parted"): false} {
		if loc := find(t, where); loc.WorkTree != where || loc.Recorded() != recorded {
			t.Errorf("%s: %+v, recorded: %v", where, loc, loc.Recorded())
		}
	}
}

func TestHead(t *testing.T) {
	h := host(t)
	unborn := gittest.Init(t)
	got, err := h.At(find(t, unborn.Dir)).Refs().Head(t.Context())
	if err != nil || !got.Unborn() || got.Ref != "refs/heads/main" {
		t.Errorf("unborn: %+v %v", got, err)
	}
	r := gittest.New(t, "a", "1")
	got, err = h.At(find(t, r.Dir)).Refs().Head(t.Context())
	if err != nil || got.Commit != r.Rev("HEAD") || got.Detached() {
		t.Errorf("branch: %+v %v", got, err)
	}
	r.Git("checkout", "-q", "--detach")
	got, err = h.At(find(t, r.Dir)).Refs().Head(t.Context())
	if err != nil || got.Commit != r.Rev("HEAD") || !got.Detached() {
		t.Errorf("detached: %+v %v", got, err)
	}
}

func TestResolveRefusesOptionsAndNothing(t *testing.T) {
	h := host(t)
	r := gittest.New(t, "a", "1")
	d := h.At(find(t, r.Dir))
	for rev, kind := range map[agency.OID]agency.Kind{
		"--all": agency.KindInvalid, "": agency.KindInvalid, "a\nb": agency.KindInvalid, "main": agency.KindInvalid,
		agency.OID(strings.Repeat("1", 40)): agency.KindNotFound,
	} {
		if _, err := d.Refs().ResolveTree(t.Context(), rev); agency.KindOf(err) != kind {
			t.Errorf("%q: %v", rev, err)
		}
	}
	if _, err := d.Objects().Blob(t.Context(), "--output=/tmp/x", "a", 1<<20); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("an option passed for an id: %v", err)
	}
}

func TestUpdateRefSwapsOrSaysWhy(t *testing.T) {
	h := host(t)
	r := gittest.New(t, "a", "1")
	one := r.Rev("HEAD")
	two := r.Commit("two")
	d := h.At(find(t, r.Dir))
	ctx := t.Context()
	const ref = "refs/heads/agency/run/main"
	if err := d.Refs().Update(ctx, ref, one, "", "start", git.Identity{}); err != nil {
		t.Fatal(err)
	}
	moved := (*git.Moved)(nil)
	if err := d.Refs().Update(ctx, ref, two, "", "again", git.Identity{}); !errors.As(err, &moved) || moved.Got != one {
		t.Errorf("create twice: %v", err)
	}
	if err := d.Refs().Update(ctx, ref, one, two, "wrong", git.Identity{}); !errors.As(err, &moved) || moved.Got != one || agency.KindOf(err) != agency.KindConflict {
		t.Errorf("moved underneath: %v", err)
	}
	if err := d.Refs().Update(ctx, ref, two, one, "on", git.Identity{}); err != nil {
		t.Fatal(err)
	}
	blocked := (*git.Blocked)(nil)
	if err := d.Refs().Update(ctx, "refs/heads/main/x", one, "", "in the way", git.Identity{}); !errors.As(err, &blocked) || blocked.By != "refs/heads/main" {
		t.Errorf("below a branch: %v", err)
	}
	if err := d.Refs().Update(ctx, "refs/heads/agency", one, "", "in the way", git.Identity{}); !errors.As(err, &blocked) || blocked.By != ref {
		t.Errorf("above a branch: %v", err)
	}
	lock := filepath.Join(r.Dir, ".git", filepath.FromSlash(ref)+".lock")
	gittest.WriteFiles(t, r.Dir, ".git/"+ref+".lock", "")
	locked := (*git.Locked)(nil)
	if err := d.Refs().Update(ctx, ref, one, two, "locked", git.Identity{}); !errors.As(err, &locked) || locked.Path != lock || !strings.Contains(agency.MendOf(err), "rm ") {
		t.Errorf("stale lock: %v", err)
	}
	for _, bad := range []string{"main", "refs/heads/../x", "refs/heads/a..b", "refs/heads/x.lock", "refs/heads/a b", "-d"} {
		if err := d.Refs().Update(ctx, bad, one, "", "", git.Identity{}); agency.KindOf(err) != agency.KindInvalid {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// A repository full of traps: whatever this package does with it, none runs.
func TestNothingOfTheRepositoryRuns(t *testing.T) {
	h := host(t)
	r := gittest.New(t, "a.txt", "one\n", "big.bin", "x\n", ".gitattributes", "*.txt filter=evil diff=evil merge=evil\n*.bin filter=proc\n")
	witness := filepath.Join(t.TempDir(), "ran")
	evil := gittest.Script(t, filepath.Join(t.TempDir(), "evil"), witness)
	for _, name := range []string{"pre-commit", "post-checkout", "reference-transaction", "post-index-change", "post-commit", "update", "pre-receive", "post-update"} {
		gittest.Script(t, filepath.Join(r.Dir, ".git", "hooks", name), witness)
	}
	gittest.WriteFiles(t, r.Dir, ".git/more", "[filter \"evil\"]\n\tclean = "+evil+"\n")
	for _, kv := range [][2]string{
		{"core.fsmonitor", evil},
		{"filter.evil.smudge", evil},
		{"filter.evil.clean", evil},
		{"filter.proc.process", evil},
		{"filter.proc.required", "true"},
		{"diff.evil.command", evil},
		{"diff.evil.textconv", evil},
		{"merge.evil.driver", evil + " %A"},
		{"core.pager", evil},
		{"core.sshCommand", evil},
		{"alias.update-ref", "!" + evil},
		{"alias.log", "!" + evil},
		{"diff.external", evil},
		{"gpg.program", evil},
		{"commit.gpgSign", "true"},
		{"log.showSignature", "true"},
		{"credential.helper", "!" + evil},
		{"core.askPass", evil},
		{"core.editor", evil},
		{"core.alternateRefsCommand", evil},
		{"core.worktree", "/tmp"},
		{"include.path", "more"},
		{"uploadpack.packObjectsHook", evil},
		{"core.hooksPath", filepath.Join(r.Dir, ".git", "hooks")},
		{"remote.origin.promisor", "true"},
		{"remote.origin.url", "ext::" + evil},
	} {
		r.Git("config", kv[0], kv[1])
	}
	loc := find(t, r.Dir)
	ctx := t.Context()
	base := r.Rev("main")
	cfg, err := h.ReadConfig(ctx, loc)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(cfg.Scan()); n < 20 {
		t.Errorf("scan found only %d of the traps: %v", n, cfg.Scan())
	}
	settings, err := h.ReadSettings(ctx, loc)
	if err != nil {
		t.Fatal(err)
	}
	user := h.At(loc).WithConfig(settings.Neutral...)
	private := private(t, h, loc, settings)
	work, two := change(t, private, base)
	if err := private.Transfer().Send(ctx, loc.Objects(), git.Sending{Tips: []agency.OID{two}, Not: []agency.OID{base}}); err != nil {
		t.Fatal(err)
	}
	if err := user.Refs().Update(ctx, "refs/heads/agency/r/main", two, "", "x", git.Identity{}); err != nil {
		t.Fatal(err)
	}
	for name, do := range map[string]func() error{
		"log":       func() error { _, err := user.Commits().Log(ctx, two, git.LogOptions{}); return err },
		"patch":     func() error { _, _, err := private.Diff().Patch(ctx, base, two, 1<<20, git.PatchOptions{}); return err },
		"patch at":  func() error { _, _, err := user.Diff().Patch(ctx, base, two, 1<<20, git.PatchOptions{}); return err },
		"merge":     func() error { _, err := private.Commits().Merge(ctx, base, two); return err },
		"worktrees": func() error { _, err := user.Refs().Worktrees(ctx); return err },
		"blob":      func() error { _, err := user.Objects().Blob(ctx, two, "a.txt", 1<<20); return err },
		"smudged": func() error {
			return private.Objects().SmudgedTo(ctx, blobOf(t, private, two, "a.txt"), "a.txt", io.Discard)
		},
		"advance": func() error {
			if err := work.Files().Checkout(ctx, base); err != nil {
				return err
			}
			return work.Files().Advance(ctx, base, two)
		},
	} {
		if err := do(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if ran, err := os.ReadFile(witness); err == nil {
		t.Errorf("the repository ran:\n%s", ran)
	}
	if b, _ := os.ReadFile(filepath.Join(work.WorkTree, "a.txt")); string(b) != "two\n" {
		t.Errorf("a.txt: %q", b)
	}
}

// private is a git directory of our own beside the user's repository.
func private(t testing.TB, h *git.Program, loc git.Location, s git.Settings) git.Dir {
	t.Helper()
	borrow, err := git.ObjectDirs(loc.Objects())
	if err != nil {
		t.Fatal(err)
	}
	d, err := h.Create(git.Private{Path: filepath.Join(t.TempDir(), "git"), Borrow: borrow, Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// change checks base out, edits a.txt and commits it.
func change(t testing.TB, d git.Dir, base agency.OID) (git.Dir, agency.OID) {
	t.Helper()
	ctx := t.Context()
	root := t.TempDir()
	work := d.WithWorkTree(root, filepath.Join(d.GitDir, "index-test"))
	if err := work.Files().Checkout(ctx, base); err != nil {
		t.Fatal(err)
	}
	gittest.WriteFiles(t, root, "a.txt", "two\n", "new/file.txt", "n\n")
	added, err := work.Index().AddAll(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(git.Added{Paths: []string{"a.txt", "new/file.txt"}, Exact: true}, added); diff != "" {
		t.Error(diff)
	}
	tree, err := work.Index().WriteTree(ctx)
	if err != nil {
		t.Fatal(err)
	}
	commit, err := d.Commits().Write(ctx, tree, []agency.OID{base}, "two\n\nAgency-Step: k\n", git.Identity{Name: "Ada", Email: "ada@example.org"})
	if err != nil {
		t.Fatal(err)
	}
	return work, commit
}

func blobOf(t testing.TB, d git.Dir, tree agency.OID, path string) agency.OID {
	t.Helper()
	entries, err := d.Objects().Tree(t.Context(), tree)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Path == path {
			return e.ID
		}
	}
	t.Fatalf("no %s", path)
	return ""
}

func TestSendChecksAndIsIdempotent(t *testing.T) {
	h := host(t)
	r := gittest.New(t, "a.txt", "one\n")
	loc := find(t, r.Dir)
	d := private(t, h, loc, git.Settings{})
	base := r.Rev("HEAD")
	_, two := change(t, d, base)
	if _, err := r.Try("cat-file", "-e", string(two)); err == nil {
		t.Fatal("the commit is in the user's repository before it was sent")
	}
	for range 2 {
		if err := d.Transfer().Send(t.Context(), loc.Objects(), git.Sending{Tips: []agency.OID{two}, Not: []agency.OID{base}}); err != nil {
			t.Fatal(err)
		}
	}
	r.Git("update-ref", "refs/heads/x", string(two))
	r.Sane()
	// A tree that no checkout may ever see is refused by fsck.
	blob := blobOf(t, d, two, "a.txt")
	mktree := exec.Command("git", "--git-dir="+d.GitDir, "mktree")
	mktree.Stdin = strings.NewReader("120000 blob " + string(blob) + "\t.gitmodules\n")
	out, err := mktree.Output()
	if err != nil {
		t.Fatal(err)
	}
	tree := agency.OID(strings.TrimSpace(string(out)))
	bad, err := d.Commits().Write(t.Context(), tree, []agency.OID{base}, "bad", git.Identity{})
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Transfer().Send(t.Context(), loc.Objects(), git.Sending{Tips: []agency.OID{bad}, Not: []agency.OID{base}}); err == nil {
		t.Error("a symbolic link .gitmodules was let in")
	}
}

func TestMergeTree(t *testing.T) {
	h := host(t)
	r := gittest.New(t, "a.txt", "one\n", "b.txt", "b\n")
	base := r.Rev("HEAD")
	r.Write("a.txt", "ours\n")
	ours := r.Commit("ours")
	r.Git("checkout", "-q", "-b", "side", string(base))
	r.Write("b.txt", "B\n")
	clean := r.Commit("clean")
	r.Write("a.txt", "theirs\n")
	clash := r.Commit("clash")
	d := private(t, h, find(t, r.Dir), git.Settings{})
	m, err := d.Commits().Merge(t.Context(), ours, clean)
	if err != nil || len(m.Conflicts) != 0 {
		t.Fatalf("%+v %v", m, err)
	}
	m, err = d.Commits().Merge(t.Context(), ours, clash)
	if err != nil || len(m.Conflicts) != 1 || m.Conflicts[0] != "a.txt" {
		t.Errorf("%+v %v", m, err)
	}
}

func TestTrailerIsReadFromTheLastParagraphOnly(t *testing.T) {
	for message, want := range map[string]string{
		"t\n\nAgency-Step: forged\n\nAgency-Step: real\n": "real",
		"t\n\nAgency-Step: forged\n\nbody\n":              "",
		"Agency-Step: forged\n":                           "",
		"t\n\nAgency-Run: r\nAgency-Step: a/b c\n":        "a/b c",
	} {
		if got := (git.Commit{Message: message}).Trailer("Agency-Step"); got != want {
			t.Errorf("%q: %q", message, got)
		}
	}
}

func TestSettingsAreReadAsData(t *testing.T) {
	home := t.TempDir()
	gittest.WriteFiles(t, home, ".gitconfig", "[user]\n\tname = Gräfin <evil>\n\temail = g@example.org\n[core]\n\texcludesFile = ~/ig\n\tautocrlf = input\n[commit]\n\tgpgsign\n", "ig", "*.swp")
	h, err := git.NewProgram(t.Context(), git.Options{Getenv: func(k string) string {
		return map[string]string{"HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}[k]
	}})
	if err != nil {
		t.Fatal(err)
	}
	r := gittest.New(t, "a", "1")
	r.Git("config", "filter.lfs.clean", "git-lfs clean -- %f")
	gittest.WriteFiles(t, r.Dir, ".git/info/exclude", "local\n")
	s, err := h.ReadSettings(t.Context(), find(t, r.Dir))
	if err != nil {
		t.Fatal(err)
	}
	if s.Identity.String() != "Gräfin evil <g@example.org>" || !s.Sign || s.Core["core.autocrlf"] != "input" || s.Excludes != "*.swp\nlocal\n" {
		t.Errorf("%+v", s)
	}
	if diff := cmp.Diff([]string{"lfs"}, s.Filters); diff != "" {
		t.Error(diff)
	}
}

func TestObjectDirsFollowsEachLinkOnce(t *testing.T) {
	first := gittest.New(t, "a", "1")
	second := filepath.Join(t.TempDir(), "second")
	third := filepath.Join(t.TempDir(), "third")
	first.Git("clone", "-q", "--shared", first.Dir, second)
	first.Git("clone", "-q", "--shared", second, third)
	dirs, err := git.ObjectDirs(filepath.Join(third, ".git", "objects"))
	if err != nil || len(dirs) != 3 || dirs[2] != filepath.Join(first.Dir, ".git", "objects") {
		t.Errorf("%v %v", dirs, err)
	}
	if err := os.RemoveAll(filepath.Join(second, ".git")); err != nil {
		t.Fatal(err)
	}
	if _, err := git.ObjectDirs(filepath.Join(third, ".git", "objects")); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("a lost alternate: %v", err)
	}
}

// A private git dir borrows from a folder whose path git writes in quotes, and
// the chain of it is found again.
func TestObjectDirsOfAQuotedPath(t *testing.T) {
	for _, name := range []string{`a "q" $x`, `"`, "#b", `c\d"`, "line\nbreak", "ünï \"é\""} {
		first := gittest.New(t, "a", "1")
		odd := filepath.Join(t.TempDir(), name)
		if err := os.Rename(first.Dir, odd); err != nil {
			t.Fatal(err)
		}
		objects := filepath.Join(odd, ".git", "objects")
		private := filepath.Join(t.TempDir(), "git")
		if _, err := host(t).Create(git.Private{Path: private, Borrow: []string{objects}}); err != nil {
			t.Fatal(err)
		}
		dirs, err := git.ObjectDirs(filepath.Join(private, "objects"))
		if err != nil || len(dirs) != 2 || dirs[1] != objects {
			t.Errorf("%q: %q %v", name, dirs, err)
		}
	}
	octal := filepath.Join(t.TempDir(), "objects")
	if err := os.MkdirAll(filepath.Join(octal, "info"), 0o700); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "é")
	if err := os.Mkdir(other, 0o700); err != nil {
		t.Fatal(err)
	}
	quoted := `"` + filepath.Join(filepath.Dir(other), `\303\251`) + `"`
	if err := os.WriteFile(filepath.Join(octal, "info", "alternates"), []byte(quoted+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if dirs, err := git.ObjectDirs(octal); err != nil || len(dirs) != 2 || dirs[1] != other {
		t.Errorf("octal: %q %v", dirs, err)
	}
}
