package oversight

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/budget"
	"agency/internal/config"
	"agency/internal/event"
	"agency/internal/lease"
	"agency/internal/llm/failover"
	"agency/internal/llm/rehearsal"
	"agency/internal/overseer"
	"agency/internal/registry"
	"agency/internal/roster"
	"agency/internal/session"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

const (
	testRun agency.RunID     = "say-yes"
	circler agency.AgentID   = "scaffolder-c"
	itsWork agency.SessionID = "say-yes/c/attempt-1"
)

// office is a run whose agent goes in a circle, with a real store and board, and a
// rehearsed model.
type office struct {
	t     *testing.T
	db    *store.DB
	fence agency.Fence
	price agency.Price
	tell  Settings

	late  atomic.Int64 // by how much its clock is ahead
	mu    sync.Mutex
	watch *overseer.Watch
	read  int64
	found []overseer.Detection
	calls int
}

func newOffice(t *testing.T, limits budget.Limits) *office {
	t.Helper()
	o := &office{t: t, price: agency.Price{In: 1, CachedIn: 1, Out: 1}, tell: Settings{MaxNudges: 5, MayHalt: true}, watch: overseer.NewWatch(config.Defaults().Overseer)}
	now := func() time.Time { return time.Now().Add(time.Duration(o.late.Load())) }
	o.db = storetest.Open(t, store.Options{Path: filepath.Join(t.TempDir(), "db"), Now: now, Sets: []store.Set{
		event.Migrations(), lease.Migrations(), registry.Migrations(), budget.Migrations(), board.Migrations(),
	}})
	o.hostBegins()
	o.write(func(tx *store.Tx) error {
		if err := registry.CreateRun(tx, agency.Run{ID: testRun, Goal: "Say yes", Mode: agency.ModeMultiAgent, State: agency.StateRunning}, json.RawMessage(`{}`)); err != nil {
			return err
		}
		if err := budget.Open(tx, testRun, budget.Root, "", limits); err != nil {
			return err
		}
		return board.Join(tx, board.Agent{Run: testRun, ID: circler, Role: agency.RoleScaffolder, Contract: "c"})
	})
	o.happens("begins attempt 1", agency.Spawned{Session: itsWork, Attempt: 1})
	return o
}

// hostBegins is what a new host process does.
func (o *office) hostBegins() {
	epoch, err := o.db.RaiseEpoch(o.t.Context())
	if err != nil {
		o.t.Fatal(err)
	}
	o.fence = agency.Fence{Epoch: epoch, N: 1}
}

func (o *office) write(fn func(*store.Tx) error) {
	o.t.Helper()
	if err := o.db.WriteFenced(o.t.Context(), o.fence, fn); err != nil {
		o.t.Fatal(err)
	}
}

func (o *office) happens(summary string, d agency.Detail) {
	o.t.Helper()
	o.write(func(tx *store.Tx) error {
		ev := agency.NewEvent(testRun, agency.SeverityInfo, summary, d)
		ev.AgentID, ev.Role, ev.ContractID = circler, agency.RoleScaffolder, "c"
		_, err := event.Append(tx, ev)
		return err
	})
}

// circles has the agent make the same call with the same answer.
func (o *office) circles(n int) {
	for range n {
		o.calls++
		o.happens("search_files nowhere", agency.ToolCalled{
			Session: itsWork, Turn: o.calls, Tool: "search_files", CallDigests: overseer.DigestsOf(json.RawMessage(`{"pattern":"nowhere"}`), "no match"),
		})
		o.happens("turn", agency.TurnCompleted{Session: itsWork, Turn: o.calls, In: 1000, Out: 10})
	}
}

// look is Options.Watch: it folds what has happened since.
func (o *office) look(_ context.Context, f func(*overseer.Watch)) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	err := o.db.Read(o.t.Context(), func(q *store.Snapshot) error {
		all, err := event.Since(q, o.read, event.Filter{Run: testRun}, 0)
		for _, e := range all {
			found, _ := o.watch.Observe(e)
			o.found, o.read = append(o.found, found...), e.ID
		}
		return err
	})
	f(o.watch)
	return err
}

// flagged is what the detectors have found so far.
func (o *office) flagged() (out []overseer.Detection) {
	if err := o.look(o.t.Context(), func(*overseer.Watch) { out = slices.Clone(o.found) }); err != nil {
		o.t.Fatal(err)
	}
	return out
}

// model is a Model over a rehearsal script.
func (o *office) model(script string) *Model {
	o.t.Helper()
	s, err := rehearsal.Parse("script.yaml", []byte("version: 1\nname: watch\nrules:\n"+script))
	if err != nil {
		o.t.Fatal(err)
	}
	patient := failover.Retry(rehearsal.NewModel("test", rehearsal.NewPlayer(s), rehearsal.ModelOptions{}), failover.RetryOptions{
		Sleep: func(context.Context, time.Duration) error { return nil },
	})
	lineup, err := failover.Fallback([]failover.Named{{Name: "test/watch", Provider: "test", ID: "watch", Model: patient}}, failover.FallbackOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	return NewModel(Options{
		Run: agency.Run{ID: testRun, Goal: "Say yes", Mode: agency.ModeMultiAgent}, DB: o.db, Fence: o.fence, Settings: o.tell, Watch: o.look, Log: slog.New(slog.DiscardHandler),
		Staff: func(context.Context) (Staff, error) {
			return Staff{
				Lineup: session.Lineup{Model: lineup, Names: []string{"test/watch"}}, Limits: roster.Limits{Turns: 100, MaxOutput: 2048, Tokens: 100_000, Seconds: 60},
				Prices: func(string, string) (agency.Price, bool) { return o.price, true },
			}, nil
		},
	})
}

// works has the model look at what is flagged until nothing waits any more.
func (o *office) works(m *Model, flagged ...overseer.Detection) {
	o.t.Helper()
	for _, d := range flagged {
		m.Flag(d)
	}
	ctx, stop := context.WithCancel(o.t.Context())
	over := make(chan struct{})
	go func() {
		defer close(over)
		m.Run(ctx)
	}()
	idle := overseer.Detection{Severity: overseer.Medium, Action: overseer.ActionLog, Event: -1} // of nobody: passed over
	for range 2 {
		select {
		case m.flagged <- idle:
		case <-over:
		}
	}
	for len(m.flagged) > 0 {
		select {
		case <-over:
			stop()
			return
		case <-time.After(time.Millisecond):
		}
	}
	stop()
	<-over
}

// told are the events that name the model, and those of its own.
func (o *office) told() (out []string) {
	err := o.db.Read(o.t.Context(), func(q *store.Snapshot) error {
		all, err := event.Since(q, 0, event.Filter{Run: testRun}, 0)
		for _, e := range all {
			if e.AgentID == agent || strings.Contains(string(e.Details), agency.ByOverseerModel) {
				out = append(out, fmt.Sprint(e.Type, " ", e.Summary))
			}
		}
		return err
	})
	if err != nil {
		o.t.Fatal(err)
	}
	return out
}

func (o *office) spent() budget.State {
	o.t.Helper()
	s, err := store.Get(o.t.Context(), o.db, func(q store.Querier, run agency.RunID) (budget.State, error) {
		return budget.Read(q, run, budget.StageNode("overseer"))
	}, testRun)
	if err != nil && !strings.Contains(err.Error(), "has no node") { // nothing was ever held
		o.t.Fatal(err)
	}
	return s
}

func wants(t *testing.T, got []string, want ...string) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("told %d events, want %d:\n%s", len(got), len(want), strings.Join(got, "\n"))
	}
	for i, w := range want {
		if !strings.Contains(got[i], w) {
			t.Errorf("event %d is %q, want %q", i, got[i], w)
		}
	}
}

const halts = `
  - when: {role: overseer, turn: 1, last: 'search_files nowhere'}
    calls:
      - {tool: get_agent_status, args: {agent_id: scaffolder-c}}
      - {tool: detect_loop_pattern, args: {agent_id: scaffolder-c}}
      - {tool: get_agent_status, args: {agent_id: nobody}}
  - when: {role: overseer, turn: 2, last: '"health":"looping"[\s\S]*"infinite_loop"[\s\S]*at work are: scaffolder-c'}
    calls: [{tool: halt_agent, args: {agent_id: scaffolder-c, reason: It searches for what is not there.}}]
  - when: {role: overseer, turn: 3, last: 'its session ends'}
    calls: [{tool: send_nudge, args: {agent_id: scaffolder-c, message: Stop it.}}]
  - when: {role: overseer, turn: 4, last: 'you have taken your step'}
    calls: [{tool: final_report, args: {report: It went in a circle; halted.}}]
`

// What a detector flagged is looked at, once: the model sees states and events, takes
// one step about the agent, and reports. Another host does not look again.
func TestModelHalts(t *testing.T) {
	o := newOffice(t, budget.Limits{Money: agency.USD(20)})
	o.circles(6)
	flagged := o.flagged()
	if len(flagged) != 1 || flagged[0].Action != overseer.ActionNudge {
		t.Fatalf("the detectors found %v", flagged)
	}
	o.works(o.model(halts), flagged[0], flagged[0])
	told := []string{"halted halted: infinite loop, by the overseer's model: It searches for what is not there.", "log on scaffolder-c: It went in a circle; halted."}
	wants(t, o.told(), told...)
	order, err := store.Get(t.Context(), o.db, func(q store.Querier, run agency.RunID) (*registry.Intervention, error) {
		return registry.Ordered(q, run, itsWork)
	}, testRun)
	if err != nil || order == nil || order.Action != overseer.ActionHalt || !order.Behaviour.Lasts() {
		t.Fatalf("the session is ordered %+v: %v", order, err)
	}
	if err := o.look(t.Context(), func(w *overseer.Watch) {
		if h, _ := w.Health(itsWork); h.Condition != overseer.Halted || w.Stands(flagged[0]) {
			t.Errorf("the agent is %+v, still flagged %v", h, w.Stands(flagged[0]))
		}
	}); err != nil {
		t.Fatal(err)
	}
	if s := o.spent(); s.Money <= 0 || s.Money > agency.USD(0.4) || s.Limits.Money != agency.USD(0.4) || s.Reserved != 0 || s.Wall != 0 { // its time is nobody's at work
		t.Errorf("it spent %+v", s)
	}
	o.hostBegins()
	before := o.spent()
	o.works(o.model(halts), flagged...)
	wants(t, o.told(), told...)
	if after := o.spent(); after != before {
		t.Errorf("another host looked again: %+v, was %+v", after, before)
	}
}

// Where no halt is allowed, a person is asked. What is over, or of an agent that has
// ended, is not looked at.
func TestModelMayNotHalt(t *testing.T) {
	o := newOffice(t, budget.Limits{})
	o.tell.MayHalt = false
	o.circles(6)
	flagged := o.flagged()
	o.works(o.model(halts), flagged...)
	wants(t, o.told(), "escalated paused: infinite loop, by the overseer's model: It searches", "log on scaffolder-c")
	if l := o.spent().Limits; l.Tokens != 100_000 || l.Money != 0 {
		t.Errorf("limits of a run without any: %+v", l)
	}

	o = newOffice(t, budget.Limits{})
	o.circles(6)
	flagged = o.flagged()
	o.happens("done", agency.Claimed{Session: itsWork})
	o.works(o.model(halts), flagged...)
	wants(t, o.told())
}

// A model's nudge reaches the agent, counts as one, and waits for the cooldown and the
// most that an agent gets. A look without a step is noted with its reason.
func TestModelNudges(t *testing.T) {
	const nudges = `
  - when: {role: overseer, turn: 1}
    calls: [{tool: send_nudge, args: {agent_id: scaffolder-c, message: Read the file instead.}}]
  - when: {role: overseer, last: '(?s)(.*)'}
    calls: [{tool: final_report, args: {report: "${{1}}"}}]
`
	o := newOffice(t, budget.Limits{Money: agency.USD(20)})
	o.circles(6)
	flagged := o.flagged()
	m := o.model(nudges)
	o.works(m, flagged...) // the detectors nudged just now
	wants(t, o.told(), "log seen: infinite loop, by the overseer's model: error: it was nudged just now, and may be again in")
	o.late.Add(int64(time.Minute))
	o.circles(1)
	again := flagged[0]
	again.Event++ // flagged anew
	o.works(o.model(nudges), again)
	wants(t, o.told(), "log", "nudged nudged: infinite loop, by the overseer's model: Read the file instead.", "log on scaffolder-c: written; it is read before the next turn")
	var views []overseer.View
	if err := o.look(t.Context(), func(w *overseer.Watch) { views = w.Views() }); err != nil || len(views) != 1 || views[0].Nudges != 2 || views[0].Cooldown <= 0 {
		t.Fatalf("the agent's nudges: %+v %v", views, err)
	}
	o.tell.MaxNudges = 2
	o.late.Add(int64(time.Minute))
	again.Event++
	o.works(o.model(nudges), again)
	wants(t, o.told(), "log", "nudged", "log", "log seen: infinite loop, by the overseer's model: error: it was nudged 2 times, which is all that an agent gets")
}

// Its part of the budget is a fiftieth. Where a request does not fit any more, or its
// provider refuses, it is off: told once, also by another host; never more is spent.
func TestModelIsOff(t *testing.T) {
	report := "\n  - when: {role: overseer}\n    calls: [{tool: final_report, args: {report: All is well.}}]\n"
	for name, tt := range map[string]struct {
		price  float64
		script string
		why    string
	}{
		"too dear": {1000, report, "left to stage/overseer"},
		"spent":    {40, report, "left to stage/overseer"},
		"no key":   {1, "\n  - when: {role: overseer}\n    fault: {kind: auth}\n", "off for this run"},
		"broken":   {1, "\n  - when: {role: overseer}\n    fault: {kind: cut_text, times: 100}\n", "off for this run"},
	} {
		t.Run(name, func(t *testing.T) {
			o := newOffice(t, budget.Limits{Money: agency.USD(20)})
			o.price = agency.Price{In: tt.price, CachedIn: tt.price, Out: tt.price}
			o.circles(6)
			d := o.flagged()[0]
			for range 2 {
				m := o.model(tt.script)
				for range 20 {
					d.Event++
					m.Flag(d)
				}
				o.works(m)
				o.hostBegins()
				o.write(func(tx *store.Tx) error { _, err := budget.ChargeLost(tx, testRun); return err })
			}
			off := 0
			for _, line := range o.told() {
				if strings.Contains(line, "is off for this run") {
					off++
					if !strings.Contains(line, tt.why) {
						t.Errorf("told %q, want %q", line, tt.why)
					}
				}
			}
			if s := o.spent(); off != 1 || s.Money > s.Limits.Money || s.Reserved != 0 {
				t.Errorf("told %d times that it is off, spent %+v; all: %q", off, s, o.told())
			}
		})
	}
}

// Where the run's own budget is spent it is not off: a person may raise that.
func TestModelWaitsForTheRun(t *testing.T) {
	o := newOffice(t, budget.Limits{Money: agency.USD(20)})
	o.circles(6)
	d := o.flagged()[0]
	o.write(func(tx *store.Tx) error {
		_, err := budget.Reserve(tx, testRun, budget.Request{Key: "all", Node: budget.Root, In: 1, Price: agency.Price{In: 15.9999e6}})
		return err
	})
	m := o.model(halts)
	o.works(m, d, d, d, d)
	wants(t, o.told())
	o.write(func(tx *store.Tx) error { return budget.Release(tx, testRun, "all") })
	o.works(m, d)
	wants(t, o.told(), "halted", "log on scaffolder-c")
}

// While the run is to pause it asks nothing, and pays nothing; afterwards it looks.
func TestModelPausesWithTheRun(t *testing.T) {
	o := newOffice(t, budget.Limits{Money: agency.USD(20)})
	o.circles(6)
	d := o.flagged()[0]
	pause := func(on bool) {
		o.write(func(tx *store.Tx) error { return registry.SetControl(tx, testRun, registry.Control{Pause: on}) })
	}
	pause(true)
	m := o.model(halts)
	o.works(m, d, d, d, d)
	if s := o.spent(); s.Tokens != 0 || s.ReservedTokens != 0 {
		t.Errorf("spent %+v while the run is to pause", s)
	}
	wants(t, o.told())
	pause(false)
	o.works(m, d)
	wants(t, o.told(), "halted", "log on scaffolder-c")
}

// Nobody waits for it: what is flagged while it cannot be asked is dropped.
func TestModelNeverBlocks(t *testing.T) {
	m := NewModel(Options{})
	for i := range 3 * mostFlagged {
		m.Flag(overseer.Detection{Severity: overseer.Medium, Action: overseer.ActionNudge, Event: int64(i)})
	}
	m.Flag(overseer.Detection{Severity: overseer.Critical, Action: overseer.ActionHalt})
	m.Flag(overseer.Detection{Severity: overseer.Low, Action: overseer.ActionLog})
	if len(m.flagged) != mostFlagged {
		t.Errorf("%d wait", len(m.flagged))
	}
}

// It is shown no code: the tools that it is offered are those of its own.
func TestModelSeesNoCode(t *testing.T) {
	role, err := roster.Find(agency.RoleOverseer)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, o := range session.Offered(role, roster.Always, roster.Present{Backlog: true, Skills: true}) {
		names = append(names, o.Name)
	}
	if !slices.Equal(names, role.Tools()) {
		t.Errorf("offered %v, of %v", names, role.Tools())
	}
}
