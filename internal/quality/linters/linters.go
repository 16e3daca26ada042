// Package linters knows the analyzers that a project or a machine has of its own: how one
// is found, when it applies, how it is asked, and how what it prints is read. It runs
// nothing: it makes lines of shell, and reads what they print.
//
// What they print is not to be trusted: some of them load code of the change, as ESLint
// does plugins. It is read within bounds, a finding counts only where it names a changed
// file and a line that the change brought, and what the base already had does not.
package linters

import (
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
)

// analyzer is what is known of one.
type analyzer struct {
	name  string
	files []string // patterns of the names of files that it reads
	// own is where a project may have it, below its folder or one above; tool is how a go
	// directive of tools names it. Else it is looked for in PATH.
	own  []string
	tool string
	// beside are the files that mark the folder it runs in, the nearest above what is
	// changed; none: the root of the repository. needs: it does not run without one.
	beside []string
	needs  bool
	// settings are patterns of files by which it decides, taken from the base.
	settings []string
	told     scope
	// line asks it. $@ are the folders or files, run is the program.
	line   string
	read   reader
	covers []string // analyzers that it runs itself
	loads  bool     // code of the change, such as plugins and build scripts
	of     []agency.Dimension
}

// scope is what an analyzer is told to look at.
type scope int

const (
	changedFiles scope = iota
	theirFolders
	wholeFolder // the one that it runs in
)

var (
	scripts    = []string{"*.js", "*.jsx", "*.mjs", "*.cjs", "*.ts", "*.tsx", "*.mts", "*.cts", "*.vue", "*.svelte"}
	everything = []agency.Dimension{agency.Correctness, agency.Readability, agency.Maintainability, agency.Performance}
)

// table are the analyzers, what runs others before those, and what loads code last.
var table = []analyzer{
	{
		name: "golangci-lint", files: []string{"*.go"}, tool: "/golangci-lint", beside: []string{"go.mod"}, needs: true,
		settings: []string{".golangci.*"}, told: theirFolders, read: sarif, covers: []string{"staticcheck"}, of: everything,
		// Its own file for the report: what the project has it print besides stands elsewhere.
		line: `out=$(mktemp) || exit 1
case $(run version 2>&1) in
*'version 1.'* | *'version v1.'*) set -- --out-format="sarif:$out" "$@" ;;
*) set -- --output.sarif.path="$out" --show-stats=false "$@" ;;
esac
run run --issues-exit-code=0 --max-issues-per-linter=0 --max-same-issues=0 --allow-parallel-runners "$@" >&2
code=$?
cat "$out"
exit $code`,
	},
	{
		name: "staticcheck", files: []string{"*.go"}, tool: "/staticcheck", beside: []string{"go.mod"}, needs: true,
		settings: []string{"staticcheck.conf"}, told: theirFolders, read: staticcheck, of: everything,
		line: `run -f json -tests=false "$@"`,
	},
	{
		name: "gosec", files: []string{"*.go"}, tool: "/gosec", beside: []string{"go.mod"}, needs: true,
		told: theirFolders, read: gosec, of: []agency.Dimension{agency.Security},
		// Of its forms JSON alone has whole paths: those of SARIF are relative to each folder.
		line: `run -fmt=json -no-fail -severity=medium -exclude-generated "$@"`,
	},
	{
		name: "ruff", files: []string{"*.py", "*.pyi"}, own: []string{".venv/bin/ruff", "venv/bin/ruff"},
		settings: []string{"ruff.toml", ".ruff.toml"}, read: sarif, of: everything,
		line: `run check --output-format=sarif --exit-zero --no-cache --force-exclude "$@"`,
	},
	{
		name: "bandit", files: []string{"*.py"}, own: []string{".venv/bin/bandit", "venv/bin/bandit"},
		settings: []string{".bandit", "bandit.y*ml"}, read: bandit, of: []agency.Dimension{agency.Security},
		line: `run -f json -q -ll "$@"`,
	},
	{
		name: "semgrep", files: []string{"*"}, own: []string{".venv/bin/semgrep", "venv/bin/semgrep"}, beside: []string{".semgrep.y*ml"}, needs: true,
		settings: []string{".semgrep.y*ml", ".semgrepignore"}, read: sarif, of: []agency.Dimension{agency.Security},
		line: `for rules in .semgrep.yml .semgrep.yaml; do [ -e "$rules" ] && break; done
run scan --sarif --quiet --metrics=off --disable-version-check --config "$rules" "$@"`,
	},
	{
		name: "eslint", files: scripts, own: []string{"node_modules/.bin/eslint"}, beside: []string{"eslint.config.*", ".eslintrc*"}, needs: true,
		settings: []string{"eslint.config.*", ".eslintrc*", ".eslintignore"}, read: eslint, loads: true,
		of:   append([]agency.Dimension{agency.Security}, everything...),
		line: `run -f json --no-error-on-unmatched-pattern "$@"`,
	},
	{
		name: "clippy", files: []string{"*.rs"}, beside: []string{"Cargo.toml"}, needs: true,
		settings: []string{"clippy.toml", ".clippy.toml"}, told: wholeFolder, read: clippy, loads: true, of: everything,
		line: `run clippy --version >/dev/null 2>&1 || exit 127
run clippy --offline --quiet --message-format=json`,
	},
}

// programs are the names of programs that are not those of their analyzers.
var programs = map[string]string{"clippy": "cargo"}

// Program is what the machine must have for an analyzer.
func (a analyzer) program() string {
	if p, ok := programs[a.name]; ok {
		return p
	}
	return a.name
}

// matches tells whether the name of a file is of one of the patterns.
func matches(patterns []string, p string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		ok, _ := path.Match(pattern, path.Base(p))
		return ok
	})
}

// IsSetting tells whether an analyzer decides by a file, or is one of its programs: those
// are the base's, whatever a change makes of them.
func IsSetting(p string) bool {
	in := "/" + p
	return slices.ContainsFunc(table, func(a analyzer) bool { return matches(a.settings, p) }) ||
		strings.Contains(in, "/node_modules/") || strings.Contains(in, "/.venv/") || strings.Contains(in, "/venv/")
}
