package detect

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/check"
)

var (
	pyTestFile = regexp.MustCompile(`^(?:test_.*|.*_test)\.py$`)
	pytestUsed = regexp.MustCompile(`(?m)\bpytest\b`)
)

// pythonParts are the projects of Python: with pytest where anything of the
// project names it, else with unittest.
func pythonParts(root fs.FS, f found) []part {
	dirs := topmost(f.with("pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pytest.ini", "tox.ini"))
	if len(dirs) == 0 && f.any(".", func(dir, name string) bool { return pyTestFile.MatchString(name) }) {
		dirs = []string{"."}
	}
	var parts []part
	for _, dir := range dirs {
		manifest, ok := f.has(dir, "pyproject.toml", "setup.py", "setup.cfg", "requirements.txt", "Pipfile", "pytest.ini", "tox.ini")
		if !ok {
			manifest = "*.py"
		}
		p := part{language: "Python", manifest: path.Join(dir, manifest), dir: dir}
		python := "python3"
		venv := venvOf(root, dir)
		if venv != "" && dir != "." {
			python = venv + "/bin/python"
		}
		p.cmds.Test = pythonTests(root, f, dir, python)
		p.cmds.Lint, p.cmds.Typecheck = pythonTools(root, f, dir, venv)
		parts = append(parts, p)
	}
	return parts
}

// pythonTools are the linter and the type checker that a project configures and
// its virtual environment has.
func pythonTools(root fs.FS, f found, dir, venv string) (lint, types string) {
	has := func(tool string) bool { return venv != "" && exists(root, path.Join(dir, venv, "bin", tool)) }
	settings := text(root, path.Join(dir, "pyproject.toml"))
	if _, own := f.has(dir, "ruff.toml", ".ruff.toml"); has("ruff") && (own || strings.Contains(settings, "[tool.ruff")) {
		lint = venv + "/bin/ruff check ."
	}
	if _, own := f.has(dir, "mypy.ini"); has("mypy") && (own || strings.Contains(settings, "[tool.mypy]")) {
		types = venv + "/bin/mypy ."
	}
	return lint, types
}

func pythonTests(root fs.FS, f found, dir, python string) string {
	for _, name := range []string{"pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini", "requirements.txt", "requirements-dev.txt", "requirements-test.txt", "dev-requirements.txt", "Pipfile", "conftest.py", "tests/conftest.py", "test/conftest.py"} {
		base := path.Base(name)
		if b := text(root, path.Join(dir, name)); pytestUsed.MatchString(b) || (base == "conftest.py" && b != "") {
			return python + " -m pytest"
		}
	}
	if !f.any(dir, func(_, name string) bool { return pyTestFile.MatchString(name) }) {
		return ""
	}
	for _, tests := range []string{"tests", "test"} {
		at := path.Join(dir, tests)
		if _, pkg := f.has(at, "__init__.py"); f.dirs[at] != nil && !pkg {
			return python + " -m unittest discover -s " + tests
		}
	}
	return python + " -m unittest"
}

// venvOf is the virtual environment in a folder.
func venvOf(root fs.FS, dir string) string {
	for _, name := range venvs {
		if exists(root, path.Join(dir, name, "pyvenv.cfg")) {
			return name
		}
	}
	return ""
}

// venvs are the usual names of virtual environments.
var venvs = [...]string{".venv", "venv", "env"}

func exists(root fs.FS, name string) bool {
	_, err := fs.Stat(root, name)
	return err == nil
}

func rustParts(root fs.FS, f found) []part {
	var parts []part
	for _, dir := range topmost(f.with("Cargo.toml")) {
		all := ""
		if strings.Contains(text(root, path.Join(dir, "Cargo.toml")), "[workspace]") {
			all = " --workspace"
		}
		parts = append(parts, part{
			language: "Rust", manifest: path.Join(dir, "Cargo.toml"), dir: dir,
			cmds: check.Commands{Test: "cargo test" + all, Build: "cargo build" + all},
		})
	}
	return parts
}

// javaParts are the builds of Maven and Gradle; modules belong to the build
// above them.
func javaParts(root fs.FS, f found) []part {
	var parts []part
	for _, dir := range topmost(f.with("pom.xml", "settings.gradle", "settings.gradle.kts", "build.gradle", "build.gradle.kts")) {
		manifest, ok := f.has(dir, "pom.xml")
		p := part{language: "Java", dir: dir}
		if ok {
			mvn := "mvn"
			if _, wrapped := f.has(dir, "mvnw"); wrapped {
				mvn = "./mvnw"
			}
			p.cmds = check.Commands{Test: mvn + " test", Build: mvn + " test-compile"}
		} else {
			manifest, _ = f.has(dir, "build.gradle.kts", "build.gradle", "settings.gradle.kts", "settings.gradle")
			gradle := "gradle"
			if _, wrapped := f.has(dir, "gradlew"); wrapped {
				gradle = "./gradlew"
			}
			p.cmds = check.Commands{Test: gradle + " test", Build: gradle + " testClasses"}
		}
		p.manifest = path.Join(dir, manifest)
		parts = append(parts, p)
	}
	return parts
}

// plain are languages whose usual command is known and whose tests are not
// known by name.
var plain = []struct{ pattern, language, test, lint string }{
	{"Gemfile", "Ruby", "", ""},
	{"composer.json", "PHP", "", ""},
	{"mix.exs", "Elixir", "mix test", ""},
	{"*.sln", "C#", "dotnet test", ""},
	{"*.csproj", "C#", "dotnet test", ""},
	{"Package.swift", "Swift", "swift test", ""},
	{"build.zig", "Zig", "zig build test", ""},
	{"deno.json", "TypeScript", "deno test", "deno lint"},
	{"CMakeLists.txt", "C or C++", "", ""},
}

var makeTarget = regexp.MustCompile(`(?m)^(test|check|lint|vet|build|all)\s*:([^=]|$)`)

// fallback reads repositories of other languages: their usual command, or the
// targets of a Makefile.
func fallback(root fs.FS) []part {
	var parts []part
	for _, l := range plain {
		if files, err := fs.Glob(root, l.pattern); err == nil && len(files) > 0 {
			p := part{language: l.language, manifest: files[0], dir: ".", cmds: check.Commands{Test: l.test, Lint: l.lint}, note: exitCodesOnly}
			switch {
			case l.language == "Ruby" && exists(root, "spec"):
				p.cmds.Test = "bundle exec rspec"
			case l.language == "Ruby" && exists(root, "Rakefile"):
				p.cmds.Test = "bundle exec rake test"
			case l.language == "PHP" && (exists(root, "phpunit.xml") || exists(root, "phpunit.xml.dist")):
				p.cmds.Test = "vendor/bin/phpunit"
			}
			parts = append(parts, p)
		}
	}
	if slices.ContainsFunc(parts, func(p part) bool { return p.cmds.Test != "" }) {
		return parts
	}
	for _, name := range []string{"GNUmakefile", "makefile", "Makefile"} {
		targets := map[string]bool{}
		for _, m := range makeTarget.FindAllStringSubmatch(text(root, name), -1) {
			targets[m[1]] = true
		}
		p := part{language: "make", manifest: name, dir: ".", note: exitCodesOnly}
		for _, t := range []struct {
			names []string
			line  *string
		}{{[]string{"test", "check"}, &p.cmds.Test}, {[]string{"lint", "vet"}, &p.cmds.Lint}, {[]string{"build", "all"}, &p.cmds.Build}} {
			if i := slices.IndexFunc(t.names, func(n string) bool { return targets[n] }); i >= 0 {
				*t.line = "make " + t.names[i]
			}
		}
		if p.cmds != (check.Commands{}) {
			return append(parts, p)
		}
	}
	return parts
}
