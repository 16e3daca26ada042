package native

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/session"
)

// answered is what the model read of the call of an answer, of its n-th request on.
func (k *stage) answered(n, call int) string {
	k.t.Helper()
	msgs := k.model.msgs[n]
	seen := 0
	for _, b := range msgs[len(msgs)-1].Blocks {
		if r, ok := b.(llm.ToolResult); ok {
			if seen == call {
				return r.Text
			}
			seen++
		}
	}
	k.t.Fatalf("request %d has no result %d", n, call)
	return ""
}

// The output of a command that says very much costs little, and all of it can be looked
// into; it is no part of the change, whatever the agent does beside it.
func TestLongOutput(t *testing.T) {
	k := newKit(t, budget.Limits{},
		calls("run_command", `{"command":"awk 'BEGIN { for (i = 1; i <= 300000; i++) if (i == 123456) print \"main.go:7: undefined: widget\"; else print \"line \" i \" of a long and dull output\" }'; exit 3"}`),
		calls("search_files", `{"pattern":"undefined: w","path":".agency/output/1.txt","context":1}`, "read_file", `{"path":".agency/output/1.txt","offset":299999}`, "search_files", `{"pattern":"dull output"}`),
		calls("run_command", `{"command":"rm .agency/output/.gitignore; echo '!*' > .gitignore; git status --short --ignored; for i in {1..3}; do [[ $i == 2 ]] && echo bash-$i; done"}`),
		calls("edit_file", `{"path":"main.txt","old_text":"two","new_text":"three"}`),
		complete,
	)
	out := k.must(spec())
	if out.Kind != session.Claimed {
		t.Fatalf("ended %+v", out)
	}
	shown := k.answered(1, 0)
	t.Logf("300000 lines are shown in %d bytes", len(shown))
	if len(shown) > 4400 {
		t.Errorf("%d bytes are shown", len(shown))
	}
	for _, want := range []string{"exit code 3\n[300000 lines, ", "all of it is in .agency/output/1.txt", "\nline 1 of a", "\n123456:main.go:7: undefined: widget\n", "\nline 300000 of a long and dull output"} {
		if !strings.Contains(shown, want) {
			t.Errorf("no %q in\n%s", want, shown)
		}
	}
	if got, want := k.answered(2, 0), ".agency/output/1.txt-123455-line 123455 of a long and dull output\n.agency/output/1.txt:123456:main.go:7: undefined: widget\n.agency/output/1.txt-123457-line 123457 of a long and dull output\n"; got != want {
		t.Errorf("searched: %s", got)
	}
	if got := k.answered(2, 1); !strings.HasPrefix(got, "299999\tline 299999 of") || !strings.Contains(got, "\n300000\tline 300000 of") {
		t.Errorf("read: %s", got)
	}
	if got := k.answered(2, 2); got != "nothing matches\n" {
		t.Errorf("a search of the repository finds %s", got)
	}
	if _, err := os.Stat("/bin/bash"); err == nil && !strings.HasSuffix(k.answered(3, 0), "\nbash-2\n") {
		t.Errorf("no bash: %s", k.answered(3, 0))
	}
	entries, err := k.ws.Dir().Objects().Tree(t.Context(), out.Claim.Tree)
	must(t, err)
	for _, e := range entries {
		if strings.HasPrefix(e.Path, ".agency") {
			t.Errorf("%s is part of the claim", e.Path)
		}
	}
	if _, err := os.Stat(filepath.Join(k.state, "runs", string(testRun), "work", "main", ".agency", "output", "1.txt")); err != nil {
		t.Error(err)
	}
	checkRequests(t, k.model)
}

// A plan that the agent keeps is seen by who watches, and is told again, as it was given
// last, when the conversation has become too long.
func TestTodoSurvivesCompaction(t *testing.T) {
	k := newKit(t, budget.Limits{})
	k.bound()
	w := &worker{window: 16_000, summary: summing}
	w.lines = func(n int) llm.Answer {
		switch {
		case n == 1:
			return calls("todo", `{"items":[{"text":"find the WIDGET"},{"text":"turn it"}]}`)
		case n == 2:
			return calls("todo", `{"items":[{"text":"find the WIDGET","done":true},{"text":"turn it TWICE"}]}`)
		case n < 40:
			return calls("read_file", `{"path":"big.txt"}`)
		}
		return calls("signal_complete", `{"evidence":"done"}`)
	}
	w.play(k)
	k.lineup.Window, k.setup.Limits.Turns, k.setup.Limits.Tokens = w.window, 0, 0
	s := spec()
	s.Contract = "long"
	must(t, writeText(t, k, s, "big.txt", strings.Repeat("a line of text\n", 150)))
	if out := k.must(s); out.Kind != session.Claimed {
		t.Fatalf("ended %+v", out)
	}
	if n := k.count("epoch_begun"); n < 2 {
		t.Fatalf("only %d epochs began", n)
	}
	last := k.model.msgs[len(k.model.msgs)-1][0].Words()
	if !strings.Contains(last, "[x] find the WIDGET\n[ ] turn it TWICE\n") || strings.Contains(last, "turn it\n") {
		t.Errorf("the plan is not told again:\n%s", last)
	}
	watched := ""
	for _, e := range k.events() {
		if strings.HasPrefix(e.Summary, "todo ") {
			watched += e.Summary + "\n"
		}
	}
	if want := "todo 0 of 2 done; next: find the WIDGET\ntodo 1 of 2 done; next: turn it TWICE\n"; watched != want {
		t.Errorf("watched: %s", watched)
	}
}

// Models of the GPT family are offered patches, others are not.
func TestPatchesAreForSome(t *testing.T) {
	for model, want := range map[string]bool{
		"openai/gpt-5.2": true, "openai/gpt-5-codex": true, "openrouter/openai/gpt-oss-120b": true, "azure/o4-mini": true,
		"anthropic/claude-sonnet-4": false, "local/qwen3-coder": false, "test/model": false, "x/opus": false,
	} {
		if knowsPatches(model) != want {
			t.Errorf("%s: %v", model, !want)
		}
	}
	patch := calls("apply_patch", `{"patch":"*** Begin Patch\n*** Update File: main.txt\n@@\n one\n-two\n+three\n*** End Patch"}`)
	k := newKit(t, budget.Limits{}, patch, complete)
	k.lineup.Names = []string{"openai/gpt-5.2"}
	k.setup.Prices = prices{"openai/gpt-5.2": testPrices["test/model"]}.tariff()
	if out := k.must(spec()); out.Kind != session.Claimed || k.file("main.txt") != "one\nthree\n" {
		t.Errorf("ended %+v", out)
	}
	k = newKit(t, budget.Limits{}, patch, complete)
	k.must(spec())
	if got := k.answered(1, 0); !strings.Contains(got, `there is no tool "apply_patch" here`) {
		t.Error(got)
	}
}
