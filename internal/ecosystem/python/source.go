package python

import (
	"strings"

	"agency/internal/code/lexical"
	"agency/internal/ecosystem"
)

func source() ecosystem.Source {
	style := lexical.Style{Line: "#", Lines: true, Quotes: `"'`, Tripled: `"'`}
	return ecosystem.Source{
		Endings: []string{".py", ".pyi"},
		Style:   style,
		Tests: ecosystem.Tests{
			IsFile:    isTestFile,
			SetUps:    []string{"conftest.py"},
			Framework: ecosystem.Compile(`(?m)^[ \t]*(?:import|from)[ \t]+(?:unittest|_?pytest|nose2?|hypothesis|hamcrest|testtools|django\.test|twisted\.trial)\b|\.assert[A-Z]\w+\(`),
			Units: ecosystem.UnitForms{
				Style:  style,
				Unit:   ecosystem.Compile(`(?m)^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)`),
				Test:   ecosystem.Compile(`def[ \t]+test`),
				Assert: ecosystem.Compile(`(?m)^[ \t]*assert\b|;[ \t]*assert\b|\bself\.(?:assert\w*|fail\w*)\(|\bpytest\.(?:raises|warns|fail|deprecated_call)\(|\.assert_\w+\(|\bassert_\w+\(|\bexpect\(`),
				Skip:   ecosystem.Compile(`\bpytest\.(?:skip|xfail|importorskip)\b|\bmark\.(?:skip|skipif|xfail)\b|\bunittest\.skip|@skip|\bself\.skipTest\b|@expectedFailure|\bunittest\.expectedFailure\b|collect_ignore|__test__\s*=\s*False`),
				Return: ecosystem.Compile(`(?m)^[ \t]+return\b|:[ \t]*return\b`),
				Extent: indented, Nest: true,
			}.Units,
		},
		Forms: ecosystem.Forms{
			Defines:  ecosystem.Compile(`(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)|^[ \t]*(\w+)[ \t]*=[ \t]*(?:lambda\b|\w*Mock\()|\bimport[ \t]+\w+[ \t]+as[ \t]+(\w+)`),
			Declares: ecosystem.Compile(`(?m)\b(?:def|class)\s+(\w+)|\bself\.(\w+)\s*(?::[^=\n]+)?=[^=]|^\s*(\w+)\s*:\s*[A-Za-z_"']`),
			Indents:  true,
			Yields:   ecosystem.Compile(`\b(?:return|yield)\b[ \t]*[^\s;]`),
			Does:     ecosystem.Compile(`\b(?:def|lambda)\b`),
			Untyped:  true,
			Silences: ecosystem.Compile(`(?i)#\s*(?:type:\s*ignore|noqa|flake8:\s*noqa|ruff:\s*(?:noqa|(?:file-)?ignore|disable)|pylint:\s*(?:disable|skip-file)|pyright:\s*(?:ignore|basic)|pyre-(?:ignore|fixme)|mypy:\s*(?:ignore-errors|disable-error-code)|nosec|nosemgrep)\b[^\n]*`),
			Marks:    textMarks,
		},
		Names: ecosystem.Names{Loads: loads, Dotted: true},
		Files: ecosystem.Files{
			Manifests: []string{"pyproject.toml", "setup.py"},
			Locks:     []string{"poetry.lock", "uv.lock", "Pipfile", "Pipfile.lock", "requirements*.txt"},
			Settings: []string{
				"conftest.py", "pytest.ini", ".pytest.ini", "tox.ini", ".coveragerc", ".flake8", "mypy.ini", ".mypy.ini", "pyrightconfig.json",
				"ruff.toml", ".ruff.toml", ".pylintrc", "pylintrc", "nose.cfg", "*.pth", "pytest.toml", ".pytest.toml", "entry_points.txt",
				".python-version", "*.egg-info/*", "*.dist-info/*",
			},
			Recipes: []string{"noxfile.py", "tasks.py"},
			Parts:   parts(),
			Litter: map[string]string{
				"__pycache__": "a build's output", ".pytest_cache": "a tool's cache", ".mypy_cache": "a tool's cache", ".ruff_cache": "a tool's cache",
				".venv": "installed packages", "venv": "installed packages", "htmlcov": "a report of coverage",
			},
			Remains: map[string]string{"*.pyc": "a build's output", ".coverage": "a report of coverage"},
		},
	}
}

func isTestFile(p string) bool {
	stem := ecosystem.Stem(p)
	return strings.HasPrefix(stem, "test_") || strings.HasSuffix(stem, "_test") || stem == "tests" || ecosystem.UnderFolder(p, "tests", "test")
}

// indented is the extent of a function by its indentation.
func indented(bare string, from, head, limit int) int {
	margin := len(bare[from:]) - len(strings.TrimLeft(bare[from:], " \t"))
	end := head
	for at, n := head, 0; at < limit; n++ {
		next := min(lexical.EndOf(bare, at, "\n")+1, limit)
		line := strings.TrimRight(bare[at:next], " \t\r\n")
		if n > 0 && line != "" && len(line)-len(strings.TrimLeft(line, " \t")) <= margin && !strings.HasPrefix(strings.TrimSpace(line), ")") {
			break
		}
		if at = next; line != "" {
			end = at
		}
	}
	return end
}
