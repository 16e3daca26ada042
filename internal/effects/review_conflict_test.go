package effects

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/board"
	"agency/internal/registry"
	"agency/internal/store"
)

// A contradiction inside of the loop: an approval waits for a person, a request
// for changes is worked on, and a later approval of verified work resolves it.
func TestALaterReviewResolvesTheConflict(t *testing.T) {
	s := newStage(t)
	steps := s.steps(shop{})
	say := func(key agency.StepKey, r agency.Review) RecordedReview {
		t.Helper()
		var out RecordedReview
		for range 2 { // done again, as after a death
			var err error
			if out, err = steps.recordReview(t.Context(), key, ReviewToRecord{Run: run, Review: r}); err != nil {
				t.Fatal(err)
			}
		}
		return out
	}
	open := "a [rex sue] open by \"\":  ( )"
	now := func(want string) {
		t.Helper()
		if diff := cmp.Diff([]string{want}, s.ends()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
	say("k1", agency.Review{ContractID: "a", Reviewer: "rex", Verdict: ok, Tree: "t1"})
	noted := say("k2", agency.Review{ContractID: "a", Reviewer: "sue", Verdict: no, Tree: "t1"})
	if noted.Against == nil || noted.Against.Other.Reviewer != "rex" || noted.Against.Conflict == 0 {
		t.Errorf("noted %+v", noted)
	}
	now(open)
	say("k3", agency.Review{ContractID: "a", Reviewer: "sue", Verdict: no, Tree: "t2"})
	now(open)
	say("k4", agency.Review{ContractID: "a", Reviewer: "sue", Verdict: ok, Tree: "t3"})
	now(open) // nothing has verified t3
	if err := s.db.Write(t.Context(), func(tx *store.Tx) error {
		doc, err := json.Marshal(agency.Verdict{ContractID: "a", Pass: true, Tree: "t4"})
		if err == nil {
			_, err = tx.Exec(`INSERT INTO verdicts (run_id, step, contract_id, verdict, at) VALUES (?, 'v', 'a', ?, 0)`, string(run), string(doc))
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
	say("k5", agency.Review{ContractID: "a", Reviewer: "sue", Verdict: ok, Said: ok, Tree: "t4"})
	now(fmt.Sprintf("a [rex sue] resolved by %q: a later review agrees: approve (review k5)", "sue"))
	// A gate that answers later changes nothing.
	if err := s.db.Write(t.Context(), func(tx *store.Tx) error {
		return registry.OpenGate(tx, agency.Gate{ID: "g", RunID: run, Kind: agency.GateEscalation})
	}); err != nil {
		t.Fatal(err)
	}
	at := ReviewConflictGate{run, noted.Against.Conflict, "g"}
	if _, err := steps.resolveReviewConflict(t.Context(), "s", at); agency.KindOf(err) != agency.KindInvalid {
		t.Errorf("an open gate settles it: %v", err)
	}
	if err := s.db.Write(t.Context(), func(tx *store.Tx) error {
		_, err := registry.Decide(tx, "g", agency.Decision{Verb: agency.Approve, By: "tester"})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	if _, err := steps.resolveReviewConflict(t.Context(), "s", at); err != nil {
		t.Error(err)
	}
	if err := s.db.Write(t.Context(), func(tx *store.Tx) error { return escalateReviewConflict(tx, "r", at) }); err != nil {
		t.Error(err)
	}
	now(fmt.Sprintf("a [rex sue] resolved by %q: a later review agrees: approve (review k5)", "sue"))
}

// Two critics of the same files who judge otherwise are a conflict.
func TestContradictoryReviews(t *testing.T) {
	s := newStage(t)
	steps := s.steps(shop{})
	for i, r := range []agency.Review{
		{ContractID: "a", Reviewer: "rex", Verdict: ok, Tree: "t"},
		{ContractID: "a", Reviewer: "rex", Verdict: no, Tree: "t"},
		{ContractID: "b", Reviewer: "sue", Verdict: no, Tree: "u"},
		{ContractID: "a", Reviewer: "sue", Verdict: no, Tree: "t"},
	} {
		for range 2 {
			if _, err := steps.recordReview(t.Context(), agency.StepKey(fmt.Sprint("k", i)), ReviewToRecord{Run: run, Review: r}); err != nil {
				t.Fatal(err)
			}
		}
	}
	var got []board.Conflict
	if err := s.db.Read(t.Context(), func(q *store.Snapshot) (err error) { got, err = board.Conflicts(q, run); return err }); err != nil {
		t.Fatal(err)
	}
	if len(got) != 1 || got[0].Kind != board.ReviewDisagreement || got[0].Resource != "a" || !slices.Equal(got[0].Agents, []agency.AgentID{"rex", "sue"}) {
		t.Errorf("%+v", got)
	}
	if n := len(s.stored()); n != 4 {
		t.Errorf("%d reviews of 4 steps done twice", n)
	}
}
