package check

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"unicode"

	"mvdan.cc/sh/v3/syntax"

	"agency/internal/agency"
)

var (
	safeTarget = regexp.MustCompile(`^[A-Za-z0-9_./@:+ -]+$`)
	allOfGo    = regexp.MustCompile(`(^|\s)\./\.\.\.(\s|$)`)
	goTestWord = regexp.MustCompile(`^(Test|Example|Fuzz|Benchmark)([^a-z]|$)`)
)

// Target makes a command look at one part of a repository only, named as an
// agent writes it: a file, a folder, a package, a test by its name or a piece of
// it, a path and a name with a space between, or a name as receipts have it. Of
// commands that run no known runner only such that name all of Go's packages
// can be narrowed. In repo are the files of the repository; it may be nil.
func Target(line, target string, repo fs.FS) (string, error) {
	target = strings.TrimSpace(target)
	if target == "" || strings.HasPrefix(target, "-") || strings.HasPrefix(target, "/") || strings.ContainsFunc(target, unicode.IsControl) {
		return "", agency.Errorf(agency.KindInvalid,
			"target %q is neither a file, folder or package such as ./internal/config nor the name of a test; leave it out, or use run_command", target)
	}
	f := files{repo}
	if rerun, ok := Rerun(line, []string{target}, repo); ok && (repo == nil || !f.exists(tidy(target))) {
		return rerun, nil
	}
	calls, goDirs := allCalls(line, f)
	switch {
	case len(calls) == 0 && len(goDirs) == 1 && (safeTarget.MatchString(target) || isTestName(target)):
		return Narrow(line, dotted(target))
	case len(calls) > 0 || len(goDirs) > 1:
		t := aim{line: line, target: target, repo: f, calls: calls, goDirs: goDirs}
		return t.narrowed()
	case len(allOfGo.FindAllString(line, -1)) != 1 || !safeTarget.MatchString(target) || strings.Contains(target, " "):
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

// aim is a target on its way to the calls that it means.
type aim struct {
	line, target string
	repo         files
	calls        []call
	goDirs       []string
}

// narrowed finds what the target means and has the calls select it.
func (a aim) narrowed() (string, error) {
	p, name := a.parted()
	dirs := a.parts(p, name)
	if len(dirs) == 0 {
		return "", a.refuse("nothing of the name is in the repository: want a file, a folder, or the name of a test")
	}
	ch := chooser{repo: a.repo, call: func(c call) (selection, bool) {
		sel := selection{paths: inside(c.dir, p)}
		if name != "" {
			sel.names = []string{name}
		}
		return sel, dirs[c.dir]
	}, plain: func(c goCall, dir string) (string, bool) {
		if !dirs[dir] || c.selects {
			return "", false
		}
		return c.narrow(a.line, goPatterns(inside(dir, p), a.repo, dir), strings.Fields(name)), true
	}}
	out, ok := ch.apply(a.line, ".")
	if !ok {
		return "", a.refuse("its runner cannot select that")
	}
	return out, nil
}

func (a aim) refuse(why string) error {
	return agency.Errorf(agency.KindInvalid, "target %q: the test command `%s` cannot be narrowed to it: %s", a.target, a.line, why).
		WithMend("leave target out, name a test as the last results did, or use run_command")
}

// parted parts the target into a path that is there and a name.
func (a aim) parted() (p, name string) {
	for _, sep := range []string{between, "::", " ", "#"} {
		head, rest, ok := strings.Cut(a.target, sep)
		if q := tidy(head); ok && a.repo.FS != nil && a.repo.exists(q) {
			return q, strings.TrimSpace(rest)
		}
	}
	if q := tidy(a.target); a.repo.exists(q) {
		return q, ""
	}
	return "", a.target
}

// tidy is a path as fs.FS takes it: ./web/... is web.
func tidy(p string) string {
	return path.Clean(strings.TrimPrefix(strings.TrimSuffix(strings.TrimSuffix(p, "..."), "/"), "./"))
}

// parts are the folders of the calls that a target means: those below its path,
// else the deepest that holds it; of a bare name all whose files say it.
func (a aim) parts(p, name string) map[string]bool {
	all := map[string]bool{}
	for _, c := range a.calls {
		all[c.dir] = true
	}
	for _, d := range a.goDirs {
		all[d] = true
	}
	delete(all, unknownDir)
	out, deepest := map[string]bool{}, ""
	for d := range all {
		switch {
		case p == "" && (len(all) == 1 || a.says(d, name, all)):
			out[d] = true
		case p == "":
		case d == p || strings.HasPrefix(d, p+"/") || p == ".":
			out[d] = true
		case (d == "." || strings.HasPrefix(p, d+"/")) && len(d) > len(deepest):
			deepest = d
		}
	}
	if p != "" && len(out) == 0 && deepest != "" {
		out[deepest] = true
	}
	return out
}

// says tells whether a file of a part, and not of a part below it, holds the
// last piece of a name.
func (a aim) says(dir, name string, all map[string]bool) bool {
	for _, sep := range []string{between, "::", "#", "/"} {
		if i := strings.LastIndex(name, sep); i >= 0 {
			name = name[i+len(sep):]
		}
	}
	if i := strings.LastIndexByte(name, '.'); i >= 0 && !strings.Contains(name, " ") {
		name = name[i+1:]
	}
	name, _, _ = strings.Cut(name, "[")
	found := a.repo.below(dir, ".", func(p string) bool {
		for d := range all {
			if d != dir && strings.HasPrefix(path.Join(dir, p), d+"/") {
				return false
			}
		}
		return sourceFile(p) && strings.Contains(string(a.repo.readFile(path.Join(dir, p))), name)
	})
	return len(found) > 0
}

func sourceFile(p string) bool {
	switch path.Ext(p) {
	case ".go", ".py", ".js", ".cjs", ".mjs", ".jsx", ".ts", ".cts", ".mts", ".tsx", ".vue", ".svelte", ".rs":
		return true
	}
	return isJava(p)
}

// inside is a path as a call in a folder writes it; none where the path is the
// folder, or holds it.
func inside(dir, p string) []string {
	switch {
	case p == "", p == ".", p == dir, strings.HasPrefix(dir, p+"/"):
		return nil
	case dir == ".":
		return []string{p}
	}
	return []string{strings.TrimPrefix(p, dir+"/")}
}

// goPatterns are the packages of paths: of a file that of its folder.
func goPatterns(paths []string, repo files, dir string) []string {
	var out []string
	for _, p := range paths {
		if repo.isDir(path.Join(dir, p)) {
			out = append(out, "./"+p+"/...")
		} else {
			out = append(out, "./"+path.Dir(p))
		}
	}
	return out
}

// Word is what a word of shell says as it is written: nothing of it that only a
// shell would know.
func Word(w *syntax.Word) string { return wordText(w) }
