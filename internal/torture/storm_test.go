//go:build linux

package torture

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/sandbox"
)

var (
	storm = flag.Int("storm", 15, "how many runs are killed")
	seed  = flag.Uint64("seed", 0, "repeat what this seed chose; 0: fresh seeds")
	long  = flag.Bool("long", false, "the whole programme: hours")
)

// freshSeed is the seed of a choice, told so that it can be repeated.
func freshSeed(t *testing.T) uint64 {
	t.Helper()
	s := *seed
	if s == 0 {
		s = rand.Uint64()
	}
	t.Logf("repeat it with -seed %d", s)
	return s
}

// TestStorm kills one contract's run at random instants (RELIABILITY 5).
func TestStorm(t *testing.T) {
	if _, err := sandbox.New(sandbox.Options{}); err != nil {
		t.Skipf("needs user namespaces: %v", err)
	}
	calm := newRig(t)
	began := time.Now()
	id := calm.start()
	calm.must("resume", string(id))
	length := time.Since(began)
	want := calm.tree()
	if got := calm.inspect(id); got.State != agency.StateSucceeded {
		t.Fatalf("the undisturbed run ended %s: %s", got.State, got.Reason)
	}
	n := *storm
	if *long {
		n = max(n, 200)
	}
	if *seed != 0 {
		n = 1
	}
	if testing.Short() {
		n = min(n, 3)
	}
	var recoveries []time.Duration
	hits := 0
	for range n {
		s := *seed
		if s == 0 {
			s = rand.Uint64()
		}
		t.Run(fmt.Sprintf("seed-%d", s), func(t *testing.T) {
			times, hit := once(t, rand.New(rand.NewPCG(s, s)), length, want)
			recoveries, hits = append(recoveries, times...), hits+hit
		})
		if t.Failed() {
			t.Fatalf("repeat it with -seed %d", s)
		}
	}
	if n >= 10 && hits == 0 {
		t.Errorf("none of %d kills hit a run at work: the storm proves nothing", len(recoveries))
	}
	slices.Sort(recoveries)
	if len(recoveries) > 0 {
		t.Logf("%d kills, %d of them hit a run at work; from resume to the first sign of life: median %v, p95 %v", len(recoveries), hits,
			recoveries[len(recoveries)/2], recoveries[len(recoveries)*95/100])
	}
}

// once is one run with up to three kills.
func once(t *testing.T, r *rand.Rand, length time.Duration, want string) (recoveries []time.Duration, hits int) {
	rig := newRig(t)
	id := rig.start()
	var acked []string
	for kill := range 1 + r.IntN(3) {
		wait(time.Duration(r.Int64N(int64(length))))
		if r.IntN(2) == 0 {
			token := fmt.Sprintf("token-%d-%d", kill, r.Uint32())
			if _, _, code := rig.agency("say", string(id), token); code == 0 {
				acked = append(acked, token)
			}
			wait(time.Duration(r.Int64N(int64(length / 4))))
		}
		rig.killHosts()
		began := time.Now()
		out, errs, code := rig.agency("resume", string(id), "--yes", "--detach")
		if code != 0 && code != 1 {
			t.Fatalf("resume after the kill: exit %d\n%s%s", code, out, errs)
		}
		recoveries = append(recoveries, time.Since(began))
	}
	if out, errs, code := rig.agency("resume", string(id), "--yes"); code != 0 {
		t.Fatalf("the run ended with %d\n%s%s", code, out, errs)
	}
	rig.invariants(id, want, acked)
	return recoveries, strings.Count(rig.must("watch", string(id), "--json"), `"resumed_after_crash"`)
}

func wait(d time.Duration) { <-time.After(d) }

// invariants holds what is left against what must never be broken.
func (r *rig) invariants(id agency.RunID, want string, acked []string) {
	r.t.Helper()
	r.whole(want)
	if again := r.askedAgain(); len(again) != 0 {
		r.t.Errorf("%d stored answers were asked for again: %v", len(again), again)
	}
	r.messages(id, acked)
	if out, errs, code := r.agency("doctor", "--run", string(id)); code != 0 {
		r.t.Errorf("doctor --run: exit %d\n%s%s", code, out, errs)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if left := settle(ctx); len(left) != 0 {
		r.t.Errorf("processes are left behind: %v", left)
	}
}

// whole looks at the user's repository after one run: its tree, landed once
// and merged once, nothing left beside it.
func (r *rig) whole(want string) {
	r.t.Helper()
	if got := r.tree(); got != want {
		r.t.Errorf("the tree is %s, an undisturbed run's %s:\n%s", got, want, r.repo.Git("show", "--stat", "HEAD"))
	}
	if out := r.repo.Git("status", "--porcelain"); out != "" {
		r.t.Errorf("the checkout is not clean:\n%s", out)
	}
	if steps := r.steps(); len(steps) != 1 || len(slices.Compact(steps)) != len(steps) {
		r.t.Errorf("landed steps: %v", steps)
	}
	if merges := strings.Fields(r.repo.Git("rev-list", "--merges", "HEAD")); len(merges) != 1 {
		r.t.Errorf("%d merges in the target's history", len(merges))
	}
	if out := r.repo.Git("worktree", "list"); strings.Count(out, "\n") > 1 {
		r.t.Errorf("worktrees are left behind:\n%s", out)
	}
}

// askedAgain are questions that came again after a later turn of the same
// conversation had been asked: by then their answer was stored. A question
// whose answer was on its way when the host died may come twice.
func (r *rig) askedAgain() []string {
	records := r.server.Recorder().Records()
	last := map[string]int{}
	for i, rec := range records {
		last[rec.Hash] = i
	}
	var out []string
	for i, rec := range records {
		if j := last[rec.Hash]; j > i {
			for _, between := range records[i+1 : j] {
				if between.Hash != rec.Hash && last[between.Hash] <= j {
					out = append(out, rec.Rule)
				}
			}
		}
	}
	return out
}

// messages checks that each acknowledged message is there once and has been
// acted on, or is a dead letter with its reason.
func (r *rig) messages(id agency.RunID, acked []string) {
	r.t.Helper()
	var ms []agency.Message
	if err := json.Unmarshal([]byte(r.must("inspect", string(id), "--messages", "--json")), &ms); err != nil {
		r.t.Fatal(err)
	}
	count := map[string]int{}
	for _, m := range ms {
		count[m.Body]++
		if m.Status != agency.MailProcessed && (m.Status != agency.MailFailed || m.Reason == "") {
			r.t.Errorf("message %q is %s when the run is over", m.Body, m.Status)
		}
	}
	for _, token := range acked {
		if count[token] != 1 {
			r.t.Errorf("message %q, acknowledged, is there %d times", token, count[token])
		}
	}
}
