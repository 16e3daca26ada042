package verify

import (
	"context"
	"fmt"
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
)

// place is where a unit stands.
type place struct{ file, name string }

// testBodies are the tests and helpers of the changed files, on both sides.
type testBodies struct {
	was, now map[place]unit
	order    []place // of was
	langs    map[string]language
	homes    map[string][]place // of what is new, by its body
	named    map[string][]place // and by its name
	pairs    map[place]place    // where what is gone stands now
	used     map[place]bool     // of those
	renamed  map[string]bool    // functions of the product that are gone, or new: one name is as good as another
}

func readBodies(files []source) *testBodies {
	m := &testBodies{
		was: map[place]unit{}, now: map[place]unit{}, langs: map[string]language{},
		homes: map[string][]place{}, named: map[string][]place{}, pairs: map[place]place{}, used: map[place]bool{}, renamed: map[string]bool{},
	}
	for _, f := range files {
		if !f.holdsTests() {
			m.rename(f)
		}
	}
	var fresh []place
	for _, f := range files {
		if !f.holdsTests() {
			continue
		}
		m.langs[f.path] = f.lang
		for _, u := range f.unitsOf(f.before) {
			at := place{f.path, u.name}
			if _, dup := m.was[at]; !dup {
				m.order = append(m.order, at)
			}
			m.was[at] = plus(m.was[at], u)
		}
		for _, u := range f.unitsOf(f.after) {
			at := place{f.path, u.name}
			if _, dup := m.now[at]; !dup {
				fresh = append(fresh, at)
			}
			m.now[at] = plus(m.now[at], u)
		}
	}
	for _, at := range fresh {
		if _, old := m.was[at]; old || at.name == wholeFile {
			continue
		}
		body := strings.Join(m.words(at, m.now[at]), " ")
		m.homes[body] = append(m.homes[body], at)
		m.named[at.name] = append(m.named[at.name], at)
	}
	return m
}

// rename notes the functions that a file of the product has on one side only,
// where there are as many on the other.
func (m *testBodies) rename(f source) {
	was, now := map[string]bool{}, map[string]bool{}
	for _, u := range units(f.lang, f.before) {
		was[plainName(f.lang, u.name)] = true
	}
	for _, u := range units(f.lang, f.after) {
		now[plainName(f.lang, u.name)] = true
	}
	var gone, fresh []string
	for name := range was {
		if !now[name] {
			gone = append(gone, name)
		}
	}
	for name := range now {
		if !was[name] {
			fresh = append(fresh, name)
		}
	}
	if len(gone) == len(fresh) {
		for _, name := range slices.Concat(gone, fresh) {
			m.renamed[name] = true
		}
	}
}

func plus(a, b unit) unit {
	return unit{
		name: b.name, test: a.test || b.test, asserts: a.asserts + b.asserts, skips: a.skips + b.skips,
		returns: a.returns + b.returns, text: a.text + b.text, body: a.body + b.body,
	}
}

// textWord is a word, a string or a mark of a language without a scanner here.
var textWord = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'|`[^`]*`|\\w+|[^\\s\\w]")

var identifier = regexp.MustCompile(`\w+`)

// words are what a unit says, without comments, white space and its own name.
func (m *testBodies) words(at place, u unit) []string {
	var out []string
	lang := m.langs[at.file]
	if lang == golang {
		fset := token.NewFileSet()
		var s scanner.Scanner
		s.Init(fset.AddFile("", -1, len(u.body)), []byte(u.body), nil, 0)
		for {
			_, tok, lit := s.Scan()
			if tok == token.EOF {
				break
			}
			if tok == token.SEMICOLON {
				continue
			}
			if lit == "" {
				lit = tok.String()
			}
			out = append(out, lit)
		}
	} else {
		out = textWord.FindAllString(scrub(lang, u.body, false), -1)
	}
	own := u.name[strings.LastIndexByte(u.name, '.')+1:]
	for i, w := range out {
		out[i] = identifier.ReplaceAllStringFunc(w, func(name string) string {
			if m.renamed[name] {
				return "()"
			}
			return name
		})
	}
	return slices.DeleteFunc(out, func(w string) bool { return w == own || strings.Trim(w, "'\"`") == u.name || w == ";" || w == "," })
}

// home finds where something that is gone stands now: the same body under any
// name, or its own name with a body that holds nearly all that the old one did
// and asserts no less. What only has the name of it is another test.
func (m *testBodies) home(at place, fits func(place) bool) (place, bool) {
	if to, ok := m.pairs[at]; ok {
		return to, true
	}
	old := m.was[at]
	words := m.words(at, old)
	take := func(to place) (place, bool) {
		m.pairs[at], m.used[to] = to, true
		return to, true
	}
	for _, to := range m.homes[strings.Join(words, " ")] {
		if !m.used[to] && m.now[to].test == old.test && fits(to) {
			return take(to)
		}
	}
	for _, to := range m.named[at.name] {
		got := m.now[to]
		less := got.asserts < old.asserts || got.skips > old.skips || got.returns > old.returns
		if !m.used[to] && !less && fits(to) && kept(words, m.words(to, got)) >= nearly {
			return take(to)
		}
	}
	return place{}, false
}

// nearly is how much of a test has to be left of it where its place is another.
const nearly = 0.8

// kept is the part of words that are among others, too.
func kept(words, others []string) float64 {
	have := map[string]int{}
	for _, w := range others {
		have[w]++
	}
	n := 0
	for _, w := range words {
		if have[w]--; have[w] >= 0 {
			n++
		}
	}
	return float64(n) / float64(max(len(words), 1))
}

// movedTests are the tests of the base that only stand elsewhere on the claim, or
// under another name, and run there: the new name by the old one.
func (j *job) movedTests(ctx context.Context, f *facts) (map[string]string, error) {
	var gone []string
	for _, w := range f.tests.weakened {
		if w.Kind == agency.WeakDeleted && topOf(w.Name) == w.Name {
			gone = append(gone, w.Name)
		}
	}
	if len(gone) == 0 {
		return nil, nil
	}
	return pairTests(gone, readBodies(f.sources), f.baseSuite.tests, f.claimSuite.tests), nil
}

// pairTests pairs tests that are gone with new ones that ran and have their
// body, one to one.
func pairTests(gone []string, m *testBodies, base, claim map[string]agency.TestStatus) map[string]string {
	fresh := map[string][]string{} // results that are new, by function or title
	for name, s := range claim {
		if _, old := base[name]; !old && s != agency.TestSkipped && topOf(name) == name {
			fresh[functionOf(name)] = append(fresh[functionOf(name)], name)
		}
	}
	before := map[string][]place{}
	for _, at := range m.order {
		if m.was[at].test {
			before[m.bare(at)] = append(before[m.bare(at)], at)
		}
	}
	out := map[string]string{}
	for _, old := range gone {
		for _, at := range before[functionOf(old)] {
			if !standsIn(old, at.file) {
				continue
			}
			// Of what is given to a test each has a result of its own.
			given := old[strings.LastIndex(old, m.bare(at))+len(m.bare(at)):]
			ran := func(to place) int {
				return slices.IndexFunc(fresh[m.bare(to)], func(name string) bool {
					return standsIn(name, to.file) && strings.HasSuffix(name, m.bare(to)+given)
				})
			}
			to, ok := m.home(at, func(to place) bool { return ran(to) >= 0 })
			if i := ran(to); ok && i >= 0 {
				out[old] = fresh[m.bare(to)][i]
				fresh[m.bare(to)] = slices.Delete(fresh[m.bare(to)], i, i+1)
				break
			}
		}
	}
	return out
}

// renamed are the results of a suite under the names that tests have now, with
// those of their subtests.
func (s suite) renamed(moved map[string]string) suite {
	if len(moved) == 0 || s.tests == nil {
		return s
	}
	out := make(map[string]agency.TestStatus, len(s.tests))
	for name, status := range s.tests {
		top := topOf(name)
		if to, ok := moved[top]; ok {
			name = to + name[len(top):]
		}
		out[name] = status
	}
	s.tests = out
	return s
}

// bare is the name of a unit as functionOf gives that of a result.
func (m *testBodies) bare(at place) string {
	if m.langs[at.file] != golang {
		return at.name
	}
	return at.name[strings.LastIndexByte(at.name, '.')+1:] // without a receiver
}

// standsIn tells whether a test of this name can stand in a file, as far as the
// name says.
func standsIn(name, file string) bool {
	if pkg, _, ok := check.SplitGo(name); ok {
		dir := path.Dir(file)
		return dir == "." || pkg == dir || strings.HasSuffix(pkg, "/"+dir)
	}
	if f := check.FileOf(name); f != "" {
		return f == file
	}
	return true
}

// lessAsserted compares the tests of the changed files, and the helpers by which
// they assert, one by one; what moved is found where it is. Where the results
// name no tests, nameless, it also tells what the results then cannot: tests
// that are gone or left out.
func lessAsserted(files []source, nameless bool) []agency.Weakening {
	m := readBodies(files)
	var out []agency.Weakening
	for _, at := range m.order {
		out = append(out, m.compare(at, nameless)...)
	}
	out = append(out, newSkips(files, m.was, m.now, nameless)...)
	for _, f := range files {
		out = append(out, m.shadowed(f)...)
	}
	return out
}

func (m *testBodies) compare(at place, nameless bool) []agency.Weakening {
	old, name := m.was[at], at.file+": "+at.name
	now := at
	got, ok := m.now[at]
	if !ok {
		if to, moved := m.home(at, func(place) bool { return true }); moved {
			now, got, ok = to, m.now[to], true
		}
	}
	switch {
	case !ok && at.name == wholeFile:
	case !ok && old.test && (nameless || m.hidden(at)):
		return []agency.Weakening{{Kind: agency.WeakDeleted, Name: name, Detail: m.instead(at)}}
	case !ok && !old.test && old.asserts > 0:
		return []agency.Weakening{{Kind: agency.WeakAsserts, Name: name, Detail: "a helper by which tests assert is gone" + m.insteadOf(at)}}
	case ok && got.asserts < old.asserts && got.asserts+m.handedOver(now) < old.asserts:
		return []agency.Weakening{{Kind: agency.WeakAsserts, Name: name, Detail: fmt.Sprintf("%d, was %d", got.asserts, old.asserts)}}
	case ok && old.test && got.returns > old.returns:
		return []agency.Weakening{{Kind: agency.WeakAsserts, Name: name, Detail: "it can return before them"}}
	}
	return nil
}

// handedOver are the assertions of new helpers that a test's code calls.
func (m *testBodies) handedOver(test place) (n int) {
	calls := map[string]int{}
	for _, c := range helperCall.FindAllStringSubmatch(blank(m.langs[test.file], m.now[test].text), -1) {
		calls[c[1]]++
	}
	for at, h := range m.now {
		if _, old := m.was[at]; !old && !h.test && at.name != wholeFile {
			n += h.asserts * calls[at.name[strings.LastIndexAny(at.name, ".:")+1:]]
		}
	}
	return n
}

// helperCall is a name that is called.
var helperCall = regexp.MustCompile(`(\w+)\s*\(`)

// hidden tells whether the results show a test as before that is gone: another
// one bears its name, in another file of what names it.
func (m *testBodies) hidden(at place) bool {
	return m.langs[at.file] == golang && m.instead(at) != ""
}

// instead names a file with something else of a name that is gone.
func (m *testBodies) instead(at place) string {
	for _, to := range m.named[at.name] {
		if !m.used[to] && path.Dir(to.file) == path.Dir(at.file) {
			return "another one of its name is in " + path.Base(to.file)
		}
	}
	return ""
}

func (m *testBodies) insteadOf(at place) string {
	if s := m.instead(at); s != "" {
		return ": " + s
	}
	return ""
}
