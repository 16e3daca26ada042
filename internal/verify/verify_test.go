package verify_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/race"
	"agency/internal/sandbox"
	"agency/internal/store"
	"agency/internal/verdicts"
	"agency/internal/verify"
	"agency/internal/verify/verifytest"
	"agency/internal/workspace"
)

func TestMain(m *testing.M) {
	sandbox.Child()
	os.Exit(m.Run())
}

const runID = verifytest.Run

// world is a repository with a run on it: real git, store and sandbox.
type world struct {
	t        *testing.T
	repo     string
	db       *store.DB
	run      *workspace.Run
	options  verify.Options
	verifier *verify.Verifier
	commands check.Commands
	base     agency.OID
	n        int
}

const (
	goMod = "module ex.com/p\n\ngo 1.22\n"
	addGo = "package p\n\nfunc Add(a, b int) int { return a + b }\n"
	// badGo is what the agents of these tests are to mend.
	badGo   = "package p\n\nfunc Sub(a, b int) int { return a + b }\n"
	goodGo  = "package p\n\nfunc Sub(a, b int) int { return a - b }\n"
	addTest = "package p\n\nimport \"testing\"\n\nfunc TestAdd(t *testing.T) {\n\tif Add(1, 2) != 3 {\n\t\tt.Error(\"sum\")\n\t}\n}\n"
	subTest = "package p\n\nimport \"testing\"\n\nfunc TestSub(t *testing.T) {\n\tif Sub(3, 2) != 1 {\n\t\tt.Error(\"difference\")\n\t}\n}\n"
)

func baseFiles() map[string]string {
	return map[string]string{"go.mod": goMod, "add.go": addGo, "add_test.go": addTest, "sub.go": badGo, "sub_test.go": subTest}
}

// longest are the tests that are left out where time is short: half of the time of all.
var longest = []string{
	"TestAffectedLazyAndReused", "TestBaseRunsTwiceOnce", "TestChanceOnTheBaseProvesNothing", "TestControlFileThatIsAskedForDoesNotGoBack",
	"TestCoverageOfCodeThatNothingMeasures", "TestCoverageOfTheChange", "TestGatesAreComparedByFindings", "TestImportsNarrowClaims",
	"TestMeasuringDecidesNothing", "TestNarrowedToNothing", "TestSetupComesFirst", "TestStateLeftBehindIsNoChance", "TestTestsLeaveNothing",
	"TestVolatileNamesProveNothing", "TestWhatOthersMayMend",
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	if name, _, _ := strings.Cut(t.Name(), "/"); race.Enabled || testing.Short() && slices.Contains(longest, name) {
		t.Skip("runs the go command in the sandbox")
	}
	t.Parallel()
	v := verifytest.New(t, files)
	return &world{
		t: t, repo: v.Repo, db: v.DB, run: v.Run, options: v.Options, verifier: v.Verifier, commands: v.Commands, base: v.Base,
	}
}

func write(t *testing.T, dir string, files map[string]string) { verifytest.Write(t, dir, files) }

// change is a claim that makes these changes to the base; an empty text removes
// a file.
func (w *world) change(files map[string]string) verify.Spec {
	w.t.Helper()
	w.n++
	ws, err := w.run.Prepare(w.t.Context(), "main", w.base, workspace.Work)
	if err != nil {
		w.t.Fatal(err)
	}
	if err := ws.Restore(w.t.Context(), w.base); err != nil {
		w.t.Fatal(err)
	}
	write(w.t, ws.Path(), files)
	tree, err := ws.Snapshot(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	return verify.Spec{
		Run: runID, Contract: "main", Attempt: w.n, Type: agency.TypeFeature, Base: w.base, Claim: tree,
		Criteria: []agency.Criterion{{ID: "goal", Text: "mend Sub"}}, Commands: w.commands,
	}
}

func (w *world) verify(spec verify.Spec) agency.Verdict {
	w.t.Helper()
	key := agency.StepKey(strings.Repeat("i", spec.Attempt))
	v, err := w.verifier.Verify(w.t.Context(), key, spec)
	if err != nil {
		w.t.Fatal(err)
	}
	refs, err := w.run.List()
	if err != nil {
		w.t.Fatal(err)
	}
	for _, r := range refs {
		if r.Kind == workspace.Verify {
			w.t.Errorf("the checkout %s is left", r.Name)
		}
	}
	return v
}

func (w *world) receipts() []agency.Receipt {
	w.t.Helper()
	var out []agency.Receipt
	err := w.db.Read(w.t.Context(), func(s *store.Snapshot) (err error) {
		out, err = check.Receipts(s, runID)
		return err
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return out
}

// wants checks that a verdict fails for a reason that holds these words.
func wants(t *testing.T, v agency.Verdict, pass bool, words ...string) {
	t.Helper()
	if v.Pass != pass {
		t.Errorf("pass is %v: %q", v.Pass, v.Reasons)
	}
	for _, word := range words {
		if !strings.Contains(strings.Join(v.Reasons, "\n"), word) {
			t.Errorf("reasons lack %q: %q", word, v.Reasons)
		}
	}
}

func TestMendedTestIsProof(t *testing.T) {
	w := newWorld(t, baseFiles())
	spec := w.change(map[string]string{"sub.go": goodGo})
	v := w.verify(spec)
	wants(t, v, true)
	if len(v.Proofs) != 1 || v.Proofs[0].Proof != agency.ProofVerified || !slices.Equal(v.NewlyPass, []string{"ex.com/p.TestSub"}) {
		t.Errorf("verdict %+v", v)
	}
	made := w.receipts()
	suites, alone := len(made), 0
	for _, r := range made {
		if r.Stage == string(check.StageAlone) {
			suites, alone = suites-1, alone+1
		}
	}
	// The base ran twice, for a test was red; what mended it twice, by
	// itself; and last without the change, with the switches off and on.
	if v.WeakProof || v.NoTests || len(v.Receipts) == 0 || suites != 7 || alone != 2 {
		t.Errorf("%d receipts, verdict %+v", len(made), v)
	}

	t.Run("the same step again", func(t *testing.T) {
		again := w.verify(spec)
		if !again.Pass || len(w.receipts()) != len(made) {
			t.Errorf("%d receipts, verdict %+v", len(w.receipts()), again)
		}
		err := w.db.Read(t.Context(), func(s *store.Snapshot) error {
			all, err := verdicts.All(s, runID)
			if len(all) != 1 {
				t.Errorf("%d verdicts", len(all))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
	t.Run("its landing runs nothing", func(t *testing.T) {
		landing := spec
		landing.Criteria = nil
		v, err := w.verifier.VerifyTree(t.Context(), "land", landing)
		if err != nil || !v.Pass || len(w.receipts()) != len(made) {
			t.Errorf("%d receipts, verdict %+v, %v", len(w.receipts()), v, err)
		}
	})
	t.Run("its promises hold on what it is merged into", func(t *testing.T) {
		landing := w.change(map[string]string{"sub.go": goodGo, "README.md": "x"})
		landing.Criteria = agency.OnLanding(agency.Promised(agency.Contract{
			ExpectedOutputs: agency.Outputs{FilesCreated: []string{"sub.go", "lost.go"}, TestsPassing: []string{"TestAdd", "TestLost"}},
		}))
		v, err := w.verifier.VerifyTree(t.Context(), "land", landing)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, v, false, "criterion tests_passing.2: the test TestLost does not pass: it was not run", "criterion files_created.2: lost.go was to be made: lost.go is not there")
		if len(v.Reasons) != 2 {
			t.Errorf("%q", v.Reasons)
		}
	})
	t.Run("another landing reuses the base", func(t *testing.T) {
		red := w.change(map[string]string{"sub.go": goodGo, "add.go": strings.Replace(addGo, "+", "*", 1)})
		v, err := w.verifier.VerifyTree(t.Context(), "land", red)
		if err != nil {
			t.Fatal(err)
		}
		wants(t, v, false, "regression: ex.com/p.TestAdd")
		for _, r := range w.receipts()[len(made):] {
			if r.Tree == v.Base && r.Kind == agency.CheckTest && r.Command == w.commands.Test {
				t.Errorf("the base ran again: %+v", r)
			}
		}
	})
}

// What checks took is time at work: in claims and in landings, and where nothing
// ran it is none.
func TestChecksAreWork(t *testing.T) {
	w := newWorld(t, baseFiles())
	var took []time.Duration
	w.options.AtWork = func(_ *store.Tx, run agency.RunID, c agency.ContractID, d time.Duration) error {
		if run != runID || c != "main" {
			t.Errorf("booked on %s of %s", c, run)
		}
		took = append(took, d)
		return nil
	}
	w.verifier = verify.New(w.options)
	spec := w.change(map[string]string{"sub.go": goodGo})
	begun := time.Now()
	w.verify(spec)
	w.verify(spec)
	if len(took) != 1 || took[0] < 100*time.Millisecond || took[0] > time.Since(begun) {
		t.Errorf("booked %v", took)
	}
	spec.Anew = true
	if _, err := w.verifier.VerifyTree(t.Context(), "land", spec); err != nil || len(took) != 2 {
		t.Errorf("booked %v, %v", took, err)
	}
}

func TestClaimsThatFail(t *testing.T) {
	for name, tt := range verifytest.Some(map[string]struct {
		files  map[string]string
		edit   func(*verify.Spec)
		pass   bool
		reason string
	}{
		"nothing changed":               {reason: "changes nothing"},
		"a review that changes nothing": {edit: func(s *verify.Spec) { s.Type = agency.TypeReview }, pass: true, reason: "pre-existing: ex.com/p.TestSub"},
		"a regression":                  {files: map[string]string{"add.go": strings.Replace(addGo, "+", "-", 1)}, reason: "regression: ex.com/p.TestAdd passed before and fails now"},
		"a new test is red":             {files: map[string]string{"new_test.go": "package p\n\nimport \"testing\"\n\nfunc TestNew(t *testing.T) { t.Fatal(1) }\n"}, reason: "new test fails: ex.com/p.TestNew"},
		"does not build":                {files: map[string]string{"sub.go": "package p\n\nfunc Sub() int { return \"\" }\n"}, reason: "build: `go build -o /dev/null ./...` fails: "},
		"a new test does not build":     {files: map[string]string{"new_test.go": "package p\n\nfunc TestNew(t *testing.T) {}\n"}, reason: "undefined: testing"},
		"vet complains":                 {files: map[string]string{"v.go": "package p\n\nimport \"fmt\"\n\nfunc V() { fmt.Printf(\"%d\", \"x\") }\n"}, reason: "lint: `go vet ./...` fails"},
		"a test is deleted":             {files: map[string]string{"add_test.go": "", "sub.go": goodGo}, reason: "weakened: test deleted: ex.com/p.TestAdd"},
		"a test is skipped":             {files: map[string]string{"sub.go": goodGo, "sub_test.go": strings.Replace(subTest, "\tif", "\tt.Skip()\n\tif", 1)}, reason: "weakened: test newly skipped: ex.com/p.TestSub"},
		"no tests any more":             {files: map[string]string{"add_test.go": "", "sub_test.go": "", "sub.go": goodGo}, reason: "weakened: no tests found any more"},
		"tests never run":               {files: map[string]string{"sub.go": goodGo, "main_test.go": "package p\n\nimport (\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n"}, reason: "control file edited: main_test.go (TestMain)"},
		"results are forged":            {files: map[string]string{"main_test.go": "package p\n\nimport (\n\t\"fmt\"\n\t\"os\"\n\t\"testing\"\n)\n\nfunc TestMain(m *testing.M) {\n\tfor _, n := range []string{\"TestAdd\", \"TestSub\", \"TestMore\"} {\n\t\tfmt.Printf(\"\\x16=== RUN   %s\\n\\x16--- PASS: %s (0.00s)\\n\", n, n)\n\t}\n\tos.Exit(0)\n}\n"}, reason: "main_test.go (TestMain)"},
		"a workspace file":              {files: map[string]string{"sub.go": goodGo, "go.work": "go 1.22\n\nuse .\n"}, reason: "control file edited: go.work"},
		"the linter's rules":            {files: map[string]string{"sub.go": goodGo, ".golangci.yml": "x: y\n"}, reason: "control file edited: .golangci.yml"},
		"false evidence": {files: map[string]string{"x.txt": "x"}, edit: func(s *verify.Spec) {
			s.ClaimInfo.Evidence = []agency.Evidence{{Criterion: "goal", Kind: agency.CheckTest, Ref: "TestSub"}}
		}, reason: "names the test ex.com/p.TestSub as evidence, and it fails"},
		"a criterion's test is red": {files: map[string]string{"x.txt": "x"}, edit: func(s *verify.Spec) {
			s.Criteria[0].Check = &agency.Check{Test: "TestSub"}
		}, reason: "criterion goal: the test TestSub does not pass"},
		"a criterion's test is missing": {files: map[string]string{"x.txt": "x"}, edit: func(s *verify.Spec) {
			s.Criteria[0].Check = &agency.Check{Test: "TestNone"}
		}, reason: "criterion goal: the test TestNone does not pass: it was not run"},
		"a criterion's command fails": {files: map[string]string{"x.txt": "x"}, edit: func(s *verify.Spec) {
			s.Criteria[0].Check = &agency.Check{Command: "grep y x.txt"}
		}, reason: "criterion goal: `grep y x.txt` does not pass: exit code 1"},
		"a criterion's command tests nothing": {files: map[string]string{"x.txt": "x"}, edit: func(s *verify.Spec) {
			s.Criteria[0].Check = &agency.Check{Command: "go test -run TestNone ./..."}
		}, reason: "does not pass: it runs no test"},
		"a criterion's file is missing": {files: map[string]string{"x.txt": "x"}, edit: func(s *verify.Spec) {
			s.Criteria[0].Check = &agency.Check{File: "y.txt"}
		}, reason: "the file y.txt does not pass: it does not exist"},
		"what was red stays red":          {files: map[string]string{"x.txt": "x"}, pass: true, reason: "pre-existing: ex.com/p.TestSub failed before and still fails"},
		"a test moves to another package": {files: map[string]string{"sub.go": goodGo, "add_test.go": "", "q/add_test.go": strings.Replace(strings.Replace(addTest, "package p", "package q", 1), "Add(1, 2) != 3", "len(\"ab\") != 2", 1)}, pass: true},
	}) {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, baseFiles())
			spec := w.change(tt.files)
			if tt.edit != nil {
				tt.edit(&spec)
			}
			v := w.verify(spec)
			wants(t, v, tt.pass, tt.reason)
			for _, p := range v.Proofs {
				if !tt.pass && p.Proof == agency.ProofVerified && p.Check != nil {
					t.Errorf("criterion %s is verified", p.ID)
				}
			}
		})
	}
}

// TestAllMissesAreToldAtOnce tells of a claim whose commands stop before the tests, or
// that changes nothing, which of its promised files are there, and each that is not.
func TestAllMissesAreToldAtOnce(t *testing.T) {
	w := newWorld(t, baseFiles())
	criteria := []agency.Criterion{
		{ID: "goal", Text: "mend Sub"},
		{ID: "made", Text: "made", Check: &agency.Check{Created: "made.txt"}},
		{ID: "unmade", Text: "unmade", Check: &agency.Check{Created: "unmade.txt"}},
		{ID: "unchanged", Text: "unchanged", Check: &agency.Check{Modified: "add.go"}},
		{ID: "test", Text: "test", Check: &agency.Check{Test: "TestSub"}},
	}
	states := func(v agency.Verdict) (out []string) {
		for _, p := range v.Proofs {
			out = append(out, p.State())
		}
		return out
	}
	spec := w.change(map[string]string{"sub.go": "package p\n\nfunc Sub(", "made.txt": "made\n"})
	spec.Criteria, spec.Commands.Build = criteria, "go build ./..."
	v := w.verify(spec)
	wants(t, v, false, "build:", "criterion unmade: unmade.txt was to be made: unmade.txt is not there", "criterion unchanged: add.go was to be changed: add.go is as it was")
	if got := states(v); !slices.Equal(got, []string{"open", "verified", "missed", "missed", "open"}) {
		t.Errorf("after a build that fails: %q", got)
	}
	spec = w.change(nil)
	spec.Criteria = criteria
	v = w.verify(spec)
	wants(t, v, false, "the claim changes nothing", "criterion made: made.txt was to be made", "criterion unchanged: add.go was to be changed")
	if got := states(v); !slices.Equal(got, []string{"open", "missed", "missed", "missed", "open"}) {
		t.Errorf("where nothing changed: %q", got)
	}
}
