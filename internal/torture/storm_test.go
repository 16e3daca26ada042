//go:build linux

package torture

import (
	"context"
	"database/sql"
	"encoding/json"
	"flag"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/sandbox"
)

var (
	storm = flag.Int("storm", 2, "how many runs of one agent are killed")
	team  = flag.Int("team", 0, "how many runs of a team are killed")
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

// TestStorm kills one contract's run at random instants (docs/design.md, Durability).
func TestStorm(t *testing.T) { runs(t, newRig, *storm, 1) }

// runs makes n storms over rigs of one form, few of them where time is short.
func runs(t *testing.T, form func(*testing.T) *rig, n, few int) {
	if _, err := sandbox.New(sandbox.Options{}); err != nil {
		t.Skipf("needs user namespaces: %v", err)
	}
	calm := form(t)
	began := time.Now()
	id := calm.start()
	calm.finish(id)
	length := time.Since(began)
	want := calm.tree()
	if got := calm.inspect(id); got.State != agency.StateSucceeded {
		t.Fatalf("the undisturbed run ended %s: %s", got.State, got.Reason)
	}
	calm.invariants(id, want, nil)
	if *long {
		n = max(n, 200)
	}
	if *seed != 0 {
		n = 1
	}
	if testing.Short() {
		n = min(n, few)
	}
	var all toll
	for range n {
		s := *seed
		if s == 0 {
			s = rand.Uint64()
		}
		t.Run(fmt.Sprintf("seed-%d", s), func(t *testing.T) {
			all.add(once(t, form(t), rand.New(rand.NewPCG(s, s)), length, want))
		})
		if t.Failed() {
			t.Fatalf("repeat it with -run '^%s$' -team 1 -seed %d", t.Name(), s)
		}
	}
	if n >= 4 && all.hits == 0 {
		t.Errorf("none of %d kills hit a run at work: the storm proves nothing", len(all.lives))
	}
	if n >= 4 && calm.lands > 1 && all.clashes == 0 {
		t.Error("no landing conflicted: the storm proves nothing about those")
	}
	t.Logf("undisturbed %v; %d kills, %d of them hit a run at work, %d landings conflicted; from resume to the first sign of life: %s; to the first action of the run: %s",
		length.Round(time.Millisecond), len(all.lives), all.hits, all.clashes, spread(all.lives), spread(all.actions))
}

// toll is what storms have cost.
type toll struct {
	hits    int             // kills of a run at work
	clashes int             // landings that conflicted
	lives   []time.Duration // from resume to its answer
	actions []time.Duration // from resume to the first thing that the run does
}

func (a *toll) add(b toll) {
	a.hits += b.hits
	a.clashes += b.clashes
	a.lives, a.actions = append(a.lives, b.lives...), append(a.actions, b.actions...)
}

func spread(d []time.Duration) string {
	if len(d) == 0 {
		return "never"
	}
	slices.Sort(d)
	return fmt.Sprintf("median %v, p95 %v", d[len(d)/2].Round(time.Millisecond), d[len(d)*95/100].Round(time.Millisecond))
}

// once is one run with two to four kills, most of which find it at work.
func once(t *testing.T, rig *rig, r *rand.Rand, length time.Duration, want string) (cost toll) {
	id := rig.start()
	var acked []string
	var resumed []time.Time
	apart := length / 3 * time.Duration(1+r.IntN(2)) // the far ones reach the end
	for kill := range 2 + r.IntN(3) {
		wait(time.Duration(r.Int64N(int64(apart))))
		if r.IntN(2) == 0 {
			token := fmt.Sprintf("token-%d-%d", kill, r.Uint32())
			say := []string{"say", string(id), token}
			if len(rig.mates) > 0 {
				say = append(say, "--to", rig.mates[r.IntN(len(rig.mates))])
			}
			if _, _, code := rig.agency(say...); code == 0 {
				acked = append(acked, token)
			}
			wait(time.Duration(r.Int64N(int64(length / 4))))
		}
		if rig.answer != "" && r.IntN(3) > 0 {
			rig.answers(id)
			wait(time.Duration(r.Int64N(int64(length / 3))))
		}
		rig.killHosts()
		began := time.Now()
		out, errs, code := rig.agency("resume", string(id), "--yes", "--detach")
		if code != 0 && code != 1 {
			t.Fatalf("resume after the kill: exit %d\n%s%s", code, out, errs)
		}
		resumed = append(resumed, began)
		cost.lives = append(cost.lives, time.Since(began))
	}
	rig.finish(id)
	rig.invariants(id, want, acked)
	rig.recoveries(id, resumed, &cost)
	return cost
}

// recoveries reads from the log how often a new host took the run up, and how
// long it was from each resume to the first thing that the run did then.
func (r *rig) recoveries(id agency.RunID, resumed []time.Time, cost *toll) {
	r.t.Helper()
	taken := false
	for _, e := range r.events(id) {
		if e.Type == "merge_conflicted" {
			cost.clashes++
		}
		switch {
		case e.Type == "resumed_after_crash":
			cost.hits++
			taken = true
		case taken && e.Type != "run_resumed": // of the same instant
			taken = false
			for _, at := range slices.Backward(resumed) {
				if at.Before(e.Time) {
					cost.actions = append(cost.actions, e.Time.Sub(at))
					break
				}
			}
		}
	}
}

func wait(d time.Duration) { <-time.After(d) }

// invariants holds what is left against what must never be broken.
func (r *rig) invariants(id agency.RunID, want string, acked []string) {
	r.t.Helper()
	r.whole(want)
	if again := r.askedAgain(); len(again) != 0 {
		r.t.Errorf("%d stored answers were asked for again: %v", len(again), again)
	}
	r.doneOnce(id)
	r.messages(id, acked)
	if out, errs, code := r.agency("doctor", "--run", string(id)); code != 0 {
		r.t.Errorf("doctor --run: exit %d\n%s%s", code, out, errs)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	if left := settle(ctx); len(left) != 0 {
		r.t.Errorf("processes are left behind: %v", left)
	}
	if left := r.held(); len(left) != 0 {
		r.t.Errorf("held, or alive, with nobody left: %v", left)
	}
}

// doneOnce holds that no session began twice, no turn of it was counted twice,
// and what every contract says of itself is what the records show.
func (r *rig) doneOnce(id agency.RunID) {
	r.t.Helper()
	seen := map[string]int{}
	for _, e := range r.events(id) {
		var of struct {
			Session agency.SessionID `json:"session_id"`
			Turn    int              `json:"turn"`
		}
		if e.Type == "spawned" || e.Type == "turn_completed" {
			if err := json.Unmarshal(e.Details, &of); err != nil {
				r.t.Errorf("%v: %s", err, e.Details)
			}
			seen[fmt.Sprintf("%s of %s, turn %d", e.Type, of.Session, of.Turn)]++
		}
	}
	for what, n := range seen {
		if n > 1 {
			r.t.Errorf("%s was done %d times", what, n)
		}
	}
	if len(seen) == 0 {
		r.t.Error("the log tells of no session")
	}
	doc := r.inspect(id)
	landed := 0
	for _, c := range doc.Contracts {
		if c.AssignedRole == "project_manager" {
			continue // a question that a person answered is none that it answered
		}
		if c.Status != agency.StatusComplete {
			r.t.Errorf("contract %s is %s when the run has %s: %s", c.ID, c.Status, doc.State, c.Error)
		}
		for _, cr := range c.Criteria {
			if cr.Proof == agency.ProofOpen {
				r.t.Errorf("contract %s is complete, and nothing proves %s", c.ID, cr.ID)
			}
		}
	}
	for _, l := range doc.Landings {
		if l.Contract != "" {
			landed++
		}
	}
	if landed != r.lands {
		r.t.Errorf("%d landings are on record, want %d", landed, r.lands)
	}
}

// events are the run's, in their order.
func (r *rig) events(id agency.RunID) (out []agency.Event) {
	r.t.Helper()
	for line := range strings.Lines(r.must("watch", string(id), "--json")) {
		var e agency.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			r.t.Fatalf("%v: %s", err, line)
		}
		out = append(out, e)
	}
	return out
}

// held are leases that the records still know, and agents that never ended,
// when no process is left.
func (r *rig) held() (left []string) {
	r.t.Helper()
	files, err := filepath.Glob(filepath.Join(r.home, "state", "agency", "repos", "*", "agency.db"))
	if err != nil || len(files) != 1 {
		r.t.Fatalf("the records of the repository: %v, %v", files, err)
	}
	db, err := sql.Open("sqlite", files[0]) // the driver comes with the store
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = db.Close() }() // only read
	rows, err := db.QueryContext(r.t.Context(), `
		SELECT 'lease ' || name || ' of ' || holder FROM lease_held
		UNION ALL SELECT 'agent ' || agent_id || ', ' || status FROM board_agent WHERE completed_at = 0`)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = rows.Close() }() // only read
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			r.t.Fatal(err)
		}
		left = append(left, one)
	}
	if err := rows.Err(); err != nil {
		r.t.Fatal(err)
	}
	return left
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
	if steps := r.steps(); len(steps) != r.lands || len(slices.Compact(steps)) != r.lands {
		r.t.Errorf("landed steps, want %d: %v", r.lands, steps)
	}
	if merges := strings.Fields(r.repo.Git("rev-list", "--merges", "HEAD")); len(merges) != 1 {
		r.t.Errorf("%d merges in the target's history", len(merges))
	}
	if out := r.repo.Git("worktree", "list"); strings.Count(out, "\n") > 1 {
		r.t.Errorf("worktrees are left behind:\n%s", out)
	}
	if locks := r.locks(); len(locks) != 0 {
		r.t.Errorf("locks are left behind: %v", locks)
	}
}

// locks are git's own in the user's repository.
func (r *rig) locks() (found []string) {
	r.t.Helper()
	err := filepath.WalkDir(filepath.Join(r.repo.Dir, ".git"), func(p string, _ fs.DirEntry, err error) error {
		if strings.HasSuffix(p, ".lock") {
			found = append(found, p)
		}
		return err
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return found
}

// askedAgain are questions that came again after a later turn of the same
// conversation had been asked: by then their answer was stored. A question
// whose answer was on its way when the host died may come twice. The rules of
// conversations beside each other have names in folders.
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
				if path.Dir(between.Rule) == path.Dir(rec.Rule) && between.Hash != rec.Hash && last[between.Hash] <= j {
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
	for body, n := range count {
		if n > 1 {
			r.t.Errorf("message %q is there %d times", body, n)
		}
	}
	for _, token := range acked {
		if count[token] != 1 {
			r.t.Errorf("message %q, acknowledged, is there %d times", token, count[token])
		}
	}
}
