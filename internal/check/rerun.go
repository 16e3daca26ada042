package check

import (
	"regexp"
	"slices"
	"strings"
)

// RunPattern is the value of -run that matches these tests of Go, written
// without their package, down to the level that all of them name: the
// alternatives of each level of subtests.
func RunPattern(tests []string) string {
	var levels [][]string
	for n, t := range tests {
		parts := strings.Split(t, "/")
		if n == 0 {
			levels = make([][]string, len(parts))
		}
		levels = levels[:min(len(levels), len(parts))]
		for i := range levels {
			if p := regexp.QuoteMeta(parts[i]); !slices.Contains(levels[i], p) {
				levels[i] = append(levels[i], p)
			}
		}
	}
	out := make([]string, len(levels))
	for i, alts := range levels {
		out[i] = "^(" + strings.Join(alts, "|") + ")$"
	}
	return strings.Join(out, "/")
}

// Rerun makes a test line that runs only these tests, named as in a receipt.
// False where the line is not one plain `go test` of packages or calls of other
// runners that can select, or a name belongs to none of them.
func Rerun(line string, tests []string) (string, bool) {
	calls := goTests(line)
	if len(calls) == 0 && len(tests) > 0 {
		return rerunOthers(line, tests)
	}
	if len(calls) != 1 || calls[0].selects || len(tests) == 0 || len(findCalls(line, nil)) > 0 {
		return "", false
	}
	var pkgs, names []string
	for _, t := range tests {
		pkg, name, ok := SplitGo(t)
		if !ok {
			return "", false
		}
		top, _, _ := strings.Cut(name, "/")
		if !slices.Contains(pkgs, pkg) {
			pkgs = append(pkgs, pkg)
		}
		if !slices.Contains(names, top) {
			names = append(names, top)
		}
	}
	slices.Sort(pkgs)
	slices.Sort(names)
	return calls[0].narrow(line, pkgs, names), true
}

// SplitGo parts the name of a Go test in a receipt into package and test with
// its subtests. A package that failed as a whole has no test.
func SplitGo(full string) (pkg, test string, ok bool) {
	// A subtest's name may hold dots and slashes, an import path too: the test
	// begins at the first dot that a Go test's name follows and no slash of the
	// import path comes after.
	for i := 0; i < len(full); i++ {
		if full[i] == '.' && isTestName(full[i+1:]) {
			return full[:i], full[i+1:], true
		}
	}
	return "", "", false
}
