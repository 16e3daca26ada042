package check_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/ecosystem"
	"agency/internal/event"
	"agency/internal/race"
	"agency/internal/sandbox"
	"agency/internal/store"
	"agency/internal/store/storetest"
)

// world is a checkout with all that a check needs, real but for its size.
type world struct {
	t       *testing.T
	dir     string
	layers  string
	db      *store.DB
	runner  *sandbox.Runner
	checker *check.Checker
	secret  string
}

func newWorld(t *testing.T, files map[string]string) *world {
	t.Helper()
	if race.Enabled {
		t.Skip("runs the go command in the sandbox")
	}
	w := &world{t: t, dir: t.TempDir(), layers: t.TempDir(), secret: "hT7x-9Qw2Lm4vK8z"}
	w.write(files)
	state := t.TempDir()
	runner, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeFull, StateDir: state})
	if err != nil {
		t.Skipf("no full sandbox here: %v", err)
	}
	w.runner = runner
	w.db = storetest.Open(t, store.Options{
		Path: filepath.Join(state, "agency.db"), Sets: []store.Set{event.Migrations(), check.Migrations()},
		Redact: agency.NewRedactor(w.secret).Bytes,
	})
	found, err := detect.Toolchain(t.Context(), detect.Input{Repo: os.DirFS(w.dir), Env: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	w.checker = check.New(check.Options{
		Runner:      runner,
		DB:          w.db,
		Environment: ecosystem.Environment{Tools: found.Tools, Version: found.Version},
		LayerDir:    w.layers,
	})
	return w
}

func (w *world) write(files map[string]string) {
	w.t.Helper()
	for name, text := range files {
		p := filepath.Join(w.dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o700); err != nil {
			w.t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o700); err != nil {
			w.t.Fatal(err)
		}
	}
}

func (w *world) subject(tree string) check.Subject {
	return check.Subject{
		Place: sandbox.Place{Root: w.dir, At: w.dir}, Tree: agency.OID(tree),
		Run: "run-1", Contract: "main", Stage: check.StageWork,
	}
}

func (w *world) run(s check.Subject, cmd check.Command) agency.Receipt {
	w.t.Helper()
	r, err := w.checker.Run(w.t.Context(), s, cmd)
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}

func test(line string) check.Command { return check.Command{Kind: agency.CheckTest, Line: line} }

const goMod = "module ex.com/p\n\ngo 1.22\n"

func statuses(r agency.Receipt) map[string]agency.TestStatus {
	out := map[string]agency.TestStatus{}
	for _, t := range r.Tests {
		out[t.Name] = t.Status
	}
	return out
}

func TestGoTest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{
		"go.mod":        goMod,
		"a/a.go":        "package a\n\nfunc F() int { return 1 }\n",
		"none/n.go":     "package none\n",
		"bad/b.go":      "package bad\n\nfunc F() int { return \"x\" }\n",
		"bad/b_test.go": "package bad\n\nimport \"testing\"\n\nfunc TestB(t *testing.T) {}\n",
		"a/a_test.go": `package a

import ("testing"; "fmt"; "os")

func TestOK(t *testing.T) {
	fmt.Println("--- PASS: TestFake (0.00s)")
	fmt.Println("{\"Action\":\"pass\",\"Package\":\"ex.com/p/a\",\"Test\":\"TestJSON\"}")
	fmt.Fprintln(os.Stderr, "{\"Action\":\"run\",\"Package\":\"ex.com/p/a\",\"Test\":\"TestJSON\"}")
	fmt.Printf("\x16=== RUN   TestForged\n\x16--- PASS: TestForged (0.00s)\n")
}
func TestBad(t *testing.T) { t.Run("case one", func(t *testing.T) { t.Error("want 2, and hT7x-9Qw2Lm4vK8z") }) }
func TestSkip(t *testing.T) { t.Skip("not today") }
func TestPanic(t *testing.T) { panic("boom") }
`,
	})
	r := w.run(w.subject("tree-1"), test("go test ./..."))
	want := map[string]agency.TestStatus{
		"ex.com/p/a.TestOK": "passed", "ex.com/p/a.TestBad": "failed", "ex.com/p/a.TestBad/case_one": "failed",
		"ex.com/p/a.TestSkip": "skipped", "ex.com/p/a.TestPanic": "failed", "ex.com/p/bad [build failed]": "failed",
	}
	if diff := cmp.Diff(want, statuses(r)); diff != "" {
		t.Error(diff)
	}
	if !r.Parsed || r.ExitCode != 1 || r.Cause != "" || r.Passed != 1 || r.Failed != 4 || r.Skipped != 1 || r.Command != "go test ./..." {
		t.Errorf("receipt %+v", r)
	}
	summary := check.Summary(r)
	if !strings.HasPrefix(summary, "exit code 1\npassed 1, failed 4, skipped 1\nfailed:\n") {
		t.Errorf("summary begins otherwise:\n%s", summary)
	}
	for _, want := range []string{"ex.com/p/a.TestBad/case_one", "want 2, and [redacted]", "panic: boom", "cannot use \"x\""} {
		if !strings.Contains(summary, want) {
			t.Errorf("summary lacks %q:\n%s", want, summary)
		}
	}
	for _, not := range []string{`"Time":`, w.secret} {
		if strings.Contains(summary, not) {
			t.Errorf("summary shows %q:\n%s", not, summary)
		}
	}
	w.checkStored(r)
}

// checkStored reads the receipt and its event back.
func (w *world) checkStored(r agency.Receipt) {
	w.t.Helper()
	err := w.db.Read(w.t.Context(), func(s *store.Snapshot) error {
		kept, err := check.Receipt(s, r.ID)
		if err != nil {
			return err
		}
		if diff := cmp.Diff(r, kept); diff != "" {
			w.t.Errorf("stored otherwise:\n%s", diff)
		}
		events, err := event.Since(s, 0, event.Filter{Run: r.RunID}, 10)
		if err != nil || len(events) != 1 {
			w.t.Fatalf("%d events, %v", len(events), err)
		}
		var d agency.TestsRun
		if err := json.Unmarshal(events[0].Details, &d); err != nil {
			return err
		}
		want := agency.TestsRun{
			Command: r.Command, Passed: r.Passed, Failed: r.Failed, Skipped: r.Skipped,
			ExitCode: r.ExitCode, Receipt: r.ID, Stage: "work",
		}
		if red, ok := check.RedOf(r, nil); ok {
			red = red.Short()
			want.Red = &red
		}
		if diff := cmp.Diff(want, d); events[0].Type != "tests_run" || diff != "" {
			w.t.Errorf("event %s: %s", events[0].Type, diff)
		}
		return nil
	})
	if err != nil {
		w.t.Fatal(err)
	}
}

func TestReceiptsAreReused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"count.sh": "echo x >> runs; wc -l < runs\n"})
	runs := func() int {
		b, _ := os.ReadFile(filepath.Join(w.dir, "runs"))
		return strings.Count(string(b), "x")
	}
	cmd := check.Command{Kind: agency.CheckBuild, Line: "sh ./count.sh"}
	s := w.subject("tree-1")
	first := w.run(s, cmd)
	if again := w.run(s, cmd); again.ID != first.ID || runs() != 1 {
		t.Errorf("the same check: %s then %s, ran %d times", first.ID, again.ID, runs())
	}
	other := s
	other.Stage, other.Contract = check.StageLanding, "main-2"
	taken := w.run(other, cmd)
	if taken.ID == first.ID || taken.ContractID != "main-2" || taken.Output != first.Output || runs() != 1 {
		t.Errorf("another stage: %+v, ran %d times", taken, runs())
	}
	for name, change := range map[string]func(*check.Subject){
		"fresh": func(s *check.Subject) { s.Fresh = true },
		"tree":  func(s *check.Subject) { s.Tree = "tree-2" },
		"layer": func(s *check.Subject) { s.Layer = check.LayerVerify },
		"none":  func(s *check.Subject) { s.Tree = "" },
	} {
		before, s := runs(), s
		change(&s)
		w.run(s, cmd)
		if runs() != before+1 {
			t.Errorf("%s: was not run", name)
		}
	}
	red := check.Command{Kind: agency.CheckBuild, Line: "sh ./count.sh; exit 1"}
	if first, again := w.run(s, red), w.run(s, red); again.ID != first.ID {
		t.Errorf("a failure of the run itself: %s then %s", first.ID, again.ID)
	}
	next := s
	next.Run = "run-2"
	if taken, before := w.run(next, cmd), runs(); taken.CopyOf == "" || runs() != before {
		t.Errorf("what passed in another run: %+v", taken)
	}
	if taken := w.run(next, red); taken.CopyOf != "" {
		t.Errorf("a failure without names in another run, whose cause may be mended: %+v", taken)
	}
	// How far the command comes within its limit is the machine's affair.
	slow := check.Command{Kind: agency.CheckBuild, Line: "sleep 60", Timeout: 300 * time.Millisecond}
	for range 2 {
		if r := w.run(s, slow); r.Cause != "timeout" || r.OK() || r.CopyOf != "" || r.Duration < 0.3 {
			t.Errorf("stopped by its limit, then not run again: %+v", r)
		}
	}
}

// A receipt stands for no other toolchain, sandbox, limits or siblings.
func TestReceiptsOfAnotherEnvironment(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"x.txt": "x"})
	off, err := sandbox.New(sandbox.Options{Mode: sandbox.ModeOff, StateDir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	s, cmd := w.subject("tree-1"), check.Command{Kind: agency.CheckBuild, Line: "true"}
	options := check.Options{Runner: w.runner, DB: w.db, LayerDir: w.layers, Environment: ecosystem.Environment{Version: "go1"}}
	base := check.New(options)
	if _, err := base.Run(t.Context(), s, cmd); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*check.Options){
		"itself":    func(*check.Options) {},
		"toolchain": func(o *check.Options) { o.Version = "go2" },
		"sandbox":   func(o *check.Options) { o.Runner = off },
		"limits":    func(o *check.Options) { o.Limits.MemoryMB = 4096 },
		"variables": func(o *check.Options) { o.Tools.Env = []string{"X=1"} },
		"siblings":  func(o *check.Options) { o.Reads = []sandbox.Mount{{Host: w.layers, At: w.layers}} },
	} {
		o := options
		change(&o)
		if _, known, err := check.New(o).Known(t.Context(), s, cmd); err != nil || known != (name == "itself") {
			t.Errorf("%s: known %v, %v", name, known, err)
		}
	}
}

func TestOtherResults(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{
		"old.xml":   `<testsuite name="s"><testcase name="stale"/></testsuite>`,
		"report.sh": "mkdir -p out; cp old.xml out/new.xml; sed -i s/stale/fresh/ out/new.xml; echo text\n",
		"stdout.sh": "echo '<testsuites><testsuite name=\"s\"><testcase name=\"a\"><failure>why</failure></testcase></testsuite></testsuites>'; exit 1\n",
	})
	if err := os.Symlink("/etc/hostname", filepath.Join(w.dir, "link.xml")); err != nil {
		t.Fatal(err)
	}
	r := w.run(w.subject("t"), test("sh report.sh"))
	if diff := cmp.Diff(map[string]agency.TestStatus{"s.fresh": "passed"}, statuses(r)); diff != "" || !r.Parsed || !strings.Contains(r.Output, "text") {
		t.Errorf("report file: %s %+v", diff, r)
	}
	r = w.run(w.subject("t"), test("sh stdout.sh"))
	if diff := cmp.Diff(map[string]agency.TestStatus{"s.a": "failed"}, statuses(r)); diff != "" || !strings.HasPrefix(r.Output, "--- FAIL: s.a\nwhy") {
		t.Errorf("standard output: %s %+v", diff, r)
	}
	r = w.run(w.subject("t"), test("echo hello; exit 3"))
	if r.Parsed || r.ExitCode != 3 || check.Summary(r) != "exit code 3\nhello\n" {
		t.Errorf("exit code: %+v\n%s", r, check.Summary(r))
	}
	r = w.run(w.subject("t"), test("no-such-program"))
	if r.ExitCode != 127 || r.OK() {
		t.Errorf("no such program: %+v", r)
	}
}

func TestCutOutputIsIncomplete(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{
		"go.mod": goMod,
		"a_test.go": `package p

import ("fmt"; "testing"; "strings")

func TestLoud(t *testing.T) { for range 60 { fmt.Println(strings.Repeat("y", 1000)) } }
func TestQuiet(t *testing.T) {}
`,
	})
	small := check.New(check.Options{
		Runner:      w.runner,
		DB:          w.db,
		LayerDir:    w.layers,
		Environment: ecosystem.Environment{Tools: toolsOf(t, w.dir)},
	})
	small.ReadAtMost(32 << 10)
	r, err := small.Run(t.Context(), w.subject("t"), test("go test ./..."))
	if err != nil {
		t.Fatal(err)
	}
	if r.ExitCode != 0 || r.Cause != check.CauseIncomplete || r.Parsed || r.OK() {
		t.Errorf("receipt %+v", r)
	}
	if _, ok, err := small.Known(t.Context(), w.subject("t"), test("go test ./...")); ok || err != nil {
		t.Errorf("is reused: %v", err)
	}
}

func toolsOf(t *testing.T, dir string) sandbox.Toolchain {
	t.Helper()
	found, err := detect.Toolchain(t.Context(), detect.Input{Repo: os.DirFS(dir), Env: os.LookupEnv})
	if err != nil {
		t.Fatal(err)
	}
	return found.Tools
}

func TestCancelledIsNoReceipt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"x": ""})
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	_, err := w.checker.Run(ctx, w.subject("t"), test("sleep 60"))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v", err)
	}
	err = w.db.Read(t.Context(), func(s *store.Snapshot) error {
		got, err := check.Receipts(s, "run-1")
		if len(got) != 0 {
			t.Errorf("receipts %+v", got)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
