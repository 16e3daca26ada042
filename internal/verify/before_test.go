package verify_test

import (
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/verify/verifytest"
	"agency/internal/workspace"
)

// What the contract before proved stays proved while its tests pass as they were;
// what edits them, breaks them or is no work on it proves nothing by them.
func TestProvedBefore(t *testing.T) {
	w := newWorld(t, baseFiles())
	first := w.change(map[string]string{"sub.go": goodGo})
	v := w.verify(first)
	wants(t, v, true)
	if v.Proofs[0].Proof != agency.ProofVerified {
		t.Fatalf("the first proves nothing: %+v", v.Proofs)
	}
	moreTest := strings.Replace(subTest, "func TestSub", "func TestZero(t *testing.T) {\n\tif Sub(1, 1) != 0 {\n\t\tt.Error(\"zero\")\n\t}\n}\n\nfunc TestSub", 1)
	weakTest := strings.Replace(subTest, "Sub(3, 2) != 1", "Sub(3, 2) != 1 && Sub(3, 2) != 7", 1)
	lateGo := strings.Replace(goodGo, "return a - b", "if a == 3 {\n\t\treturn 7\n\t}\n\treturn a - b", 1)
	for name, c := range verifytest.Some(map[string]struct {
		files map[string]string
		after agency.ContractID
		goal  string
		want  agency.ProofKind
	}{
		"other code":                 {map[string]string{"add.go": "package p\n\n// Add adds.\nfunc Add(a, b int) int { return b + a }\n"}, "main", "mend Sub", agency.ProofVerified},
		"another test beside it":     {map[string]string{"sub_test.go": moreTest}, "main", "mend Sub", agency.ProofVerified},
		"its test edited":            {map[string]string{"sub_test.go": weakTest, "sub.go": lateGo}, "main", "mend Sub", agency.ProofAsserted},
		"its test gone":              {map[string]string{"sub_test.go": "", "add.go": "package p\n\nfunc Add(a, b int) int { return b + a }\n"}, "main", "mend Sub", agency.ProofAsserted},
		"another criterion":          {map[string]string{"add.go": "package p\n\n// Add adds two.\nfunc Add(a, b int) int { return b + a }\n"}, "main", "say what Add does", agency.ProofAsserted},
		"no work on what was proved": {map[string]string{"add.go": "package p\n\n// Add is the sum.\nfunc Add(a, b int) int { return b + a }\n"}, "", "mend Sub", agency.ProofAsserted},
	}) {
		w.n++
		ws, err := w.run.Prepare(t.Context(), "main-2", first.Claim, workspace.Work)
		if err != nil {
			t.Fatal(err)
		}
		if err := ws.Restore(t.Context(), first.Claim); err != nil {
			t.Fatal(err)
		}
		write(t, ws.Path(), c.files)
		second := first
		if second.Claim, err = ws.Snapshot(t.Context()); err != nil {
			t.Fatal(err)
		}
		second.Contract, second.Attempt, second.After, second.Base = "main-2", w.n, c.after, first.Claim
		second.Criteria = []agency.Criterion{{ID: "goal", Text: c.goal}, {ID: "review", Text: "and more"}}
		second.WeakenedBefore = []agency.Weakening{{Kind: agency.WeakDeleted, Name: "ex.com/p.TestSub"}}
		p := w.verify(second).Proofs[0]
		if p.Proof != c.want || (c.want == agency.ProofVerified) != slices.Equal(p.Tests, []string{"ex.com/p.TestSub"}) {
			t.Errorf("%s: %s by %q (%s), want %s", name, p.Proof, p.Tests, p.Note, c.want)
		}
	}
}
