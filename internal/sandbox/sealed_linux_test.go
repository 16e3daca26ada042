package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"agency/internal/linux/overlay"
)

// sealing is a workspace with one cache that has a store, and what runs in it.
type sealing struct {
	*workspace
	r     *Runner
	store string
}

func newSealing(t *testing.T, r *Runner) sealing {
	w := newWorkspace(t)
	lower := filepath.Dir(w.write("cache/user", "user"))
	s := sealing{w, r, filepath.Join(w.dir, "warm")}
	w.spec.Tools.Overlays = []Overlay{{Lower: lower, At: "/srv/cache", Name: "go", Warm: s.store}}
	return s
}

// does runs a script, in layers of this name.
func (s sealing) does(layers string, seals bool, script string) string {
	s.t.Helper()
	spec := s.spec
	spec.LayerDir, spec.Seals, spec.Argv = filepath.Join(s.dir, layers), seals, sh(script)
	res := run(s.t, s.r, spec)
	if res.ExitCode != 0 || len(res.OwnCaches) > 0 {
		s.t.Fatalf("%d %v %s", res.ExitCode, res.OwnCaches, res.Output)
	}
	return printed(res)
}

// states are the folders of the store.
func (s sealing) states() (out []string) {
	entries, err := os.ReadDir(s.store)
	if err != nil {
		s.t.Fatal(err)
	}
	for _, e := range entries {
		if e.IsDir() {
			out = append(out, e.Name())
		}
	}
	return out
}

// What a command seals others begin with; what others write stays theirs, and nothing
// that is sealed changes under whoever has it.
func TestSealedCaches(t *testing.T) {
	eachForm(t, func(t *testing.T, r *Runner) {
		s := newSealing(t, r)
		const all = "cd /srv/cache && grep -r . . | sort"
		s.does("base", true, "echo one > /srv/cache/a; mkdir /srv/cache/d; echo two > /srv/cache/d/b; rm /srv/cache/user")
		if got := s.does("claim", false, all); got != "./a:one\n./d/b:two\n./user:user" {
			t.Errorf("a claim begins with %q", got)
		}
		s.does("claim", false, "cd /srv/cache; echo poison > a; echo poison > new; rm d/b; mkdir -p e; echo poison > e/x")
		if got := s.does("other", false, all); got != "./a:one\n./d/b:two\n./user:user" {
			t.Errorf("another begins with %q", got)
		}
		// The next command of the layer that was sealed has none of the sealed files to write.
		s.does("base", false, "cd /srv/cache; echo more >> a; echo left > over")
		if got := s.does("third", false, all); got != "./a:one\n./d/b:two\n./user:user" {
			t.Errorf("a third begins with %q", got)
		}
		s.does("base 2", true, "cd /srv/cache; echo three > a; rm d/b")
		if got := s.does("fourth", false, all); got != "./a:three\n./user:user" {
			t.Errorf("after the next state one begins with %q", got)
		}
		if got := s.states(); !slices.Equal(got, []string{"1", "2"}) { // the last began from the first of them
			t.Errorf("states %q are kept", got)
		}
	})
}

// A command that did not end by itself seals nothing, nor does one in a weaker tier.
func TestSealsOnlyWhatEnded(t *testing.T) {
	s := newSealing(t, full(t, Options{}))
	spec := s.spec
	spec.Seals, spec.Argv, spec.Limits.CPU = true, sh("echo one > /srv/cache/a; while :; do :; done"), 200*time.Millisecond
	if res := run(t, s.r, spec); res.Cause != CauseCPU {
		t.Fatal(res.Cause)
	}
	if got := s.states(); !slices.Equal(got, []string{"0"}) {
		t.Errorf("states %q", got)
	}
}

// A state stays while somebody begins from it; what a host that was killed left
// unfinished goes, and so does what is old.
func TestSealedStatesGo(t *testing.T) {
	s := newSealing(t, full(t, Options{}))
	s.does("base", true, "echo one > /srv/cache/a")
	var held overlay.Set
	at, err := held.Share(s.store)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"unfinished", "taken"} {
		s.write("warm/"+name+"/x", "x")
	}
	s.does("base", true, "echo two > /srv/cache/b")
	if b, err := os.ReadFile(filepath.Join(at, "a")); err != nil || strings.TrimSpace(string(b)) != "one" {
		t.Errorf("what is held: %q, %v", b, err)
	}
	held.Release()
	for _, name := range []string{"unfinished", "taken"} {
		s.write("warm/"+name+"/x", "x")
	}
	if err := SweepSealed(s.store, time.Now()); err != nil {
		t.Fatal(err)
	}
	if got := s.states(); !slices.Equal(got, []string{"2"}) {
		t.Errorf("states %q", got)
	}
	if err := SweepSealed(s.store, time.Now().Add(15*24*time.Hour)); err != nil {
		t.Fatal(err)
	}
	if got := s.states(); len(got) > 0 {
		t.Errorf("old states %q", got)
	}
	if got := s.does("claim", false, "ls /srv/cache"); got != "user" {
		t.Errorf("after that one begins with %q", got)
	}
}
