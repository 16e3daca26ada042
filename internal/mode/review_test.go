package mode

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/contractrun"
	"agency/internal/land"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// critic plays a critic's session.
func (s *stage) critic(in session.Spec) session.Outcome {
	out := session.Outcome{Kind: session.Reviewed, Review: &agency.Review{Said: agency.ReviewApprove, Summary: "fine"}}
	if list := s.reviews[in.Contract]; len(list) > 0 {
		out, s.reviews[in.Contract] = list[0], list[1:]
	}
	word := string(out.Kind)
	if r := out.Review; r != nil {
		word = string(r.Said)
		one := *r
		one.ContractID, one.Session, one.Reviewer = in.Contract, in.ID(), in.Agent
		one.Attempt, one.Iteration, one.Tree, one.Base = in.Attempt, in.Review.Iteration, in.Review.Claim.Tree, in.Review.Base
		out.Review = &one
	}
	s.log("critic %s %d round %d.%d: %s", in.Contract, in.Attempt, in.Review.Iteration, in.Review.Try, word)
	return out
}

// reviewed is a review as a critic gives it: issues as "severity text".
func reviewed(said agency.ReviewVerdict, issues ...string) session.Outcome {
	r := &agency.Review{Said: said, Summary: "read", Issues: []agency.Issue{}}
	for _, i := range issues {
		severity, text, _ := strings.Cut(i, " ")
		r.Issues = append(r.Issues, agency.Issue{Severity: agency.IssueSeverity(severity), File: "a.go", Issue: text})
	}
	return session.Outcome{Kind: session.Reviewed, Review: r}
}

// claimOf is a claim of files of its own.
func claimOf(tree agency.OID) session.Outcome {
	return session.Outcome{Kind: session.Claimed, ToolUse: "call-" + string(tree), Claim: &agency.Claim{Summary: "done", Tree: tree}}
}

func greenOf(tree agency.OID) agency.Verdict {
	return agency.Verdict{Pass: true, Tree: tree, Base: "basetree", Proofs: []agency.Proof{{Criterion: agency.Criterion{ID: "c1", Text: "done"}, Proof: agency.ProofAsserted}}}
}

var loopInput = Input{
	Facts: contractrun.Facts{
		Run: run, Goal: "the goal", Base: "base", RetryBudget: 2,
		Review: agency.ReviewRules{MaxIterations: 3, RequireLint: true, RequireTests: true, Timeout: time.Hour},
	},
	Target: "trunk", Land: agency.LandMerge,
}

const no, ok, talk = agency.ReviewChanges, agency.ReviewApprove, agency.ReviewDiscussion

func (s *stage) stored() (out []agency.Review) {
	s.t.Helper()
	if err := s.db.Read(context.Background(), func(q *store.Snapshot) (err error) { out, err = registry.Reviews(q, run); return err }); err != nil {
		s.t.Fatal(err)
	}
	return out
}

// Every kind of critic ends as docs/design.md, Reviews, says.
func TestProducerCritic(t *testing.T) {
	for name, tt := range map[string]struct {
		reviews []session.Outcome
		set     func(*stage, *Input)
		want    Result
		order   []string
		never   string
	}{
		"approves": {
			nil, nil, merged, []string{"session plan 1.1", "session main 1.1", "verify main 1: true", "critic main 1 round 1.1: approve", "land main: true", "gate merge-main-1: approve"}, "round 2",
		},
		"asks once": {
			[]session.Outcome{reviewed(no, "major no test")},
			nil, merged,
			[]string{"critic main 1 round 1.1: request_changes", "session main 1.2", "verify main 1: true", "critic main 1 round 2.1: approve", "land main: true"},
			"session main 2",
		},
		"red work reaches no critic": {
			nil, func(s *stage, _ *Input) { s.verdicts = []agency.Verdict{red} }, merged,
			[]string{"verify main 1: false", "session main 2.1", "verify main 2: true", "critic main 2 round 1.1: approve", "land main: true"},
			"critic main 1",
		},
		"red after a review": {
			[]session.Outcome{reviewed(no, "major no test")},
			func(s *stage, _ *Input) { s.verdicts = []agency.Verdict{greenOf("t1"), red} }, merged,
			[]string{"critic main 1 round 1.1: request_changes", "session main 1.2", "verify main 1: false", "session main 2.1", "verify main 2: true", "critic main 2 round 1.1: approve"},
			"round 2",
		},
		"approves against its own findings": {
			[]session.Outcome{reviewed(ok, "critical wraps around")},
			nil, merged,
			[]string{"critic main 1 round 1.1: approve", "session main 1.2", "critic main 1 round 2.1: approve", "land main: true"},
			"",
		},
		"answers in prose once": {
			[]session.Outcome{{Kind: session.Incomplete, Reason: "no ending"}},
			nil, merged,
			[]string{"critic main 1 round 1.1: incomplete", "critic main 1 round 1.2: approve", "land main: true"},
			"gate unreviewed",
		},
		"answers in prose": {
			[]session.Outcome{{Kind: session.Incomplete, Reason: "no ending"}, {Kind: session.Incomplete, Reason: "no ending"}},
			nil, merged,
			[]string{"critic main 1 round 1.2: incomplete", "gate unreviewed-main-1: approve", "land main: true"},
			"",
		},
		"answers in prose, and nobody lets that pass": {
			[]session.Outcome{{Kind: session.Incomplete, Reason: "no ending"}, {Kind: session.Blocked, Reason: "cannot"}},
			func(s *stage, _ *Input) {
				s.answers = map[string]agency.Decision{"unreviewed-main-1": {Verb: agency.Reject, Note: "have it read"}}
			}, merged,
			[]string{"gate unreviewed-main-1: reject", "session main 2.1", "critic main 2 round 1.1: approve", "land main: true"},
			"",
		},
		"wants to talk": {
			[]session.Outcome{reviewed(talk)}, nil, merged, []string{"gate review-main-1: approve", "land main: true"}, "session main 1.2",
		},
		"wants to talk, and is answered": {
			[]session.Outcome{reviewed(talk)},
			func(s *stage, in *Input) {
				in.RetryBudget = 1
				s.answers = map[string]agency.Decision{"review-main-1": {Verb: agency.Reject, Note: "use RFC 3339"}}
			}, merged,
			[]string{"gate review-main-1: reject", "session main 2.1", "critic main 2 round 1.1: approve", "land main: true"},
			"",
		},
		"rejects for ever": {
			[]session.Outcome{reviewed(no, "major no test"), reviewed(no, "major no test"), reviewed(no, "major no test"), reviewed(no, "major no test")},
			nil, merged,
			[]string{"critic main 1 round 3.1: request_changes", "session main 1.1", "critic main 1 round 4.1: request_changes", "gate review-main-1-r4: approve", "land main: true"},
			"round 5",
		},
		"rejects for ever, and so does the person": {
			[]session.Outcome{
				reviewed(no, "major one"), reviewed(no, "major two"), reviewed(no, "major three"), reviewed(no, "major four"), reviewed(no, "major five"), reviewed(no, "major six"),
			},
			func(s *stage, in *Input) {
				in.RetryBudget = 1
				s.answers = map[string]agency.Decision{"review-main-1-r3": {Verb: agency.Reject, Note: "no"}, "review-main-2-r3": {Verb: agency.Reject, Note: "never"}}
			},
			Result{Reason: "a person rejected it: no"},
			[]string{"gate review-main-1-r3: reject", "session main 2.1", "gate review-main-2-r3: reject"},
			"land",
		},
		"taste": {
			[]session.Outcome{reviewed(no, "minor name"), reviewed(no, "nitpick comment")},
			nil, merged,
			[]string{"critic main 1 round 2.1: request_changes", "land main: true"},
			"gate review",
		},
		"ever more": {
			[]session.Outcome{reviewed(no, "major one"), reviewed(no, "major two", "major three"), reviewed(no, "major four", "major five", "major six")},
			nil, merged,
			[]string{"critic main 1 round 3.1: request_changes", "land main: true"},
			"gate review",
		},
		"the producer is blocked by it": {
			[]session.Outcome{reviewed(no, "major one")}, func(s *stage, _ *Input) {
				s.byAttempt = map[string]session.Outcome{"main 1.2": {Kind: session.Blocked, Reason: "it contradicts"}}
			}, merged, []string{"session main 1.2", "gate escalation-main-1-r2: approve", "session main 2.1", "critic main 2 round 1.1: approve"}, "",
		},
		"the critic waits for money": {
			[]session.Outcome{{Kind: session.Parked, For: session.ForBudget, Reason: "usd left $0"}},
			nil, merged,
			[]string{"critic main 1 round 1.1: parked", "gate budget-main-1-review-1-1: approve", "critic main 1 round 1.1: approve", "land main: true"},
			"",
		},
		"the merge is rejected once": {
			nil, func(s *stage, _ *Input) {
				s.answers = map[string]agency.Decision{"merge-main-1": {Verb: agency.Reject, Note: "zero"}}
			}, merged, []string{"gate merge-main-1: reject", "session main-2 1.1", "critic main-2 1 round 1.1: approve", "land main-2: true"}, "",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), loopInput
			p := part("main")
			s.plans = []session.Outcome{plan(p)}
			s.sessions = []session.Outcome{claimOf("t1"), claimOf("t2"), claimOf("t3"), claimOf("t4"), claimOf("t5"), claimOf("t6"), claimOf("t7")}
			s.reviews = map[agency.ContractID][]session.Outcome{"main": tt.reviews}
			for range 9 {
				s.verdicts = append(s.verdicts, greenOf("t"))
			}
			if tt.set != nil {
				green := s.verdicts
				s.verdicts = nil
				tt.set(s, &in)
				s.verdicts = append(s.verdicts, green...)
			}
			if got := s.run(ProducerCritic, in); got != tt.want {
				t.Errorf("ended %+v, want %+v", got, tt.want)
			}
			s.order(tt.order...)
			if all := strings.Join(s.said, "\n"); tt.never != "" && strings.Contains(all, tt.never) {
				t.Errorf("there is %q in\n%s", tt.never, all)
			}
		})
	}
}

// A request for changes goes on in the conversation that claimed; a circle is
// broken by a new one that sees everything, one level up.
func TestReworkIsToldTheReview(t *testing.T) {
	s, in := newStage(t), loopInput
	in.Review = agency.ReviewRules{MaxIterations: 5, RequireTests: true, RequireLint: true}
	s.plans = []session.Outcome{plan(part("main"))}
	s.sessions = []session.Outcome{claimOf("t1"), claimOf("t2"), claimOf("t3"), claimOf("t4")}
	s.verdicts = []agency.Verdict{greenOf("t1"), greenOf("t2"), greenOf("t3"), greenOf("t4")}
	s.reviews = map[agency.ContractID][]session.Outcome{"main": {reviewed(no, "major held"), reviewed(no, "major stale"), reviewed(no, "major held")}}
	s.run(ProducerCritic, in)
	var work []session.Spec
	for _, sp := range s.specs {
		if sp.Contract == "main" && sp.Review == nil {
			work = append(work, sp)
		}
	}
	if len(work) != 4 {
		t.Fatalf("%d sessions of the producer", len(work))
	}
	if a := work[1].Answer; work[1].Part != 2 || a == nil || a.ToolUse != "call-t1" || a.Review == nil || a.Review.Issues[0].Issue != "held" || a.Left != 3 {
		t.Errorf("the second part is %+v", work[1])
	}
	last := work[3]
	if last.Round != 4 || last.Part != 1 || last.Answer != nil || last.Feedback == nil || len(last.Feedback.Reviews) != 3 || last.ID() == work[0].ID() {
		t.Errorf("the round afresh is %+v", last)
	}
	c := s.contract("main")
	if c.Status != agency.StatusComplete || c.Attempts != 1 || c.Iterations != 4 {
		t.Errorf("the contract is %+v", c)
	}
	got := s.stored()
	if len(got) != 4 || got[0].Verdict != no || got[3].Verdict != ok || got[3].Iteration != 4 || got[0].Tree != "t1" {
		t.Errorf("reviews %+v", got)
	}
}

// What lands after a dispute is the best attempt, verified once more.
func TestDisputeLandsTheBest(t *testing.T) {
	s, in := newStage(t), loopInput
	s.plans = []session.Outcome{plan(part("main"))}
	s.sessions = []session.Outcome{claimOf("t1"), claimOf("t2"), claimOf("t3")}
	s.verdicts = []agency.Verdict{greenOf("t1"), greenOf("t2"), greenOf("t3"), greenOf("t2")}
	s.reviews = map[agency.ContractID][]session.Outcome{"main": {reviewed(no, "critical one"), reviewed(no, "major two"), reviewed(no, "critical three")}}
	s.run(ProducerCritic, in)
	if n := len(s.claims); n != 4 || s.claims[3].Claim != "t2" {
		t.Errorf("verified %d claims, the last %+v", n, s.claims[n-1])
	}
	var body string
	_ = s.db.Read(context.Background(), func(q *store.Snapshot) error {
		g, err := registry.Gate(q, contractrun.GateID(run, "review-main-1-r3"))
		body = g.Body
		return err
	})
	if !strings.Contains(body, "round 2 (the best attempt)") || !strings.Contains(body, "files of round 2 land") {
		t.Errorf("the gate says\n%s", body)
	}
}

// What a claim that changes nothing does needs no critic; nor do runs of the
// modes that have none.
func TestNoReviewOfNothing(t *testing.T) {
	s := newStage(t)
	s.plans = []session.Outcome{plan(part("main"))}
	v := greenOf("same")
	v.Base = "same"
	s.verdicts = []agency.Verdict{v}
	s.run(ProducerCritic, loopInput)
	s = newStage(t)
	s.plans = []session.Outcome{plan(part("main"))}
	s.run(Contract, loopInput)
	if strings.Contains(strings.Join(s.said, "\n"), "critic") {
		t.Errorf("a critic was asked: %v", s.said)
	}
}

// The whole loop has a time, in which nobody waits.
func TestLoopIsTimed(t *testing.T) {
	s, in := newStage(t), loopInput
	in.Review = agency.ReviewRules{MaxIterations: 9, Timeout: time.Nanosecond}
	s.plans = []session.Outcome{plan(part("main"))}
	s.sessions = []session.Outcome{claimOf("t1")}
	s.verdicts = []agency.Verdict{greenOf("t1")}
	s.reviews = map[agency.ContractID][]session.Outcome{"main": {reviewed(no, "major one")}}
	s.run(ProducerCritic, in)
	s.order("critic main 1 round 1.1: request_changes", "gate review-main-1: approve", "land main: true")
}

// A team's contracts are each reviewed, beside each other.
func TestTeamIsReviewed(t *testing.T) {
	s, in := newStage(t), teamInput
	in.Review = loopInput.Review
	s.plans = []session.Outcome{plan(part("a"), part("b"), part("c", "a", "b"))}
	s.judged = map[string]agency.Verdict{"a 1": greenOf("ta"), "b 1": greenOf("tb"), "c 1": greenOf("tc")}
	s.reviews = map[agency.ContractID][]session.Outcome{"b": {reviewed(no, "major no test")}}
	if got := s.run(Team, in); got != merged {
		t.Errorf("ended %+v", got)
	}
	s.order("critic b 1 round 1.1: request_changes", "session b 1.2", "critic b 1 round 2.1: approve", "land b: true", "critic c 1 round 1.1: approve", "land c: true")
	for _, r := range s.stored() {
		if r.Reviewer != agency.MemberID(aReviewer, r.ContractID) {
			t.Errorf("%s is reviewed by %s", r.ContractID, r.Reviewer)
		}
	}
}

// The loop's process may die at any step: the same reviews, once each, and the
// same end.
func TestReviewDiesAtEachStep(t *testing.T) {
	set := func(s *stage) {
		s.plans = []session.Outcome{plan(part("a"), part("b", "a"))}
		s.judged = map[string]agency.Verdict{"a 1": greenOf("ta"), "b 1": greenOf("tb")}
		s.byAttempt = map[string]session.Outcome{"a 1.2": {Kind: session.Parked, For: session.ForHuman, Question: "which?", ToolUse: "q"}}
		s.landed = map[string]land.Outcome{}
		s.reviews = map[agency.ContractID][]session.Outcome{
			"a": {reviewed(no, "major held"), reviewed(no, "major stale"), reviewed(no, "major held"), reviewed(talk)},
			"b": {{Kind: session.Incomplete, Reason: "prose"}, reviewed(no, "minor name"), reviewed(no, "minor word")},
		}
	}
	in := teamInput
	in.Review = agency.ReviewRules{MaxIterations: 5}
	calm := newStage(t)
	set(calm)
	want := calm.run(Team, in)
	calm.order("gate question-a-1-2: approve", "gate review-a-1-r4: approve", "critic b 1 round 2.1: request_changes", "land b: true")
	diesAtEach(t, Team, in, set, want, 60, *stride, func(n int, s *stage) {
		if diff := cmp.Diff(slices.Sorted(slices.Values(calm.said)), slices.Sorted(slices.Values(s.said))); diff != "" {
			t.Errorf("death %d (-undisturbed +died):\n%s", n, diff)
		}
		if got, want := len(s.stored()), len(calm.stored()); got != want {
			t.Errorf("death %d: %d reviews, undisturbed %d", n, got, want)
		}
	})
}

// A reviewer's own contract lands nothing: an approval completes it, and what it
// asks for is planned.
func TestContractOfAReviewer(t *testing.T) {
	audit := part("audit", "a")
	audit.AssignedRole, audit.Type, audit.Writes = aReviewer, agency.TypeReview, nil
	for name, tt := range map[string]struct {
		reviews []session.Outcome
		set     func(*stage)
		want    Result
		order   []string
		status  agency.Status
	}{
		"approves": {nil, nil, merged, []string{"land a: true", "critic audit 1 round 1.1: approve", "gate merge-1: approve"}, agency.StatusComplete},
		"in prose once": {
			[]session.Outcome{{Kind: session.Incomplete, Reason: "prose"}},
			nil, merged,
			[]string{"critic audit 1 round 1.1: incomplete", "critic audit 2 round 1.1: approve", "gate merge-1: approve"},
			agency.StatusComplete,
		},
		"finds something": {
			[]session.Outcome{reviewed(ok, "critical wraps around")},
			nil, merged,
			[]string{"critic audit 1 round 1.1: approve", "session replan 1.1", "land mend: true", "gate merge-1: approve"},
			agency.StatusFailed,
		},
		"wants to talk": {[]session.Outcome{reviewed(talk)}, nil, merged, []string{"gate review-audit-1: approve", "gate merge-1: approve"}, agency.StatusComplete},
		"wants to talk, and a person agrees": {
			[]session.Outcome{reviewed(talk)}, func(s *stage) {
				s.answers = map[string]agency.Decision{"review-audit-1": {Verb: agency.Reject, Note: "use RFC 3339"}}
			}, merged, []string{"gate review-audit-1: reject", "session replan 1.1", "land mend: true"}, agency.StatusFailed,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s, in := newStage(t), teamInput
			in.Review = loopInput.Review
			s.plans = []session.Outcome{plan(part("a"), audit), plan(part("mend"))}
			s.reviews = map[agency.ContractID][]session.Outcome{"audit": tt.reviews}
			if tt.set != nil {
				tt.set(s)
			}
			if got := s.run(Team, in); got != tt.want {
				t.Errorf("ended %+v, want %+v", got, tt.want)
			}
			s.order(tt.order...)
			c := s.contract("audit")
			if c.Status != tt.status {
				t.Errorf("it is %s: %s", c.Status, c.Error)
			}
			if told := strings.Contains(s.mergeGate(), ": audit: "); told != (c.Status == agency.StatusComplete) {
				t.Errorf("it is %s, and the merge gate tells of its criteria: %v\n%s", c.Status, told, s.mergeGate())
			}
			if said := c.ActualOutputs.Review; (c.Status == agency.StatusComplete) != (said != "") {
				t.Errorf("it is %s, and its results have the review %q", c.Status, said)
			}
		})
	}
}
