package python

import (
	"agency/internal/ecosystem"
	"agency/internal/regexp"
)

// parts are the files that decide by a part of them how tests run.
func parts() []ecosystem.SettingsFile {
	tables := func(wanted string) func([]byte) map[string]string {
		return func(src []byte) map[string]string { return ecosystem.Tables(src, regexp.MustCompile(wanted)) }
	}
	return []ecosystem.SettingsFile{
		{Glob: "pyproject.toml", Parts: tables(`^tool\.(pytest|coverage|tox|nox|ruff|mypy|pyright|pylint|flake8|hatch\.envs|poe|pdm\.scripts)\b|^build-system|^project\.entry-points`)},
		{Glob: "setup.cfg", Parts: tables(`^(tool:pytest|pytest|flake8|mypy|coverage|pylint|aliases|tox|options\.entry_points)\b`)},
		{Glob: "setup.py", Parts: func(src []byte) map[string]string {
			return ecosystem.Program([]byte(WithoutMetadata(string(requirementLists.ReplaceAll(src, nil)))))
		}},
	}
}

// requirementLists are the lists of a setup.py that may change: names alone.
var requirementLists = ecosystem.Compile(`\b(?:install|tests|python)_requires?\s*=\s*(?:\[(?:\s*(?:"[^"\\\n]*"|'[^'\\\n]*')\s*,?)*\s*\]|"[^"\\\n]*"|'[^'\\\n]*')`)

// metadata are the arguments of a setup.py that only tell people of a package.
var metadata = ecosystem.Compile(`\b(?:version|description|long_description|author|author_email|maintainer|maintainer_email|license|keywords)\s*=\s*(?:"[^"\\{\n]*"|'[^'\\{\n]*')`)

// WithoutMetadata is a setup.py without what only tells people of its package:
// plain text that no part of an installation or a test goes by.
func WithoutMetadata(src string) string { return metadata.ReplaceAllString(src, "") }
