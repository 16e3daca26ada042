package land_test

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/land"
)

// somebody looks at the run's branch while work lands on it: in the main
// checkout, in a linked worktree, detached at its head, on a branch of the same
// commit. No checkout changes, landings go on, and the branch follows later.
func TestLandingWhileTheBranchIsLookedAt(t *testing.T) {
	for name, c := range map[string]struct {
		look, leave []string
		linked      bool
		held        bool
	}{
		"in the main checkout":     {[]string{"switch", "-q", branch}, []string{"switch", "-q", target}, false, true},
		"in a linked worktree":     {[]string{"worktree", "add", "-q", "../linked", branch}, []string{"worktree", "remove", "../linked"}, true, true},
		"detached":                 {[]string{"switch", "-q", "--detach", branch}, []string{"switch", "-q", target}, false, false},
		"another branch beside it": {[]string{"switch", "-q", "-c", "mine", branch}, []string{"switch", "-q", target}, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := begin(t, gittest.New(t, "a.txt", "a\n", "b.txt", "b\n"), false)
			base := w.run().Base()
			first := w.land("k1", w.claim("main", base, "a.txt", "A\n"))
			w.repo.Git(c.look...)
			at := w.repo
			if c.linked {
				at = &gittest.Repo{T: t, Dir: w.repo.Dir + "/../linked"}
			}
			at.Write("untracked.txt", "mine\n")
			before := gittest.Fingerprint(t, at.Dir, gittest.Files)
			second := w.land("k2", w.claim("other", first.Landed.Commit, "b.txt", "B\n"))
			if second.Landed == nil {
				t.Fatalf("%+v", second)
			}
			if got := fmt.Sprint(gittest.Fingerprint(t, at.Dir, gittest.Files)); got != fmt.Sprint(before) || at.Git("status", "--porcelain") != "?? untracked.txt" {
				t.Errorf("the checkout changed: %s", at.Git("status", "--porcelain"))
			}
			if again := w.land("k2", land.Spec{Run: runID, Contract: "other", Tree: second.Landed.Tree}); again.Landed == nil || !again.Landed.Already || again.Landed.Commit != second.Landed.Commit {
				t.Errorf("again: %+v", again)
			}
			head, err := w.queue().Head(t.Context(), "head", land.BranchSpec{Run: runID})
			if err != nil || head.Head != second.Landed.Commit || (head.Held != "") != c.held {
				t.Errorf("head %+v, %v", head, err)
			}
			if stays := w.repo.Rev("refs/heads/"+branch) == first.Landed.Commit; stays != c.held {
				t.Errorf("the branch stays: %v", stays)
			}
			more := w.claim("third", second.Landed.Commit, "a.txt", "AA\n")
			more.Contract, more.Workspace = "main", "third"
			third := w.land("k3", more)
			if third.Landed == nil || at.Git("status", "--porcelain") != "?? untracked.txt" {
				t.Errorf("%+v, %s", third, at.Git("status", "--porcelain"))
			}
			if c.held && w.merge("merge", land.MergeSpec{Head: first.Landed.Commit}).Merged != nil {
				t.Error("merged what was not shown")
			}
			if out := w.merge("merge", land.MergeSpec{Head: third.Landed.Commit}); out.Merged == nil {
				t.Errorf("%+v", out)
			}
			if got := w.repo.Git("show", target+":a.txt", target+":b.txt"); got != "AA\nB" {
				t.Errorf("merged %q", got)
			}
			if got := at.Git("status", "--porcelain"); got != "?? untracked.txt" {
				t.Errorf("after the merge: %s", got)
			}
			at.Git("clean", "-fq")
			w.repo.Git(c.leave...)
			head, err = w.queue().Head(t.Context(), "head-2", land.BranchSpec{Run: runID})
			if err != nil || head.Held != "" || w.repo.Rev("refs/heads/"+branch) != third.Landed.Commit {
				t.Errorf("left: %+v, %v", head, err)
			}
			w.clean()
		})
	}
}

// What somebody commits on a branch that is held back stays there, and is named.
func TestCommitOnAHeldBranch(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	w.repo.Git("switch", "-q", branch)
	first := w.land("k1", w.claim("main", w.run().Base(), "a.txt", "A\n"))
	w.repo.Write("hers.txt", "hers\n")
	hers := w.repo.Commit("hers")
	w.repo.Git("switch", "-q", target)
	head, err := w.queue().Head(t.Context(), "head", land.BranchSpec{Run: runID})
	if err != nil || head.Head != first.Landed.Commit || !strings.Contains(head.Held, "was moved to "+string(hers)[:10]) ||
		!strings.Contains(head.Held, "git branch "+branch+"-own "+string(hers)+" && git branch -f "+branch+" "+string(first.Landed.Commit)) {
		t.Errorf("%+v, %v", head, err)
	}
	if w.repo.Rev("refs/heads/"+branch) != hers {
		t.Error("her commit is not on the branch any more")
	}
}

// TestPersonAtEveryStepOfALanding has a person take the run's branch, and leave
// it, at each step of a landing.
func TestPersonAtEveryStepOfALanding(t *testing.T) {
	for name, c := range map[string]struct{ before, act string }{
		"takes it":              {"", "git switch -q " + branch},
		"takes it elsewhere":    {"", "git worktree add -q ../linked " + branch},
		"leaves it":             {"git switch -q " + branch, "git switch -q main"},
		"detaches":              {"", "git switch -q --detach " + branch},
		"collects garbage":      {"", "git gc -q --prune=now"},
		"packs refs":            {"", "git pack-refs --all --prune"},
		"commits on it":         {"", "git switch -q " + branch + "; git commit -q --allow-empty -m hers; git switch -q main"},
		"takes it and comes by": {"git switch -q " + branch, "git commit -q --allow-empty -m hers"},
	} {
		t.Run(name, func(t *testing.T) {
			for n, acted := 1+len(name)%*stride, true; acted; n += *stride {
				t.Run(fmt.Sprint(n), func(t *testing.T) {
					p := newPerson(t)
					w := begin(t, gittest.New(t, "a.txt", "a\n", "other.txt", "o\n"), false)
					spec := w.claim("main", w.run().Base(), "a.txt", "A\n")
					if c.before != "" {
						w.repo.Git(strings.Fields(c.before)[1:]...)
					}
					w.repo.Write("other.txt", "edited\n", "untracked.txt", "mine\n")
					p.at(n, w.repo.Dir, c.act)
					out := w.land("land", spec)
					acted = p.leaves()
					if out.Landed == nil {
						t.Fatalf("%+v", out)
					}
					w.asSheLeftIt(true, p.said())
					head, err := w.queue().Head(t.Context(), "head", land.BranchSpec{Run: runID})
					if err != nil {
						t.Fatal(err)
					}
					if ok, err := w.run().Dir().Commits().IsAncestor(t.Context(), out.Landed.Commit, head.Head); !ok || err != nil {
						t.Errorf("the landing is not on the head: %v", err)
					}
					w.asSheLeftIt(true, p.said())
				})
				if testing.Short() {
					break
				}
			}
		})
	}
}

// What is not as it was shown is not merged: a branch that somebody moved, and a
// target that moved so that the merge comes to something else.
func TestMergeOfWhatWasNotShown(t *testing.T) {
	const many = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
	for name, c := range map[string]struct {
		do     func(w *world)
		why    string
		byHand bool
	}{
		"the branch got a commit": {func(w *world) {
			w.repo.Git("switch", "-q", branch)
			w.repo.Git("commit", "-q", "--allow-empty", "-m", "hers")
			w.repo.Git("switch", "-q", target)
		}, "of Ada, hers", true},
		"the branch was set back":         {func(w *world) { w.repo.Git("branch", "-f", branch, target) }, "without ", true},
		"the target changed another file": {func(w *world) { w.repo.Write("c.txt", "c\n"); w.repo.Commit("c") }, "", false},
		"the target changed the same file": {func(w *world) {
			w.repo.Write("a.txt", strings.Replace(many, "9", "nine", 1))
			w.repo.Commit("nine")
		}, "a.txt", false},
		"the target has a part already": {func(w *world) { w.repo.Write("b.txt", "B\n"); w.repo.Commit("part") }, "b.txt", false},
		"the target was set back":       {func(w *world) { w.repo.Git("reset", "-q", "--hard", "HEAD~1") }, "before.txt", false},
	} {
		t.Run(name, func(t *testing.T) {
			r := gittest.New(t, "a.txt", many, "b.txt", "b\n")
			r.Write("before.txt", "x\n")
			r.Commit("before")
			w := begin(t, r, false)
			landed := w.land("k", w.claim("main", w.run().Base(), "a.txt", strings.Replace(many, "1", "one", 1), "b.txt", "B\n")).Landed
			c.do(w)
			old := w.repo.Rev(target)
			out := w.merge("merge-1", land.MergeSpec{Head: landed.Commit})
			if out.Moved == nil || out.Moved.ByHand != c.byHand || (out.Moved.Why == "") != (c.why == "") || !strings.Contains(out.Moved.Why, c.why) {
				t.Fatalf("%+v", out.Moved)
			}
			if w.repo.Rev(target) != old {
				t.Error("merged without being shown")
			}
			if again := w.merge("merge-2", land.MergeSpec{Head: out.Moved.Head, Verified: out.Moved}); again.Merged == nil {
				t.Errorf("shown again: %+v", again)
			}
			w.clean()
		})
	}
}

// A target that was rewritten from its first commit on shares nothing with the
// run: the merge is refused, and can be asked for again.
func TestMergeIntoAnotherHistory(t *testing.T) {
	r := gittest.New(t, "a.txt", "a\n")
	w := begin(t, r, false)
	landed := w.land("k", w.claim("main", w.run().Base(), "a.txt", "b\n")).Landed
	first := w.repo.Rev(target)
	w.repo.Git("commit", "-q", "--amend", "-m", "amended")
	for _, key := range []agency.StepKey{"merge-1", "merge-2"} {
		out := w.merge(key, land.MergeSpec{Head: landed.Commit})
		if out.Refused == nil || out.Refused.Cause != land.CauseUnrelated || !strings.Contains(out.Mend, "git apply --index") {
			t.Fatalf("%+v", out)
		}
	}
	w.repo.Git("reset", "-q", "--hard", string(first))
	if out := w.merge("merge-3", land.MergeSpec{Head: landed.Commit}); out.Merged == nil {
		t.Errorf("set back: %+v", out)
	}
	w.clean()
}
