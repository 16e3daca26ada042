package git

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"agency/internal/agency"
	"agency/internal/bounded"
)

// Location is a user's repository as found on disk: absolute paths with
// symbolic links resolved.
type Location struct {
	// WorkTree is the folder that holds the user's files.
	WorkTree string `json:"work_tree"`
	// GitDir belongs to this worktree: HEAD and index lie here.
	GitDir string `json:"git_dir"`
	// CommonDir is shared by all worktrees: objects, refs and configuration.
	// It equals GitDir in the main worktree.
	CommonDir string `json:"common_dir"`
}

// Linked tells whether the worktree is a linked one of `git worktree add`.
func (l Location) Linked() bool { return l.GitDir != l.CommonDir }

// Index is the path of the worktree's index.
func (l Location) Index() string { return filepath.Join(l.GitDir, "index") }

// Objects is the folder of the repository's objects.
func (l Location) Objects() string { return filepath.Join(l.CommonDir, "objects") }

// ErrNone is why nothing was found by Find.
var ErrNone = errors.New("is not in a git repository")

// Find walks up from dir to the repository that dir lies in. It reads the
// layout of git itself (gitrepository-layout(5)) and never runs git, so that
// nothing of the repository is obeyed. ErrNone where there is no repository; the
// command that mends it is of use to who begins something. A folder that only says
// that it is a repository's checkout, and that the repository does not know, is
// KindInvalid.
func Find(dir string) (Location, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return Location{}, agency.Errorf(agency.KindInvalid, "the working directory was removed: %w", err).WithMend("cd to a folder that exists")
	}
	start, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return Location{}, agency.Errorf(agency.KindInvalid, "folder %s: %w", dir, err)
	}
	for at := start; ; at = filepath.Dir(at) {
		loc, found, err := locate(at)
		if err != nil || found {
			return loc, err
		}
		if isGitDir(at) {
			return Location{}, bareError(at)
		}
		if at == filepath.Dir(at) {
			return Location{}, agency.Errorf(agency.KindInvalid, "%s %w", dir, ErrNone).WithMend("git init")
		}
	}
}

func locate(at string) (loc Location, found bool, err error) {
	dot := filepath.Join(at, ".git")
	info, err := os.Stat(dot)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, fs.ErrPermission):
		return loc, false, nil
	case err != nil:
		return loc, false, agency.Errorf(agency.KindInvalid, "looking at %s: %w", dot, err)
	}
	gitDir := dot
	if info.Mode().IsRegular() {
		if gitDir, err = readGitFile(dot); err != nil {
			return loc, false, err
		}
	}
	if gitDir, err = filepath.EvalSymlinks(gitDir); err != nil {
		return loc, false, agency.Errorf(agency.KindInvalid, "%s points to a folder that is not there: %w", dot, err).
			WithMend("git worktree repair")
	}
	if !isGitDir(gitDir) {
		if info.IsDir() {
			return loc, false, nil // an empty or broken .git folder: git, too, looks further up
		}
		return loc, false, agency.Errorf(agency.KindInvalid, "%s points to %s, which is no git directory", dot, gitDir).
			WithMend("git worktree repair")
	}
	common, err := commonDir(gitDir)
	if err != nil {
		return loc, false, err
	}
	loc = Location{WorkTree: at, GitDir: gitDir, CommonDir: common}
	return loc, true, loc.known()
}

func readGitFile(path string) (string, error) {
	b, err := readCapped(path, 1<<16)
	if err != nil {
		return "", agency.Errorf(agency.KindInvalid, "reading %s: %w", path, err)
	}
	target, ok := strings.CutPrefix(strings.TrimRight(string(b), "\r\n"), "gitdir: ")
	if !ok || target == "" {
		return "", agency.Errorf(agency.KindInvalid, "%s is a file, but not one that git writes", path)
	}
	if !filepath.IsAbs(target) {
		target = filepath.Join(filepath.Dir(path), target)
	}
	return target, nil
}

func commonDir(gitDir string) (string, error) {
	b, err := readCapped(filepath.Join(gitDir, "commondir"), 1<<16)
	if errors.Is(err, fs.ErrNotExist) {
		return gitDir, nil
	}
	if err != nil {
		return "", agency.Errorf(agency.KindInvalid, "reading %s/commondir: %w", gitDir, err)
	}
	dir := strings.TrimRight(string(b), "\r\n")
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(gitDir, dir)
	}
	dir, err = filepath.EvalSymlinks(dir)
	if err != nil {
		return "", agency.Errorf(agency.KindInvalid, "the main repository of this worktree is gone: %w", err).
			WithMend("git worktree repair")
	}
	return dir, nil
}

// isGitDir is git's own test: HEAD, objects and refs, the latter two possibly
// in the common folder.
func isGitDir(dir string) bool {
	if _, err := os.Lstat(filepath.Join(dir, "HEAD")); err != nil {
		return false
	}
	common, err := commonDir(dir)
	if err != nil {
		return false
	}
	for _, name := range []string{"objects", "refs"} {
		if info, err := os.Stat(filepath.Join(common, name)); err != nil || !info.IsDir() {
			return false
		}
	}
	return true
}

func bareError(at string) error {
	if filepath.Base(at) == ".git" {
		return agency.Errorf(agency.KindInvalid, "%s is the inside of a repository", at).
			WithMend("cd %s", filepath.Dir(at))
	}
	return agency.Errorf(agency.KindInvalid, "%s is a bare repository, it has no files to work on", at).
		WithMend("git -C %s worktree add ../work, then start there", at)
}

// ObjectDirs is the folder of objects and all that it borrows from, link by
// link (objects/info/alternates), each once. A link that is gone is an error.
func ObjectDirs(objects string) ([]string, error) {
	var dirs []string
	seen := map[string]bool{}
	var walk func(string, int) error
	walk = func(dir string, depth int) error {
		resolved, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return agency.Errorf(agency.KindInvalid, "objects of the repository: %w", err).
				WithMend("git repack -ad makes a repository independent of others, while they still exist")
		}
		if seen[resolved] {
			return nil
		}
		if depth > 5 {
			return agency.Errorf(agency.KindInvalid, "%s: object alternates nest deeper than git allows", objects)
		}
		seen[resolved] = true
		dirs = append(dirs, resolved)
		b, err := readCapped(filepath.Join(resolved, "info", "alternates"), 1<<20)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		for line := range strings.Lines(string(b)) {
			line = strings.TrimRight(line, "\n")
			if line == "" || line[0] == '#' {
				continue
			}
			line = unquoteAlternate(line)
			if !filepath.IsAbs(line) {
				line = filepath.Join(resolved, line)
			}
			if err := walk(line, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	return dirs, walk(objects, 0)
}

// unquoteAlternate undoes git's C-style quoting. A line that only looks quoted
// is a path as it stands, as git has it.
func unquoteAlternate(line string) string {
	inner, ok := strings.CutPrefix(line, `"`)
	if inner, ok2 := strings.CutSuffix(inner, `"`); ok && ok2 {
		if path, ok := unquoteC(inner); ok {
			return path
		}
	}
	return line
}

// escapes are the letters that git's C-style quoting writes after a backslash.
const escapes = "a\ab\bf\fn\nr\rt\tv\v\\\\\"\""

func unquoteC(s string) (string, bool) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '"':
			return "", false
		case s[i] != '\\':
			b.WriteByte(s[i])
			continue
		}
		if i++; i >= len(s) {
			return "", false
		}
		if at := strings.IndexByte(escapes, s[i]); at >= 0 && at%2 == 0 {
			b.WriteByte(escapes[at+1])
			continue
		}
		n, err := strconv.ParseUint(s[i:min(i+3, len(s))], 8, 8)
		if err != nil || i+3 > len(s) {
			return "", false
		}
		b.WriteByte(byte(n))
		i += 2
	}
	return b.String(), true
}

// readCapped reads a small file of a repository; a huge or endless one is an
// error, not a stall.
func readCapped(path string, max int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > max {
		return nil, agency.Errorf(agency.KindInvalid, "%s is not a plain file of at most %d bytes", path, max)
	}
	return bounded.ReadAt(path, max)
}

func alternates(dirs []string) string {
	var b strings.Builder
	for _, d := range dirs {
		b.WriteString(quoteAlternate(d))
		b.WriteByte('\n')
	}
	return b.String()
}

// quoteAlternate keeps paths that begin with a quote or a comment sign, or hold
// a line break, in git's C-style quoting.
func quoteAlternate(path string) string {
	if !strings.ContainsAny(path, "\n\"#") {
		return path
	}
	r := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	return `"` + r.Replace(path) + `"`
}

// Any folder can say in a file .git which repository it belongs to, so the
// repository is asked whether it knows the folder: a checkout's agency.yaml and
// files count for runs of the repository.

// known refuses a folder that calls itself a checkout of a repository whose own
// records lead elsewhere: to no such worktree, to another folder, or to none at
// all because it is bare or stands in its checkout as .git.
func (l Location) known() error {
	own, err := l.record()
	if err == nil && own != "" && !isSame(own, l.WorkTree) {
		err = l.unknown("its checkout is %s", own)
	}
	return err
}

// Recorded tells whether the repository itself says that this is its checkout.
// It does not of one made with git init --separate-git-dir: any folder may name
// such a repository, and nobody can tell which one is meant.
func (l Location) Recorded() bool {
	own, err := l.record()
	return err == nil && own != "" && isSame(own, l.WorkTree)
}

// record is the folder that the repository calls its checkout by this git
// directory, "" where it says nothing.
func (l Location) record() (string, error) {
	switch {
	case l.Linked():
		if filepath.Dir(l.GitDir) != filepath.Join(l.CommonDir, "worktrees") {
			return "", l.unknown("%s is none of its worktrees", l.GitDir)
		}
		b, err := readCapped(filepath.Join(l.GitDir, "gitdir"), 1<<16)
		if err != nil {
			return "", l.unknown("%w", err)
		}
		own := l.from(strings.TrimRight(string(b), "\r\n"))
		if filepath.Base(own) != ".git" {
			return "", l.unknown("its worktree is said to be at %s", own)
		}
		return filepath.Dir(own), nil
	case l.GitDir == filepath.Join(l.WorkTree, ".git"):
		return l.WorkTree, nil
	}
	var own string
	for _, name := range []string{"config", "config.worktree"} { // the second counts for more
		b, err := readCapped(filepath.Join(l.GitDir, name), 1<<20)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return "", l.unknown("%w", err)
		}
		core := coreOf(string(b))
		if yes := strings.ToLower(core["bare"]); core["worktree"] == "" && own == "" && (yes == "true" || yes == "yes" || yes == "on" || yes == "1") {
			return "", l.unknown("it is bare")
		}
		if w := core["worktree"]; w != "" {
			own = l.from(w)
		}
	}
	if own == "" && filepath.Base(l.GitDir) == ".git" {
		own = filepath.Dir(l.GitDir)
	}
	return own, nil
}

func (l Location) from(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(l.GitDir, path)
}

func (l Location) unknown(format string, args ...any) error {
	why := agency.Errorf(agency.KindInvalid, format, args...)
	return agency.Errorf(agency.KindInvalid, "%s says that it is a checkout of %s, which does not know it: %w", filepath.Join(l.WorkTree, ".git"), l.CommonDir, why).
		WithMend("where it was moved, in that folder: git worktree repair; else make one: git worktree add")
}

func isSame(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// coreOf are the keys of the section core as git writes them, one in a line, in
// lower case. A form that git reads and never writes is not understood, so that
// the value leads nowhere.
func coreOf(config string) map[string]string {
	found, in := map[string]string{}, false
	for line := range strings.Lines(config) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			in = strings.EqualFold(line, "[core]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !in || !ok {
			continue
		}
		value = strings.TrimSpace(value)
		if inner, quoted := strings.CutPrefix(value, `"`); quoted {
			value = strings.TrimSuffix(inner, `"`)
		}
		if plain, ok := unquoteC(value); ok {
			value = plain
		}
		found[strings.ToLower(strings.TrimSpace(key))] = value
	}
	return found
}
