package check

import (
	"bytes"
	"io"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
)

// declaredTests tells which top-level tests the test files of a checkout
// declare. It reads, and never runs, what the repository holds.
type declaredTests struct {
	root    *os.Root
	modules []goModule
	seen    map[string]map[string]bool // package path -> names; nil where the package is in no module
}

// goModule is a go.mod of the checkout.
type goModule struct{ path, dir string }

var (
	moduleLine = regexp.MustCompile(`(?m)^\s*module\s+"?([^\s"]+)"?`)
	testFunc   = regexp.MustCompile(`\bfunc\s+((?:Test|Example|Fuzz|Benchmark)[\pL\pN_]*)\s*\(`)
)

// Bounds of what is read of a repository, so that no file can stall the host.
const (
	maxModules    = 256
	maxGoMod      = 1 << 20
	maxTestSource = 8 << 20
)

func newDeclaredTests(root *os.Root) *declaredTests {
	d := &declaredTests{root: root, seen: map[string]map[string]bool{}}
	_ = walkRepository(root, func(name string, _ fs.DirEntry) error {
		if path.Base(name) != "go.mod" {
			return nil
		}
		if m := moduleLine.FindSubmatch(readSome(root, name, maxGoMod)); m != nil {
			d.modules = append(d.modules, goModule{path: string(m[1]), dir: path.Dir(name)})
		}
		if len(d.modules) >= maxModules {
			return fs.SkipAll
		}
		return nil
	})
	return d
}

// has tells whether a package declares a test; also when it cannot be known:
// the package lies outside the checkout's modules.
func (d *declaredTests) has(pkg, test string) bool {
	names, ok := d.seen[pkg]
	if !ok {
		names = d.read(pkg)
		d.seen[pkg] = names
	}
	return names == nil || names[test]
}

func (d *declaredTests) read(pkg string) map[string]bool {
	var names map[string]bool
	for _, m := range d.modules {
		rest, inside := strings.CutPrefix(pkg+"/", m.path+"/")
		if !inside {
			continue
		}
		dir := path.Join(m.dir, rest)
		files, err := fs.Glob(d.root.FS(), path.Join(escapeGlob(dir), "*_test.go"))
		if err != nil || len(files) == 0 {
			continue
		}
		if names == nil {
			names = map[string]bool{}
		}
		for _, f := range files {
			for _, m := range testFunc.FindAllSubmatch(readSome(d.root, f, maxTestSource), -1) {
				names[string(m[1])] = true
			}
		}
	}
	return names
}

var globMeta = strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`)

func escapeGlob(s string) string { return globMeta.Replace(s) }

// readSome reads at most limit bytes of a regular file; nothing where there is
// none, or where its path leaves the checkout.
func readSome(root *os.Root, name string, limit int64) []byte {
	f, ok := openSome(root, name)
	if !ok {
		return nil
	}
	defer func() { _ = f.Close() }() // only read
	var b bytes.Buffer
	if info, err := f.Stat(); err == nil {
		b.Grow(int(min(info.Size(), limit)) + bytes.MinRead)
	}
	if _, err := b.ReadFrom(io.LimitReader(f, limit)); err != nil {
		return nil
	}
	return b.Bytes()
}

// walkRepository visits the regular files of a checkout, without following
// links and without the folders that hold others' code.
func walkRepository(root *os.Root, visit func(name string, d fs.DirEntry) error) error {
	return fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil && d != nil && d.IsDir():
			return fs.SkipDir
		case err != nil:
			return nil
		case d.IsDir():
			if name != "." && skipFolder(d.Name()) {
				return fs.SkipDir
			}
			return nil
		case !d.Type().IsRegular():
			return nil
		}
		return visit(name, d)
	})
}

func skipFolder(name string) bool {
	switch name {
	case ".git", "node_modules", "vendor", ".venv", "site-packages":
		return true
	}
	return false
}
