package git_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/git"
	"agency/internal/git/gittest"

	"github.com/google/go-cmp/cmp"
)

const hostile = "* -diff -text linguist-generated\n*.txt binary diff=hide\n.gitattributes -diff\nwide.txt working-tree-encoding=UTF-16LE export-ignore\n"

// Nothing that says how files are compared decides what a change is shown as:
// attributes in the checkout, the index, either tree, the repository's and the
// user's own folder, and drivers that the configuration names.
func TestAttributesHideNothing(t *testing.T) {
	show := func(t *testing.T, r *gittest.Repo, a, b agency.OID) (string, []git.Stat, []string) {
		h, err := git.NewProgram(t.Context(), git.Options{})
		if err != nil {
			t.Fatal(err)
		}
		loc := find(t, r.Dir)
		settings, err := h.ReadSettings(t.Context(), loc)
		if err != nil {
			t.Fatal(err)
		}
		private, err := h.Create(git.Private{Path: filepath.Join(t.TempDir(), "git"), Borrow: []string{loc.Objects()}, Settings: settings})
		if err != nil {
			t.Fatal(err)
		}
		var texts []string
		var stats []git.Stat
		var mentions []string
		for _, d := range []git.Dir{h.At(loc), private} {
			p, _, err := d.Diff().Patch(t.Context(), a, b, 1<<20, git.PatchOptions{Renames: true})
			var whole bytes.Buffer
			s, serr := d.Diff().Stats(t.Context(), a, b)
			m, merr := d.Diff().Mentions(t.Context(), b, "malice")
			if err := errors.Join(err, serr, merr, d.Diff().PatchTo(t.Context(), a, b, git.PatchOptions{}, &whole)); err != nil {
				t.Fatal(err)
			}
			texts = append(texts, string(p), whole.String())
			stats, mentions = append(stats, s...), append(mentions, m...)
		}
		return strings.Join(texts, "\n====\n"), stats, mentions
	}
	for where, place := range map[string]func(t *testing.T, r *gittest.Repo){
		"the checkout": func(_ *testing.T, r *gittest.Repo) { r.Write(".gitattributes", hostile) },
		"the index": func(t *testing.T, r *gittest.Repo) {
			r.Write(".gitattributes", "* -diff binary\n")
			r.Git("add", ".gitattributes")
			if err := os.Remove(r.Dir + "/.gitattributes"); err != nil {
				t.Fatal(err)
			}
		},
		"the repository's folder": func(t *testing.T, r *gittest.Repo) { gittest.WriteFiles(t, r.Dir+"/.git", "info/attributes", hostile) },
		"the configuration": func(t *testing.T, r *gittest.Repo) {
			gittest.WriteFiles(t, r.Dir+"/.git", "info/attributes", "* diff=hide\n", "more", hostile)
			for _, kv := range []string{"diff.hide.binary=true", "diff.hide.textconv=true", "diff.hide.command=true", "core.attributesFile=" + r.Dir + "/.git/more", "attr.tree=HEAD", "diff.orderFile=/nonexistent"} {
				k, v, _ := strings.Cut(kv, "=")
				r.Git("config", k, v)
			}
		},
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t, "a.txt", "one\n", "wide.txt", "one\n")
			a := r.Rev("HEAD")
			r.Write("a.txt", "malice\n", "wide.txt", "malice\n")
			b := r.Commit("change")
			place(t, r)
			text, stats, mentions := show(t, r, a, b)
			if strings.Count(text, "+malice") != 8 || strings.Contains(text, "Binary") || len(mentions) != 4 {
				t.Errorf("%d files mention it\n%s", len(mentions), text)
			}
			for _, s := range stats {
				if s.Binary || s.Added != 1 {
					t.Errorf("%+v", s)
				}
			}
		})
	}
	for where, trees := range map[string][2][]string{
		"the base":   {{".gitattributes", hostile, "a.txt", "one\n"}, {"a.txt", "malice\n"}},
		"the change": {{"a.txt", "one\n"}, {".gitattributes", hostile, "sub/.gitattributes", hostile, "a.txt", "malice\n"}},
	} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			r := gittest.New(t, trees[0]...)
			a := r.Rev("HEAD")
			r.Write(trees[1]...)
			b := r.Commit("change")
			text, stats, mentions := show(t, r, a, b)
			if strings.Count(text, "+malice") != 4 || strings.Contains(text, "Binary") || len(mentions) != 2 {
				t.Errorf("%d files mention it\n%s", len(mentions), text)
			}
			if where == "the change" && strings.Count(text, "linguist-generated") != 8 {
				t.Errorf("the attributes themselves are hidden\n%s", text)
			}
			for _, s := range stats {
				if s.Binary {
					t.Errorf("%+v", s)
				}
			}
		})
	}
}

// A view leaves nothing behind.
func TestViewsLeaveNothing(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	r := gittest.New(t, "a.txt", "one\n")
	h, err := git.NewProgram(t.Context(), git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := h.At(find(t, r.Dir)).Diff().Stats(t.Context(), r.Rev("HEAD"), r.Rev("HEAD")); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
}

// A patch names each path as it is.
func TestPatchPath(t *testing.T) {
	paths := []string{"a b.go", "t\t\"q\"\\é.go", "n\n\x01\x7f.go", "\xff\xfe.go", "\"", "b/c.go", "d\r/\a.go", "01\x0123.go"}
	r := gittest.New(t, "z", "z\n")
	base := r.Rev("HEAD")
	for _, p := range paths {
		r.Write(p, "text\n")
	}
	r.Git("rm", "-q", "z")
	h, err := git.NewProgram(t.Context(), git.Options{})
	if err != nil {
		t.Fatal(err)
	}
	d := h.At(find(t, r.Dir))
	patch, _, err := d.Diff().Patch(t.Context(), base, r.Commit("odd"), 1<<20, git.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for line := range strings.Lines(string(patch)) {
		if strings.HasPrefix(line, "+++ ") {
			got = append(got, git.PatchPath(strings.TrimSuffix(line, "\n")))
		}
	}
	slices.Sort(got)
	want := append(paths, "")
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
