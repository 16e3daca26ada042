package detect

import (
	"io/fs"
	"path"
	"slices"
	"strings"
)

// found is what a walk over a repository saw.
type found struct {
	dirs map[string]map[string]bool // folder to the names of its files
}

// Bounds of the walk.
const (
	maxSurvey = 200_000 // entries
	maxDepth  = 6
)

// survey lists the files of a repository down to a depth, without following
// links and without the folders that hold others' code or test data.
func survey(root fs.FS) found {
	f := found{dirs: map[string]map[string]bool{}}
	n := 0
	_ = fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		switch n++; {
		case n > maxSurvey:
			return fs.SkipAll
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir():
			if name != "." && (ignored(d.Name()) || strings.Count(name, "/") >= maxDepth || foreign(root, name)) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		dir := path.Dir(name)
		if f.dirs[dir] == nil {
			f.dirs[dir] = map[string]bool{}
		}
		f.dirs[dir][d.Name()] = true
		return nil
	})
	return f
}

// foreign tells a folder that is a repository of its own: a submodule, or a
// clone within the checkout. Its tests are not those of this repository.
func foreign(root fs.FS, dir string) bool {
	_, err := fs.Stat(root, path.Join(dir, ".git"))
	return err == nil
}

// ignored tells folders that are no part of a repository's own code.
func ignored(name string) bool {
	switch name {
	case "vendor", "node_modules", "testdata", "fixtures", "__fixtures__", "target", "dist", "build", "out", "venv", "env",
		"site-packages", "third_party", "bower_components", "examples", "example", "templates":
		return true
	}
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

// with lists the folders that hold one of these files, the root first, then by
// depth and name.
func (f found) with(names ...string) []string {
	var out []string
	for dir, files := range f.dirs {
		if slices.ContainsFunc(names, func(n string) bool { return files[n] }) {
			out = append(out, dir)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(depthKey(a), depthKey(b)) })
	return out
}

// topmost leaves out the folders that lie in another one of the list.
func topmost(dirs []string) []string {
	var out []string
	for _, d := range dirs {
		if !slices.ContainsFunc(out, func(o string) bool { return below(d, o) }) {
			out = append(out, d)
		}
	}
	return out[:min(len(out), maxNested)]
}

// below tells whether a folder is another or lies in it.
func below(dir, of string) bool {
	return of == "." || dir == of || strings.HasPrefix(dir, of+"/")
}

// has tells whether a folder holds one of these files, and which.
func (f found) has(dir string, names ...string) (string, bool) {
	for _, n := range names {
		if f.dirs[dir][n] {
			return n, true
		}
	}
	return "", false
}

// any tells whether a file below a folder satisfies a test.
func (f found) any(dir string, test func(dir, name string) bool) bool {
	for d, files := range f.dirs {
		if !below(d, dir) {
			continue
		}
		for name := range files {
			if test(d, name) {
				return true
			}
		}
	}
	return false
}

// text is a file's beginning; a manifest is not large.
func text(root fs.FS, name string) string {
	file, err := root.Open(name)
	if err != nil {
		return ""
	}
	defer func() { _ = file.Close() }() // only read
	if info, err := file.Stat(); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	b := make([]byte, 1<<20)
	n := 0
	for n < len(b) {
		m, err := file.Read(b[n:])
		n += m
		if err != nil || m == 0 {
			break
		}
	}
	return string(b[:n])
}
