package verify

import (
	"bytes"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"text/scanner"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/regexp"
	"agency/internal/suite"
	"agency/internal/testreport"
)

// unitPlace is where a unit stands.
type unitPlace struct{ file, name string }

// plain is the name without its type, as functionOf gives that of a result.
func (at unitPlace) plain() string { return plainName(at.file, at.name) }

// testBodies are the tests and helpers of the changed files, on both sides.
type testBodies struct {
	was, now map[unitPlace]unit
	order    []unitPlace             // of was
	homes    map[string][]unitPlace  // of what is new, by its body
	named    map[string][]unitPlace  // and by its name
	pairs    map[unitPlace]unitPlace // where what is gone stands now
	used     map[unitPlace]bool      // of those
	renamed  map[string]bool         // functions of the product that are gone, or new: one name is as good as another
}

func readBodies(files []source) *testBodies {
	m := &testBodies{
		was: map[unitPlace]unit{}, now: map[unitPlace]unit{},
		homes: map[string][]unitPlace{}, named: map[string][]unitPlace{}, pairs: map[unitPlace]unitPlace{}, used: map[unitPlace]bool{}, renamed: map[string]bool{},
	}
	for _, f := range files {
		if !f.holdsTests() {
			m.rename(f)
		}
	}
	var fresh []unitPlace
	for _, f := range files {
		if !f.holdsTests() {
			continue
		}
		m.order = gather(m.was, m.order, f, f.before)
		fresh = gather(m.now, fresh, f, f.after)
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

// gather adds the units of a side of a file, and those to order that were not there.
func gather(all map[unitPlace]unit, order []unitPlace, f source, src []byte) []unitPlace {
	for _, u := range f.unitsOf(src) {
		at := unitPlace{f.path, u.Name}
		if _, dup := all[at]; !dup {
			order = append(order, at)
		}
		all[at] = plus(all[at], u)
	}
	return order
}

// rename notes the functions that a file of the product has on one side only,
// where there are as many on the other.
func (m *testBodies) rename(f source) {
	named := func(src []byte) map[string]bool {
		out := map[string]bool{}
		for _, u := range units(f.path, src) {
			out[plainName(f.path, u.Name)] = true
		}
		return out
	}
	was, now := named(f.before), named(f.after)
	both := func(name string, _ bool) bool { return was[name] && now[name] }
	gone, fresh := maps.Clone(was), maps.Clone(now)
	maps.DeleteFunc(gone, both)
	if maps.DeleteFunc(fresh, both); len(gone) == len(fresh) {
		maps.Copy(m.renamed, gone)
		maps.Copy(m.renamed, fresh)
	}
}

func plus(a, b unit) unit {
	return unit{
		Name: b.Name, Test: a.Test || b.Test, Asserts: a.Asserts + b.Asserts, Skips: a.Skips + b.Skips,
		Returns: a.Returns + b.Returns, Text: a.Text + b.Text, Body: a.Body + b.Body,
	}
}

// textWord is a word, a string or a mark of a language without a scanner here.
var textWord = regexp.MustCompile("\"(?:\\\\.|[^\"\\\\\\n])*\"|'(?:\\\\.|[^'\\\\\\n])*'|`[^`]*`|\\w+|[^\\s\\w]")

var identifier = regexp.MustCompile(`\w+`)

// words are what a unit says, without comments, white space and its own name.
func (m *testBodies) words(at unitPlace, u unit) []string {
	var out []string
	as := readAs(at.file)
	if as.Tests.Words != nil {
		out = as.Tests.Words(u.Body)
	} else {
		out = textWord.FindAllString(as.Style.Uncommented(u.Body), -1)
	}
	own := u.Name[strings.LastIndexByte(u.Name, '.')+1:]
	for i, w := range out {
		out[i] = identifier.ReplaceAllStringFunc(w, func(name string) string {
			if m.renamed[name] {
				return "()"
			}
			return name
		})
	}
	return slices.DeleteFunc(out, func(w string) bool { return w == own || strings.Trim(w, "'\"`") == u.Name || w == ";" || w == "," })
}

// home finds where something that is gone stands now: the same body under any
// name, or its own name with a body that holds nearly all that the old one did
// and asserts no less. What only has the name of it is another test.
func (m *testBodies) home(at unitPlace, fits func(unitPlace) bool) (unitPlace, bool) {
	if to, ok := m.pairs[at]; ok {
		return to, true
	}
	old := m.was[at]
	words := m.words(at, old)
	take := func(to unitPlace) (unitPlace, bool) {
		m.pairs[at], m.used[to] = to, true
		return to, true
	}
	for _, to := range m.homes[strings.Join(words, " ")] {
		if !m.used[to] && m.now[to].Test == old.Test && fits(to) {
			return take(to)
		}
	}
	for _, to := range m.named[at.name] {
		got := m.now[to]
		less := got.Asserts < old.Asserts || got.Skips > old.Skips || got.Returns > old.Returns
		if !m.used[to] && !less && fits(to) && kept(words, m.words(to, got)) >= nearly {
			return take(to)
		}
	}
	return unitPlace{}, false
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
func (f *facts) movedTests() map[string]string {
	var gone []string
	for _, w := range f.tests.Weakened {
		if w.Kind == agency.WeakDeleted && suite.TopOf(w.Name) == w.Name {
			gone = append(gone, w.Name)
		}
	}
	if len(gone) == 0 {
		return nil
	}
	return pairTests(gone, readBodies(f.sources), f.baseSuite.Tests, f.claimSuite.Tests)
}

// pairTests pairs tests that are gone with new ones that ran and have their
// body, one to one.
func pairTests(gone []string, m *testBodies, base, claim map[string]agency.TestStatus) map[string]string {
	fresh := map[string][]string{} // results that are new, by function or title
	for name, s := range claim {
		if _, old := base[name]; !old && s != agency.TestSkipped && suite.TopOf(name) == name {
			fresh[suite.FunctionOf(name)] = append(fresh[suite.FunctionOf(name)], name)
		}
	}
	before := map[string][]unitPlace{}
	for _, at := range m.order {
		if m.was[at].Test {
			before[at.plain()] = append(before[at.plain()], at)
		}
	}
	out := map[string]string{}
	for _, old := range gone {
		for _, at := range before[suite.FunctionOf(old)] {
			if !standsIn(old, at.file) {
				continue
			}
			// Of what is given to a test each has a result of its own.
			given := old[strings.LastIndex(old, at.plain())+len(at.plain()):]
			ran := func(to unitPlace) int {
				return slices.IndexFunc(fresh[to.plain()], func(name string) bool {
					return standsIn(name, to.file) && strings.HasSuffix(name, to.plain()+given)
				})
			}
			to, ok := m.home(at, func(to unitPlace) bool { return ran(to) >= 0 })
			if i := ran(to); ok && i >= 0 {
				out[old] = fresh[to.plain()][i]
				fresh[to.plain()] = slices.Delete(fresh[to.plain()], i, i+1)
				break
			}
		}
	}
	return out
}

// standsIn tells whether a test of this name can stand in a file, as far as the
// name says.
func standsIn(name, file string) bool {
	if pkg, _, ok := testreport.SplitGo(name); ok {
		dir := path.Dir(file)
		return dir == "." || pkg == dir || strings.HasSuffix(pkg, "/"+dir)
	}
	if f := testreport.FileOf(name); f != "" {
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

func (m *testBodies) compare(at unitPlace, nameless bool) []agency.Weakening {
	old, name := m.was[at], at.file+": "+at.name
	now := at
	got, ok := m.now[at]
	if !ok {
		if to, moved := m.home(at, func(unitPlace) bool { return true }); moved {
			now, got, ok = to, m.now[to], true
		}
	}
	switch {
	case !ok && at.name == wholeFile:
	case !ok && old.Test && (nameless || m.hidden(at)):
		return []agency.Weakening{{Kind: agency.WeakDeleted, Name: name, Detail: m.instead(at, "")}}
	case !ok && !old.Test && old.Asserts > 0:
		return []agency.Weakening{{Kind: agency.WeakAsserts, Name: name, Detail: "a helper by which tests assert is gone" + m.instead(at, ": ")}}
	case ok && got.Asserts < old.Asserts && got.Asserts+m.handedOver(now) < old.Asserts:
		return []agency.Weakening{{Kind: agency.WeakAsserts, Name: name, Detail: fmt.Sprintf("%d, was %d", got.Asserts, old.Asserts)}}
	case ok && old.Test && got.Returns > old.Returns:
		return []agency.Weakening{{Kind: agency.WeakAsserts, Name: name, Detail: "it can return before them"}}
	}
	return nil
}

// handedOver are the assertions of new helpers that a test's code calls.
func (m *testBodies) handedOver(test unitPlace) (n int) {
	calls := map[string]int{}
	for _, c := range helperCall.FindAllStringSubmatch(readAs(test.file).Style.Bare(m.now[test].Text), -1) {
		calls[c[1]]++
	}
	for at, h := range m.now {
		if _, old := m.was[at]; !old && !h.Test && at.name != wholeFile {
			n += h.Asserts * calls[at.name[strings.LastIndexAny(at.name, ".:")+1:]]
		}
	}
	return n
}

// helperCall is a name that is called.
var helperCall = regexp.MustCompile(`(\w+)\s*\(`)

// hidden tells whether the results show a test as before that is gone: another
// one bears its name, in another file of what names it.
func (m *testBodies) hidden(at unitPlace) bool {
	return readAs(at.file).Names.By == ecosystem.ByFolder && m.instead(at, "") != ""
}

// instead names a file with something else of a name that is gone, behind a lead.
func (m *testBodies) instead(at unitPlace, lead string) string {
	for _, to := range m.named[at.name] {
		if !m.used[to] && path.Dir(to.file) == path.Dir(at.file) {
			return lead + "another one of its name is in " + path.Base(to.file)
		}
	}
	return ""
}

// shadowed names what a file of tests called from elsewhere and defines itself
// now: its tests look as before, and mean something else. What only moved here
// is no such thing.
func (m *testBodies) shadowed(f source) (out []agency.Weakening) {
	if !f.test && !f.helps() || f.before == nil || f.after == nil {
		return nil
	}
	as := readAs(f.path)
	before := as.Style.Bare(string(f.before))
	was, now := setOf(as.Forms.Defines.Names(before)), setOf(as.Forms.Defines.Names(as.Style.Bare(string(f.after))))
	for _, name := range slices.Sorted(maps.Keys(now)) {
		if !was[name] && name != "" && !ecosystem.OpensBlock(name) && !m.used[unitPlace{f.path, name}] && callsPlainly(before, name) {
			out = append(out, agency.Weakening{Kind: agency.WeakAsserts, Name: f.path + ": " + name, Detail: "its tests called it from elsewhere, and it is defined among them now"})
		}
	}
	return out
}

// callsPlainly tells whether a text calls something by its bare name, not as
// what belongs to a value.
func callsPlainly(text, name string) bool {
	return regexp.MustCompile(`(?:^|[^\w.])` + regexp.QuoteMeta(name) + `!?\s*\(`).MatchString(text)
}

// Where the product calls something otherwise, a test that speaks of it has to
// be edited. Its expectation is what it was when nothing else of it is another:
// its old form cannot be run on the claim's product, and says the same.

// declared are the names that a source declares for others to use.
func declared(p string, src []byte) map[string]bool {
	as := readAs(p)
	if read := as.Forms.Declarations; read != nil {
		return setOf(read(src))
	}
	return setOf(as.Forms.Declares.Names(as.Style.WithoutCommentLines(string(src))))
}

func setOf(names []string) map[string]bool {
	out := map[string]bool{}
	for _, n := range names {
		out[n] = true
	}
	return out
}

// asserting words are not taken for names of the product, whoever declares them.
var assertingWord = regexp.MustCompile(`(?i)^(?:errorf?|fail\w*|fatalf?|logf?|skip\w*|assert\w*|expect\w*|require\w*|\w*equals?|true|false|nil|not\w*|is\w*|to[A-Z]\w*|contains|len|cap|run|ok|rejects|throws|does\w*|match\w*|panics?|raises\w*|patch|mock\w*)$`)

// renames are the names of the product that are gone with the change, and those
// that came with it.
func (f changeFacts) renames() (gone, came map[string]bool) {
	gone, came = map[string]bool{}, map[string]bool{}
	before, after := map[string]bool{}, map[string]bool{} // all words
	read := func(p string, src []byte, names, words map[string]bool) {
		maps.Copy(names, declared(p, src))
		for _, w := range nameWord.FindAllString(string(src), -1) {
			words[w] = true
		}
	}
	for _, s := range f.sources {
		if s.lang != "" && !s.test && !s.helps() && matterOf(s.path) == ofProduct {
			read(s.path, s.before, gone, before)
			read(s.path, s.after, came, after)
		}
	}
	maps.DeleteFunc(gone, func(n string, _ bool) bool { return after[n] || assertingWord.MatchString(n) })
	maps.DeleteFunc(came, func(n string, _ bool) bool { return before[n] || assertingWord.MatchString(n) })
	return gone, came
}

// onlyRenamed tells whether all that the change edits of the tests that were there
// are names which the product gave up for others. In Go, where no name stands twice,
// more tests may stand behind them.
func (f changeFacts) onlyRenamed() bool {
	gone, came := f.renames()
	if len(gone) == 0 || len(came) == 0 {
		return false
	}
	to := map[string]string{}
	for _, c := range slices.Concat(f.sides.tests, f.sides.inner) {
		if c.Status == 'A' {
			continue
		}
		at := slices.IndexFunc(f.sources, func(s source) bool { return s.path == c.Path })
		if at < 0 || c.Status != 'M' || f.sources[at].lang == "" || readAs(c.Path).Tests.Beside && !f.sources[at].test {
			return false
		}
		s := f.sources[at]
		was, is := tokensOf(s.path, s.before), tokensOf(s.path, s.after)
		if readAs(s.path).Names.By != ecosystem.ByFolder && len(was) != len(is) || !sameButNames(was, is, gone, came, to) {
			return false
		}
	}
	return len(to) > 0
}

// sameButNames tells whether a text goes on as another began, but for names, each
// of which is another throughout; to holds which.
func sameButNames(was, is []string, gone, came map[string]bool, to map[string]string) bool {
	if len(is) < len(was) {
		return false
	}
	for i, w := range was {
		switch other, known := to[w]; {
		case known && other != is[i], !known && w != is[i] && !(gone[w] && came[is[i]]):
			return false
		case known || w == is[i]:
		default:
			for _, o := range to {
				if o == is[i] {
					return false
				}
			}
			to[w] = is[i]
		}
	}
	return true
}

// tokensOf are the words, texts, comments and signs of a source, the ends of lines
// among them; blanks are none but where they mean something, before a line.
func tokensOf(p string, src []byte) (out []string) {
	var s scanner.Scanner
	s.Init(bytes.NewReader(src))
	s.Mode = scanner.ScanIdents | scanner.ScanFloats | scanner.ScanChars | scanner.ScanStrings | scanner.ScanRawStrings | scanner.ScanComments
	s.Whitespace = 1<<'\t' | 1<<' ' | 1<<'\r'
	s.Error = func(*scanner.Scanner, string) {}
	line, indents := 0, readAs(p).Forms.Indents
	for t := s.Scan(); t != scanner.EOF; t = s.Scan() {
		if indents && s.Line != line && t != '\n' {
			out = append(out, fmt.Sprint("column ", s.Column))
		}
		line = s.Line
		out = append(out, s.TokenText())
	}
	return out
}

// isUnchanged tells of a test that failed in its old form, or could not be run so,
// for nothing but a name.
func (f changeFacts) isUnchanged(e agency.Expectation, old suite.Results) bool {
	return e.Before == agency.TestPassed && (e.Now == "unbuilt" || lacksName(old.Receipt, e.Test)) && f.onlyRenamed()
}
