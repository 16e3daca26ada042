package native

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/brief/staging"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

// drafting is a session of the manager about one contract.
func drafting(t *testing.T, say ...any) (*stage, session.Spec) {
	k := newKit(t, budget.Limits{}, say...)
	holders := map[agency.RoleID]bool{"generalist": true}
	k.setup.Rules = agency.PlanRules{MaxFiles: 2, MaxLines: 500, RequireCriteria: true, Holders: holders}
	k.write(func(tx *store.Tx) error {
		return registry.CreateContract(tx, agency.Contract{ID: "plan", RunID: testRun, AssignedRole: agency.RoleProjectManager, Title: "plan it", Description: "plan it"})
	})
	s := spec()
	s.Contract, s.Role, s.Agent, s.MaxContracts = "plan", agency.RoleProjectManager, "project_manager", 1
	return k, s
}

const good = `{"id":"fix","title":"Fix it","description":"All of it.","assigned_role":"generalist","acceptance_criteria":["it works",{"id":"t","text":"tested","check":{"test":"TestFix"}}],"constraints":["no new file"]}`

func submit(contracts ...string) llm.Answer {
	return calls("submit_plan", `{"plan":{"contracts":[`+strings.Join(contracts, ",")+`]}}`)
}

func TestPlanIsSubmitted(t *testing.T) {
	for name, say := range map[string][]any{
		"at once":                         {calls("read_file", `{"path":"main.txt"}`), submit(good)},
		"one by one":                      {calls("create_subcontract", good), calls("submit_plan", `{}`)},
		"noted and submitted in one turn": {calls("create_subcontract", good, "submit_plan", `{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			k, s := drafting(t, say...)
			out := k.must(s)
			if out.Kind != session.Planned || len(out.Faults) != 0 || len(out.Plan) != 1 {
				t.Fatalf("ended %+v", out)
			}
			c := out.Plan[0]
			if c.ID != "fix" || c.AcceptanceCriteria[0].ID != "c1" || c.AcceptanceCriteria[1].Check.Test != "TestFix" || c.Complexity != agency.Medium {
				t.Errorf("planned %+v", c)
			}
			if k.count("plan_submitted") != 1 {
				t.Error("no event tells of the plan")
			}
			system := k.model.seen[0]
			if !strings.Contains(string(system), "# Project Manager (project_manager)") || strings.Contains(string(system), "write_file") {
				t.Error("the prompt is not the manager's")
			}
			checkRequests(t, k.model)
		})
	}
}

// What a contract says that it blocks depends on it, noted or submitted at once.
func TestPlanThatBlocks(t *testing.T) {
	first := strings.Replace(good, `"constraints"`, `"blocks":["then"],"constraints"`, 1)
	then := strings.Replace(good, `"fix"`, `"then"`, 1)
	for name, say := range map[string][]any{
		"at once":    {submit(first, then)},
		"one by one": {calls("create_subcontract", first, "create_subcontract", then), calls("submit_plan", `{}`)},
	} {
		t.Run(name, func(t *testing.T) {
			k, s := drafting(t, say...)
			s.MaxContracts = 0
			out := k.must(s)
			if out.Kind != session.Planned || len(out.Faults) != 0 || len(out.Plan) != 2 {
				t.Fatalf("ended %+v", out)
			}
			if on := out.Plan[1].DependsOn; len(on) != 1 || on[0] != "fix" || len(out.Plan[0].Blocks) != 0 {
				t.Errorf("the second depends on %v, the first blocks %v", on, out.Plan[0].Blocks)
			}
		})
	}
}

// A plan may raise the attempts of its contracts, and the log tells.
func TestPlansMultiplier(t *testing.T) {
	k, s := drafting(
		t, calls("submit_plan", `{"plan":{"contracts":[`+good+`],"retry_budget_multiplier":5}}`),
		calls("submit_plan", `{"plan":{"contracts":[`+good+`],"retry_budget_multiplier":2}}`),
	)
	if out := k.must(s); out.Kind != session.Planned || out.Multiplier != 2 {
		t.Errorf("ended %+v", out)
	}
	if seen := string(k.model.seen[1]); !strings.Contains(seen, "retry_budget_multiplier is 5, want 1 or 2") {
		t.Errorf("the refusal does not name it:\n%s", seen)
	}
}

// A faulty plan comes back with every fault at once, twice; then it ends the
// session with its faults.
func TestFaultyPlan(t *testing.T) {
	bad := `{"id":"a..b","wirtes":["x"],"title":"","description":" ","assigned_role":"overseer","type":"wish","acceptance_criteria":[{"id":"x","text":"","check":{"test":"T","file":"../f"}},{"id":"x","text":"twice"}],"depends_on":["none"],"writes":["/etc/passwd","b","c"],"estimated_complexity":"vast"}`
	k, s := drafting(t, submit(bad, good), submit(bad), submit(bad))
	out := k.must(s)
	if out.Kind != session.Planned || len(out.Faults) == 0 {
		t.Fatalf("ended %+v", out)
	}
	if len(k.model.seen) != 3 {
		t.Errorf("%d requests", len(k.model.seen))
	}
	text := fmt.Sprint(k.model.msgs[1])
	for _, want := range []string{
		"error: the plan is not accepted", `contract 1: unknown argument "wirtes" (did you mean writes?)`, "contract id", "has no title", "has no description", `role "overseer"`, `type "wish"`, "two criteria are called",
		"names 2 of test, command and file", "has no text", "not in the plan", "leaves the repository", "changes 3 files", `complexity "vast"`, "the plan has 2 contracts, the most is 1",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the author is not told %q:\n%s", want, text)
		}
	}
	if !strings.Contains(fmt.Sprint(k.model.msgs[2]), "last time") {
		t.Error("the author is not told that the next fault goes to a person")
	}
	// One that is mended in time is accepted.
	k, s = drafting(t, submit(bad), submit(bad), submit(good))
	if out := k.must(s); out.Kind != session.Planned || len(out.Faults) != 0 {
		t.Errorf("ended %+v", out)
	}
	// Its own contract's id is taken, and so is one that was noted.
	k, s = drafting(t, calls("create_subcontract", good, "create_subcontract", good), submit(strings.Replace(good, `"fix"`, `"plan"`, 1)), submit(good))
	k.must(s)
	if text := fmt.Sprint(k.model.msgs[2]); !strings.Contains(text, `the id "fix" is taken`) || !strings.Contains(text, "taken by the contract of this plan itself") {
		t.Errorf("taken ids: %s", text)
	}
}

// Whoever mends one of several contracts must not lose the others with it: what
// was noted stays noted when the plan comes back, and is mended under its id.
func TestFaultyPlanKeepsWhatWasNoted(t *testing.T) {
	other := strings.Replace(good, `"fix"`, `"other"`, 1)
	faulty := strings.Replace(other, `"constraints"`, `"depends_on":["nowhere"],"constraints"`, 1)
	noted := calls("create_subcontract", good, "create_subcontract", faulty)
	none := calls("submit_plan", `{}`)
	for name, tt := range map[string]struct {
		leads bool
		mend  []any
		want  string
	}{
		"amended":           {true, []any{calls("update_subcontract", `{"id":"other","depends_on":[]}`), none}, "fix other"},
		"noted again":       {true, []any{calls("create_subcontract", other), none}, "fix other"},
		"by who only plans": {false, []any{calls("create_subcontract", other), none}, "fix other"},
		"submitted whole":   {true, []any{submit(other)}, "other"},
	} {
		t.Run(name, func(t *testing.T) {
			k, s := drafting(t, append([]any{noted, none}, tt.mend...)...)
			s.MaxContracts, s.Leads = 0, tt.leads
			k.setup.Rules.MaxFiles = 0
			out := k.must(s)
			var ids []string
			for _, c := range out.Plan {
				ids = append(ids, string(c.ID))
			}
			if got := strings.Join(ids, " "); out.Kind != session.Planned || len(out.Faults) > 0 || got != tt.want {
				t.Errorf("%v %v: planned %q, want %q", out.Kind, out.Faults, got, tt.want)
			}
			if text := fmt.Sprint(k.model.msgs[2]); !strings.Contains(text, "All contracts stay noted") || strings.Contains(text, "update_subcontract") != tt.leads {
				t.Errorf("the author is told: %s", text)
			}
		})
	}
}

// Where contracts are decomposed, one over the limits comes back for its parts alone:
// the rest of the plan stays, and what depended on the whole depends on its parts.
func TestTooLargeIsSplit(t *testing.T) {
	one := func(id, more string) string {
		return strings.Replace(strings.Replace(good, `"fix"`, `"`+id+`"`, 1), `"constraints"`, more+`"constraints"`, 1)
	}
	whole := submit(one("first", ""), one("big", `"writes":["a","b","c"],"depends_on":["first"],`), one("last", `"depends_on":["big"],`))
	parts := calls("create_subcontract", one("b1", `"parent_id":"big","writes":["a","b"],`), "create_subcontract", one("b2", `"parent_id":"big","writes":["c"],"depends_on":["b1"],`))
	none := calls("submit_plan", `{}`)
	without := []string{one("first", ""), one("last", "")} // big is left out
	anew := func(more string) any {
		return submit(one("first", ""), one("n1", `"writes":["a","b"],`), one("n2", `"writes":["c"],"depends_on":["n1"],`), one("last", `"depends_on":["n2"`+more+`],`))
	}
	again := submit(one("b1", `"parent_id":"big","writes":["a"],`), one("b2", `"parent_id":"big","writes":["b","c","d"],`))
	for name, tt := range map[string]struct {
		off  bool
		say  []any
		told string
		want string
	}{
		"noted":                 {false, []any{whole, parts, none}, "All other contracts stay noted", "b1[first] b2[b1 first] first[] last[b1 b2]"},
		"nothing noted":         {false, []any{whole, none, parts, none}, "All other contracts stay noted", "b1[first] b2[b1 first] first[] last[b1 b2]"},
		"smaller now":           {false, []any{whole, submit(one("big", `"writes":["a"],"depends_on":["first"],`))}, "All other contracts stay noted", "big[first] first[] last[big]"},
		"a new plan":            {false, []any{whole, anew("")}, "All other contracts stay noted", "first[] last[n2] n1[] n2[n1]"},
		"a new one after two":   {false, []any{whole, anew(`,"nowhere"`), anew("")}, "All other contracts stay noted", "first[] last[n2] n1[] n2[n1]"},
		"left out, then mended": {false, []any{whole, submit(without...), parts, none}, "All other contracts stay noted", "b1[first] b2[b1 first] first[] last[]"},
		"a part split again":    {false, []any{whole, again, submit(one("p1", `"parent_id":"b2","writes":["b"],`), one("p2", `"parent_id":"b2","writes":["c","d"],`))}, "All other contracts stay noted", "b1[first] first[] last[b1 p1 p2] p1[first] p2[first]"},
		"not asked for":         {true, []any{whole, submit(one("first", ""))}, "Submit the whole plan again", "first[]"},
	} {
		t.Run(name, func(t *testing.T) {
			k, s := drafting(t, tt.say...)
			s.MaxContracts, s.Leads = 0, false
			k.setup.Rules.MaxFiles, k.setup.Rules.Decompose = 2, !tt.off
			out := k.must(s)
			var got []string
			for _, c := range out.Plan {
				got = append(got, fmt.Sprint(c.ID, c.DependsOn))
				if c.ParentID != "" {
					t.Errorf("%s has the parent %s, which is no contract", c.ID, c.ParentID)
				}
			}
			slices.Sort(got)
			if strings.Join(got, " ") != tt.want || len(out.Faults) > 0 {
				t.Errorf("planned %v, want %s; faults %v", got, tt.want, out.Faults)
			}
			if text := fmt.Sprint(k.model.msgs[1]); !strings.Contains(text, tt.told) || !strings.Contains(text, "changes 3 files, the most is 2") {
				t.Errorf("the author is told: %s", text)
			}
		})
	}
}

// A crash anywhere keeps what was noted, once.
func TestDraftsSurvive(t *testing.T) {
	for n := 1; n < 40; n += 3 {
		k, s := drafting(t, calls("create_subcontract", good), calls("submit_plan", `{}`))
		out, points := k.survive(s, n)
		if len(points) == 0 {
			return
		}
		if out.Kind != session.Planned || len(out.Plan) != 1 || k.count("plan_submitted") != 1 {
			t.Errorf("died at %v: %+v", points, out)
		}
	}
}

// The staged context stands in the brief and lies in the workspace, and is no
// part of the change, whatever the agent does to its folder.
func TestStagedContext(t *testing.T) {
	k := newKit(t, budget.Limits{},
		calls("run_command", `{"command":"rm -f .agency/task-context/.gitignore; echo x > .agency/task-context/mine; echo '!*' > .gitignore; cat .agency/task-context/contract.json"}`),
		calls("edit_file", `{"path":"main.txt","old_text":"two","new_text":"three"}`),
		calls("signal_complete", `{"evidence":"done"}`),
	)
	k.setup.Context = staging.Limits{MaxTokens: 5000, Tests: true, Similar: true}
	k.write(func(tx *store.Tx) error {
		return registry.CreateContract(tx, agency.Contract{
			ID: "long", RunID: testRun, AssignedRole: "generalist", Title: "change main.txt", Description: "change main.txt", RelevantFiles: []string{"check.sh"},
			AcceptanceCriteria: []agency.Criterion{{ID: "goal", Text: "changed"}},
		})
	})
	s := spec()
	s.Contract, s.Staged = "long", true
	out := k.must(s)
	if out.Kind != session.Claimed {
		t.Fatalf("ended %+v", out)
	}
	first := k.model.msgs[0][0].Words()
	if !strings.Contains(first, "Picked for this contract") || !strings.Contains(first, "`check.sh` (source; named by the contract as relevant)") {
		t.Errorf("the brief has no staged context:\n%s", first)
	}
	dir := filepath.Join(k.state, "runs", string(testRun), "work", "long", ".agency", "task-context")
	for _, name := range []string{"contract.json", "source/check.sh.txt"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if text := fmt.Sprint(k.model.msgs[1]); !strings.Contains(text, `"id": "long"`) {
		t.Error("the agent cannot read contract.json")
	}
	entries, err := k.ws.Dir().Objects().Tree(t.Context(), out.Claim.Tree)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Path, ".agency") {
			t.Errorf("%s is part of the claim", e.Path)
		}
	}
	checkRequests(t, k.model)
}

// A folder of the repository's own is left alone.
func TestStagedContextSparesTheRepository(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("signal_complete", `{"evidence":"done"}`))
	k.setup.Context = staging.Limits{MaxTokens: 5000}
	s := spec()
	s.Staged = true
	w, err := k.workspace(t.Context(), s)
	must(t, err)
	dir := filepath.Join(w.Path(), ".agency", "task-context")
	must(t, os.MkdirAll(dir, 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "theirs"), []byte("x"), 0o644))
	k.must(s)
	if _, err := os.Stat(filepath.Join(dir, "theirs")); err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "contract.json")); err == nil {
		t.Error("staged over a folder of the repository")
	}
}

// What another contract left is where the first attempt begins.
func TestFromAnotherTree(t *testing.T) {
	k := newKit(t, budget.Limits{}, append(fix(), complete)...)
	left := k.must(spec())
	k.model.say = []any{calls("read_file", `{"path":"main.txt"}`), calls("signal_complete", `{"evidence":"done"}`)}
	k.write(func(tx *store.Tx) error {
		return registry.CreateContract(tx, agency.Contract{ID: "next", RunID: testRun, AssignedRole: "generalist", Title: "go on", Description: "go on"})
	})
	k.work = nil
	s := spec()
	s.Contract, s.From = "next", left.Tree
	out := k.must(s)
	if out.Tree != left.Tree || !strings.Contains(fmt.Sprint(k.model.msgs[len(k.model.msgs)-1]), "three") {
		t.Errorf("began elsewhere: %+v", out)
	}
}
