package verify

import (
	"context"
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
)

// forging names code that can tell that it is tested, or end the process of its
// own tests: with either a change can look right without being so. Results come
// from a process that the claim's code shares, so that no reading of them can
// be proof against that; what is new of it is shown to a person instead.
func (j *job) forging(ctx context.Context, files []source) ([]agency.Weakening, error) {
	read, err := j.syntaxMarks(ctx, files)
	if err != nil {
		return nil, err
	}
	var out []agency.Weakening
	for _, f := range files {
		if f.after == nil {
			continue
		}
		words := read[f.path]
		if !bySyntax(f) {
			words = strings.Join(beyond(textMarks(f, f.after), textMarks(f, f.before)), ", ")
		}
		if words != "" {
			out = append(out, agency.Weakening{Kind: agency.WeakForging, Name: f.path, Detail: words})
		}
	}
	return out, nil
}

// beyond are the words of after that before has fewer times, each once.
func beyond(after, before []string) []string {
	left := map[string]int{}
	for _, w := range before {
		left[w]++
	}
	var out []string
	for _, w := range after {
		if left[w]--; left[w] < 0 && !slices.Contains(out, w) {
			out = append(out, w)
		}
	}
	slices.Sort(out)
	return out
}

// shadows are names by which a file takes the place of a test runner, or is
// loaded before everything else.
var shadows = map[string]string{
	"sitecustomize.py": "loaded before everything else", "usercustomize.py": "loaded before everything else",
	"pytest.py": "takes the place of the test runner", "unittest.py": "takes the place of the test runner",
	"_pytest.py": "takes the place of the test runner", "nose.py": "takes the place of the test runner",
}

// shadowFolders are folders that take the place of a test runner where they
// hold an __init__.py.
var shadowFolders = []string{"pytest", "_pytest", "unittest", "pluggy"}

// importRoots are folders whose files Python imports by their bare name, before
// its own library where the runner is started as a module.
var importRoots = []string{".", "src", "lib", "python", "test", "tests"}

// stdlib are modules that the runners of Python import.
var stdlib = func() map[string]bool {
	out := map[string]bool{}
	for _, w := range strings.Fields(`abc argparse ast attr attrs bdb bisect builtins code codecs collections configparser contextlib copy copyreg
		coverage csv dataclasses datetime difflib dis doctest enum errno faulthandler fnmatch fractions functools gc genericpath gettext glob
		importlib iniconfig inspect io itertools json keyword linecache locale logging math numbers opcode operator os packaging pathlib pdb pickle
		platform posixpath pprint py queue random re reprlib runpy select shlex shutil signal site socket stat string struct subprocess sys
		sysconfig tempfile textwrap threading time token tokenize tomllib traceback types typing uuid warnings weakref xml zipfile zipimport`) {
		out[w] = true
	}
	return out
}()

// textMarks are the ways that a file has whose syntax is not read.
func textMarks(f source, src []byte) []string {
	if src == nil {
		return nil
	}
	var out []string
	base, dir := path.Base(f.path), path.Base(path.Dir(f.path))
	if why := shadows[base]; why != "" {
		out = append(out, why)
	}
	if stem, ok := strings.CutSuffix(base, ".py"); ok && stdlib[stem] && slices.Contains(importRoots, path.Dir(f.path)) {
		out = append(out, "takes the place of a module of the runner")
	}
	if f.lang == python && base == "__init__.py" && slices.Contains(shadowFolders, dir) {
		out = append(out, "takes the place of the test runner")
	}
	text := uncommented(f.lang, string(src))
	for _, m := range append(slices.Clone(marks()[f.lang]), anywhere()...) {
		if f.test && !m.tests && !m.only || !f.test && m.only {
			continue
		}
		if m.program && isProgram(f.path, src) {
			continue
		}
		for range m.found(text) {
			out = append(out, m.word)
		}
	}
	return out
}

// isProgram tells of a file that is started by itself: that it looks at its
// command line and decides its exit code is what it is for.
func isProgram(p string, src []byte) bool {
	base := path.Base(p)
	return strings.HasPrefix(string(src), "#!") || path.Base(path.Dir(p)) == "bin" || strings.HasPrefix(p, "src/bin/") || base == "__main__.py" || base == "main.rs"
}

// uncommented drops whole lines of comment: what is said about a runner is no
// use of it. Strings stay, for they are how an environment is read.
func uncommented(lang language, src string) string {
	mark := "//"
	if lang == python {
		mark = "#"
	}
	var b strings.Builder
	for line := range strings.Lines(src) {
		if t := strings.TrimSpace(line); strings.HasPrefix(t, mark) || strings.HasPrefix(t, "* ") || strings.HasPrefix(t, "/*") && strings.HasSuffix(t, "*/") {
			b.WriteByte('\n')
			continue
		}
		b.WriteString(line)
	}
	return b.String()
}
