//go:build unix

package daemon

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/board"
	"agency/internal/config"
	"agency/internal/doctor"
	"agency/internal/git"
	"agency/internal/host"
	"agency/internal/sandbox"
	"agency/internal/store"
)

// work is a repository with a rehearsal script; it has no language, so that a
// run of it takes milliseconds.
type work struct {
	t     *testing.T
	place Place
	cfg   config.Config
}

const quick = `
version: 1
name: quick
rules:
  - when: {turn: 1}
    calls: [{tool: write_file, args: {path: new.txt, content: "CONTENT\n"}}]
  - when: {turn: "2+"}
    calls: [{tool: signal_complete, args: {evidence: done}}]
`

func newWork(t *testing.T, script string) *work {
	t.Helper()
	if _, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull}); err != nil {
		t.Skipf("the full sandbox tier is refused here: %v", err)
	}
	loc, f := aRepo(t)
	p, err := Claim(loc, f)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(filepath.Dir(loc.WorkTree), "script.yaml")
	if err := os.WriteFile(file, []byte(script), 0o600); err != nil {
		t.Fatal(err)
	}
	c := config.Defaults()
	c.Providers = map[string]config.Provider{"rehearsal": {Type: "rehearsal", Script: file}}
	for level := range c.Models {
		c.Models[level] = []string{"rehearsal/x"}
	}
	return &work{t, p, c}
}

// anything lets runs start with whatever a test configures; which settings the
// files allow is tested on its own.
type anything struct{}

func (anything) Check(api.RunRequest, host.RunConfig) error { return nil }

func (w *work) start(o Options) (*Daemon, *api.Client) {
	w.t.Helper()
	if o.Settings == nil {
		o.Settings = anything{}
	}
	o.Place, o.Build = w.place, api.Build{Version: "test", Made: time.Unix(1000, 0)}
	d, err := Start(w.t.Context(), o)
	if err != nil {
		w.t.Fatal(err)
	}
	c := d.Dial()
	w.t.Cleanup(func() { c.Close(); d.Close() })
	return d, c
}

func (w *work) request(id agency.RunID, yes bool) api.RunRequest {
	raw, err := json.Marshal(w.cfg)
	if err != nil {
		w.t.Fatal(err)
	}
	return api.RunRequest{
		ID: id, Goal: "add a file", Repo: w.place.Repo.WorkTree, Mode: agency.ModeSingle, Land: agency.LandMerge, Yes: yes, Untested: true,
		Config: raw, Env: map[string]string{"PATH": os.Getenv("PATH")}, By: "test",
	}
}

// until follows a run's events until one of a type.
func (w *work) until(c *api.Client, id agency.RunID, after int64, types ...agency.EventType) agency.Event {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 30*time.Second)
	defer cancel()
	for ev, err := range c.Events(ctx, api.EventQuery{Run: id, After: after, Follow: true}) {
		if err != nil {
			w.t.Fatalf("waiting for %v: %v", types, err)
		}
		for _, t := range types {
			if ev.Type == t {
				return ev
			}
		}
	}
	w.t.Fatalf("no %v", types)
	return agency.Event{}
}

// healthy is the check that every test of a run ends with.
func (w *work) healthy(d *Daemon, id agency.RunID) {
	w.t.Helper()
	g, err := git.NewProgram(w.t.Context(), git.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	for _, f := range (doctor.Run{DB: d.parts.db, Git: g, StateDir: w.place.State, ID: id}).Check(w.t.Context()) {
		if f.Level != doctor.OK {
			w.t.Errorf("doctor: %s: %s", f.Name, f.Detail)
		}
	}
}

// A gate has one decision, whoever answers at once; the first wins.
func TestFirstAnswerWins(t *testing.T) {
	w := newWork(t, quick)
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "gate_pending")
	var wg sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for range 16 {
		wg.Go(func() {
			_, err := c.Answer(t.Context(), "run-1", api.AnswerRequest{Verb: agency.Approve, By: "test"})
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			} else if agency.KindOf(err) != agency.KindConflict {
				t.Errorf("a late answer: %v", err)
			}
		})
	}
	wg.Wait()
	w.until(c, "run-1", 0, "run_succeeded")
	if won != 1 {
		t.Errorf("%d answers won", won)
	}
	b, err := os.ReadFile(filepath.Join(w.place.Repo.WorkTree, "new.txt"))
	if err != nil || string(b) != "CONTENT\n" {
		t.Errorf("merged file %q %v", b, err)
	}
	w.healthy(d, "run-1")
}

// A request whose answer was lost is made again and finds its run.
func TestStartIsIdempotent(t *testing.T) {
	w := newWork(t, quick)
	d, c := w.start(Options{})
	for range 3 {
		got, err := c.Start(t.Context(), w.request("run-1", true))
		if err != nil || got.Run.ID != "run-1" {
			t.Fatalf("%v %v", got.Run.ID, err)
		}
	}
	w.until(c, "run-1", 0, "run_succeeded")
	other := w.request("run-1", true)
	other.Goal = "something else"
	if _, err := c.Start(t.Context(), other); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("another run under the same id: %v", err)
	}
	w.healthy(d, "run-1")
}

// A deadline of a gate is announced and changes nothing else; the gate can
// still be answered.
func TestGateDeadlineOnlyAnnounces(t *testing.T) {
	w := newWork(t, quick)
	fire := make(chan func(), 8)
	d, c := w.start(Options{After: func(left time.Duration, f func()) func() bool {
		if left == board.HeartbeatInterval || left == 10*time.Second { // no deadline of a person: heartbeats, the overseer's looks
			return func() bool { return true }
		}
		if left < 50*time.Minute || left > time.Hour {
			t.Errorf("deadline in %v", left)
		}
		fire <- f
		return func() bool { return true }
	}})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	(<-fire)()
	paused := w.until(c, "run-1", 0, "gate_paused")
	got, err := c.Answer(t.Context(), "run-1", api.AnswerRequest{Verb: agency.Approve, By: "test"})
	if err != nil || got.Gate.Decision.By != "test" {
		t.Fatalf("%+v %v", got, err)
	}
	w.until(c, "run-1", paused.ID, "gate_resumed")
	w.until(c, "run-1", paused.ID, "run_succeeded")
	w.healthy(d, "run-1")
}

// A host that leaves while a run waits loses nothing: the next one takes the
// answer, and only then takes the run up.
func TestAnswerAfterTheHostLeft(t *testing.T) {
	w := newWork(t, quick)
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_waiting")
	c.Close()
	d.Close()
	d, c = w.start(Options{})
	doc, err := c.Inspect(t.Context(), "run-1")
	if err != nil || doc.State != agency.StateWaiting || doc.Live || len(doc.Gates) != 1 {
		t.Fatalf("after the host left: %s live %v gates %d, %v", doc.State, doc.Live, len(doc.Gates), err)
	}
	if _, err := c.Answer(t.Context(), "run-1", api.AnswerRequest{Verb: agency.Approve, By: "test"}); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", doc.LastEvent, "run_succeeded")
	w.healthy(d, "run-1")
}

const slow = `
version: 1
name: slow
latency: 20ms
rules:
  - when: {turn: "1-40"}
    calls: [{tool: write_file, args: {path: "part${{turn}}.txt", content: "part ${{turn}}\n"}}]
  - when: {turn: 41}
    calls: [{tool: write_file, args: {path: new.txt, content: "x\n"}}]
  - when: {turn: "42+"}
    calls: [{tool: signal_complete, args: {evidence: done}}]
`

// A host that hands over stops its runs at a turn boundary, and the next one
// takes them up where they stood.
func TestHandOverKeepsRuns(t *testing.T) {
	w := newWork(t, slow)
	w.cfg.Agents["generalist"] = with(w.cfg.Agents["generalist"], func(a *config.Agent) { a.MaxTurns = 60; a.MaxTokensPerSession = 10_000_000 })
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", true)); err != nil {
		t.Fatal(err)
	}
	turn := w.until(c, "run-1", 0, "turn_completed")
	drained, err := c.Drain(t.Context())
	if err != nil || len(drained.Runs) != 1 {
		t.Fatalf("%v %v", drained, err)
	}
	<-d.done
	d, c = w.start(Options{})
	doc, err := c.Inspect(t.Context(), "run-1")
	if err != nil || doc.State != agency.StateInterrupted {
		t.Fatalf("after the hand-over: %s %v", doc.State, err)
	}
	if _, err := c.Resume(t.Context(), "run-1", api.ResumeRequest{By: "test"}); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", turn.ID, "run_succeeded")
	w.healthy(d, "run-1")
}

// A hand-over whose client leaves in the middle is taken back: the run goes on
// by itself, and the host admits work.
func TestHandOverIsTakenBack(t *testing.T) {
	w := newWork(t, slow)
	w.cfg.Agents["generalist"] = with(w.cfg.Agents["generalist"], func(a *config.Agent) { a.MaxTurns = 60; a.MaxTokensPerSession = 10_000_000 })
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", true)); err != nil {
		t.Fatal(err)
	}
	turn := w.until(c, "run-1", 0, "turn_completed")
	gone, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("the client left"))
	if doc, err := d.parts.host.Drain(gone); err == nil {
		t.Fatalf("%v: nobody was there to hear of it", doc)
	}
	w.until(c, "run-1", turn.ID, "run_succeeded")
	if _, err := c.Start(t.Context(), w.request("run-2", true)); err != nil {
		t.Errorf("no work is admitted: %v", err)
	}
	w.until(c, "run-2", 0, "turn_completed")
	w.healthy(d, "run-1")
}

func with(a config.Agent, change func(*config.Agent)) config.Agent {
	change(&a)
	return a
}

// A key that a model repeats is in no file of ours.
func TestKeysAreNowhere(t *testing.T) {
	const canary = "sk-canary-8f3a1b/x\"y"
	w := newWork(t, `
version: 1
name: leak
rules:
  - when: {turn: 1}
    text: 'I know the key sk-canary-8f3a1b/x"y and say it.'
    calls: [{tool: write_file, args: {path: new.txt, content: 'sk-canary-8f3a1b/x"y'}}, {tool: read_file, args: {path: 'sk-canary-8f3a1b/x"y'}}]
  - when: {turn: 2}
    calls: [{tool: signal_complete, args: {evidence: 'sk-canary-8f3a1b/x"y'}}, {tool: write_file, args: {path: new.txt, content: "x\n"}}]
  - when: {turn: "3+"}
    calls: [{tool: signal_complete, args: {evidence: 'done'}}]
`)
	d, c := w.start(Options{})
	req := w.request("run-1", false)
	req.Secrets = map[string]string{"rehearsal": canary}
	if _, err := c.Start(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_waiting")
	talk, err := c.Transcript(t.Context(), "run-1", "") // its blobs are compressed: a search of the file would not see them
	if err != nil || len(talk.Lines) < 3 {
		t.Fatalf("%d lines, %v", len(talk.Lines), err)
	}
	turn, err := c.Transcript(t.Context(), "run-1", talk.Session.ID, 1)
	if err != nil || len(turn.Lines) == 0 || len(turn.Lines) >= len(talk.Lines) || turn.Lines[0].Role != "assistant" || turn.Lines[0].Turn != 1 {
		t.Errorf("the first turn alone: %+v, %v", turn.Lines, err)
	}
	if b, err := json.Marshal(talk); err != nil || bytes.Contains(b, []byte("sk-canary-8f3a1b")) {
		t.Errorf("the key is in the transcript: %s %v", b, err)
	}
	c.Close()
	d.Close()
	found := 0
	err = filepath.WalkDir(w.place.State, func(p string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() || filepath.Base(p) == "new.txt" { // the agent's own file is its own
			return err
		}
		b, err := os.ReadFile(p)
		if err == nil && bytes.Contains(b, []byte("sk-canary-8f3a1b")) {
			t.Errorf("the key is in %s", p)
		}
		found++
		return err
	})
	if err != nil || found == 0 {
		t.Errorf("%d files, %v", found, err)
	}
}

// The user's checkout is what it was, whatever happened to a run.
func TestCancelLeavesNothing(t *testing.T) {
	w := newWork(t, slow)
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", true)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "turn_completed")
	doc, err := c.Cancel(t.Context(), "run-1", api.ByRequest{By: "test"})
	if err != nil || doc.State != agency.StateCancelled {
		t.Fatalf("%s %v", doc.State, err)
	}
	w.healthy(d, "run-1")
	out, err := exec.Command("git", "-C", w.place.Repo.WorkTree, "status", "--porcelain").CombinedOutput()
	if err != nil || len(out) > 0 {
		t.Errorf("status %s %v", out, err)
	}
	if err := c.Remove(t.Context(), "run-1", api.ByRequest{By: "test"}); err != nil {
		t.Fatal(err)
	}
	if entries, err := os.ReadDir(filepath.Join(w.place.State, "runs")); err != nil || len(entries) != 0 {
		t.Errorf("left %v %v", entries, err)
	}
	runs, err := c.Runs(t.Context())
	if err != nil || len(runs) != 0 {
		t.Errorf("runs %v %v", runs, err)
	}
}

// tamper changes the recorded goal while no host lives: the record of the
// run's steps then fits no more.
func (w *work) tamper(goal string) {
	w.t.Helper()
	db, err := store.Open(w.t.Context(), store.Options{Path: w.place.DB(), Sets: Migrations()})
	if err != nil {
		w.t.Fatal(err)
	}
	err = db.Write(w.t.Context(), func(tx *store.Tx) error {
		_, err := tx.Exec(`UPDATE runs SET doc = json_set(doc, '$.goal', ?)`, goal)
		return err
	})
	if err := errors.Join(err, db.Close()); err != nil {
		w.t.Fatal(err)
	}
}

// A record that this build cannot follow stops the run at a gate; nothing is
// lost, and a build that can goes on.
func TestFaultStopsAtAGate(t *testing.T) {
	w := newWork(t, quick)
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_waiting")
	c.Close()
	d.Close()
	w.tamper("another goal")
	d, c = w.start(Options{})
	doc, err := c.Inspect(t.Context(), "run-1")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Answer(t.Context(), "run-1", api.AnswerRequest{Verb: agency.Approve, By: "test"}); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", doc.LastEvent, "gate_pending")
	w.until(c, "run-1", doc.LastEvent, "run_waiting")
	c.Close()
	d.Close()
	w.tamper("add a file")
	d, c = w.start(Options{})
	gates, err := c.Gates(t.Context(), "run-1")
	if err != nil || len(gates) != 2 || gates[1].Kind != agency.GateFault || !gates[1].Open() {
		t.Fatalf("gates %+v %v", gates, err)
	}
	if _, err := c.Answer(t.Context(), "run-1", api.AnswerRequest{Verb: agency.Approve, By: "test"}); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_succeeded")
	w.healthy(d, "run-1")
}

// Rejecting a fault ends the run.
func TestRejectedFaultEndsTheRun(t *testing.T) {
	w := newWork(t, quick)
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_waiting")
	c.Close()
	d.Close()
	w.tamper("another goal")
	d, c = w.start(Options{})
	doc, err := c.Resume(t.Context(), "run-1", api.ResumeRequest{By: "test"})
	if err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", doc.LastEvent, "gate_pending")
	gates, err := c.Gates(t.Context(), "run-1")
	if err != nil {
		t.Fatal(err)
	}
	got, err := c.Answer(t.Context(), "run-1", api.AnswerRequest{Gate: gates[len(gates)-1].ID, Verb: agency.Reject, By: "test"})
	if err != nil || got.Run.State != agency.StateFailed {
		t.Errorf("%s %v", got.Run.State, err)
	}
	w.healthy(d, "run-1")
}

// The branch only: nothing reaches the target until somebody says merge.
func TestMergeOfABranch(t *testing.T) {
	w := newWork(t, quick)
	d, c := w.start(Options{})
	req := w.request("run-1", true)
	req.Land = agency.LandBranch
	if _, err := c.Start(t.Context(), req); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_succeeded")
	file := filepath.Join(w.place.Repo.WorkTree, "new.txt")
	if _, err := os.Stat(file); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("the target has the file already: %v", err)
	}
	if err := os.WriteFile(file, []byte("mine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Merge(t.Context(), "run-1", api.ByRequest{By: "test"}); err == nil || agency.MendOf(err) == "" {
		t.Errorf("a merge over a local file: %v", err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "mine\n" {
		t.Errorf("the local file is %q, %v", b, err)
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	doc, err := c.Merge(t.Context(), "run-1", api.ByRequest{By: "test"})
	if err != nil || doc.Merged == "" {
		t.Fatalf("%+v %v", doc, err)
	}
	if b, err := os.ReadFile(file); err != nil || string(b) != "CONTENT\n" {
		t.Errorf("merged file %q, %v", b, err)
	}
	if _, err := c.Merge(t.Context(), "run-1", api.ByRequest{By: "test"}); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("a second merge: %v", err)
	}
	w.healthy(d, "run-1")
}

// A git that died with its host leaves its lock on the run's branch: the next
// host takes it away, and that of another branch stays.
func TestDeadLockOfTheRunsBranchIsRemoved(t *testing.T) {
	w := newWork(t, quick)
	d, c := w.start(Options{})
	if _, err := c.Start(t.Context(), w.request("run-1", false)); err != nil {
		t.Fatal(err)
	}
	w.until(c, "run-1", 0, "run_waiting")
	c.Close()
	d.Close()
	heads := filepath.Join(w.place.Repo.CommonDir, "refs", "heads")
	ours, theirs := filepath.Join(heads, "agency", "run-1", "main.lock"), filepath.Join(heads, "other.lock")
	for _, p := range []string{ours, theirs} {
		if err := os.WriteFile(p, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	w.start(Options{})
	if _, err := os.Lstat(ours); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the lock of the run's branch stands: %v", err)
	}
	if _, err := os.Lstat(theirs); err != nil {
		t.Errorf("a foreign lock is gone: %v", err)
	}
}
