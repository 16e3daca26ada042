package mode

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/registry"
	"agency/internal/session"
	"agency/internal/store"

	"github.com/google/go-cmp/cmp"
)

// contradicted is a team of which a reviewer's contract reads the very files
// that another reviewer has judged.
func contradicted(first, second session.Outcome, answers map[string]agency.Decision) (Input, func(*stage)) {
	in := teamInput
	in.Review = loopInput.Review
	audit := part("audit", "a")
	audit.AssignedRole, audit.Type, audit.Writes = aReviewer, agency.TypeReview, nil
	return in, func(s *stage) {
		s.headTree = "tree"
		s.answers = answers
		s.judged = map[string]agency.Verdict{"a 1": greenOf("tree"), "mend 1": greenOf("mended")}
		s.byAttempt = map[string]session.Outcome{"mend 1.1": claimOf("mended")}
		s.reviews = map[agency.ContractID][]session.Outcome{"a": {first}, "audit": {second}}
		s.plans = []session.Outcome{plan(part("a"), audit), plan(part("mend"))}
	}
}

// Reviewers who judge the same files differently are weighed by a person, who
// has both in view, once; who has let the work land has decided already.
func TestContradictoryReviewsAreDecided(t *testing.T) {
	agents := "[reviewer-a reviewer-audit] "
	for name, tt := range map[string]struct {
		first, second session.Outcome
		answers       map[string]agency.Decision
		order         []string
		want          string
		never         string
	}{
		"sided with the approval": {
			reviewed(ok), reviewed(no, "major wraps around"), nil,
			[]string{"land a: true", "critic audit 1 round 1.1: request_changes", "gate reviews-audit-1: approve", "gate merge-1: approve"},
			`resolved by "tester": a person decided: approve (gate run-1.reviews-audit-1)`, "replan",
		},
		"sided with the finding": {
			reviewed(ok), reviewed(no, "major wraps around"),
			map[string]agency.Decision{"reviews-audit-1": {Verb: agency.Reject, Note: "it does wrap"}},
			[]string{"gate reviews-audit-1: reject", "session replan 1.1", "land mend: true", "gate merge-1: approve"},
			`resolved by "tester": a person decided: reject: it does wrap (gate run-1.reviews-audit-1)`, "",
		},
		"a person is asked already": {
			reviewed(ok), reviewed(talk), nil,
			[]string{"gate review-audit-1: approve", "gate merge-1: approve"},
			`resolved by "tester": a person decided: approve (gate run-1.review-audit-1)`, "gate reviews",
		},
		"a person let it land": {
			reviewed(talk), reviewed(ok), nil,
			[]string{"gate review-a-1: approve", "land a: true", "critic audit 1 round 1.1: approve", "gate merge-1: approve"},
			`resolved by "tester": a person decided: approve (gate run-1.review-a-1)`, "gate reviews",
		},
		"they agree": {
			reviewed(ok), reviewed(ok), nil, []string{"critic audit 1 round 1.1: approve", "gate merge-1: approve"}, "", "gate reviews",
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStage(t)
			in, set := contradicted(tt.first, tt.second, tt.answers)
			set(s)
			if got := s.run(Team, in); got != merged {
				t.Errorf("ended %+v", got)
			}
			s.order(tt.order...)
			if tt.never != "" && strings.Contains(strings.Join(s.said, "\n"), tt.never) {
				t.Errorf("%q: %v", tt.never, s.said)
			}
			var want []string
			if tt.want != "" {
				want = []string{"audit " + agents + tt.want}
			}
			if diff := cmp.Diff(want, s.ends()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

// The gate shows both reviews with what they found.
func TestGateOfContradictoryReviews(t *testing.T) {
	s := newStage(t)
	in, set := contradicted(reviewed(ok, "minor names"), reviewed(no, "major wraps around"), nil)
	set(s)
	s.run(Team, in)
	var g agency.Gate
	if err := s.db.Read(t.Context(), func(q *store.Snapshot) (err error) {
		g, err = registry.Gate(q, "run-1.reviews-audit-1")
		return err
	}); err != nil {
		t.Fatal(err)
	}
	want := "Two reviewers judge the same files differently.\n\n" +
		"**reviewer-a**, on a: approve, 1 minor: read\n- minor, a.go: names\n\n" +
		"**reviewer-audit**, on audit: request_changes, 1 major: read\n- major, a.go: wraps around\n\n" +
		"Approve to accept what was integrated as it is; reject with a reason to have it planned anew.\n"
	if diff := cmp.Diff(want, g.Body); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
	if g.Kind != agency.GateEscalation || g.Summary != "reviewer-a approves what reviewer-audit does not: read" || g.ContractID != "audit" {
		t.Errorf("%+v", g)
	}
}

// Wherever the process dies, a contradiction is recorded and decided once.
func TestContradictionDiesAtEachStep(t *testing.T) {
	in, set := contradicted(reviewed(ok), reviewed(no, "major wraps around"), nil)
	calm := newStage(t)
	set(calm)
	want := calm.run(Team, in)
	in, set = contradicted(reviewed(ok), reviewed(no, "major wraps around"), nil)
	diesAtEach(t, Team, in, set, want, 40, *stride, func(n int, s *stage) {
		if diff := cmp.Diff(calm.ends(), s.ends()); diff != "" {
			t.Errorf("death %d (-undisturbed +died):\n%s", n, diff)
		}
	})
}
