package verify

import (
	"path"
	"strings"

	"agency/internal/agency"
	"agency/internal/git"
)

// unit is a piece of a test file that can assert: a test, or a helper of tests.
type unit struct {
	name    string
	test    bool
	asserts int
	skips   int // marks that leave the test, or others, out
	returns int // ways out before its end that fail nothing
	text    string
	body    string // of text, without what follows the unit in its file
}

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
	for _, dir := range strings.Split(path.Dir(p), "/") {
		switch dir {
		case "testdata", "__snapshots__", "snapshots", "fixtures", "__fixtures__", "golden", "goldens":
			return true
		}
	}
	switch path.Ext(p) {
	case ".snap", ".golden", ".approved":
		return true
	}
	return false
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
		for _, u := range units(f.lang, f.before) {
			was[u.name] += u.text
		}
		for _, u := range units(f.lang, f.after) {
			if old, ok := was[u.name]; ok && u.test && !strings.Contains(old, u.text) {
				out[u.name] = true
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
		if !f.test && f.lang != rust {
			continue
		}
		still := map[string]bool{}
		for _, u := range units(f.lang, f.after) {
			still[u.name] = true
		}
		for _, u := range units(f.lang, f.before) {
			if u.test && !still[u.name] {
				out[plainName(f.lang, u.name)] = true
			}
		}
	}
	return out
}

// plainName is the name of a unit without its type, as functionOf gives it.
func plainName(lang language, name string) string {
	if lang == golang {
		return name[strings.LastIndexByte(name, '.')+1:]
	}
	return name
}

// asserting tells whether a test of the change can fail by an assertion. A test
// whose source is not among the changed ones is believed to.
func (f facts) asserting(test string) bool {
	known := false
	for _, s := range f.sources {
		if matterOf(s.path) == ofProduct && s.lang != rust {
			continue
		}
		asserts, found := asserting(s.lang, s.after, functionOf(test))
		if known = known || found; asserts {
			return true
		}
	}
	return !known
}

// newSkips names files whose tests are left out by marks that were not there,
// where the results do not tell.
func newSkips(files []source, was, now map[place]unit, nameless bool) []agency.Weakening {
	if !nameless {
		return nil
	}
	count := func(units map[place]unit, file string) (n int) {
		for at, u := range units {
			if at.file == file {
				n += u.skips
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
func asserting(lang language, src []byte, test string) (asserts, found bool) {
	all := units(lang, src)
	for _, u := range all {
		if !u.test || u.name != test && !strings.HasSuffix(u.name, "."+test) { // a suite's method
			continue
		}
		if found = true; u.asserts > 0 {
			return true, true
		}
		for _, h := range all {
			if h.asserts > 0 && !h.test && h.name != wholeFile && callsPlainly(u.body, h.name[strings.LastIndexByte(h.name, '.')+1:]) {
				return true, true
			}
		}
	}
	return false, found
}

// units are the tests and helpers of a file.
func units(lang language, src []byte) []unit {
	switch {
	case len(src) == 0:
		return nil
	case lang == golang:
		return goUnits(src)
	default:
		return textUnits(lang, string(src))
	}
}
