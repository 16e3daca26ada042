package verify

import (
	"testing"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/suite"
)

func TestDebrisByName(t *testing.T) {
	base := customsOf([]git.Entry{{Path: "logs/old.log"}, {Path: "build/rules.mk"}, {Path: "README.txt"}, {Path: "pkg/a.go"}})
	for p, want := range map[string]string{
		"pkg/a.go.orig": "a backup", "pkg/a.go.rej": "a patch that did not apply", "pkg/.a.go.swp": "an editor's file", "a.go~": "an editor's backup",
		"nohup.out": "a log", "core": "a core dump", "core.1234": "a core dump", "debug_output.log": "a log", "scratch.txt": "a scratch file",
		"repro.py": "a scratch file", "tmp-fix.sh": "a scratch file", "cover.out": "a command's output", "testdata/x.orig": "a backup",
		// and what is none
		"logs/new.log": "", "build/more.mk": "", "testdata/a.log": "", "pkg/scratch.go": "", "debug.go": "", "pkg/b.go": "", "core.go": "",
		"temperature.go": "", "reproducible.md": "", "logout.go": "", "new_test.go": "", "docs/build.md": "", "internal/build/plan.go": "", "pkg/coverage/merge.go": "",
	} {
		if got := debris(p, base); got.Why != want || got.Path != p {
			t.Errorf("%s: %+v, want %q", p, got, want)
		}
	}
	for p, want := range map[string]string{"tmp_dir/y.bak": "tmp_dir/", "web/node_modules/x/index.js": "web/node_modules/", "dist/a/b.js": "dist/"} {
		if got := debris(p, base); got.Path != want || got.Why == "" {
			t.Errorf("%s: %+v, want %q", p, got, want)
		}
	}
}

func TestNamedByTheContract(t *testing.T) {
	criteria := []agency.Criterion{
		{Text: "Each run writes notes.log."}, {Check: &agency.Check{File: "out/"}}, {Check: &agency.Check{Command: "test -s scratch.txt"}},
	}
	for p, want := range map[string]bool{
		"pkg/x.bak": true, "doc/a.tmp": true, "a/notes.log": true, "out/x": true, "scratch.txt": true, "tmp.txt": false, "outer/x": false,
	} {
		if got := isNamed(p, []string{"pkg/**", "doc/"}, criteria); got != want {
			t.Errorf("%s: %v", p, got)
		}
	}
}

// A proof that is open says why.
func TestOpenProofKeepsItsNote(t *testing.T) {
	const name = "p.TestX"
	f := facts{
		task: task{Spec: Spec{Criteria: []agency.Criterion{{ID: "x", Check: &agency.Check{Test: "TestX"}}}}},
		testFacts: testFacts{
			baseSuite:  suite.Results{Ran: true, Tests: map[string]agency.TestStatus{name: agency.TestPassed}},
			claimSuite: suite.Results{Ran: true, Receipt: agency.Receipt{Parsed: true}, Tests: map[string]agency.TestStatus{name: agency.TestFailed}},
		},
	}
	if got := judge(f).Proofs[0]; got.Proof != agency.ProofOpen || got.Note != "its check does not pass" {
		t.Errorf("%s: %q", got.Proof, got.Note)
	}
}
