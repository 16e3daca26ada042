//go:build linux

package torture

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"agency/internal/git/gittest"

	"github.com/google/go-cmp/cmp"
)

// changer writes a.txt, or what its goal names, and claims.
const changer = `version: 1
name: changer
rules:
  - when: {turn: 1, goal: clash}
    calls: [{tool: write_file, args: {path: A.TXT, content: "new\n"}}]
  - when: {turn: 1, goal: line}
    calls: [{tool: edit_file, args: {path: a.txt, old_text: "two", new_text: "2"}}]
  - when: {turn: 1, goal: submodule}
    calls:
      - {tool: read_file, args: {path: sub/lib.txt}}
      - {tool: write_file, args: {path: sub/lib.txt, content: "x\n"}}
  - when: {turn: 2, goal: submodule}
    calls: [{tool: run_command, args: {command: "cat sub/lib.txt > a.txt && echo y > sub/lib.txt"}}]
  - when: {turn: 3, goal: submodule}
    calls: [{tool: signal_complete, args: {evidence: done}}]
  - when: {turn: 1, goal: traps}
    calls:
      - tool: run_command
        args:
          command: |
            echo new > a.txt
            printf '[core]\n\tfsmonitor = touch ran\n\thooksPath = /tmp\n[include]\n\tpath = /etc/passwd\n' >> .git/config
            mkdir -p .git/objects/info .git/objects/pack .git/hooks
            printf '/\n/etc\n' > .git/objects/info/alternates
            printf '#!/bin/sh\ntouch ran\n' > .git/hooks/post-checkout; chmod 755 .git/hooks/post-checkout
            head -c 3000000 /dev/zero > .git/index
            head -c 3000000 /dev/zero > .git/objects/pack/pack-0000000000000000000000000000000000000000.pack
            head -c 3000000 /dev/zero > .git/objects/pack/pack-0000000000000000000000000000000000000000.idx
            echo 'ref: refs/heads/../../../x' > .git/HEAD
            ln -s / .git/refs/heads/root; mkfifo .git/packed-refs
  - when: {turn: 1}
    calls: [{tool: write_file, args: {path: a.txt, content: "new\n"}}]
  - when: {turn: "2+"}
    calls: [{tool: signal_complete, args: {evidence: done}}]
`

// stage is a user's repository with a fault, and a run in it.
type stage struct {
	*rig
	dir string // where the user works
	run string
}

// fault is one row of the table.
type fault struct {
	name  string
	goal  string
	setup func(s *stage) // before the run; nil: none
	args  []string       // of run
	code  int            // of run: 2 refused, 3 waits at the merge gate
	says  []string       // what the refusal names
	// gate is what happens while the merge gate is open.
	gate func(s *stage)
	// refused is what the refusal of the merge names; empty: it is done.
	refused []string
	// mend is what the refusal said to do; the next approval must land.
	mend func(s *stage)
	// after looks at what has landed.
	after func(s *stage)
}

// TestGitFaults is the row "git faults" of the programme: every one has a
// named outcome, and what was not landed has not touched the user's tree.
func TestGitFaults(t *testing.T) {
	for i, f := range faults() {
		if testing.Short() && i%2 != 0 {
			continue
		}
		t.Run(strings.ReplaceAll(f.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			f.play(newStage(t))
		})
	}
}

func newStage(t *testing.T) *stage {
	t.Helper()
	play := filepath.Join(t.TempDir(), "changer.yaml")
	if err := os.WriteFile(play, []byte(changer), 0o600); err != nil {
		t.Fatal(err)
	}
	s := &stage{rig: newUser(t, fmt.Sprintf("version: 1\nretry_budget: 1\ncommands: {test: \"\"}\nproviders:\n  rehearsal: {type: rehearsal, script: %q}\nmodels:\n  capable: [rehearsal/m]\n", play))}
	s.repo = gittest.New(t, "a.txt", "one\n", "b.txt", "b\n")
	s.dir = s.repo.Dir
	return s
}

func (f fault) play(s *stage) {
	t := s.t
	t.Helper()
	if f.setup != nil {
		f.setup(s)
	}
	goal := f.goal
	if goal == "" {
		goal = "Renew a.txt"
	}
	before := s.state()
	out, errs, code := s.agencyIn(s.dir, append([]string{"run", goal, "--no-wait"}, f.args...)...)
	want := f.code
	if want == 0 {
		want = 3
	}
	says(t, "run", out+errs, code, want, f.says)
	same(t, "the run", before, s.state())
	if want != 3 {
		return
	}
	s.run = s.id()
	if f.gate != nil {
		f.gate(s)
	}
	before = s.state()
	out, errs, code = s.approve()
	if len(f.refused) > 0 {
		says(t, "approve", out+errs+s.must("inspect", s.run), code, 3, f.refused)
		same(t, "the refused merge", before, s.state())
		if f.mend == nil {
			return
		}
		f.mend(s)
		out, errs, code = s.approve()
	}
	says(t, "approve", out+errs, code, 0, nil)
	if f.after != nil {
		f.after(s)
	}
	s.repo.Sane()
	if out, errs, code := s.agency("doctor", "--run", s.run); code != 0 {
		t.Errorf("doctor --run: exit %d\n%s%s", code, out, errs)
	}
}

func (s *stage) id() string {
	s.t.Helper()
	out := s.repo.Git("for-each-ref", "--format=%(refname)", "refs/heads/agency")
	id, ok := strings.CutSuffix(strings.TrimPrefix(out, "refs/heads/agency/"), "/main")
	if !ok {
		s.t.Fatalf("branches of runs: %q", out)
	}
	return id
}

func (s *stage) approve() (out, errs string, code int) { return s.agency("approve", s.run) }

func says(t *testing.T, what, text string, code, want int, words []string) {
	t.Helper()
	if code != want {
		t.Fatalf("%s: exit %d, want %d\n%s", what, code, want, text)
	}
	for _, w := range words {
		if !strings.Contains(text, w) {
			t.Errorf("%s does not say %q:\n%s", what, w, text)
		}
	}
}

// state is everything of the user's that a run must leave as it is: each file,
// the index byte by byte, HEAD, all refs but the runs' own, and the worktrees.
func (s *stage) state() map[string]string {
	s.t.Helper()
	name := filepath.Base(s.repo.Dir)
	found := gittest.Fingerprint(s.t, filepath.Dir(s.repo.Dir), func(rel string) bool {
		for _, keep := range []string{"/.git", "/.git/index", "/.git/HEAD", "/.git/config", "/.git/shallow", "/.git/packed-refs", "/.git/worktrees", "/.git/modules"} {
			if rest, ok := strings.CutPrefix(rel, name); ok && (rest == keep || strings.HasPrefix(rest, "/.git/worktrees/")) {
				return false
			}
		}
		return strings.HasPrefix(rel, name+"/.git/")
	})
	refs, _ := s.repo.Try("for-each-ref", "--format=%(refname) %(objectname)", "--exclude=refs/heads/agency") // --exclude is newer than some gits
	if strings.Contains(refs, "unknown option") {
		refs = ""
		for line := range strings.Lines(s.repo.Git("for-each-ref", "--format=%(refname) %(objectname)")) {
			if !strings.HasPrefix(line, "refs/heads/agency/") {
				refs += line
			}
		}
	}
	found["refs"] = refs
	found["worktrees"], _ = s.repo.Try("worktree", "list")
	return found
}

func same(t *testing.T, who string, before, after map[string]string) {
	t.Helper()
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("%s changed what is the user's:\n%s", who, diff)
	}
}

func (s *stage) remove(path string) {
	s.t.Helper()
	if err := os.RemoveAll(filepath.Join(s.repo.Dir, path)); err != nil {
		s.t.Fatal(err)
	}
}

// in is git in another folder of the user's.
func (s *stage) in(dir string, args ...string) string {
	s.t.Helper()
	r := &gittest.Repo{T: s.t, Dir: dir}
	return r.Git(args...)
}

// clone makes the stage's repository a clone of another.
func (s *stage) clone(args ...string) {
	s.t.Helper()
	from := s.repo.Dir + "-origin"
	if err := os.Rename(s.repo.Dir, from); err != nil {
		s.t.Fatal(err)
	}
	cmd := exec.Command("git", append(append([]string{"clone", "-q"}, args...), "file://"+from, s.repo.Dir)...)
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		s.t.Fatalf("git clone: %v\n%s", err, out)
	}
}

func (s *stage) lands(path, want string) {
	s.t.Helper()
	b, err := os.ReadFile(filepath.Join(s.dir, path))
	if err != nil || string(b) != want {
		s.t.Errorf("%s holds %q, want %q: %v", path, b, want, err)
	}
}
