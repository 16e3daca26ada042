package python

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// The package managers, by the names of their programs.
const (
	pip    = "pip"
	uv     = "uv"
	poetry = "poetry"
	pdm    = "pdm"
	pipenv = "pipenv"
)

// manifests are by what a project is found; the last two ask for no packages.
var manifests = []string{"pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pytest.ini", "tox.ini"}

// pythonUsers are the programs for which packages are installed.
var pythonUsers = regexp.MustCompile(`^(?:python[0-9.]*|pytest|mypy|uv|poetry|pdm|pipenv)$`)

var projectParts = regexp.MustCompile(`(?ms)^\s*(?:dependencies|requires)\s*=\s*\[.*?\]|^\[[^\]\n]*dependenc[^\]\n]*\].*?(?:^\[|\z)`)

func project() ecosystem.Project {
	return ecosystem.Project{
		Parts: ecosystem.Parts{Manifests: manifests[:5], Find: pythonParts, Uses: uses, Program: func(ecosystem.Part) string { return "python3" }, Lacks: pythonLacks},
		Dependencies: ecosystem.Dependencies{
			Managers: []string{pip, uv, poetry, pdm, pipenv}, Units: pythonUnits,
			Folders:   []ecosystem.Folder{{Manifests: manifests, Names: venvs, Locks: []string{"uv.lock", "poetry.lock", "Pipfile.lock", "pdm.lock"}, Proof: "pyvenv.cfg", Bare: true}},
			Manifests: []string{"pyproject.toml", "Pipfile"},
			Alone:     asks,
			ManifestOf: map[string]string{
				"uv.lock": "pyproject.toml", "poetry.lock": "pyproject.toml", "pdm.lock": "pyproject.toml", "Pipfile.lock": "Pipfile",
			},
			Decides: map[string]*regexp.Regexp{"pyproject.toml": projectParts}, Installs: installs,
			Setup: func(_ *ecosystem.Checkout, u ecosystem.Unit, loose bool) string {
				return ecosystem.InDir(u.Dir, setupIn(u, loose))
			},
			Reader: packagesOf, Unread: []string{"setup.py", "setup.cfg"},
			Probe:     askFor,
			HostFiles: []string{"pip.conf", "uv.toml"}, Hosts: noHosts, Registries: registries,
			Users: pythonUsers, Asked: wanted, Denied: denied,
		},
		Toolchain: ecosystem.Toolchain{
			Tool: "python", Names: []string{"python"}, Looks: "python3",
			Needed: func(c *ecosystem.Checkout) bool {
				return len(c.With(manifests...)) > 0 || c.Any(".", pyTestFile.MatchString)
			}, Find: pythonToolchain,
			Variables: []string{"PYENV_ROOT", "PYENV_VERSION"},
			PinFiles:  []string{".python-version"}, Installs: func(version string) string { return "pyenv install " + version },
		},
		Programs: ecosystem.Programs{
			Install: map[string]string{
				uv: "install uv (https://docs.astral.sh/uv)", poetry: "pipx install poetry", pdm: "pipx install pdm", pipenv: "pipx install pipenv",
			},
			Harmless: []string{"pytest", "py.test", "ruff", "mypy", "flake8", "pylint", "black"},
			Paths:    []string{"PYTHONPATH"}, Modules: modules,
			Module: func(n ecosystem.Need) string {
				return ecosystem.Quote(n.In) + " -c " + ecosystem.Quote(findModule) + " " + ecosystem.Quote(n.Name) + " >/dev/null 2>&1; test $? -ne 93"
			},
			LacksModule: func(m *ecosystem.Machine, n ecosystem.Need) (what, mend string) {
				what = fmt.Sprintf("%s has no module %s%s", n.In, n.Name, inVenv(m, n.Dir))
				if !slices.Contains(programModules, n.Name) {
					return what, "install what brings it, or write it"
				}
				return what, installer(m, n)
			},
			LacksProgram: func(m *ecosystem.Machine, n ecosystem.Need, by string, _ bool) (what, mend string) {
				if !venvTools[n.Name] {
					return "", ""
				}
				return fmt.Sprintf("%s%s is not in PATH%s", n.Name, by, inVenv(m, n.Dir)), installer(m, n)
			},
		},
		Imports: ecosystem.Imports{Read: imported, Decides: decidesTests},
	}
}

// installWords are those of the managers.
var installWords = ecosystem.InstallWords(map[string][]string{
	uv: {"sync", "venv", "pip"}, pip: {"install"}, "pip3": {"install"}, poetry: {"install"}, pdm: {"install", "sync"}, pipenv: {"install", "sync"},
})

// installs tells a call that makes a virtual environment or installs into one.
func installs(words []string) bool {
	if rest := words[1:]; strings.HasPrefix(path.Base(words[0]), "python") && len(rest) > 1 {
		return rest[0] == "-m" && (rest[1] == "venv" || rest[1] == pip && slices.Contains(rest, "install"))
	}
	return installWords(words)
}

// programModules are those that pip installs with a program of their name. A module
// of another name may be the repository's own.
var programModules = []string{"pytest", "coverage", "mypy", "ruff", "flake8", "pylint", "black", "isort", "tox", "nox", "nose2", "pyright"}

// modules are what -m of an interpreter names, behind coverage too.
func modules(words []string) (out []string, quiet, ok bool) {
	if version, is := strings.CutPrefix(path.Base(words[0]), "python"); !is || strings.Trim(version, "0123456789.") != "" {
		return nil, false, false
	}
	for i := 1; i+1 < len(words) && words[i] != "-c"; i++ {
		if words[i] != "-m" {
			continue
		}
		name := words[i+1]
		top, _, _ := strings.Cut(name, ".") // to find another one imports it
		library := name == "unittest" || name == "doctest"
		if top != "" && !library {
			out = append(out, top)
		}
		quiet = library || slices.Contains(programModules, name)
		if name != "coverage" {
			break
		}
	}
	return out, quiet, true
}

// asks tells the files in which a project says what it needs.
func asks(n string) bool {
	return n == "pyproject.toml" || n == "Pipfile" || n == "setup.py" || n == "setup.cfg" || strings.HasSuffix(n, ".txt") && strings.Contains(n, "requirements")
}

// uses are the folders that requirements and tables name.
func uses(c *ecosystem.Checkout, dir string) []string {
	return append(c.Named(path.Join(dir, "requirements.txt"), pyFolder), c.Named(path.Join(dir, "pyproject.toml"), tomlFolder)...)
}

var tomlFolder = regexp.MustCompile(`path\s*=\s*"([^"]+)"`)

// noHosts are files with links to homepages alone.
func noHosts(base string, _ []byte) (part []byte, ok bool) {
	return nil, base == "pyproject.toml" || base == "setup.py" || base == "setup.cfg"
}

func registries(ctx context.Context, m *ecosystem.Machine, _ string) string {
	if r, ok := m.Env("PIP_INDEX_URL"); ok && r != "" {
		return r
	}
	if r := m.Told(ctx, "pip", "config", "get", "global.index-url"); strings.Contains(r, "https://") {
		return r
	}
	return m.Told(ctx, "python3", "-I", "-c", askIndex)
}

// denied is the distribution that the interpreter says is not installed; it may be
// that it could not say.
func denied(_ ecosystem.Unit, output string) []string {
	if notInstalled.MatchString(output) {
		return []string{ecosystem.LastLine(output)}
	}
	return nil
}

var (
	pyTestFile = regexp.MustCompile(`^(?:test_.*|.*_test)\.py$`)
	pytestUsed = regexp.MustCompile(`(?m)\bpytest\b`)
)

// pythonParts are the projects of Python: with pytest where anything of the
// project names it or its tests are written for it, else with unittest.
func pythonParts(c *ecosystem.Checkout, _ func(string) bool) []ecosystem.Part {
	dirs := ecosystem.Topmost(c.With(manifests...))
	if len(dirs) == 0 && c.Any(".", pyTestFile.MatchString) {
		dirs = []string{"."}
	}
	var parts []ecosystem.Part
	for _, dir := range dirs {
		manifest, ok := c.Has(dir, manifests...)
		if !ok {
			manifest = "*.py"
		}
		p := ecosystem.Part{Language: "Python", Manifest: path.Join(dir, manifest), Dir: dir}
		python := "python3"
		venv := venvOf(c, dir)
		if venv != "" && dir != "." {
			python = venv + "/bin/python"
		}
		p.Test = pythonTests(c, dir, python)
		p.Lint, p.Typecheck = pythonTools(c, dir, venv)
		parts = append(parts, p)
	}
	return parts
}

// pythonTools are the linter and the type checker that a project configures and
// its virtual environment has.
func pythonTools(c *ecosystem.Checkout, dir, venv string) (lint, types string) {
	has := func(tool string) bool { return venv != "" && c.Exists(path.Join(dir, venv, "bin", tool)) }
	settings := c.Text(path.Join(dir, "pyproject.toml"))
	if _, own := c.Has(dir, "ruff.toml", ".ruff.toml"); has("ruff") && (own || strings.Contains(settings, "[tool.ruff")) {
		lint = venv + "/bin/ruff check ."
	}
	if _, own := c.Has(dir, "mypy.ini"); has("mypy") && (own || strings.Contains(settings, "[tool.mypy]")) {
		types = venv + "/bin/mypy ."
	}
	return lint, types
}

func pythonTests(c *ecosystem.Checkout, dir, python string) string {
	for _, name := range []string{"pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini", "requirements.txt", "requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt", "Pipfile", "conftest.py", "tests/conftest.py", "test/conftest.py"} {
		base := path.Base(name)
		if b := c.Text(path.Join(dir, name)); pytestUsed.MatchString(b) || (base == "conftest.py" && b != "") {
			return python + " -m pytest"
		}
	}
	if !c.Any(dir, pyTestFile.MatchString) {
		return ""
	}
	if bare(c, dir) {
		return python + " -m pytest"
	}
	for _, tests := range []string{"tests", "test"} {
		at := path.Join(dir, tests)
		if _, pkg := c.Has(at, "__init__.py"); c.Files(at) != nil && !pkg {
			return python + " -m unittest discover -s " + tests
		}
	}
	return python + " -m unittest"
}

// venvOf is the virtual environment in a folder.
func venvOf(c *ecosystem.Checkout, dir string) string {
	for _, name := range venvs {
		if c.Exists(path.Join(dir, name, "pyvenv.cfg")) {
			return name
		}
	}
	return ""
}

// venvs are the usual names of virtual environments.
var venvs = []string{".venv", "venv", "env"}

// pythonUnits are the projects of Python with anything to install.
func pythonUnits(c *ecosystem.Checkout) []ecosystem.Unit {
	var out []ecosystem.Unit
	for _, dir := range ecosystem.Topmost(c.With(manifests[:5]...)) {
		u := ecosystem.Unit{Dir: dir, Manager: pip}
		venv := venvOf(c, dir)
		if venv == "" {
			venv = venvs[0]
		}
		u.Folder = path.Join(dir, venv)
		for _, l := range [][2]string{{"uv.lock", uv}, {"poetry.lock", poetry}, {"pdm.lock", pdm}, {"Pipfile.lock", pipenv}} {
			if c.Files(dir)[l[0]] {
				u.Locks, u.Manager = append(u.Locks, path.Join(dir, l[0])), l[1]
				break
			}
		}
		for n := range c.Files(dir) {
			if asks(n) {
				u.Locks = append(u.Locks, path.Join(dir, n))
			}
		}
		slices.Sort(u.Locks)
		out = append(out, u)
	}
	return out
}

// setupIn is the line that installs what a unit asks for, in its folder.
func setupIn(u ecosystem.Unit, loose bool) string {
	switch u.Manager {
	case uv:
		if loose {
			return "uv sync"
		}
		return "uv sync --locked"
	case poetry:
		return "POETRY_VIRTUALENVS_IN_PROJECT=1 poetry install"
	case pdm:
		return "pdm sync"
	case pipenv:
		return "PIPENV_VENV_IN_PROJECT=1 pipenv sync --dev"
	}
	venv := path.Base(u.Folder)
	install := "python3 -m venv " + venv + " && " + venv + "/bin/pip install"
	var files []string
	for _, l := range u.Locks {
		if b := path.Base(l); strings.HasSuffix(b, ".txt") {
			files = append(files, "-r "+ecosystem.Quote(b))
		}
	}
	if len(files) > 0 {
		return install + " " + strings.Join(files, " ")
	}
	return install + " -e ."
}

// askFor asks the interpreter that the project runs on whether it has
// what changed. A project with a virtual environment of its own has that alone.
func askFor(_ *ecosystem.Checkout, _ ecosystem.Unit, changed []ecosystem.Package) string {
	want := map[string]string{}
	for _, p := range changed {
		if p.To != "" {
			want[p.Name] = exact(p.To)
		}
	}
	if len(want) == 0 {
		return "true"
	}
	b, err := json.Marshal(want)
	if err != nil || len(b) > ecosystem.MaxAsked {
		return ""
	}
	return "python3 -c " + ecosystem.Quote(askDistributions) + " " + ecosystem.Quote(string(b))
}

// exact is the version that a requirement pins; else any will do.
func exact(requirement string) string {
	if v, ok := strings.CutPrefix(requirement, "=="); ok && !strings.ContainsAny(v, "*,; ") {
		return v
	}
	if requirement != "" && requirement[0] >= '0' && requirement[0] <= '9' && !strings.Contains(requirement, ",") {
		return requirement
	}
	return ""
}

const askDistributions = `import json, sys
from importlib import metadata
for name, want in json.loads(sys.argv[1]).items():
    try: have = metadata.version(name)
    except metadata.PackageNotFoundError: sys.exit(name + " is not installed")
    if want and have != want: sys.exit(name + " " + have + " is installed")`

var notInstalled = regexp.MustCompile(`(?m)^[\w.-]+ (?:\S+ is|is not) installed$`)

// named are the distributions that a file of a project says it needs, with their
// versions.
func named(c *ecosystem.Checkout, file string) map[string]string {
	switch text := c.Text(file); path.Base(file) {
	case "requirements.txt":
		return requirements(plainRequirements(text)).Of
	case "pyproject.toml":
		return requirements(plainRequirements(ownDependencies(text))).Of
	}
	return nil
}

// wanted are the distributions that a project of Python needs to run at all.
func wanted(c *ecosystem.Checkout, u ecosystem.Unit) []ecosystem.Package {
	var out []ecosystem.Package
	for _, l := range u.Locks {
		for name, version := range named(c, l) {
			if !besideTests[strings.ToLower(name)] {
				out = append(out, ecosystem.Package{Name: name, To: version})
			}
		}
	}
	slices.SortFunc(out, func(a, b ecosystem.Package) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// besideTests are tools that a project lists with what it needs and that no test
// does.
var besideTests = map[string]bool{
	"flake8": true, "black": true, "isort": true, "mypy": true, "pylint": true, "ruff": true, "tox": true, "nox": true, "pre-commit": true,
	"sphinx": true, "twine": true, "build": true, "wheel": true, "bumpversion": true, "bump2version": true, "codecov": true, "coveralls": true,
}

// ownDependencies are the entries of [project] dependencies, one a line.
func ownDependencies(toml string) string {
	var b strings.Builder
	for _, t := range ecosystem.TablesOf(toml) {
		for _, list := range projectList.FindAllStringSubmatch(t.Body, -1) {
			if t.Name == "project" && strings.HasPrefix(list[0], "dependencies") {
				for _, q := range quoted.FindAllStringSubmatch(list[1], -1) {
					b.WriteString(q[1] + "\n")
				}
			}
		}
	}
	return b.String()
}

// plainRequirements leaves out what depends on the machine or lies elsewhere.
func plainRequirements(all string) []byte {
	var b strings.Builder
	for line := range strings.Lines(all) {
		if line = strings.TrimSpace(line); !strings.ContainsAny(line, ";@") && !strings.Contains(line, "://") && !strings.HasPrefix(line, ".") && !strings.HasPrefix(line, "/") {
			b.WriteString(line + "\n")
		}
	}
	return []byte(b.String())
}

func pythonLacks(m *ecosystem.Machine, p ecosystem.Part) (what, mend string) {
	want := named(m.Checkout, path.Join(p.Dir, "requirements.txt"))
	maps.Copy(want, named(m.Checkout, path.Join(p.Dir, "pyproject.toml")))
	if strings.Contains(p.Test, "pytest") {
		want["pytest"] = ""
	}
	have := installed(m, p.Dir)
	maps.DeleteFunc(want, func(name, _ string) bool { return have[name] })
	if len(want) == 0 {
		return "", ""
	}
	return slices.Min(slices.Collect(maps.Keys(want))) + " is not installed", m.InstallIn(p.Dir, "")
}

// installed are the names of what is installed where an interpreter that a
// part may run on looks.
func installed(m *ecosystem.Machine, dir string) map[string]bool {
	var sites []string
	for _, at := range []string{dir, "."} {
		for _, venv := range venvs {
			sites = append(sites, filepath.Join(m.Dir, filepath.FromSlash(at), venv, "lib", "python3*", "site-packages"))
		}
	}
	sites = append(sites, m.Value("VIRTUAL_ENV", ecosystem.Nowhere)+"/lib/python3*/site-packages", m.Home(".local", "lib", "python3*", "site-packages"),
		m.Value("PYENV_ROOT", m.Home(".pyenv"))+"/versions/*/lib/python3*/site-packages",
		"/usr/lib/python3/dist-packages", "/usr/local/lib/python3*/dist-packages", "/usr/local/lib/python3*/site-packages", "/usr/lib/python3*/site-packages")
	out := map[string]bool{}
	for _, s := range sites {
		found, _ := filepath.Glob(filepath.Join(s, "*.*-info")) // a bad pattern is none
		for _, f := range found {
			name, _, _ := strings.Cut(filepath.Base(f), "-")
			out[pythonName(strings.TrimSuffix(strings.TrimSuffix(name, ".dist"), ".egg"))] = true
		}
	}
	return out
}

var pyFolder = regexp.MustCompile(`(?m)^\s*(?:-e\s+|--editable[ =])?(\.\.?/[^\s#;\[]*)`)

// askIndex is how pip says which index it has built in.
const askIndex = `from pip._internal.models.index import PyPI
print("https://%s https://%s" % (PyPI.netloc, PyPI.file_storage_domain))`

// findModule ends with a code of its own where Python has no such module.
const findModule = `import importlib.util as u, sys; sys.exit(u.find_spec(sys.argv[1]) is None and 93)`

// venvTools are programs that pip installs into a virtual environment.
var venvTools = map[string]bool{
	"pytest": true, "py.test": true, "coverage": true, "mypy": true, "ruff": true, "flake8": true, "pylint": true, "black": true, "isort": true, "tox": true, "nox": true,
}

// inVenv names the virtual environment in which a module was looked for.
func inVenv(m *ecosystem.Machine, dir string) string {
	if venv := venvIn(m, dir); venv != "" {
		return " in " + venv
	}
	return ""
}

// venvIn is the virtual environment in a folder of the user's checkout.
func venvIn(m *ecosystem.Machine, dir string) string {
	for _, name := range venvs {
		if ecosystem.Exist(filepath.Join(m.Dir, filepath.FromSlash(dir), name, "pyvenv.cfg")) {
			return path.Join(dir, name)
		}
	}
	return ""
}

// installer is the command that installs a module where the commands look for it.
func installer(m *ecosystem.Machine, n ecosystem.Need) string {
	venv := venvIn(m, n.Dir)
	for _, u := range pythonUnits(m.Checkout) {
		switch {
		case u.Dir != n.Dir:
		case u.Manager != pip:
			return m.Mend(u)
		case venv == "" && slices.ContainsFunc(u.Locks, func(l string) bool { return strings.Contains(m.Text(l), n.Name) && strings.HasSuffix(l, ".txt") }):
			return m.Mend(u)
		}
	}
	if venv != "" {
		return venv + "/bin/pip install " + n.Name
	}
	return m.Unseen(path.Join(n.Dir, venvs[0]), ecosystem.InDir(n.Dir, "python3 -m venv "+venvs[0]+" && "+venvs[0]+"/bin/pip install "+n.Name))
}
