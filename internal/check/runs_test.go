package check_test

import (
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/check"
)

// Each run of a check is known once, however often its receipt was taken over,
// until its runs are known to end differently.
func TestRuns(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s, cmd := w.subject("tree"), test("echo ok")
	runs := func() (out []agency.ReceiptID) {
		t.Helper()
		got, err := w.checker.Runs(t.Context(), s, cmd)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range got {
			out = append(out, r.ID)
		}
		return out
	}
	if got := runs(); len(got) != 0 {
		t.Errorf("before any run: %v", got)
	}
	w.run(s, cmd)
	other := s
	other.Contract = "other"
	if r := w.run(other, cmd); r.CopyOf == "" {
		t.Errorf("ran again: %+v", r)
	}
	if got := runs(); len(got) != 1 {
		t.Errorf("one run, taken over once: %v", got)
	}
	again := s
	again.Fresh = true
	second := w.run(again, cmd)
	if got := runs(); len(got) != 2 || got[0] != second.ID {
		t.Errorf("two runs, the second %s: %v", second.ID, got)
	}
	if err := w.checker.Distrust(t.Context(), s, cmd); err != nil {
		t.Fatal(err)
	}
	if got := runs(); len(got) != 0 {
		t.Errorf("distrusted: %v", got)
	}
	if r := w.run(s, cmd); r.CopyOf != "" || r.ID == second.ID {
		t.Errorf("a distrusted receipt was taken over: %+v", r)
	}
}

// What a red command complains of is kept in full where its output is not, goes
// along with a receipt that is taken over, and holds no secret.
func TestFindingsAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil)
	s := w.subject("tree")
	line := `i=0; while [ $i -lt 3000 ]; do i=$((i+1)); echo "a.go:$i:1: finding number $i of many"; done; echo "b.go:1: ` + w.secret + `"; exit 1`
	r := w.run(s, check.Command{Kind: agency.CheckLint, Line: line})
	if !strings.Contains(r.Output, "left out") {
		t.Fatal("the output is short enough to be kept")
	}
	s.Contract = "other"
	taken := w.run(s, check.Command{Kind: agency.CheckLint, Line: line})
	for _, id := range []agency.ReceiptID{r.ID, taken.ID} {
		got, err := w.checker.FindingsOf(t.Context(), id)
		if err != nil || got.Cut || !got.Read || len(got.List) != 3001 || got.List[1499].String() != "a.go: finding number 1500 of many" {
			t.Errorf("%s: %d findings, cut %v, %v", id, len(got.List), got.Cut, err)
		}
		if last := got.List[len(got.List)-1]; strings.Contains(last.Text, w.secret) {
			t.Errorf("a secret is kept: %v", last)
		}
	}
	if taken.CopyOf != r.ID {
		t.Errorf("ran again: %+v", taken)
	}
	if got, err := w.checker.FindingsOf(t.Context(), w.run(s, test("true")).ID); err != nil || len(got.List) > 0 {
		t.Errorf("of a green command: %+v, %v", got, err)
	}
}
