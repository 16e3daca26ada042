package land_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/event"
	"agency/internal/git"
	"agency/internal/git/gittest"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/store"
)

// slow makes the world's suite one that takes long.
func (w *world) slow() {
	w.opts.Took = func(context.Context, agency.RunID) (time.Duration, error) { return 2 * time.Minute, nil }
}

func stepOf(s land.Spec) agency.StepKey { return agency.StepKey("land/" + s.Contract) }

// landTogether lands claims at once: the first has its turn, and is verified
// until all others stand in line.
func (w *world) landTogether(ctx context.Context, specs []land.Spec) (map[agency.ContractID]land.Outcome, error) {
	w.slow()
	var wait sync.WaitGroup
	wait.Add(len(specs))
	first, turn := context.WithCancel(ctx)
	reached, judge, begun := w.opts.Reached, w.judge, false
	w.opts.Reached = func(point string) {
		if point == "land.waits" {
			wait.Done()
		}
		if reached != nil {
			reached(point)
		}
	}
	w.judge = func(c land.Candidate) []string {
		if !begun { // one verification at a time
			begun = true
			turn()
			wait.Wait()
		}
		if judge != nil {
			return judge(c)
		}
		return nil
	}
	defer func() { w.opts.Reached, w.judge = reached, judge }()
	q := w.queue()
	out, errs := make([]land.Outcome, len(specs)), make([]error, len(specs))
	var all sync.WaitGroup
	for i, s := range specs {
		all.Go(func() {
			out[i], errs[i] = q.Land(ctx, stepOf(s), s)
			turn()
		})
		if i == 0 {
			<-first.Done()
		}
	}
	all.Wait()
	byContract := map[agency.ContractID]land.Outcome{}
	for i, s := range specs {
		byContract[s.Contract] = out[i]
	}
	return byContract, errors.Join(errs...)
}

// contracts claims a file each; a name that begins with "bad" is red.
func (w *world) contracts(ids ...string) []land.Spec {
	w.t.Helper()
	var out []land.Spec
	for _, id := range ids {
		if err := w.db.Write(w.t.Context(), func(tx *store.Tx) error {
			return registry.CreateContract(tx, agency.Contract{
				ID: agency.ContractID(id), RunID: runID, Title: "Title of " + id, Writes: []string{id + ".md"},
				AcceptanceCriteria: []agency.Criterion{{ID: "c", Text: "what " + id + " promises"}},
			})
		}); err != nil {
			w.t.Fatal(err)
		}
		out = append(out, w.claim(id, w.run().Base(), id+".md", id+"\n"))
	}
	return out
}

func (w *world) files(tree agency.OID) []string {
	w.t.Helper()
	entries, err := w.run().Dir().Objects().Tree(w.t.Context(), tree)
	if err != nil {
		w.t.Fatal(err)
	}
	var out []string
	for _, e := range entries {
		out = append(out, e.Path)
	}
	return out
}

// watchful judges trees by their files and holds that every head of the branch
// was verified green.
func (w *world) watchful() (check func()) {
	green := map[agency.OID]bool{}
	w.judge = func(c land.Candidate) (reasons []string) {
		for _, f := range w.files(c.Tree) {
			if strings.HasPrefix(f, "bad") {
				reasons = append(reasons, "red by "+f)
			}
		}
		green[c.Tree] = len(reasons) == 0
		return reasons
	}
	return func() {
		w.t.Helper()
		for line := range strings.SplitSeq(w.repo.Git("reflog", "show", "--format=%T %gs", "refs/heads/"+branch), "\n") {
			if tree, why, _ := strings.Cut(line, " "); !green[agency.OID(tree)] && !strings.Contains(why, "begins") {
				w.t.Errorf("the branch was at %s (%s), which was not verified green", tree, why)
			}
		}
	}
}

// landedOnce holds that the branch has these contracts, a commit each.
func (w *world) landedOnce(want ...string) {
	w.t.Helper()
	var got []string
	for _, c := range w.log(branch) {
		got = append(got, c.Trailer("Agency-Contract"))
		if len(c.Parents) != 1 || c.Trailer("Agency-Step") != "land/"+c.Trailer("Agency-Contract") || c.Trailer("Agency-Run") != string(runID) {
			w.t.Errorf("commit %+v", c)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		w.t.Errorf("landed %v, want %v", got, want)
	}
	if n := w.mergedEvents(); n != len(want) {
		w.t.Errorf("%d events, want %d", n, len(want))
	}
}

func TestBatchIsVerifiedOnce(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	check := w.watchful()
	specs := w.contracts("a", "b", "c", "d", "e")
	out, err := w.landTogether(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	if n := w.verified.Load(); n != 2 {
		t.Errorf("verified %d times, want once for the first and once for the rest", n)
	}
	for id, o := range out {
		want := 4
		if id == "a" {
			want = 0
		}
		if o.Landed == nil || o.Landed.Batch != want {
			t.Errorf("%s: %+v", id, o.Landed)
		}
	}
	check()
	w.landedOnce("a", "b", "c", "d", "e")
	w.clean()
}

func TestFastSuiteLandsOneByOne(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	specs := w.contracts("a", "b", "c")
	w.opts.BatchAbove = func(context.Context, agency.RunID) (time.Duration, error) { return 3 * time.Minute, nil }
	if _, err := w.landTogether(t.Context(), specs); err != nil {
		t.Fatal(err)
	}
	if n := w.verified.Load(); n != 3 {
		t.Errorf("verified %d times", n)
	}
	w.landedOnce("a", "b", "c")
}

// Each culprit of a red batch is told with what landed before it; the others
// land.
func TestRedBatchIsBisected(t *testing.T) {
	for _, ids := range []string{"a bad1 c d e", "a b c d bad1", "a b bad1 d bad2 f g", "a bad1 bad2 bad3"} {
		t.Run(ids, func(t *testing.T) {
			w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
			check := w.watchful()
			names := strings.Fields(ids)
			specs := w.contracts(names...)
			out, err := w.landTogether(t.Context(), specs)
			if err != nil {
				t.Fatal(err)
			}
			good := slices.DeleteFunc(names, func(id string) bool { return strings.HasPrefix(id, "bad") })
			for id, o := range out {
				if !strings.HasPrefix(string(id), "bad") {
					if o.Landed == nil {
						t.Errorf("%s: %+v", id, o)
					}
					continue
				}
				if o.Landed != nil || o.Red == nil || !slices.Equal(o.Red.Reasons, []string{"red by " + string(id) + ".md"}) || !strings.Contains(o.Reason, "red by") {
					t.Errorf("%s: %+v", id, o)
					continue
				}
				c := o.Conflict
				if c == nil || !strings.Contains(c.Theirs, "a: Title of a\n  - c: what a promises") || !strings.Contains(c.Ours, "what "+string(id)+" promises") ||
					!strings.Contains(c.OursDiff, "+"+string(id)) || !strings.Contains(c.TheirsDiff, "+a") {
					t.Errorf("%s: packet %+v", id, c)
				}
			}
			check()
			w.landedOnce(good...)
			w.clean()
		})
	}
}

// What does not go with others of its batch waits for what becomes of them.
func TestConflictWithinABatch(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	check := w.watchful()
	specs := w.contracts("a", "b", "c")
	for i, text := range []string{"b", "c"} {
		w.claim(text, w.run().Base(), "a.txt", "by "+text+"\n")
		specs[i+1] = w.claim(text, w.run().Base(), "a.txt", "by "+text+"\n")
	}
	out, err := w.landTogether(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	winner, loser := agency.ContractID("b"), agency.ContractID("c")
	if out[winner].Landed == nil {
		winner, loser = loser, winner
	}
	c := out[loser].Conflict
	if out[winner].Landed == nil || c == nil || !slices.Equal(c.With, []agency.ContractID{winner}) || !slices.Equal(c.Paths, []string{"a.txt"}) {
		t.Fatalf("%+v", out)
	}
	if !strings.Contains(c.OursDiff, "+by "+string(loser)) || !strings.Contains(c.TheirsDiff, "+by "+string(winner)) {
		t.Errorf("packet %+v", c)
	}
	if n := w.conflictEvents(); n != 1 {
		t.Errorf("%d conflicts noted", n)
	}
	check()
	w.landedOnce("a", string(winner))
}

func (w *world) conflictEvents() (n int) {
	w.t.Helper()
	if err := w.db.Read(w.t.Context(), func(s *store.Snapshot) error {
		evs, err := event.Since(s, 0, event.Filter{Run: runID}, 1000)
		for _, ev := range evs {
			if ev.Type == "merge_conflicted" {
				n++
			}
		}
		return err
	}); err != nil {
		w.t.Fatal(err)
	}
	return n
}

// Somebody moves the branch while a batch is verified: it is stacked anew, and
// what it is verified with is what lands.
// Who has changed undeclared what another declares lands after that one,
// whoever came first, in a batch as one by one.
func TestWhoStrayedLandsLater(t *testing.T) {
	const together, single = time.Minute, 3 * time.Minute
	for _, tt := range []struct {
		above time.Duration
		order []string // in which they are begun
	}{
		{single, []string{"first", "strays", "owns"}},
		{single, []string{"first", "owns", "strays"}},
		{together, []string{"first", "strays", "owns"}},
		{together, []string{"first", "owns", "strays"}},
	} {
		t.Run(fmt.Sprint(tt.above, tt.order), func(t *testing.T) {
			w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
			w.opts.BatchAbove = func(context.Context, agency.RunID) (time.Duration, error) { return tt.above, nil }
			specs := w.contracts(tt.order...)
			if err := w.db.Write(t.Context(), func(tx *store.Tx) error {
				return board.NoteEdits(tx, board.Edits{Run: runID, Agent: "s", Contract: "strays", Turn: "1", First: true, Files: []string{"owns.md", "strays.md"}})
			}); err != nil {
				t.Fatal(err)
			}
			out, err := w.landTogether(t.Context(), specs)
			if err != nil {
				t.Fatal(err)
			}
			commits := w.log(branch)
			for i, id := range []agency.ContractID{"strays", "owns"} {
				if l := out[id].Landed; l == nil || commits[i].ID != l.Commit {
					t.Errorf("%d from the head is %s, want %s: %+v", i, commits[i].ID, id, l)
				}
			}
		})
	}
}

func TestBranchMovesUnderABatch(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	check := w.watchful()
	specs := w.contracts("a", "b", "c")
	judge, n := w.judge, 0
	w.judge = func(c land.Candidate) []string {
		if n++; n == 2 {
			d := w.run().User()
			tree, err := d.Refs().ResolveTree(t.Context(), c.Head)
			if err != nil {
				t.Error(err)
			}
			other, err := d.Commits().Write(t.Context(), tree, []agency.OID{c.Head}, "by hand", git.Identity{})
			if err != nil {
				t.Error(err)
			}
			if err := d.Refs().Update(t.Context(), "refs/heads/"+branch, other, c.Head, "by hand", git.Identity{}); err != nil {
				t.Error(err)
			}
		}
		return judge(c)
	}
	out, err := w.landTogether(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for id, o := range out {
		if o.Landed == nil {
			t.Errorf("%s: %+v", id, o)
		}
	}
	if got := w.repo.Git("log", "--format=%s", branch, "-4"); !strings.Contains(got, "by hand") {
		t.Errorf("what was done by hand is gone:\n%s", got)
	}
	check()
}

func TestBatchSurvivesAKillAtEachPoint(t *testing.T) {
	points := []string{"land.stacked", "land.intent.before", "land.intent.after", "land.objects", "land.ref", "land.done"}
	for n, point := range points { // all but the first are passed by the one that is alone
		if testing.Short() && n%3 != 1 {
			continue // each is a process of its own
		}
		t.Run(point, func(t *testing.T) {
			w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
			specs := w.contracts("a", "b", "c", "d")
			w = killed(t, w, crashSpec{Point: point, After: min(n, 1), Batch: specs})
			for _, s := range slices.Backward(specs) { // the next host takes them in another order
				if out := w.land(stepOf(s), s); out.Landed == nil {
					t.Errorf("%s: %+v", s.Contract, out)
				}
			}
			w.landedOnce("a", "b", "c", "d")
			w.clean()
		})
	}
}

// Many at once, for the race detector: each outcome is its own.
func TestManyLandAtOnce(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	check := w.watchful()
	w.slow()
	names := []string{"a", "bad1", "c", "d", "e", "bad2"}
	specs := w.contracts(names...)
	q := w.queue()
	var all sync.WaitGroup
	for _, s := range specs {
		all.Go(func() {
			out, err := q.Land(t.Context(), stepOf(s), s)
			bad := strings.HasPrefix(string(s.Contract), "bad")
			if err != nil || bad != (out.Red != nil) || bad == (out.Landed != nil) {
				t.Error(fmt.Sprint(s.Contract), out, err)
			}
		})
	}
	all.Wait()
	check()
	w.landedOnce("a", "c", "d", "e")
}
