package verify

import (
	"context"
	"path"
	"slices"
	"strings"
	"sync"

	"agency/internal/agency"
	"agency/internal/awareness"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/regexp"
	"agency/internal/suite"
)

// unit is a piece of a file that can assert.
type unit = ecosystem.CodeUnit

// wholeFile is the unit of what stands outside of all tests.
const wholeFile = ecosystem.WholeFile

// edited names tests that were there before and changed although the contract's
// declared writes do not hold them. Without declared writes tests may be edited.
func edited(changes []git.Change, writes []string) []agency.Weakening {
	var out []agency.Weakening
	for _, c := range changes {
		if len(writes) == 0 || c.Status == 'A' || !isTestFile(c.Path) && !isTestData(c.Path) {
			continue
		}
		if _, _, declared := agency.Overlap([]string{c.Path}, writes, nil); !declared {
			out = append(out, agency.Weakening{Kind: agency.WeakEdited, Name: c.Path})
		}
	}
	return out
}

// isTestData tells whether a file is what tests compare with.
func isTestData(p string) bool {
	return ecosystem.UnderFolder(p, "testdata", "__snapshots__", "snapshots", "fixtures", "__fixtures__", "golden", "goldens") ||
		slices.Contains([]string{".snap", ".golden", ".approved"}, path.Ext(p))
}

// rewritten are the tests that were there before and say something else now, by
// the name of their function or title.
func rewritten(files []source) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		if f.before == nil || f.after == nil || !f.holdsTests() {
			continue
		}
		was := map[string]string{}
		for _, u := range units(f.path, f.before) {
			was[u.Name] += u.Text
		}
		for _, u := range units(f.path, f.after) {
			if old, ok := was[u.Name]; ok && u.Test && !strings.Contains(old, u.Text) {
				out[u.Name] = true
			}
		}
	}
	return out
}

// removed are the tests of changed files that are not in them any more, by the
// name of their function or title.
func removed(files []source) map[string]bool {
	out := map[string]bool{}
	for _, f := range files {
		if !f.test && !readAs(f.path).Tests.Beside {
			continue
		}
		still := map[string]bool{}
		for _, u := range units(f.path, f.after) {
			still[u.Name] = true
		}
		for _, u := range units(f.path, f.before) {
			if u.Test && !still[u.Name] {
				out[plainName(f.path, u.Name)] = true
			}
		}
	}
	return out
}

// plainName is the name of a unit without its type, as functionOf gives it.
func plainName(p, name string) string {
	if readAs(p).Tests.Typed {
		return name[strings.LastIndexByte(name, '.')+1:]
	}
	return name
}

// asserting tells whether a test of the change can fail by an assertion. A test
// whose source is not among the changed ones is believed to.
func (f changeFacts) asserting(test string) bool {
	known := false
	for _, s := range f.sources {
		if matterOf(s.path) == ofProduct && !readAs(s.path).Tests.Beside {
			continue
		}
		asserts, found := asserting(s.path, s.after, suite.FunctionOf(test))
		if known = known || found; asserts {
			return true
		}
	}
	return !known
}

// newSkips names files whose tests are left out by marks that were not there,
// where the results do not tell.
func newSkips(files []source, was, now map[unitPlace]unit, nameless bool) []agency.Weakening {
	if !nameless {
		return nil
	}
	count := func(units map[unitPlace]unit, file string) (n int) {
		for at, u := range units {
			if at.file == file {
				n += u.Skips
			}
		}
		return n
	}
	var out []agency.Weakening
	for _, f := range files {
		if f.before != nil && count(now, f.path) > count(was, f.path) {
			out = append(out, agency.Weakening{Kind: agency.WeakSkipped, Name: f.path})
		}
	}
	return out
}

// asserting tells whether a test of a file, named by its function or title, can
// fail by an assertion: its own, or one of a helper beside it that it calls. A
// test that cannot proves nothing by passing. Found is false where the file has
// no such test.
func asserting(p string, src []byte, test string) (asserts, found bool) {
	all := units(p, src)
	for _, u := range all {
		if !u.Test || u.Name != test && !strings.HasSuffix(u.Name, "."+test) { // a suite's method
			continue
		}
		if found = true; u.Asserts > 0 {
			return true, true
		}
		for _, h := range all {
			if h.Asserts > 0 && !h.Test && h.Name != wholeFile && callsPlainly(u.Body, h.Name[strings.LastIndexByte(h.Name, '.')+1:]) {
				return true, true
			}
		}
	}
	return false, found
}

// units are the tests and helpers of a file.
func units(p string, src []byte) []unit {
	if read := readAs(p).Tests.Units; read != nil && len(src) > 0 {
		return read(src)
	}
	return nil
}

// Code of languages that are not read cannot be taken out of a claim, and what it
// knows of its tests is looked for in its text alone.

// unreadEndings are those of sources in such languages.
var unreadEndings = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, e := range strings.Fields(`sh bash zsh ksh fish c h cc cpp cxx hh hpp m mm rb php pl pm lua cs fs vb swift scala groovy clj ex exs erl hs ml r jl dart
		nim zig cr d pas tcl awk ps1 f90 ada adb v sv vhd lisp el scm`) {
		out["."+e] = true
	}
	return out
})

// isUnread tells of a source of such a language.
func isUnread(p string) bool {
	return unreadEndings()[strings.ToLower(path.Ext(p))] && languageOf(p) == ""
}

// changesUnread tells whether the product's code that changed is of such languages,
// be it in part.
func (s sides) changesUnread() bool {
	return slices.ContainsFunc(s.product, func(c git.Change) bool { return isUnread(c.Path) })
}

// unreadMarks are ways in which such a source knows of its tests or decides their
// results. A program by itself may end.
var unreadMarks = sync.OnceValue(func() []ecosystem.Mark {
	re := regexp.MustCompile
	return []ecosystem.Mark{
		{Form: re(`\bexit\b\s*\(?\s*0\b|\b_exit\b|\bquick_exit\b|\bexit\s*\(\s*EXIT_SUCCESS|\bexit!`), Word: "ends the process", Program: true},
		{Form: re(`__attribute__\s*\(\s*\(\s*(?:con|de)structor|\batexit\b|\bat_exit\b|\btrap\b[^\n]*\b(?:EXIT|0)\b|\bregister_shutdown_function\b`), Word: "acts at the process's end"},
		{Form: re(`["'\s](?:not )?ok \d|["']1\.\.\d|TAP version \d|<testsuites?\b|<testcase\b|\b\d+ examples?, 0 failures`), Word: "prints like a test run"},
		{Form: re(`\bPPID\b|\bgetppid\b|/proc/|["']/?proc/?["']|\bps\s+-|\bBASH_SOURCE\b|\bFUNCNAME\b|\bcaller\b|\bcaller_locations\b|\bdebug_backtrace\b|\bbacktrace\s*\(|\$PROGRAM_NAME\b`), Word: "looks at who runs it"},
		{Form: re(`\$\{?0\b`), Word: "looks at who runs it", Unless: re(`(?i)usage|basename|dirname`), Program: true},
	}
})

// startsItself is how a source says that it is a program.
var startsItself = regexp.MustCompile(`\A#!|\bmain\s*\(|__FILE__\s*==\s*\$0`)

// unread names what the change's product in such languages newly shows.
func (j *job) unread(ctx context.Context, f *facts) (out []agency.Weakening) {
	left := maxSourcesSum
	for _, c := range f.changes {
		if !isUnread(c.Path) || c.Status == 'D' || left <= 0 || j.usage.matterOf(ctx, c) != ofProduct {
			continue
		}
		before, after := j.trees.Sides(ctx, c)
		left -= len(before) + len(after)
		program := startsItself.Match(after)
		for _, m := range unreadMarks() {
			if m.Program && program {
				continue
			}
			if now := m.Find(string(after)); len(now) > len(m.Find(string(before))) {
				out = append(out, agency.Weakening{Kind: agency.WeakForging, Name: c.Path, Detail: m.Word})
			}
		}
	}
	return out
}

// found are the places where a source shows a mark.
func found(m ecosystem.Mark, text string) (out []awareness.Finding) {
	for _, at := range m.Find(text) {
		from := strings.LastIndexByte(text[:at], '\n') + 1
		line, _, _ := strings.Cut(text[from:], "\n")
		out = append(out, awareness.Finding{Word: m.Word, Line: 1 + strings.Count(text[:at], "\n"), Code: strings.TrimSpace(line)})
	}
	return out
}

// anywhere are marks of every language.
var anywhere = sync.OnceValue(func() []ecosystem.Mark {
	return []ecosystem.Mark{
		{Form: regexp.MustCompile(`/proc/(?:self|thread-self|\d|[%$\{])|['"]/?proc/?['"]`), Word: "looks at its own process", Tests: true},
		{Form: regexp.MustCompile(`\bAGENCY_(?:REPORT|COVERAGE)\b|\bagency_(?:pytest|unittest|report)\b`), Word: "knows who verifies it", Tests: true},
	}
})

// marksBy are the ways by which the text of a source can know of its tests.
func marksBy(p string) []ecosystem.Mark {
	if own := readAs(p).Forms.Marks; own != nil {
		return slices.Concat(own(), anywhere())
	}
	return anywhere()
}
