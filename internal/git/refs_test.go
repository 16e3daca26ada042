package git_test

import (
	"os"
	"path/filepath"
	"strings"
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

// Wherever HEAD points, and however its branch is kept, HEAD and the list of checkouts are what
// git says.
func TestHeadIsWhereGitSays(t *testing.T) {
	h := host(t)
	for name, arrange := range map[string]func(*gittest.Repo){
		"branch":   func(*gittest.Repo) {},
		"detached": func(r *gittest.Repo) { r.Git("checkout", "-q", "--detach") },
		"packed":   func(r *gittest.Repo) { r.Git("pack-refs", "--all") },
		"alias": func(r *gittest.Repo) {
			r.Git("symbolic-ref", "refs/heads/alias", "refs/heads/main")
			r.Git("symbolic-ref", "HEAD", "refs/heads/alias")
		},
		"unborn":    func(r *gittest.Repo) { r.Git("checkout", "-q", "--orphan", "new") },
		"elsewhere": func(r *gittest.Repo) { r.Git("symbolic-ref", "HEAD", "refs/agency/x") },
		"linked":    func(r *gittest.Repo) { r.Git("worktree", "add", "-q", filepath.Join(t.TempDir(), "linked")) },
		"bare": func(r *gittest.Repo) {
			r.Git("config", "core.bare", "true")
			if err := os.Remove(filepath.Join(r.Dir, ".git", "index")); err != nil {
				t.Fatal(err)
			}
		},
		"newline": func(r *gittest.Repo) {
			if err := os.WriteFile(filepath.Join(r.Dir, ".git", "HEAD"), []byte("ref:  refs/heads/main"), 0o600); err != nil {
				t.Fatal(err)
			}
		},
	} {
		r := gittest.New(t, "a", "1")
		arrange(r)
		refs := h.At(find(t, r.Dir)).Refs()
		ref, _ := r.Try("symbolic-ref", "--quiet", "HEAD")
		id, _ := r.Try("rev-parse", "--verify", "--quiet", "HEAD^{commit}")
		got, err := refs.Head(t.Context())
		if err != nil || got.Ref != strings.TrimSpace(ref) || string(got.Commit) != strings.TrimSpace(id) {
			t.Errorf("%s: HEAD is %+v, git says %q %q: %v", name, got, ref, id, err)
		}
		trees, err := refs.Worktrees(t.Context())
		said := r.Git("worktree", "list", "--porcelain")
		var list strings.Builder
		for _, w := range trees {
			list.WriteString("worktree " + w.Path + "\n")
			if w.Bare {
				list.WriteString("bare\n")
			}
			if w.Branch != "" {
				list.WriteString("branch " + w.Branch + "\n")
			}
		}
		want := ""
		for line := range strings.Lines(said) {
			if key, _, _ := strings.Cut(strings.TrimSpace(line), " "); key == "worktree" || key == "bare" || key == "branch" {
				want += strings.TrimSpace(line) + "\n"
			}
		}
		if err != nil || list.String() != want {
			t.Errorf("%s: the checkouts are\n%s, git says\n%s%v", name, &list, want, err)
		}
	}
}
