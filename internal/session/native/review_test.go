package native

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/llm"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"
)

func reviewSpec(tree agency.OID) session.Spec {
	s := spec()
	s.Role, s.Agent = agency.RoleReviewer, "reviewer"
	s.Review = &session.ReviewOf{Iteration: 1, Try: 1, Base: "base", Claim: agency.Claim{Summary: "done", Tree: tree}, Verdict: &agency.Verdict{Pass: true}}
	return s
}

// A claim that a review sends back goes on in its own conversation: the review
// is the result of the call that claimed.
func TestAClaimGoesOn(t *testing.T) {
	edit := calls("write_file", `{"path":"main.txt","content":"one\n2\n"}`)
	again := calls("write_file", `{"path":"main.txt","content":"one\n22\n"}`)
	k := newKit(t, budget.Limits{}, edit, complete, again, complete)
	first := k.must(spec())
	if first.Kind != session.Claimed || first.ToolUse == "" {
		t.Fatalf("%+v", first)
	}
	next := spec()
	next.Part, next.Answer = 2, &session.Answer{ToolUse: first.ToolUse, Left: 1, Review: &agency.Review{
		Iteration: 1, Verdict: agency.ReviewChanges, Summary: "not yet",
		Issues: []agency.Issue{{Severity: agency.IssueMajor, File: "main.txt", Line: 2, Issue: "one digit is not enough"}},
	}}
	k.takeOver() // another process goes on
	second := k.must(next)
	if second.Kind != session.Claimed || second.Claim.Tree == first.Claim.Tree || k.file("main.txt") != "one\n22\n" {
		t.Fatalf("%+v, %q", second, k.file("main.txt"))
	}
	if got := k.must(next); got.Claim.Tree != second.Claim.Tree {
		t.Errorf("done again: %+v", got)
	}
	checkRequests(t, k.model)
	last := k.model.msgs[2]
	r, ok := last[len(last)-1].Blocks[0].(llm.ToolResult)
	if !ok || r.ID != first.ToolUse || !strings.Contains(r.Text, "## Feedback of review 1") || !strings.Contains(r.Text, "main.txt:2") {
		t.Errorf("it is told %+v", last[len(last)-1])
	}
	next.Part, next.Answer = 3, nil
	if _, err := k.do(t.Context(), next); agency.KindOf(err) != agency.KindConflict {
		t.Errorf("a claim goes on without a reason: %v", err)
	}
}

// A reviewer may ask how large the change is, measured by git.
func TestReviewerMeasures(t *testing.T) {
	k := newKit(t, budget.Limits{}, calls("check_file_sizes", `{}`), calls("submit_review", `{"verdict":"approve","summary":"fine","criteria":[{"criterion":"goal","met":true,"finding":"main.txt:2"}]}`))
	k.setup.Rules = agency.PlanRules{MaxFiles: 1, MaxLines: 500}
	w, err := k.workspace(t.Context(), spec())
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.Path(), "main.txt"), []byte("one\n2\n3\n4"), 0o644))
	must(t, os.WriteFile(filepath.Join(w.Path(), "new.txt"), []byte("a\n"), 0o644))
	if out := k.must(reviewSpec("tree")); out.Kind != session.Reviewed {
		t.Fatalf("%+v", out)
	}
	last := k.model.msgs[1]
	r, ok := last[len(last)-1].Blocks[0].(llm.ToolResult)
	if !ok {
		t.Fatalf("it is told %+v", last[len(last)-1])
	}
	text := r.Text
	for _, want := range []string{"files changed: 2, OVER the limit of 1", " of at most 500, ", "4 lines, before ", "  main.txt", "  +1 -0  1 line, before 0, 2 bytes  new.txt"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// A reviewer is shown the request and ends by its review; what it is of, the
// harness says.
func TestReviewer(t *testing.T) {
	bad := calls("submit_review", `{"verdict":"approve","summary":"fine","issues":[{"severity":"fatal","file":"none.txt","line":1,"issue":"x"},{"severity":"minor","file":"main.txt","line":9,"criterion":"zero","issue":""}]}`)
	good := calls("submit_review", `{"verdict":"PERFECT","summary":"fine","issues":[{"severity":"minor","file":"AGENTS.md","line":1,"issue":"terse"}],"criteria":[{"criterion":"goal","met":true,"finding":"main.txt:2"}]}`)
	k := newKit(t, budget.Limits{}, bad, good)
	k.write(func(tx *store.Tx) error {
		return registry.AddReview(tx, testRun, "k", agency.Review{ContractID: "main", Reviewer: "reviewer", Attempt: 0, Iteration: 1, Verdict: agency.ReviewChanges, Summary: "once before"})
	})
	out := k.must(reviewSpec("tree"))
	if out.Kind != session.Reviewed || out.Review == nil {
		t.Fatalf("%+v", out)
	}
	r := *out.Review
	if r.Said != agency.ReviewApprove || r.ContractID != "main" || r.Tree != "tree" || r.Base != "base" || r.Reviewer != "reviewer" || r.Iteration != 1 ||
		r.Session != reviewSpec("tree").ID() || r.Issues[0].Note == "" || !r.Criteria[0].Met {
		t.Errorf("%+v", r)
	}
	first := k.model.msgs[0][0].Words()
	for _, want := range []string{"## Review request, round 1", "once before", "what the engineer says"} {
		if !strings.Contains(first, want) {
			t.Errorf("the brief has no %q", want)
		}
	}
	raw, err := json.Marshal(k.model.msgs[1])
	must(t, err)
	for _, want := range []string{"issue 1: severity", "none.txt", "issue 2: the contract has no criterion", "it does not say what is wrong", "line 9 of main.txt does not exist; the file has 2"} {
		if !strings.Contains(string(raw), want) {
			t.Errorf("the refusal has no %q: %s", want, raw)
		}
	}
	if got := k.must(reviewSpec("tree")); got.Review == nil || got.Review.Summary != "fine" {
		t.Errorf("done again: %+v", got)
	}
}

// A reviewer that answers in prose is asked once, in the words of its role.
func TestReviewerInProse(t *testing.T) {
	k := newKit(t, budget.Limits{}, says("Looks good to me!"), says("As I said: LGTM."))
	out := k.must(reviewSpec("tree"))
	if out.Kind != session.Incomplete || out.Cause != session.CauseNoEnding {
		t.Fatalf("%+v", out)
	}
	last := k.model.msgs[1]
	if words := last[len(last)-1].Words(); !strings.Contains(words, "submit_review") {
		t.Errorf("it is asked %q", words)
	}
}

// Who has nothing to review cannot give one, though the role may.
func TestReviewOfNothing(t *testing.T) {
	s := reviewSpec("tree")
	s.Review = nil
	k := newKit(t, budget.Limits{}, calls("submit_review", `{"verdict":"approve","summary":"fine"}`), calls("signal_blocked", `{"reason":"nothing","attempted":"looked"}`))
	if out := k.must(s); out.Kind != session.Blocked {
		t.Errorf("%+v", out)
	}
}
