package check

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

// rerunOthers makes a line that runs only these tests of runners other than
// Go's: the calls that the tests belong to, each told to select them. False
// where a test belongs to no call that can select.
func rerunOthers(line string, tests []string) (string, bool) {
	calls := findCalls(line, nil)
	byCall := make([][]string, len(calls))
	for _, t := range tests {
		if _, whole := IsPackage(t); whole {
			return "", false
		}
		i := owner(calls, t)
		if i < 0 {
			return "", false
		}
		byCall[i] = append(byCall[i], t)
	}
	var parts []string
	for i, c := range calls {
		if len(byCall[i]) == 0 {
			continue
		}
		one, ok := c.selecting(line, byCall[i])
		if !ok {
			return "", false
		}
		if c.dir != "." {
			one = "(cd " + quote(c.dir) + " && " + one + ")"
		}
		parts = append(parts, one)
	}
	return strings.Join(parts, " && "), len(parts) > 0
}

// owner is the call that reported a test: that of the deepest folder which the
// name begins with, if its runner names tests so.
func owner(calls []call, test string) int {
	best := -1
	for i, c := range calls {
		if c.dir == unknownDir || c.loop || !c.names(test) || (c.dir != "." && !strings.HasPrefix(test, c.dir+"/")) {
			continue
		}
		if best < 0 || len(c.dir) > len(calls[best].dir) {
			best = i
		}
	}
	return best
}

// names tells whether a runner gives tests names of this form.
func (c call) names(test string) bool {
	file, _, inFile := strings.Cut(test, between)
	switch c.runner {
	case runNode, runJest, runVitest, runMocha:
		return inFile && path.Ext(file) != ""
	case runPytest:
		return strings.Contains(test, ".py::")
	case runCargo:
		return strings.Contains(test, "::") && !strings.Contains(test, " doc::") && !strings.Contains(test, ".py::")
	case runUnittest, runMaven:
		return !inFile && !strings.Contains(test, "::")
	}
	return false
}

// selecting is the call's own text, made to run these tests.
func (c call) selecting(line string, tests []string) (string, bool) {
	own := make([]string, len(tests))
	for i, t := range tests {
		own[i] = strings.TrimPrefix(t, c.dir+"/")
	}
	whole := line[c.expr.Pos().Offset():c.expr.End().Offset()]
	start := func(last int) string { return line[c.expr.Pos().Offset():c.expr.Args[last].End().Offset()] }
	module := c.at
	switch c.runner {
	case runPytest:
		if m := moduleOf(c.words[c.at:]); m > 0 {
			module += m
		}
		return start(module) + " " + quoteAll(own), true
	case runUnittest:
		for _, id := range own {
			whole += " -k " + quote(id)
		}
		return whole, true
	case runCargo:
		if slices.Contains(c.words, "--") {
			return "", false
		}
		for i, t := range own {
			_, own[i], _ = strings.Cut(t, "::")
		}
		return whole + " -- --exact " + quoteAll(own), true
	case runNode:
		files, names := parted(own)
		var words []string
		for _, n := range names {
			words = append(words, strings.Split(n, between)...)
		}
		test := slices.Index(c.words, "--test")
		return start(test) + " --test-name-pattern=" + quote(anyOf(words)) + " " + quoteAll(files), true
	case runJest, runVitest, runMocha:
		files, names := parted(own)
		for i, n := range names {
			names[i] = strings.ReplaceAll(n, between, " ")
		}
		flag := map[runner]string{runJest: " -t ", runVitest: " run -t ", runMocha: " --grep "}[c.runner]
		return start(c.at) + flag + quote(anyOf(names)) + " " + quoteAll(files), true
	case runMaven:
		return whole + " -Dsurefire.failIfNoSpecifiedTests=false -DfailIfNoTests=false -Dtest=" + quote(mavenTests(own)), true
	}
	return "", false
}

var repeated = regexp.MustCompile(` \(\d+\)$`)

// parted are the files and the names in them, each once.
func parted(tests []string) (files, names []string) {
	for _, t := range tests {
		file, name, _ := strings.Cut(t, between)
		name = repeated.ReplaceAllString(name, "")
		if !slices.Contains(files, file) {
			files = append(files, file)
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return files, names
}

func anyOf(names []string) string {
	slices.Sort(names)
	quoted := slices.Compact(names)
	for i, n := range quoted {
		quoted[i] = regexp.QuoteMeta(n)
	}
	return "^(" + strings.Join(quoted, "|") + ")$"
}

// mavenTests are tests as surefire selects them, without their parameters.
func mavenTests(tests []string) string {
	var out []string
	for _, t := range tests {
		if i := strings.IndexAny(t, "([{"); i > 0 {
			t = t[:i]
		}
		if i := strings.LastIndexByte(t, '.'); i > 0 {
			t = t[:i] + "#" + t[i+1:]
		}
		if !slices.Contains(out, t) {
			out = append(out, t)
		}
	}
	return strings.Join(out, ",")
}
