// Package gotypes tells what the names of Go code stand for, by type-checking it from
// source with go/types. Nothing is run: neither the repository's code nor the go command.
// Packages of the checkout are read through its file system, those outside from GOROOT and
// the module cache, as text and without the bodies of their functions.
//
// What it cannot read (a module that is not in the cache, files for other platforms, cgo)
// leaves names without a meaning. Those that are spelt as what is asked for are given as
// unresolved: an answer without any is exact.
package gotypes

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/mod/modfile"
	"golang.org/x/mod/module"
)

// Bounds of what is read of a checkout.
const (
	maxFiles = 200_000
	maxFile  = 4 << 20
	maxAll   = 256 << 20 // that is read for one answer
)

// ErrTooMuch is that of a checkout with more Go code than is read.
var ErrTooMuch = errors.New("more Go code than is read at once")

// Place says where the code outside of a checkout lies on this machine.
type Place struct {
	Goroot   string // "" : the standard library is not known
	ModCache string // "" : no other module is
}

// FindPlace finds them without running anything: the go command on the path, or the usual
// folder, and the cache that the environment or the user's folder has.
func FindPlace(getenv func(string) string) (p Place) {
	roots := []string{getenv("GOROOT")}
	if exe, err := exec.LookPath("go"); err == nil {
		if exe, err = filepath.EvalSymlinks(exe); err == nil {
			roots = append(roots, filepath.Dir(filepath.Dir(exe)))
		}
	}
	for _, r := range append(roots, "/usr/local/go", "/usr/lib/go") {
		if i, err := os.Stat(filepath.Join(r, "src", "fmt", "print.go")); r != "" && err == nil && i.Mode().IsRegular() {
			p.Goroot = r
			break
		}
	}
	caches := []string{getenv("GOMODCACHE")}
	for _, d := range filepath.SplitList(getenv("GOPATH")) {
		caches = append(caches, filepath.Join(d, "pkg", "mod"))
	}
	if home := getenv("HOME"); home != "" {
		caches = append(caches, filepath.Join(home, "go", "pkg", "mod"))
	}
	for _, c := range caches {
		if i, err := os.Stat(c); c != "" && err == nil && i.IsDir() {
			p.ModCache = c
			break
		}
	}
	return p
}

// Files are those of a checkout, some of them perhaps with another text than on the disk.
type Files struct {
	FS      fs.FS
	Changed map[string][]byte
	// Listed are all that Reads tells of, sorted, where they are known; nil: the file system is
	// looked through.
	Listed []Listed
}

// Listed is a file with what tells its state from others, "" where nothing does: what is known
// of it by its state is not read again.
type Listed struct{ Name, State string }

// Reads tells whether a file says what Go code there is.
func Reads(name string) bool { return path.Base(name) == "go.mod" || path.Ext(name) == ".go" }

// with are the files with other texts for some.
func (f Files) with(changed map[string][]byte) Files {
	all := maps.Clone(changed)
	for name, text := range f.Changed {
		if _, ok := all[name]; !ok {
			all[name] = text
		}
	}
	f.Changed = all
	return f
}

// Read is the text of a file.
func (f Files) Read(name string) ([]byte, error) {
	if b, ok := f.Changed[name]; ok {
		return b, nil
	}
	file, err := f.FS.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	b, err := io.ReadAll(io.LimitReader(file, maxFile+1))
	if err == nil && len(b) > maxFile {
		err = ErrTooMuch
	}
	return b, err
}

// mod is a module of the checkout.
type mod struct {
	dir  string // "." is the root
	path string
	file *modfile.File
}

// folder is a package of the checkout with its tests.
type folder struct {
	dir, path string
	mod       *mod
	files     []string // of the package, without tests
	inner     []string // tests in the package
	outer     []string // tests beside it
	others    []string // that are not built here
}

// source is the Go code of a checkout by its folders.
type source struct {
	files   Files
	mods    []*mod // the inner before the outer
	folders map[string]*folder
	byPath  map[string]*folder
	mention map[string]bool // files in which the name stands
	known   map[string]*glance
	texts   map[string][]byte // that were read
	left    int64             // bytes that may be read yet
}

// Skips tells whether nothing in a folder is of the repository's packages, as the go command
// has it.
func Skips(name string) bool {
	return name == "testdata" || name == "vendor" || name == "node_modules" || name != "." && (strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_"))
}

// scan looks at the Go files of a checkout, and notes which have one of the names.
func scan(ctx context.Context, o *Outside, files Files, names []string) (*source, error) {
	s := &source{
		files: files, folders: map[string]*folder{}, byPath: map[string]*folder{}, mention: map[string]bool{},
		texts: map[string][]byte{}, left: maxAll,
	}
	found, err := s.list(ctx)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(s.mods, func(a, b *mod) int { return len(b.dir) - len(a.dir) })
	s.known = make(map[string]*glance, len(found))
	for _, l := range found {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if g := s.glance(o, l); g != nil {
			s.add(l.Name, g, names)
		}
	}
	if s.left < 0 {
		return nil, ErrTooMuch
	}
	return s, nil
}

// list finds the Go files, and reads the modules that they are of.
func (s *source) list(ctx context.Context) (found []Listed, err error) {
	take := func(l Listed) {
		switch base := path.Base(l.Name); {
		case base == "go.mod":
			s.addMod(l.Name)
		case strings.HasSuffix(base, ".go") && !strings.HasPrefix(base, "_") && !strings.HasPrefix(base, "."):
			found = append(found, l)
		}
	}
	if s.files.Listed == nil {
		err = fs.WalkDir(s.files.FS, ".", func(p string, d fs.DirEntry, err error) error {
			switch {
			case ctx.Err() != nil:
				return ctx.Err()
			case len(found) > maxFiles:
				return ErrTooMuch
			case err != nil && d != nil && d.IsDir(), err == nil && d.IsDir() && Skips(path.Base(p)):
				return fs.SkipDir
			case err == nil && d.Type().IsRegular():
				take(Listed{Name: p})
			}
			return nil
		})
	}
	dir, skip := "", false // files of one folder stand together
	for _, l := range s.files.Listed {
		if d := path.Dir(l.Name); d != dir {
			dir, skip = d, slices.ContainsFunc(strings.Split(d, "/"), Skips)
		}
		if !skip {
			take(l)
		}
	}
	for name := range s.files.Changed {
		if strings.HasSuffix(name, ".go") && !slices.ContainsFunc(found, func(l Listed) bool { return l.Name == name }) {
			found = append(found, Listed{Name: name})
		}
	}
	return found, err
}

// text is that of a file; nil where it cannot be read, or more was read than may be.
func (s *source) text(name string) []byte {
	if text, ok := s.texts[name]; ok || s.left < 0 {
		return text
	}
	text, err := s.files.Read(name)
	if err != nil {
		text = nil // it went away, or is larger than what people write
	}
	if s.left -= int64(len(text)); s.left < 0 {
		return nil
	}
	s.texts[name] = text
	return text
}

func (s *source) addMod(p string) {
	text, err := s.files.Read(p)
	if err != nil {
		return
	}
	f, err := modfile.ParseLax(p, text, nil)
	if err != nil || f.Module == nil {
		return
	}
	s.mods = append(s.mods, &mod{dir: path.Dir(p), path: f.Module.Mod.Path, file: f})
}

func (s *source) add(p string, g *glance, names []string) {
	dir := path.Dir(p)
	f := s.folders[dir]
	if f == nil {
		f = &folder{dir: dir, path: dir}
		for _, m := range s.mods {
			if rest, ok := below(m.dir, dir); ok {
				f.mod, f.path = m, path.Join(m.path, rest)
				break
			}
		}
		s.folders[dir], s.byPath[f.path] = f, f
	}
	s.known[p] = g
	if slices.ContainsFunc(names, func(n string) bool { return g.mayHave(n) && hasWord(s.text(p), n) }) {
		s.mention[p] = true
	}
	switch {
	case !g.built:
		f.others = append(f.others, p)
	case !strings.HasSuffix(p, "_test.go"):
		f.files = append(f.files, p)
	case strings.HasSuffix(g.pkg, "_test"):
		f.outer = append(f.outer, p)
	default:
		f.inner = append(f.inner, p)
	}
}

// hasWord tells whether a text has a name that is no part of a longer one.
func hasWord(text []byte, name string) bool {
	letter := func(i int) bool {
		return i >= 0 && i < len(text) && (text[i] == '_' || text[i] >= 0x80 || text[i] >= '0' && text[i] <= '9' || text[i]|0x20 >= 'a' && text[i]|0x20 <= 'z')
	}
	for at := 0; ; {
		i := bytes.Index(text[at:], []byte(name))
		if i < 0 || name == "" {
			return false
		}
		if i += at; !letter(i-1) && !letter(i+len(name)) {
			return true
		}
		at = i + 1
	}
}

// reaching are the folders whose packages import that of one, through others too, with it.
func (s *source) reaching(dir string) map[string]bool {
	users := map[string][]string{} // by path
	for p, g := range s.known {
		for _, imported := range g.imports {
			users[imported] = append(users[imported], path.Dir(p))
		}
	}
	out, queue := map[string]bool{dir: true}, []string{dir}
	for len(queue) > 0 {
		f := s.folders[queue[0]]
		queue = queue[1:]
		if f == nil {
			continue
		}
		for _, u := range users[f.path] {
			if !out[u] {
				out[u] = true
				queue = append(queue, u)
			}
		}
	}
	return out
}

// below is the rest of a folder's path below another.
func below(dir, p string) (rest string, ok bool) {
	if dir == "." {
		return p, true
	}
	if p == dir {
		return ".", true
	}
	return strings.CutPrefix(p, dir+"/")
}

// resolve finds what an import of a module's package means outside of the checkout: the
// folder with it, on this machine or in the checkout's vendor folder.
func (s *source) resolve(p Place, from *mod, imported string) (dir string, inside bool) {
	if module.CheckImportPath(imported) != nil { // such as a/../../b, which would lead out of where code lies
		return "", false
	}
	if first, _, _ := strings.Cut(imported, "/"); !strings.Contains(first, ".") {
		if p.Goroot == "" {
			return "", false
		}
		return filepath.Join(p.Goroot, "src", filepath.FromSlash(imported)), false
	}
	if from == nil {
		return "", false
	}
	vendored := path.Join(from.dir, "vendor", imported)
	if i, err := fs.Stat(s.files.FS, vendored); err == nil && i.IsDir() {
		return vendored, true
	}
	return cached(p, from.file, imported), false
}

// cached is the folder of the module cache that a package is in, or "".
func cached(p Place, f *modfile.File, imported string) string {
	if p.ModCache == "" || f == nil {
		return ""
	}
	var at module.Version
	for _, r := range f.Require {
		if _, ok := below(r.Mod.Path, imported); ok && len(r.Mod.Path) > len(at.Path) {
			at = r.Mod
		}
	}
	if at.Path == "" {
		return ""
	}
	rest, _ := below(at.Path, imported)
	for _, r := range f.Replace {
		if r.Old.Path == at.Path && (r.Old.Version == "" || r.Old.Version == at.Version) {
			if at = r.New; at.Version == "" {
				return "" // a folder: inside of the checkout it is a module of its own
			}
			break
		}
	}
	name, err := module.EscapePath(at.Path)
	if err != nil {
		return ""
	}
	version, err := module.EscapeVersion(at.Version)
	if err != nil {
		return ""
	}
	return filepath.Join(p.ModCache, filepath.FromSlash(name)+"@"+version, filepath.FromSlash(rest))
}
