package verify

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/printer"
	"go/token"
	"path"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/git"
)

// control names what the claim edited of the files that decide how tests run
// (DESIGN 8).
func (j *job) control(changes []git.Change, files []source) []agency.Weakening {
	named := namedFiles(j.task.Commands)
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
		case c.Status != 'A' && isVendored(c.Path):
			vendored++
		}
	}
	if vendored > 0 {
		add("vendored code", fmt.Sprintf("%d files that were there are changed", vendored))
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
	"go.work", "staticcheck.conf", ".golangci.*", ".gotestsum.yaml",
	"conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", ".coveragerc", ".flake8", "mypy.ini", ".mypy.ini", "pyrightconfig.json",
	"ruff.toml", ".ruff.toml", ".pylintrc", "pylintrc", "nose.cfg", "*.pth",
	"jest.config.*", "jest.setup.*", "vitest.config.*", "vitest.setup.*", "vitest.workspace.*", "vite.config.*", ".mocharc*",
	"mocha.opts", "ava.config.*", "karma.conf.*", "playwright.config.*", "cypress.config.*", ".nycrc*", ".c8rc*", "babel.config.*", ".babelrc*",
	"tsconfig*.json", ".eslintrc*", "eslint.config.*", ".eslintignore", "biome.json*", ".npmrc", ".yarnrc*", ".pnpmfile.cjs", "setupTests.*",
	"clippy.toml", ".clippy.toml", "nextest.toml",
	"junit-platform.properties", "testng.xml", "gradle.properties", "maven.config", "jvm.config", "checkstyle*.xml", "pmd*.xml", "detekt*.yml", ".editorconfig-checker.json",
}

// isRunner tells whether a file is such a configuration.
func isRunner(p string) bool {
	base := path.Base(p)
	if path.Base(path.Dir(p)) == ".cargo" && strings.HasPrefix(base, "config") {
		return true
	}
	return slices.ContainsFunc(runners, func(glob string) bool {
		ok, err := path.Match(glob, base)
		return ok && err == nil
	})
}

// namedFiles are the words of the commands that can be paths of the repository,
// as they stand and below the folders that the commands change to.
func namedFiles(c check.Commands) map[string]bool {
	out := map[string]bool{}
	for _, line := range []string{c.Setup, c.Build, c.Typecheck, c.Lint, c.Test} {
		file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
		if err != nil {
			continue
		}
		words, dirs := []string{}, []string{"."}
		syntax.Walk(file, func(n syntax.Node) bool {
			call, ok := n.(*syntax.CallExpr)
			if !ok {
				return true
			}
			for i, a := range call.Args {
				w := check.Word(a)
				words = append(words, w)
				if i == 1 && check.Word(call.Args[0]) == "cd" {
					dirs = append(dirs, w)
				}
				if _, value, ok := strings.Cut(w, "="); ok {
					words = append(words, value)
				}
			}
			return true
		})
		for _, d := range dirs {
			for _, w := range words {
				out[path.Join(d, w)] = true
			}
		}
	}
	delete(out, ".")
	return out
}

// testMainWeaker tells whether a TestMain was changed, or is new and never runs
// the tests: it decides alone what a test binary reports.
func testMainWeaker(before, after []byte) bool {
	old, _ := testMain(before)
	now, runs := testMain(after)
	switch {
	case now == "":
		return false
	case old != "":
		return old != now
	default:
		return !runs
	}
}

// testMain is the text of a file's TestMain, without its comments, and whether
// it calls a method named Run.
func testMain(src []byte) (text string, runs bool) {
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
		return ok && f.Recv == nil && f.Name.Name == "TestMain"
	})
	if i < 0 {
		return "", false
	}
	ast.Inspect(file.Decls[i], func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			if sel, ok := call.Fun.(*ast.SelectorExpr); ok && sel.Sel.Name == "Run" {
				runs = true
			}
		}
		return true
	})
	var b strings.Builder
	if err := printer.Fprint(&b, fset, file.Decls[i]); err != nil {
		return "", false
	}
	return b.String(), runs
}
