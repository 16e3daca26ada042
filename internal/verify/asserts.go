package verify

import (
	"path"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/git"
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
