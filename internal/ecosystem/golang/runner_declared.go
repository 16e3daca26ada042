package golang

import (
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"agency/internal/bounded"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
	"agency/internal/testreport"
)

// declaredTests tells which top-level tests the test files of a checkout
// declare. It reads, and never runs, what the repository holds.
type declaredTests struct {
	root    *os.Root
	modules []goModule
	seen    map[string]map[string]bool // package path -> names; nil where the package is in no module
	left    *testreport.Allowance
	names   int // bytes of all names
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
	maxTestSource = 8 << 20
)

// newDeclaredTests takes the time that it needs from an allowance.
func newDeclaredTests(root *os.Root, left *testreport.Allowance) *declaredTests {
	d := &declaredTests{root: root, left: left, seen: map[string]map[string]bool{}}
	_ = ecosystem.WalkCheckout(root, func(name string, _ fs.DirEntry) error {
		if path.Base(name) != "go.mod" {
			return nil
		}
		if m := moduleLine.FindSubmatch(ecosystem.Head(root, name, ecosystem.MaxManifest)); m != nil {
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
		files, err := fs.Glob(bounded.FS(d.root), path.Join(ecosystem.EscapeGlob(dir), "*_test.go"))
		if err != nil || len(files) == 0 {
			continue
		}
		if names == nil {
			names = map[string]bool{}
		}
		for _, f := range files {
			d.readFile(f, names)
		}
	}
	return names
}

// readFile adds the tests that a file declares. Of more than is read of a
// repository there is none: their results do not count, and that is said.
func (d *declaredTests) readFile(name string, to map[string]bool) {
	src := ecosystem.Head(d.root, name, maxTestSource)
	for len(src) > 0 {
		m := testFunc.FindSubmatchIndex(src)
		if m == nil {
			m = []int{0, len(src), 0, 0}
		}
		test := string(src[m[2]:m[3]])
		if src = src[m[1]:]; !d.left.Spend(testreport.ScanSteps * int64(m[1])) {
			return
		}
		if test == "" || to[test] {
			continue
		}
		if d.names += len(test) + testreport.PerName; d.names > testreport.MaxNames {
			d.left.Refuse("is of tests of more names than are read of a repository")
			return
		}
		to[test] = true
	}
}

var goBlock = regexp.MustCompile(`^(.+):(\d+)\.\d+,(\d+)\.\d+ (\d+) (\d+)$`)

// readProfile reads a cover profile: blocks of statements.
func readProfile(p *testreport.Profile, doc io.Reader, modules []goModule) {
	for line := range testreport.Lines(doc) {
		m := goBlock.FindStringSubmatch(strings.TrimSpace(string(line)))
		if m == nil {
			continue
		}
		from, to, count := testreport.Atoi(m[2]), testreport.Atoi(m[3]), testreport.Atoi(m[5])
		if to-from > testreport.MaxProfileLine {
			continue
		}
		p.Span(goFile(m[1], modules), from, to, count)
	}
}

// goFile is the file of the checkout that a profile names by its import path.
func goFile(name string, modules []goModule) string {
	best, file := -1, name
	for _, m := range modules {
		if rest, ok := strings.CutPrefix(name, m.path+"/"); ok && len(m.path) > best {
			best, file = len(m.path), path.Join(m.dir, rest)
		}
	}
	if best < 0 {
		return "/" + name // of no module of the checkout
	}
	return file
}
