//go:build linux

package torture

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// part is a row of the programme that is proved by tests of other packages, in
// their long form.
type part struct {
	name, pkg, run string
	times          int
	args           []string
}

func parts() []part {
	return []part{
		{"kill -9 of the store", "./internal/store", "TestKill9", 1, nil},
		{"log cut at 200 offsets", "./internal/store", "TestLogCutAnywhere", 1, nil},
		{"full disk: store", "./internal/store", "TestDiskFull|TestReserve|TestFullDisk", 1, nil},
		{"full disk: host", "./internal/daemon", "TestFullDisk", 1, nil},
		{"foreign lock of 3 s, 32 clients", "./internal/store", "TestForeignLock", 3, nil},
		{"clocks and leases", "./internal/lease", ".", 3, nil},
		{"timers over restarts", "./internal/flow/local", "TestTimer", 3, nil},
		{"restart at every write of a run's journal", "./internal/flow/local", "TestEngine/Restart", 3, nil},
		{"death at each point of a session", "./internal/session/native", "TestDeath", 1, nil},
		{"death at each point of a landing", "./internal/land", "Kill|Recover", 1, nil},
		{"faults of models, 20 times", "./internal/session/native", "TestModelFaults", 1, []string{"-faults", "20"}},
		{"answers at gates: twice, late, at once", "./internal/daemon", "Gate|Answer", 1, nil},
		{"attacks on the sandbox", "./internal/sandbox/...", ".", 1, nil},
		{"attacks on the api", "./internal/serve", ".", 1, nil},
	}
}

// TestProgramme runs what other packages prove, and every fuzz target for ten
// seconds. The order of the rows is that of their length.
func TestProgramme(t *testing.T) {
	if !*long {
		t.Skip("the packages run these tests themselves; the whole programme: -long")
	}
	root := moduleRoot(t)
	for _, p := range parts() {
		t.Run(strings.ReplaceAll(p.name, " ", "-"), func(t *testing.T) {
			args := []string{"test", "-v", fmt.Sprint("-count=", p.times), "-timeout=1h", "-run", p.run, p.pkg}
			out := goCommand(t, root, append(args, p.args...)...)
			if !strings.Contains(out, "--- PASS") {
				t.Errorf("nothing ran: %s matches no test of %s", p.run, p.pkg)
			}
		})
	}
	for _, target := range fuzzTargets(t, root) {
		t.Run(target.name, func(t *testing.T) {
			goCommand(t, root, "test", "-run=^$", "-fuzz=^"+target.name+"$", "-fuzztime=10s", target.pkg)
		})
	}
}

func goCommand(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "AGENCY_TORTURE=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

type fuzzTarget struct{ name, pkg string }

var fuzzFunc = regexp.MustCompile(`(?m)^func (Fuzz\w+)\(`)

// fuzzTargets finds every one in the sources, so that none is forgotten.
func fuzzTargets(t *testing.T, root string) []fuzzTarget {
	t.Helper()
	var found []fuzzTarget
	err := filepath.WalkDir(filepath.Join(root, "internal"), func(p string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(p, "_test.go") {
			return err
		}
		b, err := os.ReadFile(p)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, filepath.Dir(p))
		for _, m := range fuzzFunc.FindAllStringSubmatch(string(b), -1) {
			found = append(found, fuzzTarget{m[1], "./" + filepath.ToSlash(rel)})
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) == 0 {
		t.Error("no fuzz target was found")
	}
	return found
}
