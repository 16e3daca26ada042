package land_test

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
	"agency/internal/land"
)

func TestConflictTellsBothIntents(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	base := w.run().Base()
	mine := w.claim("main", base, "a.txt", "mine\n")
	w.land("first", w.claim("other", base, "a.txt", "theirs\n"))
	head := w.repo.Rev(branch)
	out := w.land("second", mine)
	c := out.Conflict
	if out.Landed != nil || c == nil || c.Head != head || !slices.Equal(c.Paths, []string{"a.txt"}) ||
		!strings.Contains(c.Ours, "What main wants") || c.Theirs != "other: Title of other" || out.Reason == "" {
		t.Errorf("%+v", out)
	}
	if w.repo.Rev(branch) != head {
		t.Error("the branch moved")
	}
	if !slices.Equal(c.With, []agency.ContractID{"other"}) {
		t.Errorf("with %v", c.With)
	}

	// Only the landing on top of the other's holds both.
	holds := func(commit agency.OID, of agency.ContractID, others ...agency.ContractID) agency.Kind {
		return agency.KindOf(land.Holds(t.Context(), w.run(), runID, commit, of, others))
	}
	if holds(head, "main", "other") != agency.KindInvalid || holds(head, "other") == agency.KindInvalid {
		t.Error("the first landing is taken for the second's")
	}
	again := w.claim("again", head, "a.txt", "both\n")
	again.Contract, again.Workspace = "main", "again"
	merged := w.land("third", again)
	if merged.Landed == nil {
		t.Fatalf("%+v", merged)
	}
	if err := land.Holds(t.Context(), w.run(), runID, merged.Landed.Commit, "main", []agency.ContractID{"other"}); err != nil {
		t.Error(err)
	}
	if holds(merged.Landed.Commit, "other", "main") != agency.KindInvalid || holds(merged.Landed.Commit, "main", "third") != agency.KindInvalid {
		t.Error("a landing is taken for what it is not")
	}
}

func TestRedMergedTreeDoesNotLand(t *testing.T) {
	w := begin(t, gittest.New(t, "a.txt", "a\n"), false)
	base := w.run().Base()
	mine := w.claim("main", base, "mine.txt", "m\n")
	w.land("first", w.claim("other", base, "other.txt", "o\n"))
	w.reasons = []string{"TestX fails"}
	head := w.repo.Rev(branch)
	out := w.land("second", mine)
	if out.Red == nil || out.Conflict == nil || out.Conflict.Detail != "TestX fails" || w.repo.Rev(branch) != head || out.Landed != nil {
		t.Errorf("%+v", out)
	}
	if n := w.conflictEvents(); n != 1 {
		t.Errorf("the log tells %d times that it goes back", n)
	}
}
