package land_test

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/git/gittest"
	"agency/internal/land"
	"agency/internal/verify/verifytest"
)

var stride = flag.Int("stride", 53, "of the steps at which a person acts, each so many-th; 1: all")

// person acts on the user's repository in the middle of what a test does: just
// before the so many-th git command of it. She is a wrapper around git, so that
// the code under test knows nothing of her.
type person struct {
	t   *testing.T
	dir string
}

func newPerson(t *testing.T) *person {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t, t.TempDir()}
	script := fmt.Sprintf(`#!/bin/sh
d=%s
verb=
for a; do case $a in update-ref|checkout-index|symbolic-ref) verb=$a;; esac; done
if [ -n "$verb" ] && [ -e $d/full ] && grep -qx "$verb" $d/full; then
	echo "fatal: unable to write: No space left on device" >&2
	exit 128
fi
if [ -s $d/act ] && { [ ! -s $d/verb ] || [ "$(cat $d/verb)" = "$verb" ]; }; then
	echo x >>$d/passed
	n=$(wc -l <$d/passed)
	if [ "$n" -eq "$(cat $d/at)" ] && mkdir $d/acted 2>/dev/null; then
		(cd "$(cat $d/where)" && exec env -i HOME=/nonexistent PATH=%s:/usr/bin:/bin GIT_CONFIG_NOSYSTEM=1 GIT_EDITOR=: LC_ALL=C \
			GIT_AUTHOR_NAME=Ada GIT_AUTHOR_EMAIL=ada@example.org GIT_COMMITTER_NAME=Ada GIT_COMMITTER_EMAIL=ada@example.org \
			sh $d/act >$d/said 2>&1 </dev/null)
	fi
fi
exec %s "$@"
`, p.dir, filepath.Dir(real), real)
	gittest.Program(t, filepath.Join(p.dir, "git"), script)
	t.Setenv("LAND_GIT", filepath.Join(p.dir, "git"))
	return p
}

// at has her run a script in a folder before the n-th git command from now on.
func (p *person) at(n int, where, script string) {
	p.t.Helper()
	for name, text := range map[string]string{"at": strconv.Itoa(n), "where": where, "act": script} {
		if err := os.WriteFile(filepath.Join(p.dir, name), []byte(text), 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
}

// before has her run a script before the first command of a verb that moves
// something.
func (p *person) before(verb, where, script string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "verb"), []byte(verb), 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.at(1, where, script)
}

// full has the disk be full for some verbs of git; none: for nobody.
func (p *person) full(verbs ...string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.dir, "full"), []byte(strings.Join(verbs, "\n")+"\n"), 0o600); err != nil {
		p.t.Fatal(err)
	}
}

// leaves tells whether she has acted, and lets her do nothing more.
func (p *person) leaves() (acted bool) {
	_ = os.Remove(filepath.Join(p.dir, "act"))
	_, err := os.Stat(filepath.Join(p.dir, "acted"))
	return err == nil
}

func (p *person) said() string {
	b, _ := os.ReadFile(filepath.Join(p.dir, "said"))
	return strings.TrimSpace(string(b))
}

// TestPersonAtEveryStepOfAMerge has a person change the repository at each step
// of a merge: nothing of hers is lost, and no checkout is left in a state that
// she did not make.
func TestPersonAtEveryStepOfAMerge(t *testing.T) {
	const away, back = "git switch -q --detach", "git switch -q main"
	for name, c := range verifytest.Some(map[string]struct{ before, act, after string }{
		"begins a branch":       {"", "git switch -q -c fresh", ""},
		"switches":              {"", "git switch -q side", ""},
		"switches, same commit": {"", "git switch -q same", ""},
		"detaches":              {"", away, ""},
		"names another branch":  {"", "git symbolic-ref HEAD refs/heads/same", ""},
		"to the target":         {away, back, ""},
		"from side to target":   {"git switch -q side", back, ""},
		"commits":               {"", "git commit -q --allow-empty -m hers", ""},
		"commits and leaves":    {"", "git commit -q --allow-empty -m hers; git switch -q side", ""},
		"adds a worktree":       {away, "git worktree add -q ../linked main", ""},
		"adds a second":         {"", "git worktree add -q -f ../linked main", ""},
		"begins a merge":        {"", "git merge -q clash", "git merge --abort"},
		"begins a rebase":       {"", "git rebase -q clash", "git rebase --abort"},
		"begins a bisect":       {"", "git bisect start; git bisect bad; git bisect good HEAD~1", "git bisect reset"},
		"collects garbage":      {"", "git gc -q --prune=now", ""},
		"packs refs":            {"", "git pack-refs --all --prune", ""},
		"packs refs, away":      {away, "git pack-refs --all --prune; git switch -q main", ""},
	}) {
		t.Run(name, func(t *testing.T) {
			for n, acted := 1+len(name)%*stride, true; acted; n += *stride {
				t.Run(strconv.Itoa(n), func(t *testing.T) { acted = personAt(t, n, c.before, c.act, c.after) })
				if testing.Short() {
					break
				}
			}
		})
	}
}

func personAt(t *testing.T, n int, before, act, after string) (acted bool) {
	p := newPerson(t)
	w := landed(t, false, func(r *gittest.Repo) {
		r.Write("conflict.txt", "one\n")
		r.Commit("one")
		r.Git("branch", "same")
		r.Git("switch", "-q", "-c", "side")
		r.Write("side.txt", "s\n")
		r.Commit("side")
		r.Git("switch", "-q", "-c", "clash", "main")
		r.Write("conflict.txt", "clash\n")
		r.Commit("clash")
		r.Git("switch", "-q", "main")
		r.Write("conflict.txt", "two\n")
		r.Commit("two")
		r.Git("branch", "-f", "same")
	})
	if before != "" {
		w.repo.Git(strings.Fields(before)[1:]...)
	}
	dirty := !strings.Contains(act, "rebase")
	if dirty { // git begins no rebase in an edited checkout
		w.repo.Write("other.txt", "edited\n", "untracked.txt", "mine\n")
	}
	p.at(n, w.repo.Dir, act)
	out := w.merge("merge", land.MergeSpec{})
	acted = p.leaves()
	for i := 0; out.Moved != nil && i < 3; i++ {
		out = w.merge(agency.StepKey(fmt.Sprint("merge-", i)), land.MergeSpec{Verified: out.Moved})
	}
	if out.Merged == nil && out.Refused == nil {
		t.Fatalf("%+v", out)
	}
	w.asSheLeftIt(dirty, p.said())
	if after != "" {
		_, _ = w.repo.Try(strings.Fields(after)[1:]...) // where it began
		for i := 0; out.Merged == nil && i < 3; i++ {
			spec := land.MergeSpec{Verified: out.Moved}
			out = w.merge(agency.StepKey(fmt.Sprint("merge-after-", i)), spec)
		}
		if out.Merged == nil {
			t.Errorf("after %s: %+v", after, out)
		}
		w.asSheLeftIt(dirty, p.said())
	}
	return acted
}

// asSheLeftIt asserts that no worktree shows a change that is not hers.
func (w *world) asSheLeftIt(dirty bool, said string) {
	w.t.Helper()
	trees, err := w.run().User().Refs().Worktrees(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	for _, tree := range trees {
		r := &gittest.Repo{T: w.t, Dir: tree.Path}
		loc, err := git.Find(tree.Path)
		if err != nil {
			w.t.Fatal(err)
		}
		want := ""
		if tree.Path == w.repo.Dir && dirty {
			want = " M other.txt\n?? untracked.txt"
			if r.Read("other.txt")+r.Read("untracked.txt") != "edited\nmine\n" {
				w.t.Errorf("her edits are %q, %q", r.Read("other.txt"), r.Read("untracked.txt"))
			}
		}
		var got []string
		for line := range strings.Lines(r.Git("status", "--porcelain")) {
			if !strings.HasPrefix(line, "UU conflict.txt") {
				got = append(got, strings.TrimRight(line, "\n"))
			}
		}
		if status := strings.Join(got, "\n"); status != want {
			w.t.Errorf("%s at %s:\n%s\nshe said: %s", tree.Path, r.Git("log", "-1", "--format=%h %s %d"), status, said)
		}
		for _, lock := range []string{"index.lock", "index.agency", "index.agency.lock", "HEAD.lock"} {
			if _, err := os.Lstat(filepath.Join(loc.GitDir, lock)); err == nil {
				w.t.Errorf("%s is left in %s", lock, loc.GitDir)
			}
		}
	}
	w.repo.Sane()
}

// The same where it is narrowest: between the look and the lock, and just before
// the ref moves, where a new branch needs no lock of the index.
func TestPersonInTheMomentOfTheMove(t *testing.T) {
	for name, c := range verifytest.Some(map[string]struct{ before, act, at string }{
		"switches before the lock":   {"", "git switch -q side", "merge.intent.after"},
		"detaches before the lock":   {"", "git switch -q --detach", "merge.objects"},
		"commits before the lock":    {"", "git commit -q --allow-empty -m hers", "merge.intent.after"},
		"begins a branch":            {"", "git switch -q -c fresh", "update-ref"},
		"switches to the target":     {"git switch -q side", "git switch -q main", "update-ref"},
		"adds a worktree of it":      {"git switch -q side", "git worktree add -q ../linked main", "update-ref"},
		"adds another worktree":      {"", "git worktree add -q -f ../linked main", "update-ref"},
		"collects what was sent":     {"", "git gc -q --prune=now", "update-ref"},
		"packs the refs":             {"", "git pack-refs --all --prune", "update-ref"},
		"begins a branch underneath": {"", "git switch -q -c fresh", "merge.index"},
	}) {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			w := landed(t, false, func(r *gittest.Repo) {
				r.Git("switch", "-q", "-c", "side")
				r.Write("side.txt", "s\n")
				r.Commit("side")
				r.Git("switch", "-q", "main")
			})
			if c.before != "" {
				w.repo.Git(strings.Fields(c.before)[1:]...)
			}
			w.repo.Write("other.txt", "edited\n", "untracked.txt", "mine\n")
			if c.at == "update-ref" {
				p.before(c.at, w.repo.Dir, c.act)
			} else {
				once := false
				w.opts.Reached = func(point string) {
					if point == c.at && !once {
						once = true
						w.repo.Git(strings.Fields(c.act)[1:]...)
					}
				}
			}
			out := w.merge("merge", land.MergeSpec{})
			p.leaves()
			if out.Moved != nil {
				out = w.merge("merge-2", land.MergeSpec{Verified: out.Moved})
			}
			if out.Merged == nil || w.repo.Git("show", target+":new/n.txt") != "n" {
				t.Errorf("%+v", out)
			}
			w.asSheLeftIt(true, p.said())
		})
	}
}

// Killed while it brings such a checkout along, the next host does.
func TestKillWhileACheckoutFollows(t *testing.T) {
	p := newPerson(t)
	w := landed(t, false, func(r *gittest.Repo) { r.Git("branch", "side") })
	w.repo.Git("switch", "-q", "side")
	w.repo.Write("other.txt", "edited\n", "untracked.txt", "mine\n")
	old := w.repo.Rev(target)
	p.before("update-ref", w.repo.Dir, "git symbolic-ref HEAD refs/heads/main") // what takes no lock
	w = killed(t, w, crashSpec{Point: "merge.follow", Merge: &land.MergeSpec{Run: runID, Target: target}})
	p.leaves()
	if err := w.target().Recover(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	w.asSheLeftIt(true, p.said())
	w.isMerged(old)
}

// While a switch is under way, wherever, no ref moves under it: it holds the lock
// of its index until all is written, and its HEAD still names another branch.
func TestNoMoveUnderASwitch(t *testing.T) {
	w := landed(t, false, func(r *gittest.Repo) { r.Git("branch", "side") })
	w.repo.Git("switch", "-q", "side")
	w.repo.Git("worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "linked"))
	lock := filepath.Join(w.repo.Dir, ".git", "worktrees", "linked", "index.lock")
	if err := os.WriteFile(lock, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	old := w.repo.Rev(target)
	out := w.merge("merge", land.MergeSpec{})
	if out.Refused == nil || out.Refused.Cause != land.CauseLocked || w.repo.Rev(target) != old || !strings.Contains(out.Reason, lock) {
		t.Errorf("%+v", out)
	}
	if _, err := os.Lstat(filepath.Join(w.repo.Dir, ".git", "index.lock")); err == nil {
		t.Error("the other lock is left")
	}
	if err := os.Remove(lock); err != nil {
		t.Fatal(err)
	}
	if out := w.merge("merge-2", land.MergeSpec{}); out.Merged == nil {
		t.Errorf("%+v", out)
	}
	w.clean()
}

// The locks of a host that was killed are given back by the next one.
func TestKillInTheStillness(t *testing.T) {
	w := landed(t, false, func(r *gittest.Repo) { r.Git("branch", "side") })
	w.repo.Git("switch", "-q", "side")
	old := w.repo.Rev(target)
	w = killed(t, w, crashSpec{Point: "merge.still", Merge: &land.MergeSpec{Run: runID, Target: target}})
	lock := filepath.Join(w.repo.Dir, ".git", "index.lock")
	if _, err := os.Lstat(lock); err != nil {
		t.Fatal(err)
	}
	if err := w.target().Recover(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(lock); err == nil || w.repo.Rev(target) != old {
		t.Errorf("the lock is left, or %s moved", target)
	}
	w.clean()
}

// What somebody has begun between the look and the lock is not merged into: it
// is named, and goes on as if nothing had been.
func TestBusyBeforeTheLock(t *testing.T) {
	for name, c := range map[string]struct{ act, end string }{
		"a merge":  {"git merge -q --no-ff --no-commit side", "git commit -q --no-edit"},
		"a bisect": {"git bisect start", "git bisect reset"},
	} {
		t.Run(name, func(t *testing.T) {
			w := landed(t, false, func(r *gittest.Repo) {
				r.Git("switch", "-q", "-c", "side")
				r.Write("side.txt", "s\n")
				r.Commit("side")
				r.Git("switch", "-q", "main")
			})
			old, status := w.repo.Rev(target), ""
			w.opts.Reached = func(point string) {
				if point == "merge.lock.before" {
					w.repo.Git(strings.Fields(c.act)[1:]...)
					status = w.repo.Git("status", "--porcelain")
				}
			}
			out := w.merge("merge", land.MergeSpec{})
			if out.Refused == nil || out.Refused.Cause != land.CauseBusy || w.repo.Rev(target) != old || w.repo.Git("status", "--porcelain") != status {
				t.Errorf("%+v, %s", out, w.repo.Git("status", "--porcelain"))
			}
			w.opts.Reached = nil
			w.repo.Git(strings.Fields(c.end)[1:]...)
			if out = w.merge("merge-2", land.MergeSpec{}); out.Moved != nil {
				out = w.merge("merge-3", land.MergeSpec{Verified: out.Moved})
			}
			if out.Merged == nil {
				t.Errorf("ended: %+v", out)
			}
			w.clean()
		})
	}
}

// Somebody who never rests gets a gate, not an endless merge.
func TestLooksAreBounded(t *testing.T) {
	w := landed(t, false, nil)
	w.repo.Git("branch", "side")
	looks := 0
	w.opts.Reached = func(point string) {
		if point == "merge.intent.after" {
			looks++
			w.repo.Git("switch", "-q", []string{"side", "main"}[(looks-1)%2])
		}
		if point == "merge.objects" && looks%2 == 0 {
			w.repo.Git("commit", "-q", "--allow-empty", "-m", "hers")
		}
	}
	out := w.merge("merge", land.MergeSpec{})
	if looks > 10 || out.Refused == nil && out.Moved == nil && out.Merged == nil {
		t.Errorf("%d looks: %+v", looks, out)
	}
	w.clean()
}

// The disk fills between index and ref: all goes back; where even that fails,
// or what follows the ref, the next call ends what was begun.
func TestFullDiskAtTheRef(t *testing.T) {
	for name, c := range map[string]struct {
		full []string
		back bool // all of it has gone back at once
	}{
		"the ref":           {[]string{"update-ref"}, true},
		"and the way back":  {[]string{"update-ref", "checkout-index"}, false},
		"after the ref":     {[]string{"symbolic-ref"}, false},
		"after and no back": {[]string{"symbolic-ref", "checkout-index"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPerson(t)
			w := landed(t, false, nil)
			w.repo.Write("other.txt", "edited\n", "untracked.txt", "mine\n")
			old := w.repo.Rev(target)
			// Written so, HEAD is asked of git, not read by us: git's question is what fails.
			w.repo.Write(".git/HEAD", "ref:  refs/heads/"+target+"\n")
			p.full(c.full...)
			out, err := w.target().Merge(t.Context(), "merge", land.MergeSpec{Run: runID, Target: target})
			if agency.KindOf(err) != agency.KindTransient || agency.MendOf(err) == "" {
				t.Fatalf("%+v, %v", out, err)
			}
			if c.back {
				w.asSheLeftIt(true, "")
			}
			p.full()
			if out := w.merge("merge", land.MergeSpec{}); out.Merged == nil {
				t.Errorf("%+v", out)
			}
			w.isMerged(old)
			w.asSheLeftIt(true, "")
		})
	}
}
