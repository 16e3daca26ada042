package mode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/contractrun/team"
	"agency/internal/flow"
	"agency/internal/flow/local"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// asking is a manager's part that ends by asking for its agents.
func asking(asks ...session.AgentsAsk) session.Outcome {
	for i := range asks {
		asks[i].ToolUse = fmt.Sprint("call-", i+1)
	}
	return session.Outcome{Kind: session.Parked, For: session.ForAgents, ToolUse: "call-1", Asks: asks}
}

func spawn(p agency.Contract) session.AgentsAsk { return session.AgentsAsk{Spawn: &p} }

func agents(ids ...agency.ContractID) *session.Agents {
	a := &session.Agents{}
	for _, id := range ids {
		a.IDs = append(a.IDs, agency.MemberID("scaffolder", id))
	}
	return a
}

func wait(ids ...agency.ContractID) session.AgentsAsk { return session.AgentsAsk{Wait: agents(ids...)} }

func collect(ids ...agency.ContractID) session.AgentsAsk {
	return session.AgentsAsk{Collect: agents(ids...)}
}

// replies are what the manager was answered, part after part.
func (s *stage) replies() (out []string) {
	for _, sp := range s.specs {
		if sp.Role == aManager && sp.Answer != nil {
			for _, r := range sp.Answer.Replies {
				if r.Refused != strings.HasPrefix(r.Text, "error: ") {
					s.t.Errorf("refused %v: %s", r.Refused, r.Text)
				}
				out = append(out, r.Text)
			}
		}
	}
	return out
}

// allEnded asserts that no contract is left where it can never end.
func (s *stage) allEnded() {
	s.t.Helper()
	err := s.db.Read(context.Background(), func(q *store.Snapshot) error {
		all, err := registry.Contracts(q, run)
		for _, c := range all {
			if !c.Status.Final() {
				s.t.Errorf("%s is left %s when all of the plan is done: %s", c.ID, c.Status, c.Error)
			}
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

func has(t *testing.T, texts []string, wants ...string) {
	t.Helper()
	at := 0
	for _, w := range wants {
		i := slices.IndexFunc(texts[at:], func(s string) bool { return strings.Contains(s, w) })
		if i < 0 {
			t.Fatalf("no %q after %d of\n%s", w, at, strings.Join(texts, "\n"))
		}
		at += i
	}
}

// pondering is a manager's part that goes on once nothing else does.
var pondering = session.Outcome{Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "q"}

// A manager that starts agents while it plans.
func TestSpawning(t *testing.T) {
	for name, tt := range map[string]struct {
		set     func(*stage, *Input)
		want    Result
		order   []string
		replies []string
	}{
		"two, then what builds on them": {
			func(s *stage, _ *Input) {
				s.plans = []session.Outcome{asking(spawn(part("a")), spawn(part("b")), wait("a", "b")), asking(collect("a", "b")), plan(part("c", "a", "b"))}
			}, merged,
			[]string{"session plan 1.1", "session plan 1.2", "session plan 1.3", "session c 1.1", "land c: true", "session report 1.1", "gate merge-1: approve"},
			[]string{
				`{"agent_id":"scaffolder-a","subcontract_id":"a","state":"at work"}`, `{"agent_id":"scaffolder-b"`,
				`"timed_out":false`, `"status":"complete"`, `"criteria":[{"id":"c1","text":"done","proof":"`,
			},
		},
		"all of it": {
			func(s *stage, _ *Input) {
				s.plans = []session.Outcome{asking(spawn(part("a"))), {Kind: session.Planned}}
			}, merged, []string{"session plan 1.1", "land a: true", "gate merge-1: approve"}, nil,
		},
		"one waits for the other": {
			func(s *stage, in *Input) {
				in.Parallel = 1
				b := part("b")
				b.Writes = []string{"a.go"}
				s.plans = []session.Outcome{asking(spawn(part("a")), spawn(part("c", "a")), spawn(b), spawn(part("a"))), plan(part("d", "c"))}
			}, merged,
			[]string{"land a: true", "land d: true"},
			[]string{`"at work"`, `"state":"waits until these have landed","waits_for":["a"]`, `"scaffolder-b"`, `"scaffolder-a"`},
		},
		"a person approves the plan first": {
			func(s *stage, in *Input) {
				in.PlanGate = true
				s.plans = []session.Outcome{asking(spawn(part("a"))), plan(part("a"))}
			}, merged,
			[]string{"session plan 1.2", "gate plan-1: approve", "session a 1.1", "land a: true"},
			[]string{"error: a person approves the plan of this run before any work begins"},
		},
		"a dry run starts nothing": {
			func(s *stage, in *Input) {
				in.Dry = true
				s.plans = []session.Outcome{plan(part("a"))}
			}, Result{Succeeded: true, Reason: "a dry run: this is the plan, and nothing of it was begun"}, []string{"session plan 1.1"}, nil,
		},
		"amended before it begins": {
			func(s *stage, in *Input) {
				in.Parallel = 1
				s.byAttempt = map[string]session.Outcome{"a 1.1": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "q"}}
				b := part("b", "a")
				b.Title = "Better"
				s.plans = []session.Outcome{
					asking(spawn(part("a")), spawn(part("b", "a"))),
					asking(session.AgentsAsk{Amend: &b}, wait("a"), session.AgentsAsk{Amend: &agency.Contract{ID: "a", Title: "late"}}, session.AgentsAsk{Amend: &agency.Contract{ID: "x"}}),
					{Kind: session.Planned},
				}
			}, merged,
			[]string{"land a: true", "land b: true"},
			[]string{`"waits_for":["a"]`, `"waits_for":["a"]`, `"status":"complete"`, "error: contract a has begun and cannot be changed", "error: contract x was not started"},
		},
		"one fails, and the manager plans on from it": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{
					asking(spawn(part("a")), spawn(part("c", "a")), spawn(part("b")), wait("a", "b")),
					asking(spawn(part("d", "a"))), plan(part("a2")),
				}
			}, merged,
			[]string{"verify a 2: false", "session plan 1.2", "land a2: true", "session report 1.1", "gate merge-1: approve"},
			[]string{`"status":"failed"`, "error: contract d depends on a, which can no longer land"},
		},
		"one fails, and the manager leaves it": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{asking(spawn(part("a")), spawn(part("b")), wait("a", "b")), {Kind: session.Planned}}
			}, merged,
			[]string{"session plan 1.2", "gate incomplete: approve", "gate merge-1: approve"},
			[]string{`"reason":"all 2 attempts are used; the last one: p.TestX fails"`},
		},
		"one fails that the manager never asked about": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{asking(spawn(part("a")), spawn(part("b")), spawn(part("c", "b")), wait("c")), {Kind: session.Planned}, plan(part("a2"))}
			}, merged, []string{"session plan 1.2", "session replan 1.1", "land a2: true", "gate merge-1: approve"}, nil,
		},
		"the manager has no plan after all": {
			func(s *stage, in *Input) {
				in.OnError = "single"
				s.plans = []session.Outcome{
					asking(spawn(part("a"))), {Kind: session.Incomplete, Reason: "30 turns"}, {Kind: session.Incomplete, Reason: "30 turns"},
				}
			}, merged, []string{"land a: true", "session report 1.1", "gate incomplete: approve", "gate merge-1: approve"}, nil,
		},
		"the manager has no plan and nothing landed": {
			func(s *stage, in *Input) {
				in.OnError = "single"
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{
					asking(spawn(part("a"))), {Kind: session.Incomplete, Reason: "30 turns"}, {Kind: session.Incomplete, Reason: "30 turns"},
				}
			}, merged, []string{"verify a 2: false", "session main 1.1", "land main: true", "gate merge-1: approve"}, nil,
		},
		"the manager is given up": {
			func(s *stage, _ *Input) {
				s.plans = []session.Outcome{asking(spawn(part("a"))), {Kind: session.Blocked, Reason: "no way"}}
				s.answers = map[string]agency.Decision{"escalation-plan-1": {Verb: agency.Reject}}
			}, Result{Reason: "the agent could not go on: no way"}, []string{"gate escalation-plan-1: reject"}, nil,
		},
		"one fails while what builds on it is handed in": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{asking(spawn(part("a")), spawn(part("b"))), pondering, plan(part("c", "a"), part("d", "c")), plan(part("a2"))}
			}, merged, []string{"session plan 1.3", "session replan 1.1", "land a2: true", "gate merge-1: approve"}, nil,
		},
		"one fails while what builds on it is handed in, and nobody knows better": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{asking(spawn(part("a")), spawn(part("b"))), pondering, plan(part("c", "a")), {Kind: session.Blocked, Reason: "no idea"}}
				s.answers = map[string]agency.Decision{"escalation-replan-1": {Verb: agency.Reject}}
			}, merged, []string{"session replan 1.1", "gate incomplete: approve", "gate merge-1: approve"}, nil,
		},
		"what builds on a known failure is no success": {
			func(s *stage, _ *Input) {
				s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
				s.plans = []session.Outcome{asking(spawn(part("a")), spawn(part("b")), wait("a", "b")), plan(part("c", "a"), part("e"))}
			}, merged, []string{"session plan 1.2", "gate incomplete: approve", "gate merge-1: approve"}, nil,
		},
		"nothing more is asked of a manager when everything ends": {
			func(s *stage, _ *Input) {
				out := session.Outcome{Kind: session.Parked, For: session.ForBudget, Reason: "r"}
				s.byAttempt = map[string]session.Outcome{"a 1.1": out}
				s.answers = map[string]agency.Decision{"budget-1": {Verb: agency.Reject}}
				s.plans = []session.Outcome{asking(spawn(part("a"))), pondering, out}
			}, Result{Reason: "the budget does not hold the next request: r"}, []string{"gate budget-1: reject", "session plan 1.3"}, nil,
		},
		"no more money for those at work": {
			func(s *stage, _ *Input) {
				s.byAttempt = map[string]session.Outcome{"a 1.1": {Kind: session.Parked, For: session.ForBudget, Reason: "r"}}
				s.answers = map[string]agency.Decision{"budget-1": {Verb: agency.Reject}}
				s.plans = []session.Outcome{asking(spawn(part("a")), wait("a"))}
			}, Result{Reason: "the budget does not hold the next request: r"}, []string{"gate budget-1: reject"}, nil,
		},
		"paused while it waits": {
			func(s *stage, _ *Input) {
				s.byAttempt = map[string]session.Outcome{"a 1.1": {Kind: session.Parked, For: session.ForPause}}
				s.pause()
				s.plans = []session.Outcome{asking(spawn(part("a")), wait("a")), {Kind: session.Planned}}
			}, merged, []string{"resume", "land a: true", "session plan 1.2"}, nil,
		},
		"waits twice, and for what has ended": {
			func(s *stage, _ *Input) {
				s.plans = []session.Outcome{asking(spawn(part("a")), wait("a"), wait("a")), asking(wait("a"), collect("a"), wait("nobody")), {Kind: session.Planned}}
			}, merged,
			[]string{"land a: true", "session plan 1.3"},
			[]string{`"timed_out":false`, `error: no agent "scaffolder-nobody" was spawned`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), teamInput
			tt.set(s, &in)
			got := s.run(Team, in)
			if got != tt.want {
				t.Errorf("ended %+v, want %+v", got, tt.want)
			}
			s.order(tt.order...)
			has(t, s.replies(), tt.replies...)
			if got == merged && !slices.Contains(tt.order, "gate incomplete: approve") {
				s.allEnded()
			}
			if !tt.want.Succeeded && s.said[len(s.said)-1] != tt.order[len(tt.order)-1] {
				t.Errorf("it goes on when everything ends:\n%s", strings.Join(s.said, "\n"))
			}
			if s.specs[0].Leads == in.Dry {
				t.Errorf("in a dry run %v the manager leads: %v", in.Dry, s.specs[0].Leads)
			}
			if n := slices.Index(s.said, "session replan 1.1"); n >= 0 && !slices.Contains(tt.order, "session replan 1.1") {
				t.Error("the manager was asked for a new plan beside its own")
			}
		})
	}
}

// What was started one by one is on record like what was planned, and its
// manager works on what has landed.
func TestSpawnedOnRecord(t *testing.T) {
	s := newStage(t)
	b := part("b", "a")
	b.Priority = 7
	s.byAttempt = map[string]session.Outcome{"a 1.1": pondering} // until the manager waits
	s.plans = []session.Outcome{asking(spawn(part("a")), spawn(part("b", "a")), session.AgentsAsk{Amend: &b}, wait("b")), plan(part("c", "b"))}
	s.run(Team, teamInput)
	for id, after := range map[agency.ContractID]int{"a": 0, "b": 7, "c": 0} {
		if c := s.contract(id); c.Status != agency.StatusComplete || c.GoalAnchor != "the goal" || c.RetryBudget != 2 || c.Type != agency.TypeFeature || c.Priority != after {
			t.Errorf("%s is %+v", id, c)
		}
	}
	var parts []session.Spec
	for _, sp := range s.specs {
		if sp.Contract == "plan" {
			parts = append(parts, sp)
		}
	}
	if len(parts) != 2 || !parts[0].Leads || parts[0].Onto != "" || parts[1].Onto != "head" {
		t.Errorf("the manager's parts are %+v", parts)
	}
	work := s.specs[slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Contract == "b" })]
	want := session.Spec{Run: run, Contract: "b", Attempt: 1, Part: 1, Role: "scaffolder", Agent: "scaffolder-b", Leader: aManager, Staged: true, Onto: "head"}
	if diff := cmp.Diff(want, work); diff != "" {
		t.Errorf("the session (-want +got):\n%s", diff)
	}
}

// The next attempt at a plan knows what the one before has started.
func TestNextAttemptKnowsWhatWasStarted(t *testing.T) {
	s := newStage(t)
	s.plans = []session.Outcome{asking(spawn(part("a"))), {Kind: session.Incomplete, Reason: "30 turns"}, {Kind: session.Planned}}
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	i := slices.IndexFunc(s.specs, func(sp session.Spec) bool { return sp.Contract == "plan" && sp.Attempt == 2 })
	if f := s.specs[i].Feedback; f == nil || !strings.Contains(f.Reason, "30 turns; started already, going on by themselves, and not to be planned again: a (scaffolder-a)") {
		t.Errorf("told %+v", f)
	}
}

// handClock is a clock that stands still until the test moves it.
type handClock struct {
	mu  sync.Mutex
	now time.Duration
}

func (h *handClock) Mono() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *handClock) After(d time.Duration) (<-chan time.Time, func()) {
	c := make(chan time.Time, 1)
	if d <= 0 {
		c <- time.Time{}
	}
	return c, func() {}
}

func (h *handClock) by(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now += d
}

// A wait ends after its time, says who is still at work, and holds nothing.
func TestWaitIsBounded(t *testing.T) {
	s := newStage(t)
	s.byAttempt = map[string]session.Outcome{"a 1.1": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "q"}}
	s.plans = []session.Outcome{asking(spawn(part("a")), wait("a")), {Kind: session.Planned}}
	clock := &handClock{}
	s.clock = clock
	s.hold = func(open []agency.Gate) bool { // nobody answers before the time is up
		early := clock.Mono() < team.WaitLimit
		if early && len(open) > 0 {
			clock.by(team.WaitLimit)
		}
		return early
	}
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	s.order("session a 1.1", "session plan 1.2", "gate question-a-1-1: approve", "land a: true")
	type agentNow struct {
		Agent    agency.AgentID    `json:"agent_id"`
		Contract agency.ContractID `json:"subcontract_id"`
		Status   agency.Status     `json:"status"`
		Stage    agency.Stage      `json:"stage"`
		Attempts int               `json:"attempts"`
	}
	type answer struct {
		TimedOut bool             `json:"timed_out"`
		AtWork   []agency.AgentID `json:"at_work"`
		Agents   []agentNow       `json:"agents"`
	}
	var w answer
	if err := json.Unmarshal([]byte(s.replies()[1]), &w); err != nil {
		t.Fatal(err)
	}
	want := answer{TimedOut: true, AtWork: []agency.AgentID{"scaffolder-a"}, Agents: []agentNow{
		{Agent: "scaffolder-a", Contract: "a", Status: agency.StatusInProgress, Stage: agency.StageParked, Attempts: 1},
	}}
	if diff := cmp.Diff(want, w); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// A manager that leads and whose process dies at any step starts nobody twice,
// waits on, and ends the same.
func TestSpawningDiesAtEachStep(t *testing.T) {
	set := func(s *stage) {
		s.judged = map[string]agency.Verdict{"a 1": red, "a 2": red}
		s.byAttempt = map[string]session.Outcome{"b 1.1": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "call-1"}}
		c := part("c", "b")
		c.Priority = 2
		s.plans = []session.Outcome{
			asking(spawn(part("a")), spawn(part("b")), spawn(part("c", "b")), session.AgentsAsk{Amend: &c}, wait("a", "b")),
			asking(collect("a", "b"), spawn(part("a2"))), plan(part("d", "a2", "c")),
		}
	}
	in := teamInput
	in.Routing = routing
	calm := newStage(t)
	set(calm)
	want := calm.run(Team, in)
	if want != merged {
		t.Fatalf("undisturbed: %+v\n%s", want, strings.Join(calm.said, "\n"))
	}
	diesAtEach(t, Team, in, set, want, 60, *stride, func(n int, s *stage) {
		if diff := cmp.Diff(slices.Sorted(slices.Values(calm.said)), slices.Sorted(slices.Values(s.said))); diff != "" {
			t.Errorf("death %d (-undisturbed +died):\n%s", n, diff)
		}
	})
}

// The error of one branch ends the run at once: no manager waits on for it.
func TestFaultEndsTheWait(t *testing.T) {
	s := newStage(t)
	s.plans = []session.Outcome{asking(spawn(part("a")), wait("a"))}
	s.byAttempt = map[string]session.Outcome{"a 1.1": pondering}
	s.during = func(in session.Spec) error {
		if in.Contract == "a" && in.Part == 2 {
			return agency.Errorf(agency.KindInternal, "it broke")
		}
		return nil
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	defer cancel(nil)
	engine := local.New(local.Options{DB: s.db, Registry: s.registry(), Version: "test"})
	err := engine.Run(ctx, run, func(c flow.Ctx) error {
		_, err := Team(c, teamInput)
		return err
	}, flow.Hooks{Quiet: func(idle bool) {
		if idle && slices.Contains(s.said, "gate question-a-1-1: approve") {
			cancel(errors.New("the manager waits on"))
		}
		s.quiet(idle)
	}})
	if err == nil || !strings.Contains(err.Error(), "it broke") {
		t.Errorf("ended with %v", err)
	}
}

// Thousands of contracts that are started one by one, and hang by one that
// fails: each is asked for, blocked once, and the run says what came of them.
func TestManySpawned(t *testing.T) {
	n, each := 3000, 500
	if testing.Short() {
		n = 500
	}
	s := newStage(t)
	s.byAttempt = map[string]session.Outcome{"first 1.1": pondering}
	s.judged = map[string]agency.Verdict{"first 1": red, "first 2": red}
	first := []session.AgentsAsk{spawn(part("first")), spawn(part("other"))}
	for i := 0; i < n; i += each {
		asks := first
		for j := range each {
			asks = append(asks, spawn(part(fmt.Sprint("c", i+j), "first")))
		}
		s.plans, first = append(s.plans, asking(asks...)), nil
	}
	s.plans = append(s.plans, asking(wait("first", "c0", agency.ContractID(fmt.Sprint("c", n-1)))), session.Outcome{Kind: session.Planned})
	if got := s.run(Team, teamInput); got != merged {
		t.Errorf("ended %+v", got)
	}
	s.order("session first 1.1", "land other: true", "gate question-first-1-1: approve", "verify first 2: false", "session report 1.1", "gate incomplete: approve")
	has(t, s.replies()[n+2:], `"status":"blocked"`)
	err := s.db.Read(context.Background(), func(q *store.Snapshot) error {
		all, err := registry.Contracts(q, run)
		blocked := 0
		for _, c := range all {
			if c.Status == agency.StatusBlocked {
				blocked++
			}
		}
		if blocked != n {
			t.Errorf("%d of %d are blocked", blocked, n)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
