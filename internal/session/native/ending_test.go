package native

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/llm"
	"agency/internal/session"
)

var (
	change = calls("edit_file", `{"path":"main.txt","old_text":"two","new_text":"three"}`)
	tests  = calls("run_tests", `{}`)
)

// A sentence without a call is asked about once a stretch: whoever works on after it may
// say one again.
func TestReminderOnceAStretch(t *testing.T) {
	look := calls("read_file", `{"path":"main.txt"}`)
	k := newKit(t, budget.Limits{}, says("I begin."), look, says("I see."), look, says("Now the end."), complete)
	if out := k.must(spec()); out.Kind != session.Claimed {
		t.Errorf("ended %+v", out)
	}
	asked := 0
	for _, m := range k.model.msgs[len(k.model.msgs)-1] {
		asked += strings.Count(m.Words(), "called no tool")
	}
	if asked != 3 {
		t.Errorf("asked %d times", asked)
	}
	checkRequests(t, k.model)
	k = newKit(t, budget.Limits{}, look, says("I see."), calls("no_such", `{}`), says("Well."))
	if out := k.must(spec()); out.Cause != session.CauseNoEnding {
		t.Errorf("a call that did not run begins a stretch: %+v", out)
	}
}

// Plain words after green tests on the files as they are are a claim; all else is not.
func TestWordsAsClaim(t *testing.T) {
	for name, tc := range map[string]struct {
		say    []any
		set    func(*stage)
		claims bool
	}{
		"green":                 {say: []any{change, tests, says("All of it is DONE.")}, claims: true},
		"green in one answer":   {say: []any{calls("edit_file", `{"path":"main.txt","old_text":"two","new_text":"three"}`, "run_tests", `{}`), says("DONE")}, claims: true},
		"a look after it":       {say: []any{change, tests, calls("get_git_diff", `{}`), says("DONE")}, claims: true},
		"no tests":              {say: []any{change, says("done"), says("really")}},
		"tests before":          {say: []any{tests, change, says("done"), says("really")}},
		"nothing changed":       {say: []any{tests, says("done"), says("really")}},
		"red":                   {say: []any{change, tests, says("done"), says("really")}, set: func(k *stage) { k.setup.Commands.Test = "exit 1" }},
		"red lint on the files": {say: []any{change, calls("run_lint", `{}`), tests, says("done"), says("really")}, set: func(k *stage) { k.setup.Commands.Lint = "exit 1" }},
	} {
		t.Run(name, func(t *testing.T) {
			k := newKit(t, budget.Limits{}, tc.say...)
			if tc.set != nil {
				tc.set(k)
			}
			out := k.must(spec())
			switch {
			case !tc.claims:
				if out.Kind != session.Incomplete || out.Cause != session.CauseNoEnding {
					t.Errorf("ended %+v", out)
				}
			case out.Kind != session.Claimed || out.Claim.Tree == "" || out.Claim.Tree != out.Tree || !strings.Contains(out.Claim.Summary, "DONE") || k.count("claimed") != 1:
				t.Errorf("ended %+v", out)
			}
			checkRequests(t, k.model)
		})
	}
}

// A claim that was only said goes on with what a review says of it.
func TestWordsAsClaimGoOn(t *testing.T) {
	k := newKit(t, budget.Limits{}, change, tests, says("DONE"), calls("edit_file", `{"path":"main.txt","old_text":"three","new_text":"four"}`), complete)
	out := k.must(spec())
	if out.Kind != session.Claimed {
		t.Fatalf("ended %+v", out)
	}
	s := spec()
	s.Part, s.Answer = 2, &session.Answer{ToolUse: out.ToolUse, Review: &agency.Review{
		Verdict: agency.ReviewChanges, Iteration: 1, Summary: "four, not three", Issues: []agency.Issue{{Severity: agency.IssueCritical, File: "main.txt", Line: 2, Issue: "wrong NUMBER"}},
	}, Left: 1}
	if again := k.must(s); again.Kind != session.Claimed || again.Claim.Tree == out.Claim.Tree || k.file("main.txt") != "one\nfour\n" {
		t.Errorf("ended %+v", again)
	}
	if last := fmt.Sprint(k.model.msgs[3]); !strings.Contains(last, "wrong NUMBER") {
		t.Errorf("it was not told of the review: %s", last)
	}
	checkRequests(t, k.model)
}

// What cannot help in a run is not offered: checks that the repository has no command for,
// and words to others where nobody is there.
func TestWhatIsOffered(t *testing.T) {
	alone := spec()
	alone.Beside = false
	for name, tc := range map[string]struct {
		commands check.Commands
		s        session.Spec
		want     string // of the tools that it is about
	}{
		"alone with tests": {check.Commands{Test: "sh ./check.sh"}, alone, "request_human_input run_command run_tests"},
		"with all checks":  {check.Commands{Test: "go test ./...", Lint: "true", Build: "true"}, alone, "get_coverage_report list_uncovered_lines request_human_input run_command run_lint run_tests run_tests_with_coverage run_type_check"},
		"with its own":     {check.Commands{Test: "sh ./check.sh --coverage"}, alone, "get_coverage_report list_uncovered_lines request_human_input run_command run_tests run_tests_with_coverage"},
		"without checks":   {check.Commands{}, alone, "request_human_input run_command"},
		"beside others":    {check.Commands{Lint: "true"}, spec(), "note_decision read_decisions request_clarification request_human_input run_command run_lint send_message"},
	} {
		t.Run(name, func(t *testing.T) {
			var names []string
			k := newKit(t, budget.Limits{}, func(_ context.Context, req llm.Request) any {
				for _, tl := range req.Tools {
					if strings.HasPrefix(tl.Name, "run_") || strings.Contains(tl.Name, "cover") || strings.Contains(tl.Name, "decision") || strings.HasPrefix(tl.Name, "request_") || tl.Name == "send_message" {
						names = append(names, tl.Name)
					}
				}
				return complete
			})
			k.setup.Commands = tc.commands
			k.must(tc.s)
			if got := strings.Join(names, " "); got != tc.want {
				t.Errorf("offered: %s\nwant:    %s", got, tc.want)
			}
		})
	}
}

// What an agent that works alone is sent before its contract stays small: each request of
// a session has it.
func TestPromptIsSmall(t *testing.T) {
	const most = 18_200 // bytes: about 4,500 tokens
	k := newKit(t, budget.Limits{}, func(_ context.Context, req llm.Request) any {
		tools, system := llm.Bytes(llm.Request{Tools: req.Tools}), len(req.System)
		t.Logf("system %d bytes, %d tools %d bytes", system, len(req.Tools), tools)
		if all := tools + int64(system); all > most {
			t.Errorf("system and tools have %d bytes, more than %d", all, most)
		}
		return complete
	})
	k.setup.Commands = check.Commands{Test: "go test ./...", Lint: "go vet ./...", Build: "go build ./..."}
	s := spec()
	s.Beside = false
	k.must(s)
}
