package git_test

import (
	"slices"
	"testing"

	"agency/internal/git"
	"agency/internal/git/gittest"
)

// Names that begin like a commit of the log, or with a line break, are names.
func TestLogChanges(t *testing.T) {
	r := gittest.New(t, "a.txt", "one\n", "gone.txt", "x\n")
	base := r.Rev("HEAD")
	r.Write("a.txt", "two\n", "\x01odd", "y\n", "\nline", "z\n")
	r.Git("rm", "-q", "gone.txt")
	first := r.Commit("first")
	r.Git("commit", "-q", "--allow-empty", "-m", "nothing")
	r.Write("b c.txt", "b\n")
	last := r.Commit("last")
	d := private(t, host(t), find(t, r.Dir), git.Settings{})
	got, err := d.Diff().LogChanges(t.Context(), last, base)
	if err != nil || len(got) != 3 || got[0].Commit != last || got[2].Commit != first || got[0].Tree != r.Rev(string(last)+"^{tree}") {
		t.Fatalf("%+v %v", got, err)
	}
	var names []string
	for _, l := range got {
		for _, c := range l.Changes {
			names = append(names, string(c.Status)+c.Path)
		}
	}
	if want := []string{"Ab c.txt", "A\x01odd", "A\nline", "Ma.txt", "Dgone.txt"}; !slices.Equal(sorted(names), sorted(want)) {
		t.Errorf("changes %q", names)
	}
}

func sorted(s []string) []string { return slices.Sorted(slices.Values(s)) }
