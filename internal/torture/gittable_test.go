//go:build linux

package torture

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/git/gittest"
)

func faults() []fault {
	return slices.Concat(faultsOfState(), faultsOfForm(), faultsOfKeeping())
}

// faultsOfState are what users and other programs do to a repository.
func faultsOfState() []fault {
	landed := func(s *stage) { s.lands("a.txt", "new\n") }
	return []fault{
		{
			name: "stale index.lock", setup: func(s *stage) { s.repo.Write(".git/index.lock", "") },
			refused: []string{"index.lock", "rm '"}, mend: func(s *stage) { s.remove(".git/index.lock") }, after: landed,
		},
		{
			name: "conflict", gate: func(s *stage) { s.repo.Write("a.txt", "mine\n"); s.repo.Commit("mine") },
			refused: []string{"a.txt", "git merge agency/"},
		},
		{
			name: "dirty tree", gate: func(s *stage) { s.repo.Write("a.txt", "mine\n", "b.txt", "mine too\n") },
			refused: []string{"a.txt"}, mend: func(s *stage) { s.repo.Git("checkout", "-q", "a.txt") },
			after: func(s *stage) { s.lands("a.txt", "new\n"); s.lands("b.txt", "mine too\n") },
		},
		{
			name: "detached head", setup: func(s *stage) { s.repo.Git("checkout", "-q", "--detach") },
			code: 2, says: []string{"HEAD is detached", "--target BRANCH"},
		},
		{
			name: "detached head with a target", setup: func(s *stage) { s.repo.Git("checkout", "-q", "--detach") },
			args: []string{"--target", "main"}, after: func(s *stage) {
				s.lands("a.txt", "one\n")
				if got := s.repo.Git("show", "main:a.txt"); got != "new" {
					s.t.Errorf("main holds %q", got)
				}
			},
		},
		{
			name: "unborn head", setup: func(s *stage) { s.repo = gittest.Init(s.t); s.dir = s.repo.Dir },
			code: 2, says: []string{"has no commit yet", "git commit"},
		},
		{
			name: "linked worktree", setup: func(s *stage) { s.link() },
			after: func(s *stage) {
				s.lands("a.txt", "new\n")
				if s.repo.Read("a.txt") != "one\n" || strings.Count(s.repo.Git("worktree", "list"), "\n") != 1 {
					s.t.Error("the main worktree is no longer as it was")
				}
			},
		},
		{
			name: "ref moved underneath", gate: func(s *stage) { s.repo.Write("b.txt", "theirs\n"); s.repo.Commit("theirs") },
			after: func(s *stage) { landed(s); s.lands("b.txt", "theirs\n") },
		},
		{
			name: "deleted branch", gate: func(s *stage) {
				s.repo.Git("tag", "keep", "agency/"+s.run+"/main")
				s.repo.Git("branch", "-q", "-D", "agency/"+s.run+"/main")
			},
			refused: []string{"git branch agency/"}, mend: func(s *stage) { s.repo.Git("branch", "agency/"+s.run+"/main", "keep") }, after: landed,
		},
		{
			name: "worktree gone", setup: func(s *stage) { s.link() },
			gate: func(s *stage) {
				if err := os.RemoveAll(s.dir); err != nil {
					s.t.Fatal(err)
				}
			},
			after: func(s *stage) {
				if got := s.repo.Git("show", "side:a.txt"); got != "new" {
					s.t.Errorf("side holds %q", got)
				}
			},
		},
	}
}

// faultsOfForm are repositories that are not plain.
func faultsOfForm() []fault {
	landed := func(s *stage) { s.lands("a.txt", "new\n") }
	return []fault{
		{
			name: "submodule", goal: "Copy the submodule", setup: func(s *stage) { s.submodule() },
			after: func(s *stage) {
				s.lands("a.txt", "lib\n")
				s.lands("sub/lib.txt", "lib\n")
				if out := s.repo.Git("status", "--porcelain"); out != "" {
					s.t.Errorf("the checkout is not clean:\n%s", out)
				}
			},
		},
		{
			name: "shallow", setup: func(s *stage) {
				s.repo.Write("b.txt", "2\n")
				s.repo.Commit("second")
				s.clone("--depth", "1")
			},
			after: landed,
		},
		{
			name: "missing object", setup: func(s *stage) {
				id := s.repo.Git("rev-parse", "HEAD:b.txt")
				s.remove(".git/objects/" + id[:2] + "/" + id[2:])
			},
			code: 2, says: []string{"missing", "git fsck"},
		},
		{
			name: "case clash", goal: "Make a clash", code: 1, says: []string{"A.TXT", "upper and lower case"},
		},
		{
			name: "CRLF", goal: "Change a line", setup: func(s *stage) {
				s.repo.Git("config", "core.autocrlf", "true")
				s.repo.Write("a.txt", "one\r\ntwo\r\n", "unix.txt", "u\n", ".gitattributes", "unix.txt eol=lf\n")
				s.repo.Commit("lines")
			},
			after: func(s *stage) {
				s.lands("a.txt", "one\r\n2\r\n")
				s.lands("unix.txt", "u\n")
				if out := s.repo.Git("status", "--porcelain"); out != "" {
					s.t.Errorf("the checkout is not clean:\n%s", out)
				}
				if out := s.repo.Git("show", "--stat=80", "--format=", "--first-parent", "HEAD"); !strings.Contains(out, "1 insertion(+), 1 deletion(-)") {
					s.t.Errorf("more than a line has changed:\n%s", out)
				}
			},
		},
	}
}

// faultsOfKeeping are the other ways in which repositories keep their files,
// and what an agent may leave in the git directory that it is shown.
func faultsOfKeeping() []fault {
	landed := func(s *stage) { s.lands("a.txt", "new\n") }
	return []fault{
		{
			name: "LFS", setup: func(s *stage) { s.lfs() },
			after: func(s *stage) {
				s.lands("a.txt", "new\n")
				s.lands("x.bin", "the content\n")
				if got := s.repo.Git("show", "HEAD:x.bin"); !strings.HasPrefix(got, "version ") {
					s.t.Errorf("not a pointer: %q", got)
				}
				if _, err := os.Stat(filepath.Join(s.home, "ran")); err == nil {
					s.t.Error("a filter ran")
				}
			},
		},
		{
			name: "git-crypt", setup: func(s *stage) {
				s.repo.Write(".gitattributes", "*.key filter=git-crypt diff=git-crypt\n", "a.key", "x")
				s.repo.Commit("keys")
			},
			code: 2, says: []string{"git-crypt", "clone without"},
		},
		{
			name: "sparse checkout", setup: func(s *stage) {
				s.repo.Write("in/a.txt", "1\n", "out/b.txt", "2\n")
				s.repo.Commit("folders")
				s.repo.Git("sparse-checkout", "set", "--cone", "in")
			},
			after: func(s *stage) {
				landed(s)
				s.lands("in/a.txt", "1\n")
				if s.repo.Read("out/b.txt") != "(absent)" || s.repo.Git("status", "--porcelain") != "" {
					s.t.Errorf("no longer sparse, or not clean: %s", s.repo.Git("status", "--porcelain"))
				}
			},
		},
		{
			name: "partial clone", setup: func(s *stage) {
				s.repo.Write("out/b.txt", "2\n")
				s.repo.Commit("folder")
				s.repo.Git("config", "uploadpack.allowFilter", "true")
				s.clone("--filter=blob:none", "--sparse")
			},
			code: 2, says: []string{"missing", "git fetch --refetch --no-filter"},
		},
		{
			name: "SHA-256", setup: func(s *stage) {
				dir := s.repo.Dir + "-256"
				if err := os.Mkdir(dir, 0o755); err != nil {
					s.t.Fatal(err)
				}
				s.repo = &gittest.Repo{T: s.t, Dir: dir}
				s.dir = dir
				s.repo.Git("init", "-q", "-b", "main", "--object-format=sha256")
				s.repo.Write("a.txt", "one\n")
				s.repo.Commit("start")
			},
			after: landed,
		},
		{
			name: "unknown extension", setup: func(s *stage) {
				s.repo.Git("config", "core.repositoryFormatVersion", "1")
				s.repo.Git("config", "extensions.refStorage2", "heaps")
			},
			code: 2, says: []string{"refstorage2", "install a git"},
		},
		{
			name: "planted git directory", goal: "Plant traps", after: func(s *stage) {
				landed(s)
				for _, dir := range []string{s.home, s.dir, "/"} {
					if _, err := os.Stat(filepath.Join(dir, "ran")); err == nil {
						s.t.Errorf("a trap was sprung in %s", dir)
					}
				}
			},
		},
	}
}

// lfs makes x.bin a file that a filter keeps, as LFS does: a pointer in git,
// content in the checkout.
func (s *stage) lfs() {
	s.t.Helper()
	s.repo.Git("config", "filter.lfs.clean", "printf 'version 1\\n'; cat >/dev/null")
	s.repo.Git("config", "filter.lfs.smudge", "cat >/dev/null; printf 'the content\\n'")
	s.repo.Git("config", "filter.lfs.required", "true")
	s.repo.Write(".gitattributes", "*.bin filter=lfs diff=lfs merge=lfs -text\n", "x.bin", "the content\n")
	s.repo.Commit("kept by a filter")
	s.repo.Git("config", "filter.lfs.clean", "touch "+s.home+"/ran; false")
	s.repo.Git("config", "filter.lfs.smudge", "touch "+s.home+"/ran; false")
}

// link makes a linked worktree on a branch of its own, where the user works.
func (s *stage) link() {
	s.t.Helper()
	s.dir = s.repo.Dir + "-side"
	s.repo.Git("worktree", "add", "-q", "-b", "side", s.dir)
}

// submodule adds one with a file.
func (s *stage) submodule() {
	s.t.Helper()
	lib := filepath.Join(filepath.Dir(s.repo.Dir), "lib")
	if err := os.Mkdir(lib, 0o755); err != nil {
		s.t.Fatal(err)
	}
	s.in(lib, "init", "-q", "-b", "main")
	gittest.WriteFiles(s.t, lib, "lib.txt", "lib\n")
	s.in(lib, "add", "-A")
	s.in(lib, "commit", "-q", "-m", "lib")
	s.repo.Git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", lib, "sub")
	s.repo.Commit("submodule")
}
