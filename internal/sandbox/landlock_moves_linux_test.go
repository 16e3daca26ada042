package sandbox

import (
	"os"
	"path/filepath"
	"testing"
)

// TestLandlockMoves renames and links between the folders of a checkout, as
// compilers and package managers do, and between it and what else can be written.
func TestLandlockMoves(t *testing.T) {
	r, w := open(t, Options{}), newWorkspace(t)
	w.spec.Place.GitDir = filepath.Dir(w.write("git/HEAD", "ref: refs/heads/x\n"))
	w.spec.Out = filepath.Join(w.dir, "out") // on the checkout's file system
	if err := os.Mkdir(w.spec.Out, 0o755); err != nil {
		t.Fatal(err)
	}
	w.spec.Argv = sh(`set -e
		mkdir -p a/deep b && echo one >a/deep/file && ln a/deep/file b/linked && mv a/deep/file b/moved
		[ b/linked -ef b/moved ] && mv -T a/deep b/folder && mkdir b/folder/in && ln b/linked top
		ln b/linked ` + w.spec.Out + `/linked && ln b/linked ` + w.spec.Place.GitDir + `/linked
		cd $TMPDIR && mkdir c d && touch c/f && ln c/f d/linked && mv c/f d/moved`)
	for range 2 { // cold, then warm
		if res := openly(t, r, w); res.ExitCode != 0 {
			t.Fatalf("%d %s", res.ExitCode, res.Output)
		}
		for _, dir := range []string{w.spec.Place.Root, w.spec.Out, w.spec.Place.GitDir} {
			if err := os.RemoveAll(filepath.Join(dir, "linked")); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"a", "b", "top"} {
			if err := os.RemoveAll(filepath.Join(w.spec.Place.Root, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestLandlockMovesNoRights moves nothing, and links nothing, to where a command
// may do more with it than where it lies, nor the other way round. All of it is on
// one file system, whose user owns it.
func TestLandlockMovesNoRights(t *testing.T) {
	r, w := open(t, Options{}), newWorkspace(t)
	shown, outside := w.write("shown/in/file", "shown"), w.write("outside/file", "outside")
	object, lower := w.write("objects/ab/file", "object"), w.write("lower/file", "cache")
	user := w.write("user/.venv/file", "the user's checkout")
	git := filepath.Dir(w.write("git/HEAD", "ref: refs/heads/x\n"))
	w.spec.Place.At, w.spec.Place.GitDir = filepath.Join(w.dir, "user"), git
	w.spec.Place.Objects = []string{filepath.Join(w.dir, "objects")}
	w.spec.Reads = []Mount{{Host: filepath.Join(w.dir, "shown"), At: filepath.Join(w.dir, "shown")}}
	w.spec.Tools.Overlays = []Overlay{{Lower: filepath.Dir(lower), At: filepath.Dir(lower), Name: "c"}}
	root := w.spec.Place.Root
	try := func(mine string, theirs ...string) {
		t.Helper()
		w.write("tree/mine", "mine")
		into := filepath.Join(mine, "taken")
		for _, victim := range theirs {
			before, err := os.ReadFile(victim)
			if err != nil {
				t.Fatal(err)
			}
			for _, argv := range [][]string{
				{"hard link", victim, into},
				{"rename", victim, into},
				{"rename", filepath.Dir(victim), into},
				{"swap", victim, filepath.Join(mine, "mine")},
				{"hard link", filepath.Join(mine, "mine"), victim + ".new"},
				{"rename", filepath.Join(mine, "mine"), victim + ".new"},
				{"rename", filepath.Join(mine, "mine"), victim},
			} {
				w.spec.Argv = append([]string{attackerAt, attackerArg}, argv...)
				if res := openly(t, r, w); res.ExitCode != 0 || res.Cause != CauseExited {
					t.Errorf("%v: %s %d %s", argv, res.Cause, res.ExitCode, res.Output)
				}
			}
			if after, err := os.ReadFile(victim); err != nil || string(after) != string(before) {
				t.Errorf("%s: %q, was %q: %v", victim, after, before, err)
			}
		}
	}
	try(root, shown, outside, object, lower, user)
	w.write("git/mine", "mine")
	w.spec.Place.ReadOnly = true
	try(git, shown, outside, w.write("tree/sub/file", "of a checkout that is only read"))
}
