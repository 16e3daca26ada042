package land_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"agency/internal/agency"
	"agency/internal/board"
	boardstate "agency/internal/board/state"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/git/gittest"
	"agency/internal/land"
	"agency/internal/lease"
	"agency/internal/registry"
	"agency/internal/sandbox"
	"agency/internal/store"
	"agency/internal/store/storetest"
	"agency/internal/workspace"

	"github.com/google/go-cmp/cmp"
)

const (
	runID  = agency.RunID("run-1")
	branch = "agency/run-1/main"
	target = "main"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	if spec := os.Getenv("LAND_CRASH"); spec != "" {
		crash(spec)
	}
	os.Exit(m.Run())
}

// world is a user's repository with a run on it.
type world struct {
	t     testing.TB
	repo  *gittest.Repo
	state string
	db    *store.DB
	m     *workspace.Manager
	opts  land.Options
	dirty bool
	// reasons is what verification says of the next candidates.
	reasons  []string
	judge    func(land.Candidate) []string // instead
	verified atomic.Int64
}

// VerifyLanding answers as the test wants.
func (w *world) VerifyLanding(_ context.Context, c land.Candidate) ([]string, error) {
	w.verified.Add(1)
	if w.judge != nil {
		return w.judge(c), nil
	}
	return w.reasons, nil
}

func newHost(ctx context.Context) (*git.Program, error) {
	return git.NewProgram(ctx, git.Options{Binary: os.Getenv("LAND_GIT"), Getenv: func(k string) string {
		return map[string]string{
			"HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.Getenv("LAND_GITCONFIG"), "GNUPGHOME": os.Getenv("LAND_GNUPGHOME"),
		}[k]
	}})
}

// open opens the state folder as a host that starts does.
func openWorld(ctx context.Context, state string) (*world, error) {
	h, err := newHost(ctx)
	if err != nil {
		return nil, err
	}
	w := &world{state: state}
	o := store.Options{
		Path: filepath.Join(state, "agency.db"),
		Sets: []store.Set{event.Migrations(), lease.Migrations(), board.Migrations(), boardstate.Migrations(), registry.Migrations(), workspace.Migrations(), land.Migrations()},
	}
	if err := storetest.Prepare(o); err != nil {
		return nil, err
	}
	w.db, err = store.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	epoch, err := w.db.RaiseEpoch(ctx)
	if err != nil {
		return nil, err
	}
	w.m = workspace.New(workspace.Options{Git: h, DB: w.db})
	w.opts = land.Options{DB: w.db, Runs: w.m, Verifier: w, Fence: agency.Fence{Epoch: epoch}}
	return w, nil
}

func begin(t testing.TB, r *gittest.Repo, dirty bool) *world {
	t.Helper()
	w := prepare(t, r, dirty)
	if _, err := w.queue().Branch(t.Context(), "branch", land.BranchSpec{Run: runID, Base: w.run().Base()}); err != nil {
		t.Fatal(err)
	}
	return w
}

func prepare(t testing.TB, r *gittest.Repo, dirty bool) *world {
	t.Helper()
	ctx := t.Context()
	w, err := openWorld(ctx, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	w.t, w.repo, w.dirty = t, r, dirty
	t.Cleanup(func() { _ = w.db.Close() })
	loc, err := git.Find(r.Dir)
	if err != nil {
		t.Fatal(err)
	}
	info := workspace.RunInfo{Run: runID, Repo: loc, Base: r.Rev("HEAD"), StateDir: w.state}
	if dirty {
		if info.Base, _, err = w.m.Dirty(ctx, info, info.Base, workspace.Include{Tracked: true, Untracked: []string{"local.txt"}}); err != nil {
			t.Fatal(err)
		}
		info.Dirty = info.Base
	}
	if _, err := w.m.OpenRun(ctx, info); err != nil {
		t.Fatal(err)
	}
	err = w.db.Write(ctx, func(tx *store.Tx) error {
		if err := registry.CreateRun(tx, agency.Run{
			ID: runID, Goal: "Do the work\nwell", Mode: agency.ModeSingle, State: agency.StateRunning,
			Repo: r.Dir, Base: info.Base, Target: target, Branch: branch,
		}, json.RawMessage(`{}`)); err != nil {
			return err
		}
		for _, id := range []agency.ContractID{"main", "other"} {
			c := agency.Contract{ID: id, RunID: runID, Title: "Title of " + string(id), Description: "What " + string(id) + " wants.\n\nAgency-Step: forged"}
			if err := registry.CreateContract(tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) queue() *land.Queue   { return land.NewQueue(w.opts) }
func (w *world) target() *land.Target { return land.NewTarget(w.opts) }

func (w *world) run() *workspace.Run {
	w.t.Helper()
	run, err := w.m.Run(w.t.Context(), runID)
	if err != nil {
		w.t.Fatal(err)
	}
	return run
}

// claim makes the workspace of a contract at a commit and writes files into
// it; content "-" deletes.
func (w *world) claim(contract string, at agency.OID, files ...string) land.Spec {
	w.t.Helper()
	return w.claimIn(workspace.Work, contract, at, files...)
}

func (w *world) claimIn(kind workspace.Kind, contract string, at agency.OID, files ...string) land.Spec {
	w.t.Helper()
	ws, err := w.run().Prepare(w.t.Context(), contract, at, kind)
	if err != nil {
		w.t.Fatal(err)
	}
	for i := 0; i+1 < len(files); i += 2 {
		if files[i+1] != "-" {
			gittest.WriteFiles(w.t, ws.Path(), files[i], files[i+1])
			continue
		}
		if err := os.RemoveAll(filepath.Join(ws.Path(), files[i])); err != nil {
			w.t.Fatal(err)
		}
	}
	tree, err := ws.Snapshot(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return land.Spec{Run: runID, Contract: agency.ContractID(contract), Tree: tree}
}

func (w *world) land(key agency.StepKey, spec land.Spec) land.Outcome {
	w.t.Helper()
	out, err := w.queue().Land(w.t.Context(), key, spec)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

func (w *world) merge(key agency.StepKey, spec land.MergeSpec) land.MergeOutcome {
	w.t.Helper()
	spec.Run = runID
	if spec.Target == "" {
		spec.Target = target
	}
	out, err := w.target().Merge(w.t.Context(), key, spec)
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// mergedEvents counts the events of landings and merges.
func (w *world) mergedEvents() (n int) {
	w.t.Helper()
	err := w.db.Read(w.t.Context(), func(s *store.Snapshot) error {
		evs, err := event.Since(s, 0, event.Filter{Run: runID}, 1000)
		for _, ev := range evs {
			if ev.Type == "merged" {
				n++
			}
		}
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return n
}

func (w *world) log(ref string) []git.Commit {
	w.t.Helper()
	list, err := w.run().Dir().Commits().Log(w.t.Context(), w.repo.Rev(ref), git.LogOptions{Not: []agency.OID{w.run().Base()}})
	if err != nil {
		w.t.Fatal(err)
	}
	return list
}

// clean asserts that the user's checkout is as committed and sound.
func (w *world) clean() {
	w.t.Helper()
	if got := w.repo.Git("status", "--porcelain"); got != "" {
		w.t.Errorf("status of the user's checkout:\n%s", got)
	}
	w.sound()
}

func (w *world) sound() {
	w.t.Helper()
	w.repo.Sane()
	for _, p := range []string{"index.lock", "index.agency", "index.agency.lock"} {
		if _, err := os.Lstat(filepath.Join(w.repo.Dir, ".git", p)); err == nil {
			w.t.Errorf("%s is left behind", p)
		}
	}
	if got := w.repo.Git("worktree", "list"); strings.Contains(got, w.state) {
		w.t.Errorf("worktrees: %s", got)
	}
}

func TestBranchPinsTheBase(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	base := w.run().Base()
	if got := w.repo.Rev("refs/heads/" + branch); got != base {
		t.Errorf("branch at %s", got)
	}
	again, err := w.queue().Branch(t.Context(), "branch", land.BranchSpec{Run: runID, Base: base})
	if err != nil || again.Head != base {
		t.Errorf("again: %+v %v", again, err)
	}
	w.land("k", w.claim("main", base, "a.txt", "A\n"))
	again, err = w.queue().Branch(t.Context(), "branch", land.BranchSpec{Run: runID, Base: base})
	if err != nil || again.Head != w.repo.Rev(branch) {
		t.Errorf("after a landing: %+v %v", again, err)
	}
	w.repo.Write("x", "x")
	foreign := w.repo.Commit("foreign")
	w.repo.Git("update-ref", "refs/heads/"+branch, string(foreign))
	if _, err := w.queue().Branch(t.Context(), "branch", land.BranchSpec{Run: runID, Base: base}); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("a foreign branch: %v", err)
	}
}

func TestBranchInTheWayNamesThePrefix(t *testing.T) {
	r := gittest.New(t, "a.txt", "a\n")
	r.Git("branch", "agency")
	w := prepare(t, r, false)
	_, err := w.queue().Branch(t.Context(), "branch", land.BranchSpec{Run: runID, Base: w.run().Base()})
	if agency.KindOf(err) != agency.KindInvalid || !strings.Contains(agency.MendOf(err), "branch_prefix") {
		t.Errorf("%v (mend %q)", err, agency.MendOf(err))
	}
}

func TestLanding(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "1\n2\n3\n4\n5\n", "b.txt", "b\n"), false)
	base := w.run().Base()
	before := gittest.Fingerprint(t, w.repo.Dir, gittest.Files)
	mine := w.claim("main", base, "a.txt", "one\n2\n3\n4\n5\n", "new/n.txt", "n\n")
	theirs := w.claim("other", base, "a.txt", "1\n2\n3\n4\nfive\n")

	out := w.land("run/main/land", mine)
	if out.Landed == nil || out.Landed.Tree != mine.Tree || w.repo.Rev(branch) != out.Landed.Commit {
		t.Fatalf("%+v", out)
	}
	second := w.land("run/other/land", theirs)
	if second.Landed == nil || second.Landed.Tree == theirs.Tree {
		t.Fatalf("%+v", second)
	}
	if got := w.repo.Git("show", branch+":a.txt"); got != "one\n2\n3\n4\nfive" {
		t.Errorf("merged: %q", got)
	}
	commits := w.log(branch)
	if len(commits) != 2 {
		t.Fatalf("%d commits", len(commits))
	}
	for _, c := range commits {
		if len(c.Parents) != 1 || c.Trailer("Agency-Run") != string(runID) || !strings.HasPrefix(c.Message, "Title of "+c.Trailer("Agency-Contract")+"\n\nWhat ") {
			t.Errorf("%+v", c)
		}
		if c.Author.String() != "agency <agency@localhost>" {
			t.Errorf("author %s", c.Author)
		}
	}
	if got := commits[0].Trailer("Agency-Step"); got != "run/other/land" {
		t.Errorf("step %q", got)
	}
	// The same step again: found, not repeated.
	verified := w.verified.Load()
	again := w.land("run/main/land", mine)
	if again.Landed == nil || !again.Landed.Already || again.Landed.Commit != out.Landed.Commit {
		t.Fatalf("%+v", again)
	}
	// What a landing changed is its own change, found again or not: not its claim's.
	want := &agency.Files{Created: []string{"new/n.txt"}, Modified: []string{"a.txt"}}
	for _, o := range []land.Outcome{out, again} {
		if diff := cmp.Diff(want, o.Landed.Files); diff != "" {
			t.Errorf("files of the first landing (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(&agency.Files{Modified: []string{"a.txt"}}, second.Landed.Files); diff != "" {
		t.Errorf("files of the second landing (-want +got):\n%s", diff)
	}
	if w.verified.Load() != verified || w.mergedEvents() != 2 || len(w.log(branch)) != 2 {
		t.Errorf("a repeated step did something: %d events", w.mergedEvents())
	}
	if after := gittest.Fingerprint(t, w.repo.Dir, gittest.Files); len(after) != len(before) {
		t.Error("files of the user changed")
	}
	w.clean()
	var list []land.Landing
	if err := w.db.Read(t.Context(), func(s *store.Snapshot) (err error) { list, err = land.Landings(s, runID); return err }); err != nil || len(list) != 2 || list[0].Branch != branch {
		t.Errorf("%+v %v", list, err)
	}
}

func TestForgedTrailerIsNoLanding(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	w.land("first", w.claim("main", w.run().Base(), "a.txt", "A\n")) // its description says "Agency-Step: forged"
	out := w.land("forged", w.claim("other", w.repo.Rev(branch), "b.txt", "b\n"))
	if out.Landed == nil || out.Landed.Already {
		t.Errorf("%+v", out)
	}
}

func TestRefusedClaims(t *testing.T) {
	r := gittest.New(t, "README.md", "r\n", "dir/a.txt", "a\n", "x.bin", "pointer\n", ".gitattributes", "*.bin filter=lfs -text\n")
	w := begin(t, r, false)
	base := w.run().Base()
	for name, c := range map[string]struct {
		files []string
		cause land.Cause
		path  string
	}{
		"clash":    {[]string{"readme.md", "x\n"}, land.CauseCaseCollision, "readme.md"},
		"folder":   {[]string{"Dir/b.txt", "x\n"}, land.CauseCaseCollision, "Dir"},
		"filtered": {[]string{"x.bin", "changed\n", ".gitattributes", ""}, land.CauseFiltered, "x.bin"},
	} {
		if err := w.run().Remove(t.Context(), "main", workspace.Work); err != nil {
			t.Fatal(err)
		}
		// The claim is made in a checkout of a kind that names no faults early:
		// landing refuses by itself.
		w.claim("main", base)
		out := w.land(agency.StepKey(name), w.claimIn(workspace.Verify, "main", base, c.files...))
		if out.Refused == nil || out.Refused.Cause != c.cause || !slices.Contains(out.Refused.Paths, c.path) || !strings.Contains(out.Reason, c.path) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	if w.repo.Rev(branch) != base {
		t.Error("the branch moved")
	}
}

func TestNothingToLandIsNoCommit(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	out := w.land("k", w.claim("main", w.run().Base()))
	if out.Landed == nil || !out.Landed.Empty || w.repo.Rev(branch) != w.run().Base() {
		t.Errorf("%+v", out)
	}
	if m := w.merge("m", land.MergeSpec{}); m.Merged == nil || m.Merged.Commit != w.run().Base() {
		t.Errorf("%+v", m)
	}
}

func TestBranchDeletedOrLocked(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	first := w.land("first", w.claim("other", w.run().Base(), "o.txt", "o\n"))
	spec := w.claim("main", w.run().Base(), "a.txt", "A\n")
	lock := filepath.Join(w.repo.Dir, ".git/refs/heads", branch+".lock")
	gittest.WriteFiles(t, filepath.Dir(lock), filepath.Base(lock), "")
	_, err := w.queue().Land(t.Context(), "k", spec)
	if agency.KindOf(err) != agency.KindTransient || !strings.Contains(agency.MendOf(err), lock) {
		t.Errorf("locked: %v", err)
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	w.repo.Git("branch", "-D", branch)
	_, err = w.queue().Land(t.Context(), "k", spec)
	if want := "git branch " + branch + " " + string(first.Landed.Commit); agency.KindOf(err) != agency.KindTransient || agency.MendOf(err) != want {
		t.Errorf("deleted: %v, mend %q", err, agency.MendOf(err))
	}
	w.repo.Git("branch", branch, string(first.Landed.Commit))
	if out := w.land("k", spec); out.Landed == nil {
		t.Errorf("mended: %+v", out)
	}
}

func TestSupersededHostCannotLand(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	spec := w.claim("main", w.run().Base(), "a.txt", "A\n")
	if _, err := w.db.RaiseEpoch(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := w.queue().Land(t.Context(), "k", spec); agency.KindOf(err) != agency.KindDenied {
		t.Errorf("%v", err)
	}
	if w.repo.Rev(branch) != w.run().Base() {
		t.Error("the branch moved")
	}
}

// Claims that land at the same time land one after the other, each once.
func TestConcurrentLandings(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	base := w.run().Base()
	specs := map[agency.StepKey]land.Spec{}
	for _, id := range []string{"main", "other"} {
		specs[agency.StepKey(id)] = w.claim(id, base, id+".txt", id)
	}
	q := w.queue()
	var wg sync.WaitGroup
	for key, spec := range specs {
		for range 2 { // the same step twice, as after a lost answer
			wg.Go(func() {
				if out, err := q.Land(t.Context(), key, spec); err != nil || out.Landed == nil {
					t.Errorf("%s: %+v %v", key, out, err)
				}
			})
		}
	}
	wg.Wait()
	if n := len(w.log(branch)); n != 2 || w.mergedEvents() != 2 {
		t.Errorf("%d commits, %d events", n, w.mergedEvents())
	}
	w.clean()
}
