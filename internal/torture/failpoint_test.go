//go:build linux

package torture

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"agency/internal/git/gittest"
)

// The failpoints are in a build of their own: the named points that packages
// call in their own tests, and both sides of every commit of the store, which
// are the two sides of every acknowledgement. A plan, "NAME N", kills the
// process when the point is passed the N-th time, once.
const failpointSource = `package bug

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
)

var (
	failMu   sync.Mutex
	failSeen = map[string]int{}
)

func Failpoint(name string) {
	dir := os.Getenv("XDG_AGENCY_FAILPOINTS")
	if dir == "" {
		return
	}
	failMu.Lock()
	defer failMu.Unlock()
	failSeen[name]++
	this := fmt.Sprint(strings.ReplaceAll(name, " ", "_"), " ", failSeen[name])
	if f, err := os.OpenFile(dir+"/seen", os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600); err == nil {
		fmt.Fprintln(f, this)
		f.Close()
	}
	if plan, err := os.ReadFile(dir + "/plan"); err == nil && string(plan) == this {
		os.Remove(dir + "/plan")
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	}
}
`

func failpointEdits() []edit {
	return []edit{
		{"internal/land/queue.go", "func (o Options) reached(point string) {\n", "func (o Options) reached(point string) {\n\tbug.Failpoint(point)\n"},
		{"internal/land/queue.go", "import (\n", "import (\n\t\"agency/internal/bug\"\n"},
		{"internal/session/native/runner.go", "o.between = func(string) error { return nil }", "o.between = func(p string) error { bug.Failpoint(\"session.\" + p); return nil }"},
		{"internal/session/native/runner.go", "import (\n", "import (\n\t\"agency/internal/bug\"\n"},
		{"internal/store/batch.go", "_, err := w.exec(\"COMMIT\")\n", "bug.Failpoint(\"store.commit.before\")\n\t\t_, err := w.exec(\"COMMIT\")\n\t\tbug.Failpoint(\"store.commit.after\")\n"},
		{"internal/store/batch.go", "import (\n", "import (\n\t\"agency/internal/bug\"\n"},
	}
}

// elsewhere are points that this scenario cannot come to, with the test that
// does.
var elsewhere = map[string]string{
	"land.stacked":          "internal/land, the tests of batches",
	"merge.follow":          "internal/land, the tests of a person at work",
	"session.compact":       "internal/session/native, the tests of the context guard",
	"session.epoch_begun":   "internal/session/native, the tests of the context guard",
	"session.overflow":      "internal/session/native, the tests of the context guard",
	"session.summary_asked": "internal/session/native, the tests of the context guard",
}

var namedPoint = regexp.MustCompile(`\.(reached|between)\("([^"]+)"\)`)

// registry is every failpoint that the sources name.
func registry(t *testing.T) []string {
	t.Helper()
	points := map[string]bool{"store.commit.before": true, "store.commit.after": true}
	for dir, prefix := range map[string]string{"internal/land": "", "internal/session/native": "session."} {
		files, err := filepath.Glob(filepath.Join(moduleRoot(t), dir, "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			if strings.HasSuffix(f, "_test.go") {
				continue
			}
			b, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range namedPoint.FindAllStringSubmatch(string(b), -1) {
				points[prefix+strings.ReplaceAll(m[2], " ", "_")] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(points))
}

// TestFailpoints dies at each named point in turn, and at commits by the seed,
// with -long at every one; each time the run goes on and nothing is broken.
func TestFailpoints(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the command anew")
	}
	built := withFailpoints(t)
	calm := newFailStage(t, built)
	calm.goesOn()
	want, counts := calm.repo.Git("rev-parse", "HEAD^{tree}"), calm.seen()
	var plans []string
	for _, point := range registry(t) {
		if where, ok := elsewhere[point]; ok {
			t.Logf("%s: %s", point, where)
			continue
		}
		if counts[point] == 0 {
			t.Errorf("the point %s was not reached", point)
			continue
		}
		if !strings.HasPrefix(point, "store.") {
			plans = append(plans, point+" 1")
		}
	}
	plans = append(plans, commits(t, counts)...)
	if !*long { // the named points die in the tests of their own packages, too
		s := freshSeed(t)
		rand.New(rand.NewPCG(s, s)).Shuffle(len(plans), func(i, j int) { plans[i], plans[j] = plans[j], plans[i] })
		plans = plans[:min(len(plans), 8)]
	}
	for _, plan := range plans {
		t.Run(strings.ReplaceAll(plan, " ", "-"), func(t *testing.T) {
			t.Parallel()
			s := newFailStage(t, built)
			s.plan(plan)
			s.goesOn()
			if s.planned() {
				t.Logf("not passed in this run: %s", plan) // commits are grouped by time
			}
			s.whole(want)
		})
	}
}

// withFailpoints builds the command with its failpoints.
func withFailpoints(t *testing.T) (built string) {
	t.Helper()
	built = binary + "-failpoints"
	build := exec.Command("go", "build", overlay(t, failpointEdits(), map[string]string{"internal/bug/failpoint.go": failpointSource}), "-o", built, "agency/cmd/agency")
	build.Dir = moduleRoot(t)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("building with failpoints: %v\n%s", err, out)
	}
	return built
}

// commits are the sides of commits at which to die.
func commits(t *testing.T, counts map[string]int) []string {
	t.Helper()
	var plans []string
	for _, side := range []string{"store.commit.before", "store.commit.after"} {
		for n := 1; n <= counts[side]; n++ {
			plans = append(plans, fmt.Sprint(side, " ", n))
		}
	}
	if len(plans) == 0 {
		t.Error("no commit was seen")
	}
	return plans
}

// failStage is a stage whose host passes failpoints.
type failStage struct {
	*stage
	points string
}

func newFailStage(t *testing.T, built string) *failStage {
	t.Helper()
	s := newStage(t)
	s.bin = built
	f := &failStage{stage: s, points: t.TempDir()}
	s.env = append(s.env, "XDG_AGENCY_FAILPOINTS="+f.points)
	return f
}

func (f *failStage) plan(what string) {
	f.t.Helper()
	gittest.WriteFiles(f.t, f.points, "plan", what)
}

// planned tells whether the plan has not struck yet.
func (f *failStage) planned() bool {
	_, err := os.Stat(filepath.Join(f.points, "plan"))
	return err == nil
}

// goesOn runs to the end, through a death of the host. A death before the run
// was acknowledged leaves none: then it is asked for again.
func (f *failStage) goesOn() {
	f.t.Helper()
	out, errs, code := f.agency("run", "Renew a.txt", "--yes")
	for try := 0; code != 0 && try < 5; try++ {
		id := f.repo.Git("for-each-ref", "--format=%(refname)", "refs/heads/agency")
		runs, _, _ := f.agency("ps", "--json")
		if !strings.Contains(runs, `"renew-a-txt-`) {
			if id != "" {
				f.t.Logf("a branch of a run that nobody knows: %s", id)
			}
			out, errs, code = f.agency("run", "Renew a.txt", "--yes")
			continue
		}
		f.run = regexp.MustCompile(`renew-a-txt-[a-z0-9]+`).FindString(runs)
		out, errs, code = f.agency("resume", f.run, "--yes")
	}
	if code != 0 {
		f.t.Fatalf("the run ended with %d\n%s%s", code, out, errs)
	}
	f.run = regexp.MustCompile(`renew-a-txt-[a-z0-9]+`).FindString(out + errs)
}

// whole holds what is left against what must never be broken.
func (f *failStage) whole(want string) {
	f.t.Helper()
	f.rig.whole(want)
	f.repo.Sane()
	if out, errs, code := f.agency("doctor", "--run", f.run); code != 0 {
		f.t.Errorf("doctor --run: exit %d\n%s%s", code, out, errs)
	}
}

func (f *failStage) seen() map[string]int { return seenIn(f.t, f.points) }

// seenIn is how often each point was passed.
func seenIn(t *testing.T, points string) map[string]int {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(points, "seen"))
	if err != nil {
		t.Fatal(err)
	}
	counts := map[string]int{}
	for line := range strings.Lines(string(b)) {
		name, n, _ := strings.Cut(strings.TrimSpace(line), " ")
		if k, err := strconv.Atoi(n); err == nil {
			counts[name] = max(counts[name], k)
		}
	}
	return counts
}
