package linters

import (
	"cmp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// meaning is what findings of some rules count as. Without a severity it is the one that
// the analyzer gave.
type meaning struct {
	analyzer string
	rule     *regexp.Regexp // of the rule, a blank and the message
	of       agency.Dimension
	severity agency.IssueSeverity
}

func means(analyzer, rule string, of agency.Dimension, severity agency.IssueSeverity) meaning {
	return meaning{analyzer, regexp.MustCompile(`^(?:` + rule + `)`), of, severity}
}

// meanings are by analyzer, the first that matches. What an analyzer says of nearly every
// change, such as a file opened by a name in a variable, is a nitpick.
var meanings = []meaning{
	means("golangci-lint", `gosec G(?:304|301|302|306|703)\b`, agency.Security, agency.IssueNitpick),
	means("golangci-lint", `gosec G115\b`, agency.Correctness, agency.IssueNitpick),
	means("golangci-lint", `gosec `, agency.Security, agency.IssueMinor),
	means("golangci-lint", `(?:staticcheck SA6|bodyclose|prealloc|perfsprint|sqlclosecheck|rowserrcheck) ?`, agency.Performance, agency.IssueMinor),
	means("golangci-lint", `(?:unused|ineffassign|wastedassign|unparam|dupl|gocyclo|gocognit|cyclop|funlen|nestif|maintidx|goconst) `, agency.Maintainability, agency.IssueMinor),
	means("golangci-lint", `(?:staticcheck SA|govet) ?`, agency.Correctness, agency.IssueMajor),
	means("golangci-lint", `(?:errcheck|errorlint|contextcheck|nilerr|exhaustive|copyloopvar|forcetypeassert|noctx|durationcheck|makezero) `, agency.Correctness, agency.IssueMinor),
	means("golangci-lint", ``, agency.Readability, agency.IssueNitpick),
	means("staticcheck", `SA6`, agency.Performance, agency.IssueMinor),
	means("staticcheck", `SA`, agency.Correctness, agency.IssueMajor),
	means("staticcheck", `U`, agency.Maintainability, agency.IssueMinor),
	means("staticcheck", ``, agency.Readability, agency.IssueNitpick),
	means("gosec", `G(?:304|301|302|306|703)\b`, agency.Security, agency.IssueNitpick),
	means("gosec", `G115\b`, agency.Correctness, agency.IssueNitpick),
	means("gosec", ``, agency.Security, ""),
	means("semgrep", ``, agency.Security, ""),
	means("ruff", `S101\b`, agency.Security, agency.IssueNitpick),
	means("ruff", `S\d`, agency.Security, agency.IssueMinor),
	means("ruff", `PERF`, agency.Performance, agency.IssueMinor),
	means("ruff", `(?:F401|F811|F841|C901|PLR|SIM|ERA|RET|ARG)`, agency.Maintainability, agency.IssueMinor),
	means("ruff", `(?:F\d|E9|PLE|B\d|ASYNC|invalid-syntax)`, agency.Correctness, agency.IssueMajor),
	means("ruff", ``, agency.Readability, agency.IssueNitpick),
	means("eslint", `(?:no-(?:implied-)?eval|no-new-func|no-script-url|react/no-danger|no-secrets/|no-unsanitized/) ?`, agency.Security, ""),
	means("eslint", `security/detect-(?:object-injection|non-literal-(?:fs-filename|require|regexp)|possible-timing-attacks) `, agency.Security, agency.IssueNitpick),
	means("eslint", `security/`, agency.Security, ""),
	means("eslint", `(?:no-await-in-loop|react/jsx-no-constructed-context-values|[\w@/-]*perf[\w-]*) ?`, agency.Performance, agency.IssueMinor),
	means("eslint", `(?:@typescript-eslint/)?(?:complexity|max-[\w-]+|no-unused-[\w-]+|no-useless-[\w-]+|no-duplicate-[\w-]+|import/no-cycle|sonarjs/[\w-]+) `, agency.Maintainability, agency.IssueMinor),
	means("eslint", `(?:@typescript-eslint/)?(?:no-undef|no-unreachable[\w-]*|no-dupe-[\w-]+|no-unsafe-[\w-]+|valid-typeof|use-isnan|no-cond-assign|no-const-assign|`+
		`no-self-[\w-]+|no-fallthrough|require-atomic-updates|no-floating-promises|no-misused-promises|await-thenable|no-async-promise-executor|array-callback-return|`+
		`no-constant-[\w-]+|no-unused-expressions|eqeqeq|react-hooks/[\w-]+|import/no-unresolved|no-empty) `, agency.Correctness, ""),
	means("eslint", ``, agency.Readability, agency.IssueNitpick),
	means("clippy", `clippy::(?:redundant_clone|needless_collect|large_enum_variant|box_collection|vec_box|useless_vec|large_const_arrays|expect_fun_call|iter_nth|to_string_in_format_args|`+
		`unnecessary_to_owned|single_char_pattern|manual_memcpy|slow_vector_initialization) `, agency.Performance, agency.IssueMinor),
	means("clippy", `(?:clippy::(?:cognitive_complexity|too_many_\w+|type_complexity)|unused\w*|dead_code) `, agency.Maintainability, agency.IssueMinor),
	means("clippy", `(?:unreachable_code|unused_must_use) `, agency.Correctness, agency.IssueMajor),
}

// meant gives a finding its dimension and severity.
func meant(f agency.QualityFinding) agency.QualityFinding {
	for _, m := range meanings {
		if m.analyzer == f.Analyzer && m.rule.MatchString(f.Rule+" "+f.Message) {
			f.Dimension, f.Severity = m.of, cmp.Or(m.severity, f.Severity)
			return f
		}
	}
	if f.Analyzer == "clippy" {
		if f.Severity == agency.IssueMajor { // what clippy is sure of is an error
			f.Dimension = agency.Correctness
		} else {
			f.Severity = agency.IssueNitpick
		}
	}
	f.Severity = cmp.Or(f.Severity, agency.IssueMinor)
	return f
}

// OnAdded are the findings in lines that a change brought.
func OnAdded(all []agency.QualityFinding, added func(file string, line int) bool) []agency.QualityFinding {
	return slices.DeleteFunc(slices.Clone(all), func(f agency.QualityFinding) bool { return !added(f.File, f.Line) })
}

var numbers = regexp.MustCompile(`\d+`)

// key tells findings apart whatever lines they stand in.
func key(f agency.QualityFinding) string {
	return f.Analyzer + "\x00" + f.File + "\x00" + f.Rule + "\x00" + numbers.ReplaceAllString(f.Message, "#")
}

// Fresh are the findings of touched lines beyond as many as the base has of the same kind
// in the same file: a line that was edited keeps what was wrong with it.
func Fresh(touched, now, before []agency.QualityFinding) (out []agency.QualityFinding) {
	room := map[string]int{}
	for _, f := range now {
		room[key(f)]++
	}
	for _, f := range before {
		room[key(f)]--
	}
	for _, f := range touched {
		if room[key(f)] > 0 {
			room[key(f)]--
			out = append(out, f)
		}
	}
	return out
}

// Beside are the findings of analyzers that say of a line what nobody said of it yet:
// several that see one defect are one finding.
func Beside(known, more []agency.QualityFinding) (out []agency.QualityFinding) {
	more = slices.Clone(more)
	slices.SortStableFunc(more, func(a, b agency.QualityFinding) int {
		return cmp.Or(rank(a)-rank(b), strings.Compare(a.Analyzer, b.Analyzer))
	})
	for _, f := range more {
		same := func(k agency.QualityFinding) bool {
			return f.Line > 0 && k.File == f.File && k.Line == f.Line && k.Dimension == f.Dimension
		}
		if !slices.ContainsFunc(known, same) && !slices.ContainsFunc(out, same) {
			out = append(out, f)
		}
	}
	return out
}

// rank orders by how bad it is.
func rank(f agency.QualityFinding) int { return slices.Index(agency.IssueSeverities(), f.Severity) }
