package verify

import (
	"fmt"
	"path"
	"slices"
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
		if f.before == nil || f.after == nil || !f.test && f.lang != rust {
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

// asserting tells whether the source of a test of the change holds an assertion,
// or hands on to what may. A test whose source is not among the changed ones is
// believed to.
func (f facts) asserting(test string) bool {
	known := false
	for _, s := range f.sources {
		if matterOf(s.path) == ofProduct && s.lang != rust {
			continue
		}
		for _, u := range units(s.lang, s.after) {
			if u.test && plainName(s.lang, u.name) == functionOf(test) {
				if known = true; u.asserts > 0 {
					return true
				}
			}
		}
	}
	return !known
}

// place is where a unit stands.
type place struct{ file, name string }

// lessAsserted compares the tests of the changed files one by one. A test that
// moved to another changed file is found there by its name. Where the results
// name no tests, nameless, it also tells what the results then cannot: tests
// that are gone or left out.
func lessAsserted(files []source, nameless bool) []agency.Weakening {
	was, now := map[place]unit{}, map[place]unit{}
	homes := map[string][]place{} // of what is new, by name
	var order []place
	for _, f := range files {
		if !f.test && f.lang != rust {
			continue
		}
		for _, u := range units(f.lang, f.before) {
			at := place{f.path, u.name}
			if _, dup := was[at]; !dup {
				order = append(order, at)
			}
			was[at] = plus(was[at], u)
		}
		for _, u := range units(f.lang, f.after) {
			at := place{f.path, u.name}
			now[at] = plus(now[at], u)
		}
	}
	for at := range now {
		if _, old := was[at]; !old {
			homes[at.name] = append(homes[at.name], at)
		}
	}
	var out []agency.Weakening
	for _, at := range order {
		out = append(out, compareUnit(at, was[at], now, homes, nameless)...)
	}
	return append(out, newSkips(files, was, now, nameless)...)
}

func plus(a, b unit) unit {
	return unit{name: b.name, test: a.test || b.test, asserts: a.asserts + b.asserts, skips: a.skips + b.skips, returns: a.returns + b.returns, text: a.text + b.text}
}

func compareUnit(at place, old unit, now map[place]unit, homes map[string][]place, nameless bool) []agency.Weakening {
	name := at.file + ": " + at.name
	got, ok := now[at]
	if !ok && len(homes[at.name]) > 0 {
		slices.SortFunc(homes[at.name], func(a, b place) int { return strings.Compare(a.file, b.file) })
		got, ok = now[homes[at.name][0]], true
		homes[at.name] = homes[at.name][1:]
	}
	switch {
	case !ok && nameless && old.test:
		return []agency.Weakening{{Kind: agency.WeakDeleted, Name: name}}
	case ok && got.asserts < old.asserts:
		return []agency.Weakening{{Kind: agency.WeakAsserts, Name: name, Detail: fmt.Sprintf("%d, was %d", got.asserts, old.asserts)}}
	case ok && old.test && got.returns > old.returns:
		return []agency.Weakening{{Kind: agency.WeakAsserts, Name: name, Detail: "it can return before them"}}
	}
	return nil
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
