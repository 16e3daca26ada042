package report

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/budget"
	"agency/internal/check"
	"agency/internal/git"

	"github.com/google/go-cmp/cmp"
)

func contract(id string, status agency.Status, writes ...string) agency.Contract {
	return agency.Contract{
		ID: agency.ContractID(id), Title: "Do " + id, AssignedRole: "scaffolder", Status: status, Attempts: 2, Writes: writes,
		AcceptanceCriteria: []agency.Criterion{{ID: "c1", Text: "it is done"}},
	}
}

func verdict(id string, tree agency.OID, kind agency.ProofKind) agency.Verdict {
	return agency.Verdict{ContractID: agency.ContractID(id), Pass: true, Tree: tree, Proofs: []agency.Proof{{Criterion: agency.Criterion{ID: "c1", Text: "it is done"}, Proof: kind}}}
}

func tested(stage string, tree agency.OID, failed int, passing ...string) agency.Receipt {
	r := agency.Receipt{Kind: agency.CheckTest, Stage: stage, Tree: tree, Parsed: true, Passed: len(passing), Failed: failed, Command: "test"}
	for _, name := range passing {
		r.Tests = append(r.Tests, agency.TestResult{Name: name, Status: agency.TestPassed})
	}
	for range failed {
		r.Tests = append(r.Tests, agency.TestResult{Name: "TestTwo", Status: agency.TestFailed})
	}
	return r
}

func changed(commit, tree agency.OID, changes ...string) git.CommitChanges {
	l := git.CommitChanges{Commit: commit, Tree: tree}
	for _, c := range changes {
		l.Changes = append(l.Changes, git.Change{Status: c[0], Path: c[1:]})
	}
	return l
}

// team is a run of two contracts that landed, one that failed and one that it
// blocked.
func team() (Records, Input) {
	b := verdict("b", "t2", agency.ProofAsserted)
	b.Weakened = []agency.Weakening{{Kind: agency.WeakDeleted, Name: "TestOld"}, {Kind: agency.WeakSkipped, Name: "TestSlow"}}
	b.Leftovers = []agency.Leftover{{Path: "notes.txt", Why: "a note"}}
	b.Flaky, b.Coverage = []string{"TestNet"}, &agency.Coverage{Covered: 1, Lines: 2}
	lost := contract("lost", agency.StatusFailed)
	lost.Error = "all 2 attempts are used"
	manager := contract("plan", agency.StatusComplete)
	manager.AssignedRole = "project_manager"
	from := Records{
		Run:       agency.Run{ID: "run-1", Goal: "the goal", Mode: agency.ModeMultiAgent, State: agency.StateWaiting, Branch: "agency/run-1/main", Target: "trunk"},
		Contracts: []agency.Contract{manager, contract("a", agency.StatusComplete, "a.go"), contract("b", agency.StatusComplete, "b/"), lost, contract("later", agency.StatusBlocked)},
		Verdicts:  []agency.Verdict{verdict("a", "t1", agency.ProofVerified), b, {ContractID: "lost", Proofs: []agency.Proof{{Proof: agency.ProofVerified}}}},
		Gates:     []agency.Gate{{Weakened: b.Weakened[:1], Decision: agency.Decision{Verb: agency.Approve}}, {Weakened: b.Weakened[1:]}},
		Receipts: []agency.Receipt{
			tested("work", "t0", 9, "TestWork"), tested("base", "t0", 1, "TestOne"), tested("claim", "t1", 0, "TestOne"),
			tested("landing", "t2", 0, "TestOne", "TestTwo", "TestThree"),
			{Kind: agency.CheckLint, Stage: "landing", Tree: "t2"},
			tested("claim", "t2", 0, "TestThree"), tested("landing", "elsewhere", 5),
		},
		Lines: []budget.Line{
			{Role: "scaffolder", Contract: "a", Requests: 2, Billed: 100, Money: agency.Dollar / 4},
			{Role: "scaffolder", Contract: "b", Requests: 1, Billed: 50, Money: agency.Dollar / 4},
			{Role: "project_manager", Contract: "plan", Requests: 3, Billed: 10, Money: agency.Dollar, Unpriced: true},
		},
		Wall:     90 * time.Second,
		Landings: []agency.Merged{{Contract: "a", Commit: "c1"}, {Contract: "b", Commit: "c2"}},
		// a.go was changed by both; the tests of the last landing reach more of it
		// than those of its first author did.
		covered: []check.FileCoverage{
			{Path: "a.go", Ran: []check.Lines{{From: 1, To: 2}}},
			{Path: "b/b.go", Ran: []check.Lines{{From: 4, To: 4}}, Missed: []check.Lines{{From: 5, To: 5}}},
			{Path: "old.go", Missed: []check.Lines{{From: 1, To: 90}}},
		},
	}
	return from, Input{
		BaseTree: "t0", Shared: []string{"go.sum"},
		Added:  map[string][]check.Lines{"a.go": {{From: 1, To: 2}}, "b/b.go": {{From: 3, To: 9}}},
		Landed: []git.CommitChanges{changed("c2", "t2", "Ab/b.go", "Aextra.go", "Mgo.sum", "Ma.go", "Dold.go"), changed("c1", "t1", "Aa.go")},
	}
}

// fold is Fold of receipts that have their tests.
func fold(from Records, in Input) agency.Report {
	g := gatherer{Records: from, in: in, tests: func(r agency.Receipt) ([]agency.TestResult, error) { return r.Tests, nil }}
	r, err := g.fold()
	if err != nil {
		panic(err)
	}
	return r
}

func TestRollup(t *testing.T) {
	r := fold(team())
	added, lint := 1, true
	want := agency.Rollup{
		Total: 4, Complete: 2, Failed: 1, Blocked: 1,
		Files:  &agency.Files{Created: []string{"a.go", "b/b.go", "extra.go"}, Modified: []string{"go.sum"}, Deleted: []string{"old.go"}},
		Before: &agency.TestCount{Passed: 1, Failed: 1}, After: &agency.TestCount{Passed: 3}, TestsAdded: &added, LintPassed: &lint,
		Coverage: &agency.Coverage{Covered: 3, Lines: 4, Missed: []string{"b/b.go:5"}}, Attempts: 8,
		Errors:   []string{"lost: all 2 attempts are used"},
		Requests: 6, Tokens: 160, CostUSD: 1.5, Unpriced: true, WallSeconds: 90,
	}
	if diff := cmp.Diff(want, r.Rollup); diff != "" {
		t.Errorf("the rollup (-want +got):\n%s", diff)
	}
	roles := []agency.RoleCost{
		{Role: "project_manager", Requests: 3, Tokens: 10, CostUSD: 1, Unpriced: true}, {Role: "scaffolder", Requests: 3, Tokens: 150, CostUSD: 0.5},
	}
	if diff := cmp.Diff(roles, r.CostByRole); diff != "" {
		t.Errorf("the cost by role (-want +got):\n%s", diff)
	}
}

// A review counts for the files that it read, and an approval alone proves.
func TestReviews(t *testing.T) {
	from, in := team()
	finding := []agency.CriterionFinding{{Criterion: "c1", Met: true, Finding: "b.go does it"}}
	from.Reviews = []agency.Review{
		{ContractID: "b", Reviewer: "rex", Verdict: agency.ReviewChanges, Tree: "t1", Summary: "not yet\n# done", Issues: []agency.Issue{{Severity: agency.IssueMajor}}},
		{ContractID: "b", Reviewer: "rex", Verdict: agency.ReviewApprove, Tree: "t2", Criteria: finding},
	}
	r := fold(from, in)
	if ok := r.Rollup.ReviewApproved; ok == nil || !*ok || r.Rollup.Success {
		t.Errorf("the last review approves: %v; success with a contract that failed: %v", ok, r.Rollup.Success)
	}
	if r.Rollup.Reviews != 2 || r.Rollup.Approvals != 1 || len(r.Contracts[1].Reviews) != 2 || len(r.Contracts[0].Reviews) != 0 {
		t.Errorf("%d reviews, %d approve: %+v", r.Rollup.Reviews, r.Rollup.Approvals, r.Contracts)
	}
	if got := r.Contracts[1].Criteria[0]; got.Proof != agency.ProofReviewed || len(r.LeftOpen.Asserted) != 0 {
		t.Errorf("the criterion is %+v, left open %+v", got, r.LeftOpen.Asserted)
	}
	if from.Verdicts[1].Proofs[0].Proof != agency.ProofAsserted {
		t.Error("the verdict itself was changed")
	}
	text, err := Markdown(r)
	if err != nil || !strings.Contains(text, "\n- reviewed: c1: it is done (by rex: b.go does it)\n- review by rex: request_changes, 1 issue: not yet # done\n") {
		t.Errorf("%v\n%s", err, text)
	}
	audit := contract("audit", agency.StatusComplete)
	audit.AssignedRole = "reviewer"
	held := from
	held.Contracts = []agency.Contract{audit}
	held.Reviews = []agency.Review{{ContractID: "audit", Reviewer: "rex", Verdict: agency.ReviewApprove, Tree: "t2", Criteria: finding}}
	if got := fold(held, in); got.Contracts[0].Criteria[0].Proof != agency.ProofReviewed || len(got.LeftOpen.Asserted) != 0 {
		t.Errorf("a reviewer's own contract: %+v, left open %+v", got.Contracts[0].Criteria, got.LeftOpen)
	}
	whole := from
	whole.Contracts, whole.Run.Feature = from.Contracts[:3], &agency.Feature{ID: "f1"}
	if sum := fold(whole, in).Rollup; !sum.Success || sum.FeatureID != "f1" || len(sum.Errors) != 0 {
		t.Errorf("all landed and approved: %+v", sum)
	}
	whole.Reviews = from.Reviews[:1]
	if sum := fold(whole, in).Rollup; sum.Success || *sum.ReviewApproved {
		t.Errorf("a review that asks for changes is the last: %+v", sum)
	}
	from.Reviews[1].Tree = "t3"
	if r = fold(from, in); r.Contracts[1].Criteria[0].Proof != agency.ProofAsserted {
		t.Error("a review of other files proves")
	}
}

func TestLeftOpen(t *testing.T) {
	r := fold(team())
	asserted := verdict("b", "", agency.ProofAsserted).Proofs[0]
	want := agency.LeftOpen{
		Contracts: []agency.OpenContract{
			{ID: "lost", Title: "Do lost", Status: agency.StatusFailed, Reason: "all 2 attempts are used"},
			{ID: "later", Title: "Do later", Status: agency.StatusBlocked},
		},
		Asserted: []agency.OpenCriterion{{Contract: "b", Proof: asserted}},
		Weakened: []agency.OpenWeakening{
			{Contract: "b", Weakening: agency.Weakening{Kind: agency.WeakDeleted, Name: "TestOld"}, Accepted: true},
			{Contract: "b", Weakening: agency.Weakening{Kind: agency.WeakSkipped, Name: "TestSlow"}},
		},
		Leftovers: []agency.OpenFile{{Contract: "b", Leftover: agency.Leftover{Path: "notes.txt", Why: "a note"}}},
		Writes:    []agency.UndeclaredWrite{{Contract: "b", Files: []string{"extra.go", "a.go", "old.go"}}},
		Flaky:     []string{"TestNet"},
		Unchecked: []string{},
	}
	if diff := cmp.Diff(want, r.LeftOpen); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if c := r.Contracts[2]; c.Criteria[0].Proof != agency.ProofOpen {
		t.Errorf("a contract that failed has the proof %s", c.Criteria[0].Proof)
	}
}

// Without git nothing is guessed.
func TestNothingIsGuessed(t *testing.T) {
	from, _ := team()
	r := fold(from, Input{}).Rollup
	if r.Files != nil || r.Before != nil || r.After != nil || r.TestsAdded != nil || r.LintPassed != nil {
		t.Errorf("counted %+v", r)
	}
}

// What agents wrote cannot look like the harness's own words.
func TestWordsStayMarked(t *testing.T) {
	from, in := team()
	forged := "All well.\r\n## Measured\n- Contracts: 9 of 9 landed\x1b[2J"
	from.Contracts[1].Title = forged
	from.Contracts[3].Error = forged
	from.Run.Goal = forged
	from.Words = &agency.ManagerWords{Text: forged}
	text, err := Markdown(fold(from, in))
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(text, "\x1b\r") {
		t.Errorf("control letters in\n%q", text)
	}
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, "- Contracts: 9") || strings.HasPrefix(l, "## Measured") && strings.Count(text, "\n"+l) > 1 {
			t.Errorf("forged: %q in\n%s", l, text)
		}
	}
	for _, want := range []string{"> - Contracts: 9 of 9 landed", "- Contracts: 2 of 4 integrated, 1 failed, 1 blocked", "lint: ", "which nothing checked", "not accepted by anybody yet"} {
		if !strings.Contains(strings.ToLower(text), strings.ToLower(want)) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	from.Words = &agency.ManagerWords{Missing: "no money is left"}
	if text, err = Gate(fold(from, in)); err != nil || !strings.Contains(text, "gave no report (no money is left)") {
		t.Errorf("%v in\n%s", err, text)
	}
}

// The report names what a person may doubt, and sets the user's own edits apart.
func TestReportShowsDoubtsAndLocalEdits(t *testing.T) {
	from, in := team()
	from.Verdicts[0].Unproved = &agency.Unproved{Lines: 2, Changed: 9, Files: []agency.UnprovedFile{{Path: "a.go", Lines: 2, Changed: 9}}}
	from.Verdicts[0].Expectations = []agency.Expectation{{Test: "TestSum", Before: agency.TestPassed, Now: "failed"}}
	red := tested("claim", "t1", 1, "TestOne")
	red.ContractID, red.ExitCode = "a", 1
	from.Receipts = append(from.Receipts, red)
	in.Local = &agency.LocalEdits{Commit: "c0c0", Files: []agency.LocalFile{{Path: "notes.txt", Added: 3, Deleted: 1}, {Path: "x.png", Binary: true}}}
	text, err := Markdown(fold(from, in))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\n- unproved: 2 of 9 changed lines (no test fails without them): a.go 2 of 9\n",
		"\n- edited expectations: 1 test fails in its old form: TestSum\n",
		"\n- red: test `test`: exit code 1; red before too\n    - failed: TestTwo (failed before)\n",
		"apart from the work, and land with it:\n\n- `notes.txt` +3 -1\n- `x.png` binary\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the report does not say %q:\n%s", want, text)
		}
	}
}

// A report that is shown names the first of many files, and counts all.
func TestShortened(t *testing.T) {
	var many []string
	for i := range agency.MostNames + 5 {
		many = append(many, fmt.Sprintf("f%05d", i))
	}
	full := func() agency.Report {
		f := agency.Files{Created: slices.Clone(many), Modified: []string{"m"}, Deleted: []string{}}
		return agency.Report{
			Rollup: agency.Rollup{Files: &f}, Contracts: []agency.ReportContract{{ID: "a", Files: &f}},
			LeftOpen: agency.LeftOpen{Writes: []agency.UndeclaredWrite{{Contract: "a", Files: many}}},
		}
	}
	short := full()
	short.Shorten()
	short.Shorten()
	if n := len(short.Rollup.Files.Created) + len(short.Contracts[0].Files.Created) + len(short.LeftOpen.Writes[0].Files); n != 3*agency.MostNames {
		t.Errorf("%d names", n)
	}
	if diff := cmp.Diff(Summary(full()), Summary(short)); diff != "" {
		t.Error(diff)
	}
	texts := [2]string{}
	for i, r := range []agency.Report{full(), short} {
		var err error
		if texts[i], err = Markdown(r); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(texts[0], texts[1]); diff != "" || !strings.Contains(texts[1], "1005 created") || !strings.Contains(texts[1], "and 965 more") {
		t.Error(diff, texts[1])
	}
}

// What a contract and those that did it again promise is open once, as the last one left it.
func TestDoneAgainCountsOnce(t *testing.T) {
	from, in := team()
	from.Contracts, from.Verdicts, in.Landed = nil, nil, nil
	asserted := []agency.Proof{{Criterion: agency.Criterion{ID: "goal", Text: "it is done"}, Proof: agency.ProofAsserted}}
	for i, id := range []agency.ContractID{"main", "main-2", "main-3", "rebase-4"} {
		if i > 0 && i < 3 {
			asserted = append(slices.Clone(asserted), agency.Proof{Criterion: agency.Criterion{ID: fmt.Sprintf("review-%d", i), Text: fmt.Sprintf("reason %d", i)}, Proof: agency.ProofAsserted})
		}
		if id == "rebase-4" {
			asserted = slices.Clone(asserted)
			asserted[0].Proof = agency.ProofVerified
		}
		from.Contracts = append(from.Contracts, contract(string(id), agency.StatusComplete))
		from.Verdicts = append(from.Verdicts, agency.Verdict{ContractID: id, Pass: true, Tree: "t", Proofs: asserted})
	}
	from.Contracts = append(from.Contracts, contract("part-1", agency.StatusComplete), contract("part-2", agency.StatusComplete))
	from.Verdicts = append(from.Verdicts, verdict("part-1", "t", agency.ProofAsserted), verdict("part-2", "t", agency.ProofAsserted))
	var got []string
	for _, o := range fold(from, in).LeftOpen.Asserted {
		got = append(got, string(o.Contract)+" "+o.Proof.ID)
	}
	if want := []string{"rebase-4 review-1", "rebase-4 review-2", "part-1 c1", "part-2 c1"}; !slices.Equal(got, want) {
		t.Errorf("left open: %q", got)
	}
}
