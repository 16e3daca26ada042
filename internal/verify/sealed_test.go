package verify_test

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/verify"
)

// leavesMark is a test that writes a file of this name into the cache of builds.
func leavesMark(name string) string {
	return "package p\n\nimport (\n\t\"os\"\n\t\"path/filepath\"\n\t\"testing\"\n)\n\nfunc TestMark" + strings.ToUpper(name) + "(t *testing.T) {\n" +
		"\tif err := os.WriteFile(filepath.Join(os.Getenv(\"GOCACHE\"), \"mark-" + name + "\"), nil, 0o600); err != nil {\n\t\tt.Error(err)\n\t}\n}\n"
}

// sealedMarks are the marks that all later commands begin with.
func (w *world) sealedMarks() (out []string) {
	w.t.Helper()
	found, err := filepath.Glob(filepath.Join(w.run.Info().StateDir, "cache", "warm", "gocache", "*", "mark-*"))
	if err != nil {
		w.t.Fatal(err)
	}
	marks := map[string]bool{}
	for _, f := range found {
		marks[filepath.Base(f)] = true
	}
	return slices.Sorted(maps.Keys(marks))
}

// All begin with what the run's own commands built of what the run began from. Nothing
// that an agent had a hand in gets there: a claim's tests, a command that a plan names, on
// the base too, or the base of a contract that goes on with an agent's work.
func TestOnlyTheBaseIsSealed(t *testing.T) {
	w := newWorld(t, map[string]string{"go.mod": goMod, "p.go": "package p\n\nfunc One() int { return 1 }\n", "p_test.go": leavesMark("base")})
	w.verifier = verify.New(w.options)
	spec := w.change(map[string]string{"two.go": "package p\n\nfunc Two() int { return 2 }\n", "two_test.go": leavesMark("claim")})
	spec.Criteria = []agency.Criterion{{ID: "x", Text: "x", Check: &agency.Check{Command: `touch "$GOCACHE/mark-command"; go vet ./... && test -e two.go`}}}
	w.verify(spec)
	two := "package p\n\nfunc Two() int { return 2 }\n"
	landed := w.change(map[string]string{"two.go": two, "two_test.go": leavesMark("landed")})
	next := w.change(map[string]string{"two.go": two, "two_test.go": leavesMark("landed"), "three.go": "package p\n\nfunc Three() int { return 3 }\n"})
	next.Base, next.Contract = landed.Claim, "next"
	w.verify(next)
	if got := w.sealedMarks(); !slices.Equal(got, []string{"mark-base"}) {
		t.Errorf("%q is sealed", got)
	}
	if ran := w.ran(0); !slices.ContainsFunc(ran, func(l string) bool { return strings.HasPrefix(l, "base: ") }) {
		t.Errorf("no base ran: %q", ran)
	}
	if _, err := os.Stat(filepath.Join(w.run.Info().StateDir, "cache", "verify")); !os.IsNotExist(err) {
		t.Errorf("caches that several share: %v", err)
	}
}

// What the tests of the base need is built before any of them runs, once: all may begin with
// it from then on. Of a base that agents have made nothing is.
func TestTheBaseIsBuiltFirst(t *testing.T) {
	main := "\nfunc TestMain(m *testing.M) {\n\tm.Run()\n\tnames, _ := filepath.Glob(filepath.Join(os.Getenv(\"GOCACHE\"), \"mark-main*\"))\n" +
		"\t_ = os.WriteFile(filepath.Join(os.Getenv(\"GOCACHE\"), \"mark-main\"+strings.Repeat(\"x\", len(names))), nil, 0o600)\n}\n"
	test := func(name string) string {
		return strings.Replace(leavesMark(name), "\"path/filepath\"\n", "\"path/filepath\"\n\t\"strings\"\n", 1) + main
	}
	w := newWorld(t, map[string]string{"go.mod": goMod, "p.go": "package p\n", "p_test.go": test("base")})
	w.verifier = verify.New(w.options)
	spec := w.change(map[string]string{"p_test.go": test("landed")})
	landed := spec
	landed.Base, landed.Contract = spec.Claim, "next"
	ahead := func(spec verify.Spec) (at []string) {
		t.Helper()
		told := false
		built := func() {
			if !told {
				told, at = true, w.sealedMarks()
			}
		}
		if err := w.verifier.Ahead(t.Context(), spec, built); err != nil || !told {
			t.Fatalf("told %t: %v", told, err)
		}
		return at
	}
	if got := ahead(landed); len(got) > 0 {
		t.Errorf("%q is sealed of a claim", got)
	}
	if got := ahead(spec); !slices.Equal(got, []string{"mark-main"}) {
		t.Errorf("%q when it is built", got)
	}
	if got := w.sealedMarks(); !slices.Equal(got, []string{"mark-base", "mark-main", "mark-mainx"}) {
		t.Errorf("%q in the end", got)
	}
	if got := ahead(landed); !slices.Equal(got, []string{"mark-base", "mark-main", "mark-mainx"}) {
		t.Errorf("%q after what was landed", got)
	}
}

// The receipt of the base's tests counts the time of processors that was taken to build them
// ahead, as if they had built it themselves.
func TestTheBaseCountsItsBuild(t *testing.T) {
	w := newWorld(t, map[string]string{"go.mod": goMod, "p.go": "package p\n", "p_test.go": `package p

import (
	"flag"
	"syscall"
	"testing"
)

func TestMain(m *testing.M) {
	var used syscall.Rusage
	for used.Utime.Sec < 2 && flag.Lookup("test.run") != nil && built() {
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	}
	m.Run()
}

func built() bool {
	flag.Parse()
	return flag.Lookup("test.run").Value.String() == "^$"
}

func TestX(*testing.T) {}
`})
	w.verifier = verify.New(w.options)
	spec := w.change(map[string]string{"two.go": "package p\n"})
	if err := w.verifier.Ahead(t.Context(), spec, func() {}); err != nil {
		t.Fatal(err)
	}
	for _, r := range w.receipts() {
		if r.Kind == agency.CheckTest && r.CPU < 2 {
			t.Errorf("%s: %v s of processors", r.Command, r.CPU)
		}
	}
}

// A setup that the build needs does not wait for the build.
func TestSetupComesBeforeTheBuild(t *testing.T) {
	w := newWorld(t, map[string]string{"go.mod": goMod, "p.go": "package p\n", "p_test.go": leavesMark("base")})
	w.commands.Setup = "true"
	spec := w.change(map[string]string{"two.go": "package p\n"})
	checker, err := w.options.Checker(t.Context(), runID)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	if err := w.verifier.Ahead(ctx, spec, checker.Hold()); err != nil {
		t.Error(err)
	}
}
