package check

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
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

// Rerun makes a test line that runs only these tests, named as in a receipt. In
// repo are the files of the repository, for package scripts; it may be nil.
// False where a name belongs to no call of the line, or its runner cannot
// select.
func Rerun(line string, tests []string, repo fs.FS) (string, bool) {
	f := files{repo}
	calls, goDirs := allCalls(line, f)
	byGo, others := map[string][]string{}, []string(nil)
	for _, t := range tests {
		switch dir, sure, ok := goOwner(goDirs, t, f); {
		case sure, ok && owner(calls, t) < 0:
			byGo[dir] = append(byGo[dir], t)
		default:
			others = append(others, t)
		}
	}
	choose, ok := rerunOthers(calls, others)
	if !ok || len(tests) == 0 {
		return "", false
	}
	able := true
	ch := chooser{repo: f, call: choose, plain: func(c goCall, dir string) (string, bool) {
		own := byGo[dir]
		if len(own) == 0 {
			return "", false
		}
		pkgs, names := goParts(own)
		able = able && !c.selects
		return c.narrow(line, pkgs, names), true
	}}
	out, ok := ch.apply(line, ".")
	return out, ok && able
}

// allCalls finds the calls of all runners.
func allCalls(line string, repo repository) (calls []call, goDirs []string) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangPOSIX)).Parse(strings.NewReader(line), "")
	if err != nil {
		return nil, nil
	}
	f := finder{repo: repo}
	f.stmts(file.Stmts, place{dir: "."})
	return f.calls, f.goDirs
}

// goOwner is the folder of the one call of go test that reported a test: the
// only one, or, surely, that of the module whose path the test's package begins
// with.
func goOwner(dirs []string, test string, repo files) (dir string, sure, ok bool) {
	pkg, _, ok := SplitGo(test)
	if !ok {
		return "", false, false
	}
	best, longest, several := "", -1, false
	for _, d := range dirs {
		module := ""
		if m := moduleLine.FindSubmatch(repo.readFile(path.Join(d, "go.mod"))); m != nil {
			module = string(m[1])
		}
		switch {
		case module == "" && len(dirs) > 1, module != "" && !strings.HasPrefix(pkg+"/", module+"/"):
		case len(module) == longest:
			several = true
		case len(module) > longest:
			best, longest, several = d, len(module), false
		}
	}
	ok = longest >= 0 && !several && best != unknownDir
	return best, ok && longest > 0, ok
}

// goParts are the packages and top-level tests of names in a receipt, each once.
func goParts(tests []string) (pkgs, names []string) {
	for _, t := range tests {
		pkg, name, _ := SplitGo(t)
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
	return pkgs, names
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
