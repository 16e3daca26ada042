package verify_test

import (
	"maps"
	"testing"

	"agency/internal/agency"
)

// Two contracts mend a bug each, and the check of both runs all tests: neither
// can pass before the other lands. What is red as before is then the other's to
// mend, as long as something of it is mended and nothing else fails.
func TestWhatOthersMayMend(t *testing.T) {
	files := baseFiles()
	maps.Copy(files, map[string]string{
		"mul.go":      "package p\n\nfunc Mul(a, b int) int { return a + b }\n",
		"mul_test.go": "package p\n\nimport \"testing\"\n\nfunc TestMul(t *testing.T) {\n\tif Mul(2, 3) != 6 {\n\t\tt.Fatal(\"wrong\")\n\t}\n}\n",
	})
	w := newWorld(t, files)
	all := []agency.Criterion{{ID: "all", Text: "all tests pass", Check: &agency.Check{Command: "go test ./..."}}}
	mended, idle := map[string]string{"sub.go": goodGo}, map[string]string{"note.txt": "words\n"}
	worse := map[string]string{"sub.go": goodGo, "more_test.go": "package p\n\nimport \"testing\"\n\nfunc TestMore(t *testing.T) { t.Fatal(\"new\") }\n"}
	for _, tt := range []struct {
		name   string
		claim  map[string]string
		beside bool
		pass   bool
	}{
		{"others are open", mended, true, true},
		{"nobody else is", mended, false, false},
		{"nothing is mended", idle, true, false},
		{"something new is red", worse, true, false},
	} {
		spec := w.change(tt.claim)
		spec.Criteria, spec.OthersOpen = all, tt.beside
		v := w.verify(spec)
		if v.Pass != tt.pass {
			t.Errorf("%s: passes %v, %q", tt.name, v.Pass, v.Reasons)
		}
		p := v.Proofs[0]
		if tt.pass && (p.Proof != agency.ProofAsserted || p.Note != "its check still failed by what was red before (ex.com/p.TestMul); made again when all were integrated" || p.Receipt == "") {
			t.Errorf("%s: the proof is %+v", tt.name, p)
		}
		if !tt.pass && p.Proof != agency.ProofOpen {
			t.Errorf("%s: the proof is %+v", tt.name, p)
		}
	}
}
