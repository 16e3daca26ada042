package doctor

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/sandbox"
	"agency/internal/slots"
	"agency/internal/store"
)

// probed is doctor's look at this machine, which must have a tier.
func probed(t *testing.T) sandbox.Report {
	t.Helper()
	runner, err := sandbox.New(sandbox.Options{Idle: -1})
	if err != nil {
		t.Skipf("needs a sandbox: %v", err)
	}
	if err := runner.Close(); err != nil {
		t.Fatal(err)
	}
	r := sandbox.Probe(t.Context(), sandbox.Options{})
	if r.Err != nil { // there is one, and an attempt made an end of it
		t.Fatal(r.Err)
	}
	return r
}

func at(fs []Finding, l Level) []Finding {
	var out []Finding
	for _, f := range fs {
		if f.Level == l {
			out = append(out, f)
		}
	}
	return out
}

// TestSandboxHolds tries to break out on this machine: nothing gets through that
// the tier does not name. A build with a wall less turns it red.
func TestSandboxHolds(t *testing.T) {
	r := probed(t)
	fs := checkSandbox(r)
	for _, f := range at(fs, Bad) {
		t.Errorf("%s: %s", f.Name, f.Detail)
	}
	if r.Tier == sandbox.TierFull && len(at(fs, Warn)) != 0 {
		t.Errorf("%+v", at(fs, Warn))
	}
	if len(r.Attempts) < 50 {
		t.Errorf("%d attempts", len(r.Attempts))
	}
}

// TestEachEscapeIsTold takes each attempt in turn for one that got through: it
// alone is told, by its name, and doctor's word is bad; one that the tier names
// as its gap is a warning.
func TestEachEscapeIsTold(t *testing.T) {
	r := probed(t)
	for i, a := range r.Attempts {
		for _, gap := range []bool{false, true} {
			broken := r
			broken.Gaps = nil
			broken.Refused = nil
			broken.Attempts = append([]sandbox.Attempt(nil), r.Attempts...)
			for j := range broken.Attempts {
				broken.Attempts[j] = sandbox.Attempt{Name: r.Attempts[j].Name, Stopped: j != i, Gap: gap, Detail: "got through"}
			}
			fs := checkSandbox(broken)
			level := Bad
			if gap {
				level = Warn
			}
			told := append(at(fs, Bad), at(fs, Warn)...)
			if !gap && len(told) == 2 && told[1].Name == "sandbox escapes" { // the sum is bad too
				told = told[:1]
			}
			if len(told) != 1 || told[0].Level != level || !strings.Contains(told[0].Name+told[0].Detail, a.Name) || Worst(fs) != level {
				t.Errorf("%s, gap %v: %+v", a.Name, gap, told)
			}
			if last := fs[len(fs)-1]; strings.Contains(last.Detail, "all stopped") {
				t.Errorf("%s: %s", a.Name, last.Detail)
			}
		}
	}
}

func TestSandboxFindings(t *testing.T) {
	refused := agency.Errorf(agency.KindTransient, "namespaces refused").WithMend("sudo sysctl x")
	for _, c := range []struct {
		name string
		r    sandbox.Report
		want []Finding
	}{
		{"none", sandbox.Report{Err: refused}, []Finding{{"sandbox", Bad, "namespaces refused", "sudo sysctl x"}}},
		{
			"nothing was tried",
			sandbox.Report{Tier: sandbox.TierFull, Landlock: 7, Seccomp: true, Cgroup: "v2"},
			[]Finding{
				{Name: "sandbox", Level: OK, Detail: "tier full, Landlock ABI 7, seccomp true, limits by cgroup v2"},
				{Name: "sandbox escapes", Level: Bad, Detail: "no attempt was made", Mend: mendSandbox},
			},
		},
		{
			"weaker tier",
			sandbox.Report{
				Tier: sandbox.TierLandlock, Landlock: 5, Seccomp: true, Refused: refused, Gaps: []string{"sockets"},
				Attempts: []sandbox.Attempt{{Name: "a", Stopped: true}, {Name: "b", Gap: true, Detail: "got through"}},
			},
			[]Finding{
				{"sandbox", Warn, "tier landlock, Landlock ABI 5, seccomp true, limits by counting; no full tier: namespaces refused", "sudo sysctl x"},
				{Name: "sandbox gap", Level: Warn, Detail: "sockets"},
				{Name: "sandbox gap", Level: Warn, Detail: "b: got through"},
				{Name: "sandbox escapes", Level: OK, Detail: "2 attempts, 1 stopped, 1 known gap"},
			},
		},
		{
			"one got through",
			sandbox.Report{
				Tier: sandbox.TierFull, Seccomp: true,
				Attempts: []sandbox.Attempt{{Name: "a", Stopped: true}, {Name: "b", Detail: "got through"}},
			},
			[]Finding{
				{Name: "sandbox", Level: OK, Detail: "tier full, Landlock ABI 0, seccomp true, limits by counting"},
				{"sandbox: b", Bad, "was not stopped: got through", mendSandbox},
				{"sandbox escapes", Bad, "2 attempts, 1 stopped", mendSandbox},
			},
		},
	} {
		if diff := cmp.Diff(c.want, checkSandbox(c.r)); diff != "" {
			t.Errorf("%s: %s", c.name, diff)
		}
	}
}

func TestWorst(t *testing.T) {
	for _, c := range []struct {
		levels []Level
		want   Level
	}{{nil, OK}, {[]Level{OK, OK}, OK}, {[]Level{OK, Warn}, Warn}, {[]Level{Warn, OK, Bad}, Bad}, {[]Level{Bad, Warn}, Bad}} {
		var fs []Finding
		for _, l := range c.levels {
			fs = append(fs, Finding{Level: l})
		}
		if got := Worst(fs); got != c.want {
			t.Errorf("%v: %s", c.levels, got)
		}
	}
}

// TestMachineFindings looks at keys, commands, disk and store that are and are
// not as they should be.
func TestMachineFindings(t *testing.T) {
	m := Machine{
		Commands: check.Commands{Test: "go test ./..."},
		Keys:     []Key{{Provider: "a", Model: "a/m"}, {Provider: "b", Err: agency.Errorf(agency.KindInvalid, "no key").WithMend("export B_KEY=...")}, {Provider: "c", Model: "c/m", Placeholder: true}},
	}
	keys := m.checkKeys()
	if len(keys) != 3 || strings.Contains(keys[0].Detail, "placeholder") || keys[2].Level != OK || !strings.Contains(keys[2].Detail, "placeholder") || keys[0].Level != OK || keys[1].Level != Warn || keys[1].Mend != "export B_KEY=..." {
		t.Errorf("%+v", keys)
	}
	if fs := m.checkCommands(); fs[0].Level != OK {
		t.Errorf("%+v", fs)
	}
	for _, c := range []struct {
		m     Machine
		level Level
		want  string
	}{
		{Machine{}, Warn, "no test command is known: nothing checks the work"},
		{Machine{Commands: check.Commands{Setup: "npm ci", Lint: "eslint ."}}, Warn, "no test command is known: lint alone checks the work"},
		{Machine{Untested: true, Commands: check.Commands{Build: "make", Typecheck: "tsc", Lint: "eslint ."}}, OK, "as commands.test says: build, typecheck and lint alone check the work"},
	} {
		if f := c.m.checkCommands()[0]; f.Level != c.level || !strings.HasSuffix(f.Detail, c.want) || (f.Mend == "") != (c.level == OK) {
			t.Errorf("%+v", f)
		}
	}
	counts := map[string]int{"gpu": 2, "build": 1}
	scarce := Machine{Resources: counts, Slots: slots.New(filepath.Join(t.TempDir(), "resources"), counts)}
	if fs := (Machine{}).checkResources(); len(fs) != 0 {
		t.Errorf("%+v", fs)
	}
	held, err := scarce.Slots.Take(t.Context(), []string{"gpu"}, slots.Wait{})
	if err != nil {
		t.Fatal(err)
	}
	defer held.Release()
	if fs := scarce.checkResources(); len(fs) != 1 || fs[0].Level != OK || fs[0].Detail != "build: 1 of 1 free, gpu: 1 of 2 free" {
		t.Errorf("%+v", fs)
	}
	if f := checkDisk(filepath.Join(t.TempDir(), "not", "there", "yet")); f.Level == Bad || !strings.Contains(f.Detail, "MiB free") {
		t.Errorf("%+v", f)
	}
	if f := checkGit(t.Context()); f.Level != OK || !strings.Contains(f.Detail, ".") {
		t.Errorf("%+v", f)
	}
}

// TestLeftAndHiddenAreTold names each process that was left, with what ends it, and
// each folder that is not shown, with why.
func TestLeftAndHiddenAreTold(t *testing.T) {
	left := checkLeft([]sandbox.Left{{PID: 4711, Age: 90 * time.Second, Command: "make watch"}, {PID: 4712, Age: time.Second, Command: "sleep"}})
	for _, want := range []string{"4711", "1m30s old", "make watch", "4712"} {
		if !strings.Contains(left.Detail, want) {
			t.Errorf("no %q in %+v", want, left)
		}
	}
	if left.Level != Warn || !strings.Contains(left.Mend, "kill -KILL 4711 4712") {
		t.Errorf("%+v", left)
	}
	if f := checkLeft(nil); f.Level != OK || f.Mend != "" {
		t.Errorf("%+v", f)
	}
	reasons := []string{"commands do not see /home/x/.ssh: it holds keys", "commands do not see /opt: it is too much"}
	fs := Machine{Refused: reasons}.checkSight()
	if len(fs) != 2 || fs[0].Level != Warn || fs[0].Detail != reasons[0] || fs[1].Detail != reasons[1] {
		t.Errorf("%+v", fs)
	}
	if fs := (Machine{}).checkSight(); len(fs) != 1 || fs[0].Level != OK {
		t.Errorf("%+v", fs)
	}
	fs = Machine{Toolchain: agency.Errorf(agency.KindInvalid, "no go command").WithMend("install Go")}.checkSight()
	if len(fs) != 1 || fs[0].Level != Warn || fs[0].Mend != "install Go" {
		t.Errorf("%+v", fs)
	}
}

// TestStoreFindings looks at no store, a whole one, and one whose middle was
// overwritten.
func TestStoreFindings(t *testing.T) {
	if f := (Machine{}).checkStore(t.Context()); f.Level != OK || f.Detail != "none yet" {
		t.Errorf("%+v", f)
	}
	path := filepath.Join(t.TempDir(), "agency.db")
	db, err := store.Open(t.Context(), store.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if f := (Machine{DB: path}).checkStore(t.Context()); f.Level != OK {
		t.Errorf("%+v", f)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	copy(b[len(b)/2:], strings.Repeat("\xff", len(b)/4))
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if f := (Machine{DB: path}).checkStore(t.Context()); f.Level != Bad {
		t.Errorf("%+v", f)
	}
}

// TestFsck finds an object that is gone.
func TestFsck(t *testing.T) {
	if err := fsck(context.Background(), t.TempDir()); err == nil || !strings.Contains(err.Error(), "git fsck") {
		t.Errorf("an empty folder is whole: %v", err)
	}
	if err := fsck(t.Context(), filepath.Join(t.TempDir(), "none")); err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("no folder is whole: %v", err)
	}
}
