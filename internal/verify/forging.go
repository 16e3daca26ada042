package verify

import (
	"context"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/code"
	"agency/internal/code/marks"
)

// forging names code that can tell that it is tested, or end the process of its
// own tests: with either a change can look right without being so. Results come
// from a process that the claim's code shares, so that no reading of them can
// be proof against that; what is new of it is shown to a person instead.
func (j *job) forging(ctx context.Context, files []source, criteria []agency.Criterion) ([]agency.Weakening, error) {
	seen, err := j.syntaxMarks(ctx, files)
	if err != nil {
		return nil, err
	}
	read, err := j.readTrees(ctx, files)
	if err != nil {
		return nil, err
	}
	out := append(handshakes(files, criteria), handedIn(files, read, criteria)...)
	for _, f := range files {
		if f.after == nil {
			continue
		}
		words := seen[f.path]
		if !bySyntax(f) {
			before, after := marksOf(f, read[f.path])
			words = said(f.path, beyond(after, before))
		}
		if words != "" {
			out = append(out, agency.Weakening{Kind: agency.WeakForging, Name: f.path, Detail: words})
		}
	}
	return out, nil
}

// telling is one mark where it stands in a file.
type telling struct {
	word string // with what was seen
	line int    // from 1; 0 is the file itself
	code string // the line
}

// said lists marks with their places.
func said(p string, all []telling) string {
	var out []string
	for _, s := range all {
		if s.line > 0 {
			s.word += fmt.Sprintf(", %s:%d", p, s.line)
		}
		out = append(out, s.word)
	}
	return strings.Join(out, "; ")
}

// marksOf are those of both sides of a file.
func marksOf(f source, read sidesOfFile) (before, after []telling) {
	return append(tellings(read.before), textMarks(f, f.before)...), append(tellings(read.after), textMarks(f, f.after)...)
}

// beyond are the marks of after that before has fewer times, each once and where
// it is new.
func beyond(after, before []telling) []telling {
	left, lines := map[string]int{}, map[string]bool{}
	for _, s := range before {
		left[s.word]++
		lines[s.word+"\x00"+s.code] = true
	}
	var out []telling
	add := func(s telling) {
		if !slices.ContainsFunc(out, func(o telling) bool { return o.word == s.word }) {
			out = append(out, s)
		}
	}
	more := map[string]bool{}
	for _, s := range after {
		left[s.word]--
		more[s.word] = left[s.word] < 0
	}
	for _, s := range after {
		if more[s.word] && !lines[s.word+"\x00"+s.code] {
			add(s)
		}
	}
	for _, s := range after { // a line as there is already
		if more[s.word] {
			add(s)
		}
	}
	slices.SortFunc(out, func(a, b telling) int { return strings.Compare(a.word, b.word) })
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

// textMarks are the ways that the name and the text of a file have.
func textMarks(f source, src []byte) []telling {
	if src == nil {
		return nil
	}
	var out []telling
	base, dir := path.Base(f.path), path.Base(path.Dir(f.path))
	if why := shadows[base]; why != "" {
		out = append(out, telling{word: why})
	}
	if stem, ok := strings.CutSuffix(base, ".py"); ok && stdlib[stem] && slices.Contains(importRoots, path.Dir(f.path)) {
		out = append(out, telling{word: "takes the place of a module of the runner"})
	}
	if f.lang == python && base == "__init__.py" && slices.Contains(shadowFolders, dir) {
		out = append(out, telling{word: "takes the place of the test runner"})
	}
	text := uncommented(f.lang, string(src))
	for _, m := range append(slices.Clone(wordForms()[f.lang]), anywhere()...) {
		if f.test && !m.tests && !m.only || !f.test && m.only {
			continue
		}
		if m.program && isProgram(f.path, src) {
			continue
		}
		out = append(out, m.found(text)...)
	}
	return out
}

// sidesOfFile are both sides of a file, as their syntax shows them.
type sidesOfFile struct{ before, after marks.File }

// readTrees reads the files whose languages are read as trees.
func (j *job) readTrees(ctx context.Context, files []source) (map[string]sidesOfFile, error) {
	out := map[string]sidesOfFile{}
	var modules *testModules
	for _, f := range files {
		if f.lang != python && f.lang != javascript || f.after == nil {
			continue
		}
		if f.lang == python && modules == nil {
			var err error
			if modules, err = j.testModules(ctx); err != nil {
				return nil, err
			}
		}
		var both sidesOfFile
		for _, side := range []struct {
			src []byte
			to  *marks.File
		}{{f.before, &both.before}, {f.after, &both.after}} {
			if side.src == nil {
				continue
			}
			got, err := j.readMarks(ctx, f, side.src, files, modules)
			switch {
			case errors.Is(err, code.ErrTooLarge), errors.Is(err, code.ErrTooMuch):
				got.Marks = []marks.Mark{{Word: "is too large to be read"}}
			case err != nil:
				return nil, err
			}
			*side.to = got
		}
		out[f.path] = both
	}
	return out, nil
}

func tellings(f marks.File) (out []telling) {
	for _, m := range f.Marks {
		t := telling{word: m.Word, line: m.Line, code: m.Code}
		if m.What != "" {
			t.word += ": " + shorten(m.What, 60)
		}
		out = append(out, t)
	}
	return out
}

// readMarks reads one side of a file of Python or JavaScript.
func (j *job) readMarks(ctx context.Context, f source, src []byte, files []source, modules *testModules) (marks.File, error) {
	name := f.path
	switch path.Ext(name) {
	case ".pyi":
		name += ".py"
	case ".vue", ".svelte":
		name, src = name+".ts", scriptsOf(src)
	}
	root, err := j.v.o.Syntax.Tree(ctx, name, src)
	if err != nil {
		return marks.File{}, err
	}
	return marks.Read(root, f.lang == javascript, marks.Options{
		Test:    f.test || f.helps() || matterOf(f.path) == ofTests,
		Program: startedOnly(f, src, files), Theirs: modules.seenFrom(f),
	}), nil
}

// scriptsOf is a page of components with nothing but its scripts.
func scriptsOf(src []byte) []byte {
	out := regexp.MustCompile(`[^\n]`).ReplaceAll(src, []byte(" "))
	for _, m := range regexp.MustCompile(`(?s)<script\b[^>]*>(.*?)</script`).FindAllSubmatchIndex(src, -1) {
		copy(out[m[2]:m[3]], src[m[2]:m[3]])
	}
	return out
}

var exporting = regexp.MustCompile(`\bexports\b|(?m)^\s*export\b`)

// startedOnly tells of a file that is started by itself and gives nothing to
// others: that it looks at its command line and decides its exit code is what it
// is for. One that another file of the change loads is none.
func startedOnly(f source, src []byte, files []source) bool {
	base := path.Base(f.path)
	if f.lang == python {
		return base == "__main__.py"
	}
	if exporting.Match(src) {
		return false
	}
	stem := regexp.QuoteMeta(strings.TrimSuffix(base, path.Ext(base)))
	quote := "['\"`]"
	loads := regexp.MustCompile(`(?:require\(|import\(?|from)\s*` + quote + "[^'\"`]*?\\b" + stem + `(?:\.\w+)?` + quote)
	named := regexp.MustCompile(quote + "\\.{1,2}/(?:[^'\"`]*/)?" + stem + `(?:\.\w+)?` + quote)
	return !slices.ContainsFunc(files, func(o source) bool {
		return o.path != f.path && (loads.Match(o.after) || matterOf(o.path) == ofProduct && named.Match(o.after))
	})
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
