package golang

import (
	"go/build"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"

	"agency/internal/bounded"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// maxImported bounds the packages that are followed into the module cache.
const maxImported = 5000

// maxSource bounds a source file whose imports are read, in bytes.
const maxSource = 8 << 20

// imported follows the imports of one module into the module cache, on files
// alone: the go command reads a repository, and is not run outside of the
// sandbox.
type imported struct {
	cache   string
	module  string            // path of the module itself
	version map[string]string // of each module that go.mod names
	local   map[string]string // modules that are folders of this machine
	seen    map[string]bool   // folders
}

var replaceLine = regexp.MustCompile(`(?m)^\s*(?:replace\s+)?(\S+)(?:\s+v\S+)?\s+=>\s+(\S+)(?:\s+(v\S+))?`)

// goLacks names a module that the packages of a part import, themselves or
// through others, and that is not in the module cache.
func goLacks(m *ecosystem.Machine, p ecosystem.Part) (what, mend string) {
	dirs := []string{p.Dir}
	if uses := workUses(m.Checkout, path.Join(p.Dir, "go.work")); len(uses) > 0 {
		dirs = nil
		for _, u := range uses {
			dirs = append(dirs, path.Join(p.Dir, u))
		}
	}
	for _, dir := range dirs {
		if m.Exists(path.Join(dir, "vendor/modules.txt")) {
			continue
		}
		i := importer(m, dir)
		if lacks := i.tree(filepath.Join(m.Dir, filepath.FromSlash(dir))); lacks != "" {
			return lacks + " is not in the module cache", ecosystem.InDir(p.Dir, "go mod download")
		}
	}
	return "", ""
}

func importer(m *ecosystem.Machine, dir string) *imported {
	gopath, _, _ := strings.Cut(m.Value("GOPATH", m.Home("go")), ":")
	i := &imported{
		cache:   m.Value("GOMODCACHE", filepath.Join(gopath, "pkg", "mod")),
		version: map[string]string{}, local: map[string]string{}, seen: map[string]bool{},
	}
	mod := goComment.ReplaceAllString(m.Text(path.Join(dir, "go.mod")), "")
	if of := moduleLine.FindStringSubmatch(mod); m != nil {
		i.module = of[1]
	}
	for _, of := range goEntry.FindAllStringSubmatch(mod, -1) {
		i.version[of[1]] = of[1] + "@" + of[2]
	}
	for _, of := range replaceLine.FindAllStringSubmatch(mod, -1) {
		if of[3] == "" {
			i.local[of[1]] = filepath.Join(m.Dir, filepath.FromSlash(dir), filepath.FromSlash(of[2]))
		} else if i.version[of[1]] != "" {
			i.version[of[1]] = of[2] + "@" + of[3]
		}
	}
	return i
}

// tree follows all packages of the module, with their tests.
func (i *imported) tree(top string) (lacks string) {
	_ = filepath.WalkDir(top, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fs.SkipDir
		case !d.IsDir():
			return nil
		case at != top && (goIgnores(d.Name()) || ecosystem.Exist(filepath.Join(at, "go.mod"))):
			return fs.SkipDir
		}
		if lacks = i.folder(at, true); lacks != "" {
			return fs.SkipAll
		}
		return nil
	})
	return lacks
}

// folder follows one package.
func (i *imported) folder(at string, tests bool) (lacks string) {
	if i.seen[at] || len(i.seen) > maxImported {
		return ""
	}
	i.seen[at] = true
	entries, err := os.ReadDir(at)
	if err != nil {
		return ""
	}
	for _, e := range entries {
		if !strings.HasSuffix(e.Name(), ".go") || !tests && strings.HasSuffix(e.Name(), "_test.go") {
			continue
		}
		tags := build.Default
		tags.OpenFile = func(name string) (io.ReadCloser, error) { return bounded.OpenAt(name) }
		if ok, err := tags.MatchFile(at, e.Name()); !ok || err != nil {
			continue
		}
		src, err := bounded.ReadAt(filepath.Join(at, e.Name()), maxSource)
		if err != nil {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), e.Name(), src, parser.ImportsOnly)
		if err != nil {
			continue
		}
		for _, spec := range file.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				continue
			}
			if lacks := i.follow(name); lacks != "" {
				return lacks
			}
		}
	}
	return ""
}

// follow finds the module of an imported package. One that go.mod does not name
// is not judged: those before Go 1.17 name only what they import themselves.
func (i *imported) follow(name string) (lacks string) {
	if host, _, _ := strings.Cut(name, "/"); !strings.Contains(host, ".") || name == i.module || strings.HasPrefix(name, i.module+"/") && !i.nested(name) {
		return ""
	}
	for at := name; at != "."; at = path.Dir(at) {
		rest := filepath.FromSlash(strings.TrimPrefix(name, at))
		if dir := i.local[at]; dir != "" {
			return i.folder(filepath.Join(dir, rest), false)
		}
		module, version, ok := strings.Cut(i.version[at], "@")
		if !ok {
			continue
		}
		dir := filepath.Join(i.cache, filepath.FromSlash(escaped(module)+"@"+escaped(version)))
		if !ecosystem.Exist(dir) {
			return module + "@" + version
		}
		return i.folder(filepath.Join(dir, rest), false)
	}
	return ""
}

// nested tells whether a package below the module's own path is of a module that
// go.mod names.
func (i *imported) nested(name string) bool {
	for at := name; at != i.module && at != "."; at = path.Dir(at) {
		if i.version[at] != "" || i.local[at] != "" {
			return true
		}
	}
	return false
}

var (
	goEntry  = regexp.MustCompile(`(?m)^(?:\t|require\s+)([\w.~-]+(?:/[\w.~-]+)+|[\w-]+\.[\w.-]+) (v[^\s]+)`)
	sumEntry = regexp.MustCompile(`(?m)^(\S+) (v[^\s/]+) h1:`)
)
