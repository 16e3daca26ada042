package check_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/ecosystem"
	"agency/internal/sandbox"
)

// TestReuse takes a receipt over for another contract and stage only where
// nothing that a result depends on differs: tree, command, folder, toolchain,
// limits, hosts, what is readable, and what is installed.
func TestReuse(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"x/lock": "1"})
	tools := sandbox.Toolchain{}
	user := t.TempDir()
	lock := func(text string) {
		if err := os.WriteFile(filepath.Join(user, "lock"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lock("1")
	plain := check.Options{Runner: w.runner, DB: w.db, Environment: ecosystem.Environment{Tools: tools, Version: "1"}, LayerDir: w.layers}
	installed := plain
	installed.Dependencies = []check.Dependency{{Unit: ecosystem.Unit{Folder: "deps", Locks: []string{"lock"}}, Host: filepath.Join(user, "deps"), Repo: user}}
	run := func(o check.Options, contract agency.ContractID, edit func(*check.Subject, *check.Command)) agency.Receipt {
		t.Helper()
		s, cmd := w.subject("tree"), test("echo ok")
		s.Contract, s.Stage = contract, check.StageLanding
		if edit != nil {
			edit(&s, &cmd)
		}
		r, err := check.New(o).Run(t.Context(), s, cmd)
		if err != nil || !r.OK() {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	first := run(plain, "first", nil)
	if again := run(plain, "second", nil); again.CopyOf != first.ID || again.ContractID != "second" {
		t.Errorf("an equal check of another contract ran again: %+v", again)
	}
	with := run(installed, "third", nil)
	if with.CopyOf != "" {
		t.Error("what is installed makes no difference")
	}
	if again := run(installed, "fourth", nil); again.CopyOf != with.ID {
		t.Errorf("an equal check of the same installation ran again: %+v", again)
	}
	lock("2")
	if changed := run(installed, "fifth", nil); changed.CopyOf != "" {
		t.Error("another lockfile makes no difference")
	}
	other := func(edit func(*check.Options)) check.Options {
		o := plain
		edit(&o)
		return o
	}
	for name, o := range map[string]check.Options{
		"toolchain": other(func(o *check.Options) { o.Version = "2" }),
		"variable":  other(func(o *check.Options) { o.Tools.Env = []string{"A=b"} }),
		"limits":    other(func(o *check.Options) { o.Limits.MemoryMB = 512 }),
		"reads":     other(func(o *check.Options) { o.Reads = []sandbox.Mount{{Host: user, At: user}} }),
	} {
		if r := run(o, agency.ContractID(name), nil); r.CopyOf != "" {
			t.Errorf("another %s makes no difference", name)
		}
	}
	for name, edit := range map[string]func(*check.Subject, *check.Command){
		"command": func(_ *check.Subject, c *check.Command) { c.Line = "echo  ok" },
		"tree":    func(s *check.Subject, _ *check.Command) { s.Tree = "another" },
		"no tree": func(s *check.Subject, _ *check.Command) { s.Tree = "" },
		"folder":  func(s *check.Subject, _ *check.Command) { s.Dir = "x" },
		"layer":   func(s *check.Subject, _ *check.Command) { s.Layer = check.LayerVerify },
		"timeout": func(_ *check.Subject, c *check.Command) { c.Timeout = time.Minute },
	} {
		if r := run(plain, agency.ContractID(name), edit); r.CopyOf != "" {
			t.Errorf("another %s makes no difference", name)
		}
	}
}
