package git_test

import (
	"path/filepath"
	"testing"

	"agency/internal/agency"
	"agency/internal/git/gittest"
)

// However a repository keeps a ref, it is where git says, also in a linked worktree; what is
// no ref is none.
func TestGetIsWhereGitSays(t *testing.T) {
	h := host(t)
	r := gittest.New(t, "a", "1")
	one := r.Rev("HEAD")
	two := r.Commit("two")
	linked := filepath.Join(t.TempDir(), "linked")
	r.Git("worktree", "add", "-q", "-b", "beside", linked, string(one))
	r.Git("branch", "packed", string(one))
	r.Git("branch", "both", string(one))
	r.Git("pack-refs", "--all")
	r.Git("branch", "-f", "both", string(two)) // a file of its own stands before the pack
	r.Git("branch", "loose", string(one))
	r.Git("symbolic-ref", "refs/heads/alias", "refs/heads/loose")
	r.Git("update-ref", "refs/agency/head", string(two))
	r.Git("update-ref", "refs/tags/refs/heads/missing", string(two)) // is no branch of that name
	want := map[string]agency.OID{
		"refs/heads/main": two, "refs/heads/packed": one, "refs/heads/both": two, "refs/heads/loose": one, "refs/heads/alias": one,
		"refs/heads/beside": one, "refs/agency/head": two, "refs/heads/missing": "", "refs/heads/loose/below": "", "refs/heads/b": "",
	}
	for _, at := range []string{r.Dir, linked} {
		refs := h.At(find(t, at)).Refs()
		for ref, id := range want {
			if got, err := refs.Get(t.Context(), ref); err != nil || got != id {
				t.Errorf("%s in %s: %q, want %q: %v", ref, at, got, id, err)
			}
		}
	}
}
