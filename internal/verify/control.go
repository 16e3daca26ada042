package verify

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// control names what the claim edited of the files that decide how tests run
// (DESIGN 8).
func control(changes []git.Change, files []source, named map[string]bool) []agency.Weakening {
	var out []agency.Weakening
	add := func(name, detail string) {
		out = append(out, agency.Weakening{Kind: agency.WeakControl, Name: name, Detail: detail})
	}
	whole := map[string]bool{}
	vendored := 0
	for _, c := range changes {
		switch {
		case isControl(c, named):
			whole[c.Path] = true
			add(c.Path, "")
		case isVendored(c.Path):
			vendored++
		case becameLink(c, changes):
			whole[c.Path] = true
			add(c.Path, "it became a link")
		}
	}
	if vendored > 0 {
		add("vendored code", agency.Things(vendored, "file differs", "files differ"))
	}
	for _, f := range files {
		if whole[f.path] {
			continue
		}
		if part := changedPart(f.path, f.before, f.after); part != "" {
			add(f.path, part)
		}
		if f.lang == golang && f.test && f.after != nil && testMainWeaker(f.before, f.after) {
			add(f.path, "TestMain")
		}
	}
	return out
}

// becameLink tells whether a path of tests shows another file now: the text of
// what is tested then stands where nobody compares it.
func becameLink(c git.Change, all []git.Change) bool {
	if c.New.Mode != 0o120000 {
		return false
	}
	return c.Old.Mode != 0 || isTestFile(c.Path) || slices.ContainsFunc(all, func(d git.Change) bool {
		return d.Status == 'D' && strings.HasPrefix(d.Path, c.Path+"/")
	})
}

// isVendored tells whether a path is of others' code that is kept in the
// repository: a test library among it asserts what it is edited to.
func isVendored(p string) bool {
	first, _, _ := strings.Cut(p, "/")
	return first == "vendor" || strings.Contains("/"+p, "/node_modules/") || strings.Contains("/"+p, "/site-packages/")
}

// isControl tells whether a change is one of a control file. A runner's
// configuration that is new counts where it takes effect by being there.
func isControl(c git.Change, named map[string]bool) bool {
	base := path.Base(c.Path)
	switch {
	case named[c.Path]:
		return true
	case c.Path == "agency.yaml": // decides with what the next run is verified
		return true
	case isRunner(c.Path):
		return true
	case isRecipe(base):
		return c.Status != 'A'
	}
	return false
}

// isRecipe tells a file of recipes, which does nothing until a command names
// one.
func isRecipe(base string) bool {
	switch base {
	case "Makefile", "makefile", "GNUmakefile", "Taskfile.yml", "Taskfile.yaml", "justfile", "Justfile", "magefile.go",
		"noxfile.py", "tasks.py", "Rakefile", "turbo.json", "nx.json", "lerna.json":
		return true
	}
	return false
}

// runners are configurations of test runners, linters and type checkers that
// take effect by being there.
var runners = []string{
	"go.work", "rust-toolchain", "rust-toolchain.toml", ".tool-versions", "mise.toml", ".mise.toml", ".python-version", ".nvmrc", ".node-version",
	"staticcheck.conf", ".golangci.*", ".gotestsum.yaml",
	"spec_helper.rb", "rails_helper.rb", "test_helper.rb", ".rspec",
	"conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", ".coveragerc", ".flake8", "mypy.ini", ".mypy.ini", "pyrightconfig.json",
	"ruff.toml", ".ruff.toml", ".pylintrc", "pylintrc", "nose.cfg", "*.pth", "pytest.toml", ".pytest.toml", "entry_points.txt",
	"jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.setup.*", "vitest.workspace.*", "vitest.projects.*", "jest-preset.*", "jest.preset.*", ".taprc", "bunfig.toml", ".env.test", "vite.config.*", ".mocharc*",
	"mocha.opts", "ava.config.*", "karma.conf.*", "playwright.config.*", "cypress.config.*", ".nycrc*", ".c8rc*", "babel.config.*", ".babelrc*",
	"tsconfig*.json", ".eslintrc*", "eslint.config.*", ".eslintignore", "biome.json*", ".npmrc", ".yarnrc*", ".pnpmfile.cjs", "setupTests.*",
	"clippy.toml", ".clippy.toml", "nextest.toml",
	"junit-platform.properties", "testng.xml", "gradle.properties", "maven.config", "jvm.config", "gradle-wrapper.*", "maven-wrapper.*", "extensions.xml", "checkstyle*.xml", "pmd*.xml", "detekt*.yml", ".editorconfig-checker.json",
}

// isRunner tells whether a file is such a configuration.
func isRunner(p string) bool {
	base := path.Base(p)
	switch dir := path.Base(path.Dir(p)); {
	case dir == ".cargo" && strings.HasPrefix(base, "config"), strings.HasPrefix(p, "buildSrc/"), strings.Contains(p, "/buildSrc/"):
		return true
	case strings.Contains("/"+path.Dir(p)+"/", "/__mocks__/"): // stands in for a package without being asked to
		return true
	case dir == "services" && strings.HasPrefix(base, "org.junit."), strings.HasSuffix(dir, ".egg-info"), strings.HasSuffix(dir, ".dist-info"):
		return true
	}
	return slices.ContainsFunc(runners, func(glob string) bool {
		ok, err := path.Match(glob, base)
		return ok && err == nil
	})
}

// testMainWeaker tells whether a TestMain was changed, or is new and does not
// report what the tests came to: it decides alone what a test binary reports.
func testMainWeaker(before, after []byte) bool {
	old, _ := testMain(before)
	now, reports := testMain(after)
	switch {
	case now == "":
		return false
	case old != "":
		return old != now
	default:
		return !reports
	}
}

// testMain is the text of a file's TestMain, without its comments, and whether
// it reports what the tests came to.
func testMain(src []byte) (text string, reports bool) {
	if !bytes.Contains(src, []byte("TestMain")) {
		return "", false
	}
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "", src, parser.SkipObjectResolution)
	if err != nil {
		return "", false
	}
	i := slices.IndexFunc(file.Decls, func(d ast.Decl) bool {
		f, ok := d.(*ast.FuncDecl)
		return ok && f.Recv == nil && f.Name.Name == "TestMain" && f.Body != nil
	})
	if i < 0 {
		return "", false
	}
	var b strings.Builder
	if err := printer.Fprint(&b, fset, file.Decls[i]); err != nil {
		return "", false
	}
	funcs := map[string]*ast.FuncDecl{}
	canonical(file)
	addFuncs(funcs, file)
	return b.String(), wholeRun{funcs: funcs, trusts: true}.fault(file.Decls[i].(*ast.FuncDecl)) == ""
}
