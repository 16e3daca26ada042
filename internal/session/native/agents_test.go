package native

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// leading is a session of a manager that plans many contracts and leads.
func leading(t *testing.T, say ...any) (*stage, session.Spec) {
	k := newKit(t, budget.Limits{}, say...)
	k.setup.Rules = agency.PlanRules{
		MaxFiles: 2, RequireCriteria: true, Taken: map[agency.ContractID]bool{"plan": true, "report": true},
		Holders: map[agency.RoleID]bool{"scaffolder": true, "reviewer": true, "test_engineer": true},
	}
	k.write(func(tx *store.Tx) error {
		if _, err := tx.Exec(`DELETE FROM contracts`); err != nil {
			return err
		}
		return registry.CreateContract(tx, agency.Contract{ID: "plan", RunID: testRun, AssignedRole: agency.RoleProjectManager, Title: "plan it", Description: "plan it"})
	})
	s := spec()
	s.Contract, s.Role, s.Agent, s.Leads = "plan", agency.RoleProjectManager, "project_manager", true
	return k, s
}

// piece is a contract as a manager writes it.
func piece(id string, after ...string) string {
	deps := ""
	if len(after) > 0 {
		deps = `,"depends_on":["` + strings.Join(after, `","`) + `"]`
	}
	return fmt.Sprintf(`{"id":%q,"title":"Do %s","description":"All of it.","assigned_role":"scaffolder","acceptance_criteria":["it works"],"writes":["%s.go"]%s}`, id, id, id, deps)
}

func spawning(id string) string { return fmt.Sprintf(`{"role":"scaffolder","subcontract_id":%q}`, id) }

// started is what a run records of a contract that it starts.
func (k *stage) started(ids ...string) {
	k.write(func(tx *store.Tx) error {
		for _, id := range ids {
			c := agency.Contract{ID: agency.ContractID(id), RunID: testRun, AssignedRole: "scaffolder", Title: "Do " + id, Description: "All of it.", RetryBudget: 3}
			c.AcceptanceCriteria = []agency.Criterion{{ID: "c1", Text: "it works"}}
			if err := registry.CreateContract(tx, c); err != nil {
				return err
			}
		}
		return nil
	})
	for _, id := range ids {
		k.setup.Rules.Taken[agency.ContractID(id)] = true
	}
}

// lastResults are the results that a request shows last.
func (k *stage) lastResults(request int) (out []string) {
	msgs := k.model.msgs[request]
	for _, b := range msgs[len(msgs)-1].Blocks {
		if r, ok := b.(llm.ToolResult); ok {
			out = append(out, r.Text)
			if r.IsError != strings.HasPrefix(r.Text, "error: ") {
				k.t.Errorf("%q is marked %v", r.Text, r.IsError)
			}
		}
	}
	return out
}

// Calls of one turn park the session together, each gets its own answer, and
// what was started is no part of the plan any more.
func TestLeadingParksOnce(t *testing.T) {
	k, s := leading(t,
		calls("create_subcontract", piece("a"), "create_subcontract", piece("b", "a"), "create_subcontract", piece("c")),
		calls("spawn_agent", spawning("a"), "spawn_agent", spawning("b"), "wait_for_agents", `{"agent_ids":["scaffolder-a"]}`, "spawn_agent", spawning("c"), "submit_plan", `{}`),
		calls("create_subcontract", piece("d", "b"), "submit_plan", `{}`),
	)
	out := k.must(s)
	if out.Kind != session.Parked || out.For != session.ForAgents || len(out.Asks) != 4 || out.ToolUse != out.Asks[0].ToolUse {
		t.Fatalf("ended %+v", out)
	}
	if a := out.Asks[1].Spawn; a == nil || a.ID != "b" || a.DependsOn[0] != "a" || out.Asks[2].Wait == nil {
		t.Errorf("asks %+v", out.Asks)
	}
	if k.count("session_parked") != 1 || k.count("tool_refused") != 1 {
		t.Errorf("%d parked, %d refused", k.count("session_parked"), k.count("tool_refused"))
	}
	k.started("a", "b")
	s.Part = 2
	s.Answer = &session.Answer{}
	for i, text := range []string{`{"agent_id":"scaffolder-a"}`, `{"agent_id":"scaffolder-b"}`, "done", "error: no"} {
		s.Answer.Replies = append(s.Answer.Replies, session.Reply{ToolUse: out.Asks[i].ToolUse, Text: text, Refused: i == 3})
	}
	out = k.must(s)
	var ids []agency.ContractID
	for _, c := range out.Plan {
		ids = append(ids, c.ID)
	}
	if diff := cmp.Diff([]agency.ContractID{"c", "d"}, ids); diff != "" || len(out.Faults) > 0 {
		t.Errorf("the plan %s %v", diff, out.Faults)
	}
	want := []string{`{"agent_id":"scaffolder-a"}`, `{"agent_id":"scaffolder-b"}`, "done", "error: no", "error: not run: the call before it already decided how this turn ends"}
	if diff := cmp.Diff(want, k.lastResults(2)); diff != "" {
		t.Errorf("results (-want +got):\n%s", diff)
	}
	checkRequests(t, k.model)
}

// Everything may have been started already.
func TestLeadingSubmitsNothingMore(t *testing.T) {
	k, s := leading(t, calls("submit_plan", `{}`), calls("signal_blocked", `{"reason":"r","attempted":"a"}`))
	if out := k.must(s); out.Kind != session.Blocked {
		t.Errorf("without any contract: %+v", out)
	}
	k, s = leading(t, calls("submit_plan", `{}`))
	k.started("a")
	if out := k.must(s); out.Kind != session.Planned || len(out.Plan)+len(out.Faults) != 0 {
		t.Errorf("after one was started: %+v", out)
	}
}

// A call that cannot be carried out says why and what to do, and parks nobody.
func TestLeadingRefuses(t *testing.T) {
	for name, tt := range map[string]struct {
		call []string
		want []string
	}{
		"unknown":     {[]string{"spawn_agent", spawning("../x")}, []string{`no contract "../x" is noted`, "Noted: bad, good, late"}},
		"option":      {[]string{"spawn_agent", spawning("-x")}, []string{`no contract "-x" is noted`}},
		"its own":     {[]string{"spawn_agent", spawning("plan")}, []string{`no contract "plan" is noted`}},
		"no role":     {[]string{"spawn_agent", `{"role":"wizard","subcontract_id":"good"}`}, []string{`may not spawn a "wizard"`, "scaffolder, test_engineer, reviewer, cleanup, generalist"}},
		"overseer":    {[]string{"spawn_agent", `{"role":"overseer","subcontract_id":"good"}`}, []string{`may not spawn a "overseer"`}},
		"holds none":  {[]string{"spawn_agent", `{"role":"cleanup","subcontract_id":"good"}`}, []string{`role "cleanup" holds no contracts`}},
		"all faults":  {[]string{"spawn_agent", spawning("bad")}, []string{"depends on good, which is only noted", "depends on dead, which is failed", "depends on nowhere, which is not in the plan", "changes 3 files", "leaves the repository", "mend it by update_subcontract"}},
		"not started": {[]string{"wait_for_agents", `{"agent_ids":["scaffolder-good","project_manager","scaffolder-run"]}`}, []string{`no agent "scaffolder-good" was spawned; project_manager is yourself. Spawned: scaffolder-run, scaffolder-dead`}},
		"collect":     {[]string{"collect_results", `{"agent_ids":["x"]}`}, []string{`no agent "x" was spawned`}},
		"begun":       {[]string{"update_subcontract", `{"id":"run","title":"t"}`}, []string{"has begun and cannot be changed; send_message tells scaffolder-run"}},
		"failed":      {[]string{"update_subcontract", `{"id":"dead","title":"t"}`}, []string{"is failed and never starts again"}},
		"up":          {[]string{"create_subcontract", piece("../x"), "spawn_agent", spawning("../x")}, []string{`contract ../x is not started`, `"../x"`, "a letter or digit"}},
		"flag":        {[]string{"create_subcontract", piece("-x"), "spawn_agent", spawning("-x")}, []string{`contract -x is not started`, "a letter or digit"}},
		"two circle":  {[]string{"create_subcontract", piece("x", "y"), "create_subcontract", piece("y", "x"), "spawn_agent", spawning("x"), "submit_plan", `{}`}, []string{"depends on y, which is only noted", "circle: x -> y -> x"}},
		"itself":      {[]string{"create_subcontract", piece("self", "self"), "spawn_agent", spawning("self")}, []string{"circle: self -> self"}},
		"no such":     {[]string{"update_subcontract", `{"id":"zz","title":"t"}`}, []string{`there is no contract "zz"`, "started: run, dead, waits"}},
		"a circle":    {[]string{"update_subcontract", `{"id":"waits","depends_on":["behind"]}`}, []string{"stays as it is", "circle: waits -> behind -> waits"}},
		"its id":      {[]string{"create_subcontract", piece("RUN")}, []string{`the id "RUN" is taken`}},
		"status":      {[]string{"get_subcontract_status", `{"id":"plan"}`}, []string{`there is no contract "plan"`}},
	} {
		t.Run(name, func(t *testing.T) {
			bad := `{"id":"bad","title":"x","description":"x","assigned_role":"scaffolder","acceptance_criteria":["it"],"depends_on":["good","dead","nowhere"],"writes":["a","b","../c"]}`
			k, s := leading(t, calls("create_subcontract", bad, "create_subcontract", piece("good"), "create_subcontract", piece("late", "good")),
				calls(tt.call...), calls("signal_blocked", `{"reason":"r","attempted":"a"}`))
			k.started("run", "dead", "waits", "behind")
			k.write(func(tx *store.Tx) error {
				behind, err := registry.Contract(tx, testRun, "behind")
				if err != nil {
					return err
				}
				behind.DependsOn = []agency.ContractID{"waits"}
				if err := registry.Amend(tx, "amend", behind); err != nil {
					return err
				}
				if _, err := registry.Advance(tx, testRun, "run", "1", agency.Started{Agent: "scaffolder-run"}); err != nil {
					return err
				}
				_, err = registry.Advance(tx, testRun, "dead", "2", agency.GaveUp{Reason: "red"})
				return err
			})
			if out := k.must(s); out.Kind != session.Blocked {
				t.Fatalf("ended %+v", out)
			}
			got := strings.Join(k.lastResults(2), "\n")
			for _, w := range tt.want {
				if !strings.Contains(got, "error: ") || !strings.Contains(got, w) {
					t.Errorf("no %q in\n%s", w, got)
				}
			}
			checkRequests(t, k.model)
		})
	}
}

// A noted contract changes at once, one that was started by way of the run, and
// one that was started is not noted again.
func TestLeadingAmends(t *testing.T) {
	k, s := leading(t,
		calls("create_subcontract", piece("a"), "update_subcontract", `{"id":"a","title":"Better"}`),
		calls("spawn_agent", spawning("b"), "update_subcontract", `{"id":"b","priority":7}`, "get_subcontract_status", `{}`),
	)
	k.started("b")
	out := k.must(s)
	if len(out.Asks) != 2 || out.Asks[0].Spawn.ID != "b" || out.Asks[0].Spawn.Title != "" || out.Asks[1].Amend == nil || out.Asks[1].Amend.Priority != 7 || out.Asks[1].Amend.Title != "Do b" {
		t.Fatalf("asks %+v", out)
	}
	if got := k.lastResults(1); got[1] != "contract a is changed; it is still only noted" {
		t.Errorf("told %q", got)
	}
	k.model.say = append(k.model.say, calls("submit_plan", `{}`))
	s.Part = 2 // without any answer, as after a pause
	out = k.must(s)
	if got := k.lastResults(2); !strings.HasPrefix(got[0], "No answer was given") || !strings.Contains(got[2], "a: noted, not started  Better") || !strings.Contains(got[2], "b: pending") {
		t.Errorf("told %q", got)
	}
	if len(out.Plan) != 1 || out.Plan[0].Title != "Better" {
		t.Errorf("planned %+v", out)
	}
}

// Updates of one turn add up, also to what the same turn starts.
func TestUpdatesOfOneTurnAddUp(t *testing.T) {
	k, s := leading(t,
		calls("create_subcontract", piece("a")),
		calls("update_subcontract", `{"id":"b","priority":7}`, "update_subcontract", `{"id":"b","title":"Better"}`,
			"spawn_agent", spawning("a"), "update_subcontract", `{"id":"a","title":"Better","depends_on":["b"]}`,
			"update_subcontract", `{"id":"b","depends_on":["a"]}`),
	)
	k.started("b")
	out := k.must(s)
	if len(out.Asks) != 4 {
		t.Fatalf("asks %+v", out)
	}
	if b := out.Asks[1].Amend; b.Title != "Better" || b.Priority != 7 {
		t.Errorf("b is to be %+v", b)
	}
	if a := out.Asks[3].Amend; a == nil || a.ID != "a" || a.Title != "Better" || a.Writes[0] != "a.go" {
		t.Errorf("a is to be %+v", a)
	}
	if k.count("tool_refused") != 1 {
		t.Errorf("%d refused: a circle within one turn", k.count("tool_refused"))
	}
}

// A crash anywhere asks the same, once.
func TestLeadingSurvives(t *testing.T) {
	for n := 1; n < 60; n += 2 {
		k, s := leading(t, calls("create_subcontract", piece("a")), calls("spawn_agent", spawning("a"), "wait_for_agents", `{"agent_ids":["scaffolder-a"]}`))
		out, points := k.survive(s, n)
		if len(points) == 0 {
			return
		}
		if out.Kind != session.Parked || len(out.Asks) != 2 || k.count("session_parked") != 1 {
			t.Errorf("died at %v: %+v", points, out)
		}
	}
}

// A manager that makes one contract, or a new plan, is not offered to lead.
func TestOnlyLeadersLead(t *testing.T) {
	k, s := drafting(t, calls("create_subcontract", good, "spawn_agent", spawning("fix")), calls("submit_plan", `{}`))
	if out := k.must(s); out.Kind != session.Planned || len(out.Plan) != 1 {
		t.Errorf("ended %+v", out)
	}
	if got := k.lastResults(1); !strings.Contains(got[1], `there is no tool "spawn_agent" here`) {
		t.Errorf("told %q", got)
	}
}

// A conversation that is cut goes on with the plan as it stands.
func TestPlanSurvivesAnEpoch(t *testing.T) {
	k, s := leading(t)
	k.started("run")
	w := &worker{window: 16_000, summary: summing}
	w.lines = func(n int) llm.Answer {
		switch {
		case n == 0:
			return calls("create_subcontract", piece("kept"))
		case n < 40:
			return calls("read_file", `{"path":"big.txt"}`)
		}
		return calls("submit_plan", `{}`)
	}
	w.play(k)
	k.lineup.Window, k.setup.Limits.Turns, k.setup.Limits.Tokens = w.window, 0, 0
	must(t, writeText(t, k, s, "big.txt", strings.Repeat("a line of text\n", 150)))
	if out := k.must(s); out.Kind != session.Planned || len(out.Plan) != 1 || k.count("epoch_begun") == 0 {
		t.Fatalf("ended %+v after %d epochs", out, k.count("epoch_begun"))
	}
	last := fmt.Sprint(k.model.msgs[len(k.model.msgs)-1])
	for _, want := range []string{"- kept: noted, not started Do kept", "- run: pending, not begun, for scaffolder-run Do run"} {
		if !strings.Contains(last, want) {
			t.Errorf("the last request does not hold %q", want)
		}
	}
}
