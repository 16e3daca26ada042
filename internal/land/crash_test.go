package land_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// crashSpec is what the child process does until it is killed.
type crashSpec struct {
	State string
	Point string
	After int // how often the point is passed before
	Land  *land.Spec
	Batch []land.Spec // that land together
	Merge *land.MergeSpec
	Begin *land.BranchSpec // of a line
}

// crash performs the step as a host does and kills itself, with no deferred
// call run, when the point is reached.
func crash(text string) {
	var spec crashSpec
	if err := json.Unmarshal([]byte(text), &spec); err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	ctx := context.Background()
	w, err := openWorld(ctx, spec.State)
	if err != nil {
		fmt.Println(err)
		os.Exit(3)
	}
	var passed atomic.Int64
	w.opts.Reached = func(point string) {
		if point == spec.Point && passed.Add(1) > int64(spec.After) {
			if self, err := os.FindProcess(os.Getpid()); err == nil {
				_ = self.Kill()
			}
			select {}
		}
	}
	if spec.Batch != nil {
		_, err = w.landTogether(ctx, spec.Batch)
	} else if spec.Begin != nil {
		_, err = w.queue().Branch(ctx, "begin", *spec.Begin)
	} else if spec.Land != nil {
		_, err = w.queue().Land(ctx, "land", *spec.Land)
	} else {
		_, err = w.target().Merge(ctx, "merge", *spec.Merge)
	}
	fmt.Println("not killed:", err)
	os.Exit(4)
}

// killed runs the step in a process that is killed at a point, and gives the
// world as the next host finds it.
func killed(t *testing.T, w *world, spec crashSpec) *world {
	t.Helper()
	if err := w.db.Close(); err != nil {
		t.Fatal(err)
	}
	spec.State = w.state
	text, err := json.Marshal(spec)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "LAND_CRASH="+string(text))
	out, err := cmd.CombinedOutput()
	exit := (*exec.ExitError)(nil)
	if !errors.As(err, &exit) || exit.ExitCode() != -1 {
		t.Fatalf("the child was not killed at %s: %v %s", spec.Point, err, out)
	}
	next, err := openWorld(t.Context(), w.state)
	if err != nil {
		t.Fatal(err)
	}
	next.t, next.repo = t, w.repo
	t.Cleanup(func() { _ = next.db.Close() })
	return next
}

// someOf leaves a third of the points where time is short: each is a process of its own.
func someOf(points ...string) (out []string) {
	for i, point := range points {
		if !testing.Short() || i%3 == 1 {
			out = append(out, point)
		}
	}
	return out
}

func TestLandingSurvivesAKillAtEachPoint(t *testing.T) {
	for _, point := range someOf("land.begin", "land.names", "land.intent.before", "land.intent.after", "land.objects", "land.ref", "land.done") {
		t.Run(point, func(t *testing.T) {
			w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
			spec := w.claim("main", w.run().Base(), "a.txt", "A\n")
			w = killed(t, w, crashSpec{Point: point, Land: &spec})
			out := w.land("land", spec)
			if out.Landed == nil || out.Landed.Tree != spec.Tree || w.repo.Rev(branch) != out.Landed.Commit {
				t.Errorf("%+v", out)
			}
			if n := len(w.log(branch)); n != 1 {
				t.Errorf("landed %d times", n)
			}
			if n := w.mergedEvents(); n != 1 {
				t.Errorf("%d events", n)
			}
			w.clean()
		})
	}
}

var mergePoints = []string{
	"merge.intent.before", "merge.intent.after", "merge.objects", "merge.lock", "merge.files.before", "merge.files.after",
	"merge.index", "merge.ref", "merge.lock.renamed", "merge.index.renamed", "merge.done",
}

func TestMergeSurvivesAKillAtEachPoint(t *testing.T) {
	for _, point := range someOf(mergePoints...) {
		t.Run(point, func(t *testing.T) {
			w := landed(t, false, nil)
			w.repo.Write("untracked.txt", "mine\n", "other.txt", "edited\n")
			old := w.repo.Rev(target)
			w = killed(t, w, crashSpec{Point: point, Merge: &land.MergeSpec{Run: runID, Target: target}})
			if err := w.target().Recover(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			// Recovered, the checkout is whole: before or after, never between.
			if got := w.repo.Git("status", "--porcelain"); got != " M other.txt\n?? untracked.txt" {
				t.Errorf("recovered status:\n%s", got)
			}
			w.sound()
			if out := w.merge("merge", land.MergeSpec{}); out.Merged == nil {
				t.Fatalf("%+v", out)
			}
			w.isMerged(old)
			if got := w.repo.Git("status", "--porcelain"); got != " M other.txt\n?? untracked.txt" {
				t.Errorf("status:\n%s", got)
			}
			w.sound()
		})
	}
}

// A run that is cancelled while it merges is merged and says so, or has touched nothing.
func TestMergeCancelledAtEachPoint(t *testing.T) {
	for _, checkedOut := range []bool{true, false} {
		for _, point := range append([]string{"merge.still", "merge.lock.before"}, mergePoints...) {
			t.Run(fmt.Sprint(point, " checked out ", checkedOut), func(t *testing.T) {
				w := landed(t, false, nil)
				if !checkedOut {
					w.repo.Git("switch", "-q", "-c", "elsewhere")
				}
				old := w.repo.Rev(target)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				reached := false
				w.opts.Reached = func(at string) {
					if at == point {
						reached = true
						cancel()
					}
				}
				out, err := w.target().Merge(ctx, "merge", land.MergeSpec{Run: runID, Target: target})
				if !reached {
					return // a branch that is checked out nowhere has fewer points
				}
				var run agency.Run
				half := true
				read := func() {
					if err := w.db.Read(t.Context(), func(q *store.Snapshot) (err error) {
						if run, err = registry.Run(q, runID); err == nil {
							half, err = land.UnderWay(q, runID)
						}
						return err
					}); err != nil {
						t.Fatal(err)
					}
				}
				if read(); half {
					t.Errorf("the merge is under way still: %+v %v", out, err)
				}
				if moved := w.repo.Rev(target) != old; moved != (run.Merged != "") || moved != (out.Merged != nil) {
					t.Errorf("moved: %t, recorded: %q, answered: %+v %v", moved, run.Merged, out, err)
				}
				w.clean()
				w.sound()
			})
		}
	}
}

// Killed while git writes files: one is cut short, one is missing, one is
// whole. The user edits another meanwhile, which stays.
func TestHalfWrittenFilesGoBack(t *testing.T) {
	w := landed(t, false, nil)
	before := gittest.Fingerprint(t, w.repo.Dir, gittest.Files)
	w = killed(t, w, crashSpec{Point: "merge.files.before", Merge: &land.MergeSpec{Run: runID, Target: target}})
	w.repo.Write("a.txt", "1\ntw", "new/n.txt", "n\n")
	if err := os.Remove(w.repo.Dir + "/gone.txt"); err != nil {
		t.Fatal(err)
	}
	if err := w.target().Recover(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(before, gittest.Fingerprint(t, w.repo.Dir, gittest.Files)); diff != "" {
		t.Error(diff)
	}
	w.clean()
	w.mustMerge(land.MergeSpec{})
	w.clean()
}

func TestEditsBetweenKillAndRecoveryStay(t *testing.T) {
	w := landed(t, false, nil)
	w = killed(t, w, crashSpec{Point: "merge.files.after", Merge: &land.MergeSpec{Run: runID, Target: target}})
	w.repo.Write("a.txt", "typed since\n")
	out := w.merge("merge", land.MergeSpec{})
	if out.Refused == nil || out.Refused.Cause != land.CauseOverlap || w.repo.Read("a.txt") != "typed since\n" {
		t.Errorf("%+v, %q", out, w.repo.Read("a.txt"))
	}
	if w.repo.Read("gone.txt") != "g\n" || w.repo.Read("new/n.txt") != "(absent)" || w.repo.Read("dir") != "file\n" {
		t.Error("the other files did not go back")
	}
	w.sound()
}

// The user removes the lock that the killed process left and goes on working.
func TestLockRemovedByHand(t *testing.T) {
	for _, point := range []string{"merge.files.after", "merge.index", "merge.ref", "merge.lock.renamed"} {
		t.Run(point, func(t *testing.T) {
			w := landed(t, false, nil)
			old := w.repo.Rev(target)
			w = killed(t, w, crashSpec{Point: point, Merge: &land.MergeSpec{Run: runID, Target: target}})
			if err := os.Remove(w.repo.Dir + "/.git/index.lock"); err != nil {
				t.Fatal(err)
			}
			w.repo.Write("staged.txt", "s\n")
			w.repo.Git("add", "staged.txt")
			if err := w.target().Recover(t.Context(), ""); err != nil {
				t.Fatal(err)
			}
			if got := w.repo.Git("status", "--porcelain"); got != "A  staged.txt" {
				t.Errorf("recovered status:\n%s", got)
			}
			if out := w.merge("merge", land.MergeSpec{}); out.Merged == nil {
				t.Fatalf("%+v", out)
			}
			w.isMerged(old)
			w.sound()
		})
	}
}

func TestKillDuringAPlainSwap(t *testing.T) {
	for _, point := range []string{"merge.intent.after", "merge.objects", "merge.ref"} {
		t.Run(point, func(t *testing.T) {
			w := landed(t, false, func(r *gittest.Repo) { r.Git("branch", "side") })
			w.repo.Git("checkout", "-q", "side")
			old := w.repo.Rev(target)
			w = killed(t, w, crashSpec{Point: point, Merge: &land.MergeSpec{Run: runID, Target: target}})
			if out := w.merge("merge", land.MergeSpec{}); out.Merged == nil {
				t.Fatalf("%+v", out)
			}
			w.isMerged(old)
			w.clean()
		})
	}
}

// Recovery of a run whose merge was recovered already does nothing.
func TestRecoverIsIdempotent(t *testing.T) {
	w := landed(t, false, nil)
	w = killed(t, w, crashSpec{Point: "merge.ref", Merge: &land.MergeSpec{Run: runID, Target: target}})
	for range 3 {
		if err := w.target().Recover(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := w.mergedEvents(); n != 2 {
		t.Errorf("%d events", n)
	}
	w.clean()
}
