package ecosystem

import (
	"fmt"
	"io"
	"io/fs"
	"iter"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/bounded"
	"agency/internal/regexp"
)

// Checkout is a repository's files. They are listed when first asked for.
type Checkout struct {
	fs.FS
	dirs map[string]map[string]bool // folder to the names of its files
}

// NewCheckout makes one.
func NewCheckout(root fs.FS) *Checkout { return &Checkout{FS: root} }

// Bounds of the walk, and of what is read.
const (
	maxSurvey = 200_000 // entries
	maxDepth  = 6
	// MaxParts bounds how many parts of one language get commands of their own: a
	// repository with more has a runner of its own.
	MaxParts = 12
	// maxSmall bounds a file that decides how a repository is built, in bytes: an
	// agent may have made it.
	maxSmall = 1 << 20
)

// Dirs are the folders down to a depth with the names of their files, without
// following links and without the folders that hold others' code or test data.
func (c *Checkout) Dirs() map[string]map[string]bool {
	if c.dirs != nil {
		return c.dirs
	}
	c.dirs = map[string]map[string]bool{}
	n := 0
	_ = fs.WalkDir(c.FS, ".", func(name string, d fs.DirEntry, err error) error {
		switch n++; {
		case n > maxSurvey:
			return fs.SkipAll
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir():
			if name != "." && (ignored(d.Name()) || strings.Count(name, "/") >= maxDepth || c.Foreign(name)) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		dir := path.Dir(name)
		if c.dirs[dir] == nil {
			c.dirs[dir] = map[string]bool{}
		}
		c.dirs[dir][d.Name()] = true
		return nil
	})
	return c.dirs
}

// Foreign tells a folder that is a repository of its own: a submodule, or a
// clone within the checkout. Its tests are not those of this repository.
func (c *Checkout) Foreign(dir string) bool { return c.Exists(path.Join(dir, ".git")) }

// ignored tells folders that are no part of a repository's own code.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") || slices.Contains(notOwn, name)
}

var notOwn = []string{
	"vendor", "node_modules", "testdata", "fixtures", "__fixtures__", "target", "dist", "build", "out", "venv", "env",
	"site-packages", "third_party", "bower_components", "examples", "example", "templates",
}

// Files are the names of the files in a folder; nil: there is none.
func (c *Checkout) Files(dir string) map[string]bool { return c.Dirs()[dir] }

// With lists the folders that hold one of these files, the root first, then by
// depth and name.
func (c *Checkout) With(names ...string) []string {
	var out []string
	for dir, files := range c.Dirs() {
		if slices.ContainsFunc(names, func(n string) bool { return files[n] }) {
			out = append(out, dir)
		}
	}
	slices.SortFunc(out, ByDepth)
	return out
}

// ByDepth compares folders by depth, then by name.
func ByDepth(a, b string) int {
	key := func(dir string) string {
		if dir == "." {
			return ""
		}
		return fmt.Sprintf("%04d %s", strings.Count(dir, "/")+1, dir)
	}
	return strings.Compare(key(a), key(b))
}

// Topmost are the first of the folders that do not lie in another one of the list.
func Topmost(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		if !slices.ContainsFunc(out, func(o string) bool { return Below(d, o) }) {
			out = append(out, d)
		}
	}
	return out[:min(len(out), MaxParts)]
}

// Upward are a folder and those that it lies in, to the root.
func Upward(dir string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for ; yield(dir) && dir != "."; dir = path.Dir(dir) {
		}
	}
}

// Below tells whether a folder is another or lies in it.
func Below(dir, of string) bool {
	return of == "." || dir == of || strings.HasPrefix(dir, of+"/")
}

// Has tells whether a folder holds one of these files, and which.
func (c *Checkout) Has(dir string, names ...string) (string, bool) {
	for _, n := range names {
		if c.Files(dir)[n] {
			return n, true
		}
	}
	return "", false
}

// Within are those of the files that a folder holds, with its path.
func (c *Checkout) Within(dir string, names ...string) []string {
	var out []string
	for _, n := range names {
		if c.Files(dir)[n] {
			out = append(out, path.Join(dir, n))
		}
	}
	return out
}

// Any tells whether the name of a file below a folder satisfies a test.
func (c *Checkout) Any(dir string, test func(name string) bool) bool {
	for d, files := range c.Dirs() {
		if !Below(d, dir) {
			continue
		}
		for name := range files {
			if test(name) {
				return true
			}
		}
	}
	return false
}

// Text is a file's beginning; a manifest is not large.
func (c *Checkout) Text(name string) string {
	f, err := c.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // only read
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	b, err := io.ReadAll(io.LimitReader(f, maxSmall))
	if err != nil {
		return ""
	}
	return string(b)
}

// Exists tells whether there is something of a name.
func (c *Checkout) Exists(name string) bool {
	_, err := fs.Stat(c.FS, name)
	return err == nil
}

// IgnoresFolder tells whether git leaves a folder out by the usual plain lines of
// its ignore files; repo is the user's checkout on the host.
func (c *Checkout) IgnoresFolder(repo, folder string) bool {
	rules := FileText(filepath.Join(repo, ".git", "info", "exclude"))
	for at := range Upward(path.Dir(folder)) {
		rules += "\n" + c.Text(path.Join(at, ".gitignore"))
	}
	base := path.Base(folder)
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		switch plain := strings.Trim(strings.TrimPrefix(line, "**/"), "/"); {
		case line == "" || line[0] == '#' || line[0] == '!':
		case plain == base, plain == folder, plain == "*", plain == base+"/*":
			return true
		}
	}
	return false
}

// FileText is the beginning of a file of the host.
func FileText(name string) string {
	b, err := bounded.ReadAt(name, maxSmall)
	if err != nil {
		return ""
	}
	return string(b)
}

// JoinLines is a line that runs both, the second if the first succeeds.
func JoinLines(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " && " + b
}

// InDir is a line that runs in a folder of the repository.
func InDir(dir, line string) string {
	if dir == "." || line == "" {
		return line
	}
	return "(cd " + Quote(dir) + " && " + line + ")"
}

// CacheUnit is that of a manager which installs into one cache for all folders;
// nil where there are none. names are the files that decide what.
func (c *Checkout) CacheUnit(manager, cache string, dirs []string, names ...string) []Unit {
	if len(dirs) == 0 {
		return nil
	}
	u := Unit{Cache: cache, Manager: manager, Dir: dirs[0]}
	for _, d := range c.With(names...) {
		u.Locks = append(u.Locks, c.Within(d, names...)...)
	}
	slices.Sort(u.Locks)
	return []Unit{u}
}

// Named are the folders that a form finds in a manifest, relative to the
// repository.
func (c *Checkout) Named(manifest string, form *regexp.Regexp) []string {
	var out []string
	for _, m := range form.FindAllStringSubmatch(c.Text(manifest), -1) {
		out = append(out, path.Join(path.Dir(manifest), m[1]))
	}
	return out
}
