//go:build linux

package torture

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/sandbox"
)

const followScript = `version: 1
name: follow
rules:
  - when: {contract: main, turn: 1}
    calls: [{tool: write_file, args: {path: one.txt, content: "yes\n"}}]
  - when: {contract: main-2, turn: 1}
    calls: [{tool: write_file, args: {path: two.txt, content: "yes\n"}}]
  - when: {contract: more, turn: 1, seen: {tool: write_file, matches: two}}
    calls: [{tool: write_file, args: {path: three.txt, content: "yes\n"}}]
  - when: {contract: rebase-2, turn: 1}
    calls: [{tool: write_file, args: {path: three.txt, content: "yes and mine\n"}}]
  - when: {turn: "2+"}
    calls: [{tool: signal_complete, args: {evidence: done}}]
`

// TestStormOfFollowers kills what goes on from work that was done: a reject of the merge gate, a
// run that goes on from another one, what is brought together with a target that has changed,
// and what takes a merge back. Nothing lands twice, and each ends as it does undisturbed.
func TestStormOfFollowers(t *testing.T) {
	if _, err := sandbox.New(sandbox.Options{}); err != nil {
		t.Skipf("needs user namespaces: %v", err)
	}
	n := 2
	if testing.Short() {
		n = 1
	}
	for range n {
		s := freshSeed(t)
		t.Run(fmt.Sprintf("seed-%d", s), func(t *testing.T) { followers(t, rand.New(rand.NewPCG(s, s))) })
	}
}

func followers(t *testing.T, chance *rand.Rand) {
	r := newServed(t, []byte(followScript), "commands: {test: sh check.sh, build: \"\", lint: \"\"}\n")
	gittest.WriteFiles(t, r.repo.Dir,
		"check.sh", "for f in *.txt; do\n\tif grep -q perhaps \"$f\"; then echo \"FAIL $f\"; exit 1; fi\ndone\necho ok\n",
		"one.txt", "no\n", "two.txt", "no\n", "three.txt", "no\n",
	)
	r.repo.Commit("start")
	storm := func(id agency.RunID) {
		t.Helper()
		for range 2 + chance.IntN(2) {
			wait(time.Duration(chance.Int64N(int64(700 * time.Millisecond))))
			r.killHosts()
			if out, errs, code := r.agency("resume", string(id), "--detach"); code > 1 {
				t.Fatalf("resume after the kill: exit %d\n%s%s", code, out, errs)
			}
		}
	}
	waits := func(id agency.RunID) {
		t.Helper()
		out, errs, code := r.agency("resume", string(id), "--no-wait")
		if d := r.inspect(id); code != 3 || len(d.Gates) != 1 || d.Gates[0].Kind != agency.GateMerge {
			t.Fatalf("the run waits at no merge gate: exit %d\n%s%s", code, out, errs)
		}
	}
	begun := func(args ...string) agency.RunID {
		t.Helper()
		return agency.RunID(strings.TrimSpace(r.must(args...)))
	}
	ends := func(id agency.RunID, one, two, three string) {
		t.Helper()
		for range 5 { // a host that is killed while it merges leaves the merge to the next
			if r.inspect(id).State.Final() {
				break
			}
			r.agency("approve", string(id))
			r.killHosts()
			r.agency("resume", string(id), "--no-wait")
		}
		for name, want := range map[string]string{"one.txt": one, "two.txt": two, "three.txt": three} {
			if got := r.repo.Git("show", "HEAD:"+name); got != want {
				t.Errorf("after %s %s is %q, want %q", id, name, got, want)
			}
		}
		if n := strings.Count(r.repo.Git("log", "--format=%s", "HEAD"), "Merge run "+string(id)+":"); n != 1 {
			t.Errorf("%s was merged %d times", id, n)
		}
		if out, errs, code := r.agency("doctor", "--run", string(id)); code != 0 {
			t.Errorf("doctor --run %s: exit %d\n%s%s", id, code, out, errs)
		}
	}
	first := begun("run", "--detach", "Say yes")
	storm(first)
	waits(first)
	r.must("run", "--continue", string(first), "--detach", "to the second, too")
	storm(first)
	waits(first)
	r.must("cancel", string(first))

	more := begun("run", "--continue", string(first), "--detach", "and to the third")
	storm(more)
	waits(more)
	r.repo.Write("three.txt", "mine\n")
	r.repo.Git("commit", "-qam", "mine")
	if out, _, _ := r.agency("approve", string(more)); !strings.Contains(out, "three.txt") {
		t.Fatalf("no conflict: %s", out)
	}
	r.must("resume", string(more), "--rebase", "--detach")
	storm(more)
	waits(more)
	ends(more, "yes", "yes", "yes and mine")

	undo := begun("undo", string(more), "--detach")
	storm(undo)
	waits(undo)
	ends(undo, "no", "no", "mine")
}
