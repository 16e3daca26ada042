package check

import (
	"regexp"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
)

var (
	safeTarget = regexp.MustCompile(`^[A-Za-z0-9_./@:+ -]+$`)
	allOfGo    = regexp.MustCompile(`(^|\s)\./\.\.\.(\s|$)`)
	goTestWord = regexp.MustCompile(`^(Test|Example|Fuzz|Benchmark)([^a-z]|$)`)
)

// Target makes a command look at one package, folder or test only, named as an
// agent writes it: a test line as Rerun and Narrow know it, any other that names
// all of Go's packages.
func Target(line, target string) (string, error) {
	if !safeTarget.MatchString(target) || strings.HasPrefix(target, "-") || strings.HasPrefix(target, "/") {
		return "", agency.Errorf(agency.KindInvalid,
			"target %q is neither a package or folder such as ./internal/config nor the name of a test; leave it out, or use run_command", target)
	}
	if rerun, ok := Rerun(line, []string{target}); ok {
		return rerun, nil
	}
	if GoTest(line) {
		return Narrow(line, dotted(target))
	}
	if len(allOfGo.FindAllString(line, -1)) != 1 || strings.Contains(target, " ") {
		return "", agency.Errorf(agency.KindInvalid, "the command `%s` cannot be narrowed; leave target out, or use run_command", line)
	}
	return allOfGo.ReplaceAllString(line, "${1}"+dotted(target)+"${2}"), nil
}

// dotted makes a folder a package pattern of Go: internal/x is ./internal/x.
func dotted(target string) string {
	if strings.ContainsAny(target, " ") || !strings.Contains(target, "/") || strings.HasPrefix(target, ".") || goTestWord.MatchString(target) {
		return target
	}
	return "./" + target
}

// Word is what a word of shell says as it is written: nothing of it that only a
// shell would know.
func Word(w *syntax.Word) string { return wordText(w) }
