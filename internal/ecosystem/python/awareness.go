package python

import (
	"path"
	"slices"
	"strings"
	"sync"

	"agency/internal/awareness/symbols"
	"agency/internal/code"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

func testAwareness() ecosystem.Awareness {
	m := awareModules{}
	return ecosystem.Awareness{Symbols: &symbols.Language{
		Self:    "self",
		Members: knowingMembers,
		Bind:    func(t *symbols.Table, n code.Node) { awareNames{t}.bind(n) },
		Eval:    func(t *symbols.Table, n code.Node, depth int) []symbols.Value { return awareNames{t}.eval(n, depth) },
		Spell:   awareNames{}.spell,
		Look:    func(r *symbols.Reader, n code.Node) { awareScan{r}.look(n) },
		Compare: func(r *symbols.Reader, n code.Node) { awareScan{r}.compare(n) },
		Write: func(r *symbols.Reader, at, value code.Node, path, name string) {
			awareScan{r}.write(at, value, path, name)
		},
		IsAssertion: symbols.IsAssertion,
	}, Handed: handedIn, Modules: ecosystem.Modules{Source: m.source, IsProgram: m.isProgram, Member: m.member, Displaces: m.displaces, OfTests: m.ofTests}}
}

// handedIn are the ways by which a test can hand something to code beside its
// arguments.
var handedIn = sync.OnceValue(func() ecosystem.Handed {
	re := regexp.MustCompile
	variables := re(`(?m)^([A-Za-z_]\w*)\s*(?::[^=\n]+)?=[^=]`)
	return ecosystem.Handed{
		Environment: re(`(?:\benviron(?:\.get\(|\[)|\bgetenv\()\s*['"]([^'"]+)`),
		Variables:   func(src []byte) []string { return ecosystem.NamesIn(variables, src) },
		Channels: []ecosystem.Channel{
			{Reads: re(`gettempdir\(\)[^\n]*?['"]([^'"]+)`), Sets: re(`['"]([^'"]+)['"]`)},
			{Reads: re(`\b(\w+)\s*=\s*(?:contextvars\.)?ContextVar\(`), Sets: re(`\b(\w+)\.set\(`)},
		},
	}
})

// awareModules is how modules are found, and what takes the place of one.
type awareModules struct{}

// runnerFiles are names by which a file takes the place of a test runner, or is
// loaded before everything else.
var runnerFiles = map[string]string{
	"sitecustomize.py": "loaded before everything else", "usercustomize.py": "loaded before everything else",
	"pytest.py": "takes the place of the test runner", "unittest.py": "takes the place of the test runner",
	"_pytest.py": "takes the place of the test runner", "nose.py": "takes the place of the test runner",
}

// runnerFolders are folders that take the place of a test runner where they hold an
// __init__.py.
var runnerFolders = []string{"pytest", "_pytest", "unittest", "pluggy"}

// importRoots are folders whose files Python imports by their bare name, before
// its own library where the runner is started as a module.
var importRoots = []string{".", "src", "lib", "python", "test", "tests"}

// runnerImports are modules of the library that the runners import.
var runnerImports = strings.Fields(`abc argparse ast attr attrs bdb bisect builtins code codecs collections configparser contextlib copy copyreg
	coverage csv dataclasses datetime difflib dis doctest enum errno faulthandler fnmatch fractions functools gc genericpath gettext glob
	importlib iniconfig inspect io itertools json keyword linecache locale logging math numbers opcode operator os packaging pathlib pdb pickle
	platform posixpath pprint py queue random re reprlib runpy select shlex shutil signal site socket stat string struct subprocess sys
	sysconfig tempfile textwrap threading time token tokenize tomllib traceback types typing uuid warnings weakref xml zipfile zipimport`)

// displaces is what a file takes the place of by its name.
func (awareModules) displaces(p string) (out []string) {
	base := path.Base(p)
	if why := runnerFiles[base]; why != "" {
		out = append(out, why)
	}
	if stem, ok := strings.CutSuffix(base, ".py"); ok && slices.Contains(runnerImports, stem) && slices.Contains(importRoots, path.Dir(p)) {
		out = append(out, "takes the place of a module of the runner")
	}
	if base == "__init__.py" && slices.Contains(runnerFolders, path.Base(path.Dir(p))) {
		out = append(out, "takes the place of the test runner")
	}
	return out
}

// ofTests tells, for a file, of modules that it cannot load but where the path to
// search leads into a folder of tests: nothing of that name stands where it is looked
// for without.
func (awareModules) ofTests(tests []string, exists func(path string) bool) func(file string) func(module string) bool {
	theirs := map[string]bool{}
	for _, m := range tests {
		for rest, more := m, true; more; _, rest, more = strings.Cut(rest, "/") {
			theirs[strings.ReplaceAll(rest, "/", ".")] = true
		}
	}
	return func(file string) func(string) bool {
		return func(module string) bool {
			first, _, _ := strings.Cut(module, ".")
			if !theirs[module] || slices.Contains(runnerImports, first) {
				return false
			}
			return !slices.ContainsFunc([]string{path.Dir(file), "", "src", "lib", "python"}, func(root string) bool {
				at := path.Join(root, first)
				return exists(at) || exists(at+".py")
			})
		}
	}
}

// source is a file of types as the source that it speaks of.
func (awareModules) source(p string, src []byte) (string, []byte) {
	if path.Ext(p) == ".pyi" {
		p += ".py"
	}
	return p, src
}

// isProgram tells of a file that is started by itself and gives nothing to others.
func (awareModules) isProgram(file ecosystem.Module, _ []ecosystem.Module) bool {
	return path.Base(file.Path) == "__main__.py"
}

// member is the name within a file of what others know by the module's.
func (awareModules) member(file, _, full string) (string, bool) {
	module := strings.TrimSuffix(strings.TrimSuffix(strings.TrimSuffix(file, ".py"), "/__init__"), ".pyi")
	for _, root := range []string{"src/", "lib/", "python/", ""} {
		name := strings.ReplaceAll(strings.TrimPrefix(module, root), "/", ".")
		if rest, ok := strings.CutPrefix(full, name+"."); ok {
			return rest, true
		}
	}
	return "", false
}
