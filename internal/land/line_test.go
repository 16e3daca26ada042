package land_test

import (
	"slices"
	"strings"
	"sync"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/git/gittest"
	"agency/internal/land"
	"agency/internal/store"
)

var (
	lineW = land.WorkstreamLine("w.1", 1)
	lineV = land.WorkstreamLine("v", 1)
	web   = land.IntegrationLine("web")
)

// line begins a line, and gives where it is then.
func (w *world) line(name string, at agency.OID) agency.OID {
	w.t.Helper()
	b, err := w.queue().Branch(w.t.Context(), "begin", land.BranchSpec{Run: runID, Base: at, Line: name})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.Head
}

// at is where a line is, or the run's branch.
func (w *world) at(line string) agency.OID {
	w.t.Helper()
	b, err := w.queue().Head(w.t.Context(), "head", land.BranchSpec{Run: runID, Line: line})
	if err != nil {
		w.t.Fatal(err)
	}
	return b.Head
}

func onLine(line string, spec land.Spec) land.Spec {
	spec.Line = line
	return spec
}

// worked is a run of which two contracts have landed on a line, which lands next.
func worked(t *testing.T) (*world, land.Spec) {
	t.Helper()
	w := begin(t, gittest.New(t, "a.txt", "1\n2\n3\n4\n5\n"), false)
	specs := w.contracts("w.1", "w.1-integrate", "one", "two")
	w.line(lineW, w.run().Base())
	for _, s := range specs[2:] {
		if out := w.land(agency.StepKey(s.Contract), onLine(lineW, s)); out.Landed == nil {
			t.Fatalf("%+v", out)
		}
	}
	return w, land.Spec{Run: runID, Contract: "w.1", Source: lineW}
}

func TestLine(t *testing.T) {
	w, rise := worked(t)
	base := w.run().Base()
	if w.repo.Rev(branch) != base || w.at("") != base {
		t.Error("the run's branch moved")
	}
	if refs := w.repo.Git("for-each-ref", "--format=%(refname)"); strings.Contains(refs, "lines") {
		t.Errorf("the user's repository has %s", refs)
	}
	if got := w.line(lineW, base); got != w.at(lineW) {
		t.Errorf("begun again it is at %s", got)
	}
	tip, before := w.at(lineW), w.verified.Load()
	w.judge = func(c land.Candidate) []string {
		if c.Head != base || !slices.Equal(w.files(c.Tree), []string{"a.txt", "one.md", "two.md"}) {
			t.Errorf("%+v", c)
		}
		return nil
	}
	out := w.land("rise", rise)
	if out.Landed == nil || w.repo.Rev(branch) != out.Landed.Commit || w.verified.Load() != before+1 {
		t.Fatalf("%+v", out)
	}
	if f := out.Landed.Files; f == nil || !slices.Equal(f.Created, []string{"one.md", "two.md"}) {
		t.Errorf("it changed %+v", f)
	}
	commits := w.log(branch)
	if len(commits) != 3 || !slices.Equal(commits[0].Parents, []agency.OID{base, tip}) || commits[0].Trailer("Agency-Contract") != "w.1" || !strings.HasPrefix(commits[0].Message, "Title of w.1\n") {
		t.Errorf("%+v", commits)
	}
	if again := w.land("rise", rise); again.Landed == nil || !again.Landed.Already || again.Landed.Commit != out.Landed.Commit || len(w.log(branch)) != 3 {
		t.Errorf("%+v", again)
	}
	if err := land.Holds(t.Context(), w.run(), runID, out.Landed.Commit, "w.1", []agency.ContractID{"one", "two"}); err != nil {
		t.Error(err)
	}
	w.told("Title of one integrated into workstream w.1", "Title of two integrated into workstream w.1", "Title of w.1 integrated into "+branch)
	var landings []land.Landing
	if err := w.db.Read(t.Context(), func(q *store.Snapshot) (err error) { landings, err = land.Landings(q, runID); return err }); err != nil {
		t.Fatal(err)
	}
	if len(landings) != 3 || landings[0].Level != agency.OnWorkstream || landings[0].Branch != "workstream w.1" || landings[2].Level != agency.OnRun || landings[2].Branch != branch {
		t.Errorf("%+v", landings)
	}
	w.clean()
}

// told asserts what the log says of landings.
func (w *world) told(want ...string) {
	w.t.Helper()
	var got []string
	err := w.db.Read(w.t.Context(), func(q *store.Snapshot) error {
		evs, err := event.Since(q, 0, event.Filter{Run: runID, Types: []agency.EventType{"merged"}}, 1000)
		for _, ev := range evs {
			got = append(got, ev.Summary)
		}
		return err
	})
	if err != nil || !slices.Equal(got, want) {
		w.t.Errorf("the log says %q (%v), want %q", got, err, want)
	}
}

// A line lands on what others landed meanwhile, on a line and on the branch.
func TestLineOnTopOfOthers(t *testing.T) {
	w, rise := worked(t)
	base := w.run().Base()
	other := w.claim("other", base, "a.txt", "1\n2\n3\n4\nfive\n")
	w.line(web, base)
	w.land("other", other)
	rise.Line = web
	on := w.land("rise on web", rise)
	if on.Landed == nil || w.at(web) != on.Landed.Commit || w.repo.Rev(branch) == on.Landed.Commit {
		t.Fatalf("%+v", on)
	}
	out := w.land("rise on run", land.Spec{Run: runID, Contract: "w.1", Source: web})
	if out.Landed == nil || w.repo.Git("show", branch+":a.txt") != "1\n2\n3\n4\nfive" || w.repo.Git("show", branch+":two.md") != "two" {
		t.Fatalf("%+v", out)
	}
	w.told("Title of one integrated into workstream w.1", "Title of two integrated into workstream w.1", "Title of other integrated into "+branch,
		"Title of w.1 integrated into the integration of web", "Title of w.1 integrated into "+branch)
	// The line goes on from the branch, whatever has landed there.
	if got := w.line(web, w.at("")); got != out.Landed.Commit {
		t.Errorf("begun anew at %s", got)
	}
	w.clean()
}

// Who brings both sides together begins with their files and lands with the line.
func TestLineThatConflicts(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	base := w.run().Base()
	w.contracts("w.1", "w.1-integrate")
	w.line(lineW, base)
	w.land("theirs", onLine(lineW, w.claim("main", base, "a.txt", "line\n", "b.txt", "b\n")))
	w.land("ours", w.claim("other", base, "a.txt", "branch\n"))
	head := w.repo.Rev(branch)
	out := w.land("rise", land.Spec{Run: runID, Contract: "w.1", Source: lineW})
	if out.Landed != nil || out.Conflict == nil || out.Apart == nil || w.repo.Rev(branch) != head || !slices.Equal(out.Conflict.With, []agency.ContractID{"other"}) {
		t.Fatalf("%+v", out)
	}
	if a := out.Apart; a.Head != head || a.From != base || !slices.Equal(w.files(a.Merged), []string{"a.txt", "b.txt"}) || !strings.Contains(w.repoText(a.Merged, "a.txt"), "<<<<<<<") {
		t.Errorf("%+v", a)
	}
	both := w.claim("joins", head, "a.txt", "both\n", "b.txt", "b\n")
	both.Contract, both.Workspace, both.Source = "w.1-integrate", "joins", lineW
	done := w.land("integrate", both)
	if done.Landed == nil || w.repo.Git("show", branch+":a.txt") != "both" {
		t.Fatalf("%+v", done)
	}
	if c := w.log(branch)[0]; !slices.Equal(c.Parents, []agency.OID{head, w.at(lineW)}) || c.Trailer("Agency-Contract") != "w.1-integrate" {
		t.Errorf("%+v", c)
	}
	w.clean()
}

func (w *world) repoText(tree agency.OID, path string) string {
	w.t.Helper()
	b, err := w.run().Dir().Objects().Blob(w.t.Context(), tree, path, 1<<20)
	if err != nil {
		w.t.Fatal(err)
	}
	return string(b)
}

// What is red on the level does not land there, and says from where to go on.
func TestLineThatIsRed(t *testing.T) {
	w, rise := worked(t)
	w.land("other", w.claim("other", w.run().Base(), "other.txt", "o\n"))
	head := w.repo.Rev(branch)
	w.reasons = []string{"TestX fails"}
	out := w.land("rise", rise)
	if out.Red == nil || out.Apart == nil || out.Apart.Head != head || out.Apart.Merged != out.Red.Tree || w.repo.Rev(branch) != head {
		t.Errorf("%+v", out)
	}
}

// A line that brings nothing new is no landing.
func TestLineThatBringsNothing(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	w.contracts("w.1")
	w.line(lineW, w.run().Base())
	out := w.land("rise", land.Spec{Run: runID, Contract: "w.1", Source: lineW})
	if out.Landed == nil || !out.Landed.Empty || w.repo.Rev(branch) != w.run().Base() {
		t.Errorf("%+v", out)
	}
}

func TestLineMoves(t *testing.T) {
	w, rise := worked(t)
	w.line(web, w.run().Base())
	before := w.at(web)
	rise.Line = web
	w.land("rise", rise)
	spec := land.MoveSpec{Run: runID, Line: web, From: w.at(web), To: before}
	for range 2 {
		if _, err := w.queue().Move(t.Context(), "move", spec); err != nil || w.at(web) != before {
			t.Errorf("at %s: %v", w.at(web), err)
		}
	}
	spec.To = w.at(lineW)
	if _, err := w.queue().Move(t.Context(), "move", spec); err == nil {
		t.Error("it was moved from where it was not")
	}
	// Nor does it begin where what it has would be lost.
	w.land("again", rise)
	w.land("other", w.claim("other", before, "other.txt", "o\n"))
	if _, err := w.queue().Branch(t.Context(), "begin", land.BranchSpec{Run: runID, Base: w.at(""), Line: web}); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("%v", err)
	}
}

// Lines of a run land beside each other: one waits in its verification until the other
// has landed.
func TestLinesLandBesideEachOther(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	base := w.run().Base()
	specs := w.contracts("slow", "quick")
	w.line(lineW, base)
	w.line(lineV, base)
	done := make(chan struct{})
	w.judge = func(c land.Candidate) []string {
		if c.Contract == "slow" {
			<-done
		}
		return nil
	}
	q := w.queue()
	var all sync.WaitGroup
	all.Go(func() {
		if out, err := q.Land(t.Context(), "slow", onLine(lineW, specs[0])); err != nil || out.Landed == nil {
			t.Errorf("%+v, %v", out, err)
		}
	})
	out, err := q.Land(t.Context(), "quick", onLine(lineV, specs[1]))
	if err != nil || out.Landed == nil {
		t.Errorf("%+v, %v", out, err)
	}
	close(done)
	all.Wait()
	if w.at(lineW) == base || w.at(lineV) == base || w.repo.Rev(branch) != base {
		t.Error("they are not each on its line")
	}
}

// What wait on a line land together there.
func TestBatchOnALine(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	specs := w.contracts("one", "two", "three")
	w.line(lineW, w.run().Base())
	w.slow()
	for i := range specs {
		specs[i].Line = lineW
	}
	out, err := w.landTogether(t.Context(), specs)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range specs[1:] {
		if l := out[s.Contract].Landed; l == nil || l.Batch != 2 {
			t.Errorf("%s: %+v", s.Contract, out[s.Contract])
		}
	}
	if w.repo.Rev(branch) != w.run().Base() {
		t.Error("the run's branch moved")
	}
}

func TestLandingOnALineSurvivesAKillAtEachPoint(t *testing.T) {
	for _, point := range someOf("land.begin", "land.intent.before", "land.intent.after", "land.objects", "land.ref", "land.done") {
		t.Run(point, func(t *testing.T) {
			w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
			w.line(lineW, w.run().Base())
			spec := onLine(lineW, w.claim("main", w.run().Base(), "a.txt", "A\n"))
			w = killed(t, w, crashSpec{Point: point, Land: &spec})
			out := w.land("land", spec)
			if out.Landed == nil || out.Landed.Tree != spec.Tree || w.at(lineW) != out.Landed.Commit || w.repo.Rev(branch) != w.run().Base() {
				t.Errorf("%+v", out)
			}
			if n := w.mergedEvents(); n != 1 {
				t.Errorf("%d events", n)
			}
			w.clean()
		})
	}
}

func TestLandingOfALineSurvivesAKillAtEachPoint(t *testing.T) {
	for _, point := range someOf("land.begin", "land.intent.before", "land.intent.after", "land.objects", "land.moved", "land.ref", "land.done") {
		t.Run(point, func(t *testing.T) {
			w, rise := worked(t)
			w = killed(t, w, crashSpec{Point: point, Land: &rise})
			out := w.land("land", rise)
			if out.Landed == nil || w.repo.Rev(branch) != out.Landed.Commit || len(w.log(branch)) != 3 {
				t.Errorf("%+v", out)
			}
			if n := w.mergedEvents(); n != 3 {
				t.Errorf("%d events", n)
			}
			w.clean()
		})
	}
}

func TestLineBeginsOnceWhereverItIsKilled(t *testing.T) {
	for _, point := range []string{"line.before", "line.after"} {
		t.Run(point, func(t *testing.T) {
			w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
			spec := land.BranchSpec{Run: runID, Base: w.run().Base(), Line: lineW}
			w = killed(t, w, crashSpec{Point: point, Begin: &spec})
			if got := w.line(lineW, spec.Base); got != spec.Base || w.at(lineW) != spec.Base {
				t.Errorf("at %s", got)
			}
		})
	}
}
