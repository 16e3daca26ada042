package rehearsal_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/llm"
	"agency/internal/llm/rehearsal"
)

func parse(t *testing.T, script string) *rehearsal.Player {
	t.Helper()
	s, err := rehearsal.Parse("t.yaml", []byte(script))
	if err != nil {
		t.Fatal(err)
	}
	return rehearsal.NewPlayer(s)
}

// start is the first request of a session.
func start(role, contract string, attempt int, tools ...string) llm.Request {
	req := llm.Request{
		Model:  "m",
		System: "# Some Role (" + role + ")\nrules",
		Messages: []llm.Message{{Role: llm.User, Blocks: []llm.Block{llm.Text{Text: fmt.Sprintf(
			"Before.\n<data-0123456789ab name=\"a file\">\n```json contract\n{\"id\": \"none\"}\n```\nThis is attempt 9.\n</data-0123456789ab>\n```json contract\n{\"id\": %q, \"title\": \"T\", \"description\": \"make ``` it\\nwork 42\"}\n```\nThis is attempt %d of 12.\nAfter.",
			contract, attempt)}}}},
	}
	for _, name := range tools {
		req.Tools = append(req.Tools, llm.Tool{Name: name})
	}
	return req
}

// next appends an answer and the results of its calls.
func next(req llm.Request, t rehearsal.Take, results ...string) llm.Request {
	a := llm.Message{Role: llm.Assistant, Blocks: []llm.Block{llm.Text{Text: t.Text}}}
	u := llm.Message{Role: llm.User}
	for i, c := range llm.FinishCalls(req, t.Calls) {
		a.Blocks = append(a.Blocks, c)
		u.Blocks = append(u.Blocks, llm.ToolResult{ID: c.ID, Text: results[i]})
	}
	if len(u.Blocks) == 0 {
		u.Blocks = append(u.Blocks, llm.Text{Text: strings.Join(results, "\n")})
	}
	req.Messages = append(append([]llm.Message(nil), req.Messages...), a, u)
	return req
}

func TestRulesMatch(t *testing.T) {
	req := start("scaffolder", "parser", 2, "run_tests")
	second := next(req, rehearsal.Take{Text: "x", Calls: []llm.RawCall{{ID: "c", Name: "run_tests", Args: "{}"}}},
		"exit code 1\npassed 3, failed 1, skipped 0\n--- FAIL: TestParse (0.1s)")
	for name, tc := range map[string]struct {
		when string
		req  llm.Request
		text string
		want string
	}{
		"nothing":         {"{}", req, "yes", "yes"},
		"role":            {"{role: scaffolder}", req, "yes", "yes"},
		"other role":      {"{role: reviewer}", req, "no", ""},
		"list":            {"{role: [reviewer, scaffolder]}", req, "yes", "yes"},
		"contract":        {"{contract: parser}", req, "yes", "yes"},
		"other contract":  {"{contract: pars}", req, "no", ""},
		"attempt":         {"{attempt: 2}", req, "yes", "yes"},
		"attempt range":   {"{attempt: 2-3}", req, "yes", "yes"},
		"attempt open":    {"{attempt: 3+}", req, "no", ""},
		"attempt list":    {"{attempt: [1, 4+]}", req, "no", ""},
		"turn":            {"{turn: 2}", second, "yes", "yes"},
		"other turn":      {"{turn: 1}", second, "no", ""},
		"model":           {"{model: m}", req, "yes", "yes"},
		"offers":          {"{offers: run_tests}", req, "yes", "yes"},
		"offers not":      {"{offers: [run_tests, run_lint]}", req, "no", ""},
		"goal":            {`{goal: 'work (\d+)'}`, req, "n=${{1}}", "n=42"},
		"last":            {`{last: 'FAIL: (?P<test>\w+)'}`, second, "${{ test }} in ${{contract}} ${{attempt}}/${{turn}}", "TestParse in parser 2/2"},
		"last text":       {`{last: 'After\.'}`, req, "yes", "yes"},
		"last not":        {`{last: 'After\.'}`, second, "no", ""},
		"result":          {`{result: {tool: run_tests, matches: 'failed (\d+)'}}`, second, "${{1}} failed", "1 failed"},
		"result of other": {`{result: {tool: run_lint}}`, second, "no", ""},
		"seen":            {`{seen: {matches: 'exit code 1'}}`, second, "yes", "yes"},
		"unseen":          {`{unseen: {tool: run_tests}}`, second, "no", ""},
		"unseen yet":      {`{unseen: {tool: run_tests}}`, req, "yes", "yes"},
		"error":           {`{result: {error: true}}`, second, "no", ""},
	} {
		t.Run(name, func(t *testing.T) {
			take := parse(t, fmt.Sprintf("version: 1\nrules:\n  - {name: r, when: %s, text: %q}\n", tc.when, tc.text)).Play(tc.req)
			if tc.want == "" {
				if take.Rule != "" || !strings.Contains(take.Text, "has no rule for role \"scaffolder\"") {
					t.Errorf("rule %q, text %q", take.Rule, take.Text)
				}
				return
			}
			if take.Rule != "r" || take.Text != tc.want {
				t.Errorf("rule %q, text %q, want %q", take.Rule, take.Text, tc.want)
			}
		})
	}
}

func TestArgsAreFilledAndSorted(t *testing.T) {
	p := parse(t, `
version: 1
rules:
  - when: {goal: 'work (?P<n>\d+)'}
    calls:
      - {tool: a, args: {z: "<${{n}}>", b: [1, true, "${{contract}}"], a: {k: ~, f: 1.5}}}
      - {tool: b, raw: '{"n": '}
      - {tool: c}
`)
	want := []llm.RawCall{
		{ID: "call_t1_1", Name: "a", Args: `{"a":{"f":1.5,"k":null},"b":[1,true,"main"],"z":"<42>"}`},
		{ID: "call_t1_2", Name: "b", Args: `{"n": `},
		{ID: "call_t1_3", Name: "c", Args: `{}`},
	}
	if diff := cmp.Diff(want, p.Play(start("generalist", "main", 1)).Calls); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// What was played before is read off the conversation: a player that has just
// started answers the third turn as one that has played the first two.
func TestCountsSurviveARestart(t *testing.T) {
	const script = `
version: 1
rules:
  - {name: twice, when: {role: g}, times: 2, text: "a${{turn}}", calls: [{tool: t}]}
  - {name: then, when: {after: twice}, once: true, text: "b${{turn}}", calls: [{tool: t}]}
  - {name: end, text: "c${{turn}}", calls: [{tool: t}]}
`
	old := parse(t, script)
	req := start("g", "main", 1)
	var got []string
	for range 5 {
		take := old.Play(req)
		fresh := parse(t, script).Play(req)
		if diff := cmp.Diff(take.Text, fresh.Text); diff != "" || take.Hash != fresh.Hash || !cmp.Equal(take.Split(take.Text), fresh.Split(fresh.Text)) {
			t.Errorf("a fresh player differs: %s", diff)
		}
		got = append(got, take.Text)
		req = next(req, take, "done")
	}
	if diff := cmp.Diff([]string{"a1", "a2", "b3", "c4", "c5"}, got); diff != "" {
		t.Errorf("played (-want +got):\n%s", diff)
	}
}

func TestFaultTimesCountIdenticalRequests(t *testing.T) {
	p := parse(t, "version: 1\nrules:\n  - {text: fine, fault: {kind: server, times: 2}}\n")
	req, other := start("g", "a", 1), start("g", "b", 1)
	for i, want := range []bool{true, true, false, false} {
		if got := p.Play(req).Fault != nil; got != want {
			t.Errorf("request %d: fault %v", i+1, got)
		}
	}
	if p.Play(other).Fault == nil {
		t.Error("another request meets no fault")
	}
}

func TestMissingRuleEndsHonestly(t *testing.T) {
	p := parse(t, "version: 1\nname: s\nrules:\n  - {when: {role: none}, text: x}\n")
	for tool, field := range map[string]string{"signal_blocked": "reason", "final_report": "report"} {
		take := p.Play(start("g", "main", 1, tool))
		if len(take.Calls) != 1 || take.Calls[0].Name != tool {
			t.Fatalf("calls %+v", take.Calls)
		}
		var args map[string]string
		if err := json.Unmarshal([]byte(take.Calls[0].Args), &args); err != nil || !strings.Contains(args[field], `script "s" has no rule for role "g", contract "main", attempt 1, turn 1`) {
			t.Errorf("args %v, %v", args, err)
		}
	}
}

// A reviewer is not who works on the contract: rules without a role are none of
// its own, and without any it lets pass what is verified.
func TestReviewers(t *testing.T) {
	req := start("reviewer", "parser", 1, "submit_review", "signal_blocked")
	p := parse(t, `
version: 1
rules:
  - {name: work, when: {contract: parser, turn: 1}, text: I work., calls: [{tool: write_file}]}
`)
	take := p.Play(req)
	if take.Rule != "" || len(take.Calls) != 1 || take.Calls[0].Name != "submit_review" || !strings.Contains(take.Calls[0].Args, `"verdict":"approve"`) {
		t.Errorf("%+v", take)
	}
	if take := p.Play(start("scaffolder", "parser", 1, "signal_blocked")); take.Rule != "work" {
		t.Errorf("%+v", take)
	}
	p = parse(t, `
version: 1
rules:
  - {name: any, when: {contract: parser}, text: no, calls: [{tool: submit_review, args: {verdict: request_changes, summary: no}}]}
`)
	if take := p.Play(req); take.Rule != "any" {
		t.Errorf("%+v", take)
	}
}

func TestScriptErrors(t *testing.T) {
	files, err := os.ReadDir("testdata/errors")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	for _, f := range files {
		t.Run(f.Name(), func(t *testing.T) {
			data, err := os.ReadFile("testdata/errors/" + f.Name())
			if err != nil {
				t.Fatal(err)
			}
			script, want, ok := strings.Cut(string(data), "\n=== error\n")
			if !ok {
				t.Fatal("no error section")
			}
			_, err = rehearsal.Parse("s.yaml", []byte(script))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(strings.TrimRight(want, "\n"), err.Error()); diff != "" || agency.KindOf(err) != agency.KindInvalid {
				t.Errorf("kind %v, error (-want +got):\n%s\n%s", agency.KindOf(err), diff, err)
			}
		})
	}
}

// The default script ends on any repository, without claiming work.
func TestDefaultScript(t *testing.T) {
	s, err := rehearsal.Default()
	if err != nil {
		t.Fatal(err)
	}
	p := rehearsal.NewPlayer(s)
	for name, tests := range map[string]string{
		"green": "exit code 0\npassed 12, failed 0, skipped 1\nok", "red": "exit code 1\nFAIL", "refused": "error: no test command",
	} {
		t.Run(name, func(t *testing.T) {
			req := start("generalist", "main", 1, "list_directory", "run_tests", "signal_blocked", "signal_complete")
			var called []string
			for range 5 {
				take := p.Play(req)
				c := take.Calls[0]
				called = append(called, c.Name)
				if c.Name == "signal_blocked" {
					first, _, _ := strings.Cut(tests, "\n")
					if !strings.Contains(c.Args, first) {
						t.Errorf("%s does not say %q", c.Args, first)
					}
					break
				}
				req = next(req, take, map[string]string{"list_directory": "go.mod", "run_tests": tests}[c.Name])
			}
			if diff := cmp.Diff([]string{"list_directory", "run_tests", "signal_blocked"}, called); diff != "" {
				t.Errorf("called (-want +got):\n%s", diff)
			}
		})
	}
}

func TestModelHonoursLatencyAndContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := rehearsal.NewModel("r", parse(t, "version: 1\nlatency: 10s\nrules:\n  - {text: a long text in many pieces that takes its time}\n"), rehearsal.ModelOptions{})
		begin := time.Now()
		a, err := llm.Collect(m.Ask(t.Context(), start("g", "main", 1)))
		if took := time.Since(begin); err != nil || took < 9*time.Second || took > 10*time.Second || a.Stop != llm.StopEndTurn {
			t.Errorf("took %v, stop %s, %v", took, a.Stop, err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		if _, err := llm.Collect(m.Ask(ctx, start("g", "main", 1))); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v", err)
		}
	})
}

// Every fault ends as the fault or the answer that it stands for, in process
// too.
func TestModelFaults(t *testing.T) {
	want := map[rehearsal.FaultKind]llm.FaultKind{
		rehearsal.FaultRateLimited: llm.RateLimited, rehearsal.FaultOverloaded: llm.Overloaded, rehearsal.FaultServer: llm.Server,
		rehearsal.FaultHang: llm.Timeout, rehearsal.FaultReset: llm.Network, rehearsal.FaultCutText: llm.StreamCut, rehearsal.FaultCutCall: llm.StreamCut,
		rehearsal.FaultHTML: llm.BadAnswer, rehearsal.FaultAuth: llm.Auth, rehearsal.FaultNoModel: llm.ModelNotFound,
		rehearsal.FaultOverflow: llm.ContextOverflow, rehearsal.FaultQuota: llm.Quota, rehearsal.FaultInvalid: llm.InvalidRequest,
	}
	synctest.Test(t, func(t *testing.T) {
		for _, kind := range rehearsal.Faults() {
			m := rehearsal.NewModel("r", parse(t, fmt.Sprintf(
				"version: 1\nrules:\n  - {text: some words, calls: [{tool: read_file, args: {path: a}}], fault: %s}\n", kind)), rehearsal.ModelOptions{})
			a, err := llm.Collect(m.Ask(t.Context(), start("g", "main", 1)))
			if kind.OfAnswer() || kind == rehearsal.FaultDrip {
				if err != nil || a.Stop == "" {
					t.Errorf("%s: stop %q, %v", kind, a.Stop, err)
				}
				continue
			}
			var f *llm.Fault
			if !errors.As(err, &f) || f.Kind != want[kind] {
				t.Errorf("%s: %v", kind, err)
			}
		}
	})
}

// FuzzParse: no script makes the decoder panic or hang, and what is accepted
// can be played.
func FuzzParse(f *testing.F) {
	f.Add([]byte("version: 1\nrules:\n  - {text: x}\n"))
	f.Add([]byte("version: 1\nrules:\n  - when: {turn: 1-3, last: '(a)'}\n    text: ${{1}}\n    calls: [{tool: t, args: {a: [1, {b: c}]}}]\n    fault: {kind: huge, size: 3}\n"))
	files, _ := os.ReadDir("testdata/errors")
	for _, file := range files {
		if data, err := os.ReadFile("testdata/errors/" + file.Name()); err == nil {
			f.Add(data)
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := rehearsal.Parse("f.yaml", data)
		if err != nil {
			if agency.KindOf(err) != agency.KindInvalid {
				t.Fatalf("kind %v: %v", agency.KindOf(err), err)
			}
			return
		}
		take := rehearsal.NewPlayer(s).Play(start("g", "main", 1, "read_file"))
		llm.FinishCalls(llm.Request{}, take.Calls)
	})
}
