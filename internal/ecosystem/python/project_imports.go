package python

import (
	"context"
	"maps"
	"path"
	"slices"
	"strings"

	"agency/internal/code/imports"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

var (
	pyFrom    = regexp.MustCompile(`(?m)^[ \t]*(?:.*[;:][ \t]*)?from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]*(\([^)]*\)?|(?:[^\\\n]|\\\r?\n)*)`)
	pyComment = regexp.MustCompile(`(?m)#[^"'\n]*$`)
	pyImport  = regexp.MustCompile(`(?m)^[ \t]*(?:.*[;:][ \t]*)?import[ \t]+((?:[^\\\n;]|\\\r?\n)+)`)
	pyDotted  = regexp.MustCompile(`[A-Za-z_]\w*(?:\.\w+)+`)
	pyFile    = regexp.MustCompile(`[\w.-]+\.py\b`)
	pyPlugin  = regexp.MustCompile(`(?s)pytest_plugins\s*=\s*[\[(]?([^\])\n]*(?:\n[^\])]*)?)`)
	pyWord    = regexp.MustCompile(`[\w.]+`)
	// pyReaches are ways to load, run or read files that are named nowhere.
	pyReaches = regexp.MustCompile(`\bimportlib\b|__import__|\bpkgutil\b|\brunpy\b|\bsubprocess\b|os\.(?:system|popen|exec|spawn|walk|listdir|scandir)|\bPopen\b|\blistdir\b|\bscandir\b|` +
		`\bglob\b|\brglob\b|\biterdir\b|\bexec\s*\(|\beval\s*\(|entry_points|\bpytester\b|\btestdir\b|execfile|\bimp\.|zipimport|create_subprocess`)
	pyHarmless = regexp.MustCompile(`importlib(?:\.|\s+import\s+)(?:metadata|resources|reload)\b|importlib_metadata|importlib_resources`)
	// pyAll load modules by lists of names, for everything that runs.
	pyAll = regexp.MustCompile(`INSTALLED_APPS|DJANGO_SETTINGS_MODULE|\bdef\s+load_tests\b|sys\.meta_path|sys\.path_hooks`)
	// pyMoved gives a package another folder than its name's.
	pyMoved = regexp.MustCompile(`package[_-]dir[\]\s={:]*["']?(\w[\w.]*)["']?\s*[=:]`)
)

type pyReader struct {
	*imports.Reader
	modules map[string][]string // files by the last part of their module's name
	unknown bool
}

// imported reads the modules of Python. A file uses the modules that it imports
// and those that any dotted name in it can mean, in whatever folder of sources
// they lie, the packages around them and, as pytest does, the conftest.py of the
// folders above it. Nil where there is too much to read, or where modules are
// loaded in ways that no file says.
func imported(ctx context.Context, src imports.Source) *imports.Graph {
	r := &pyReader{Reader: imports.NewReader(ctx, src, ".py"), modules: map[string][]string{}}
	for _, f := range r.Graph.Code {
		name := path.Base(moduleOf(f))
		r.modules[name] = append(r.modules[name], f)
	}
	for _, f := range src.Files {
		switch path.Base(f) {
		case "setup.py", "setup.cfg", "pyproject.toml":
			r.unknown = r.unknown || pyMoved.Match(r.Text(f))
		}
	}
	if !r.Each(r.file) || r.unknown {
		return nil
	}
	return &r.Graph
}

// moduleOf is the path of a module: of a package that of its folder.
func moduleOf(f string) string {
	return strings.TrimSuffix(strings.TrimSuffix(f, ".py"), "/__init__")
}

func (r *pyReader) file(file, text string) {
	if pyAll.MatchString(text) {
		r.unknown = true
	}
	if pyReaches.MatchString(pyHarmless.ReplaceAllString(text, "")) {
		r.Wild(file)
	}
	r.around(file)
	text = pyComment.ReplaceAllString(text, "")
	for _, m := range pyFrom.FindAllStringSubmatch(text, -1) {
		names := importNames(m[3])
		if m[1] != "" {
			r.relative(file, len(m[1]), m[2], names)
			continue
		}
		r.named(file, m[2])
		for _, n := range names {
			if n == "*" {
				r.star(file, m[2])
				continue
			}
			r.named(file, m[2]+"."+n)
		}
	}
	for _, m := range pyImport.FindAllStringSubmatch(text, -1) {
		for _, n := range importNames(m[1]) {
			r.named(file, n)
		}
	}
	for _, d := range pyDotted.FindAllString(text, -1) {
		parts := strings.Split(d, ".")
		for n := 2; n <= len(parts); n++ {
			r.named(file, strings.Join(parts[:n], "."))
		}
	}
	for _, f := range pyFile.FindAllString(text, -1) {
		r.Use(file, r.modules[strings.TrimSuffix(f, ".py")]...)
	}
	for _, m := range pyPlugin.FindAllStringSubmatch(text, -1) {
		for _, w := range pyWord.FindAllString(m[1], -1) {
			r.named(file, w)
		}
	}
}

// importNames are the names of `a as b, c` and `(a, b)`.
func importNames(list string) []string {
	var out []string
	for line := range strings.Lines(strings.Trim(list, "() \t")) {
		line, _, _ = strings.Cut(line, ";")
		for n := range strings.SplitSeq(strings.ReplaceAll(line, `\`, " "), ",") {
			if f := strings.Fields(n); len(f) > 0 {
				out = append(out, strings.Trim(f[0], "()"))
			}
		}
	}
	return out
}

// around are the files that run before a file does: of the packages that hold
// it, and the conftest.py above it.
func (r *pyReader) around(file string) {
	for d := path.Dir(file); ; d = path.Dir(d) {
		for _, name := range []string{"__init__.py", "conftest.py"} {
			if f := path.Join(d, name); r.Tracked[f] {
				r.Use(file, f)
			}
		}
		if d == "." {
			return
		}
	}
}

// named notes the modules that a dotted name can mean: all whose path ends so.
func (r *pyReader) named(file, dotted string) {
	want := strings.ReplaceAll(dotted, ".", "/")
	for _, f := range r.modules[path.Base(want)] {
		if m := moduleOf(f); m == want || strings.HasSuffix(m, "/"+want) {
			r.Use(file, f)
		}
	}
	if dir := path.Dir(want); dir != "." { // a package without a file of its own, or a name of its module
		for _, f := range r.modules[path.Base(dir)] {
			if m := moduleOf(f); m == dir || strings.HasSuffix(m, "/"+dir) {
				r.Use(file, f)
			}
		}
	}
}

// relative resolves `from ..a import b`.
func (r *pyReader) relative(file string, dots int, name string, names []string) {
	dir := path.Dir(file)
	for range dots - 1 {
		dir = path.Dir(dir)
	}
	at := path.Join(dir, strings.ReplaceAll(name, ".", "/"))
	found := r.exact(file, at)
	for _, n := range names {
		if n == "*" {
			r.below(file, at)
			continue
		}
		found = r.exact(file, path.Join(at, n)) || found
	}
	if !found && !r.Dirs[at] {
		r.Wild(file) // made by a command, or of another language
	}
}

func (r *pyReader) exact(file, at string) bool {
	found := false
	for _, f := range []string{at + ".py", at + "/__init__.py"} {
		if r.Tracked[f] {
			r.Use(file, f)
			found = true
		}
	}
	return found
}

// star is `from a import *`, which can load all of a package.
func (r *pyReader) star(file, dotted string) {
	want := strings.ReplaceAll(dotted, ".", "/")
	for d := range r.Dirs {
		if d == want || strings.HasSuffix(d, "/"+want) {
			r.below(file, d)
		}
	}
}

func (r *pyReader) below(file, dir string) {
	i, _ := slices.BinarySearch(r.Graph.Code, dir+"/")
	for _, f := range r.Graph.Code[i:] {
		if !strings.HasPrefix(f, dir+"/") {
			return
		}
		r.Use(file, f)
	}
}

// decidesTests tells a file that decides how all tests of Python run.
func decidesTests(f string) bool {
	switch path.Base(f) {
	case "setup.py", "noxfile.py", "tasks.py", "sitecustomize.py", "usercustomize.py", "manage.py":
		return true
	}
	return f == "conftest.py"
}

// bareTest is a test that pytest alone finds: a function of a module, or a class of no base.
var bareTest = regexp.MustCompile(`(?m)^(?:(?:async[ \t]+)?def[ \t]+test\w*[ \t]*\(|class[ \t]+Test\w*[ \t]*(?:\([ \t]*\))?[ \t]*:|(?:import|from)[ \t]+pytest\b)`)

// mostRead is how many test files are read for how they are written.
const mostRead = 50

// bare tells whether the tests below a folder are written for pytest, by the first of them.
func bare(c *ecosystem.Checkout, dir string) bool {
	read := 0
	for _, at := range slices.Sorted(maps.Keys(c.Dirs())) {
		if !ecosystem.Below(at, dir) {
			continue
		}
		for _, name := range slices.Sorted(maps.Keys(c.Files(at))) {
			if !pyTestFile.MatchString(name) {
				continue
			}
			if read++; read > mostRead {
				return false
			}
			if text := c.Text(path.Join(at, name)); bareTest.MatchString(text) {
				return true
			}
		}
	}
	return false
}
