package verify

import (
	"bytes"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"text/scanner"

	"agency/internal/agency"
	"agency/internal/ecosystem"
	"agency/internal/suite"
)

// Where the product calls something otherwise, a test that speaks of it has to
// be edited. Its expectation is what it was when nothing else of it is another:
// its old form cannot be run on the claim's product, and says the same.

// declared are the names that a source declares for others to use.
func declared(p string, src []byte) map[string]bool {
	as, out := readAs(p), map[string]bool{}
	names := as.Forms.Declares.Names(as.Style.WithoutCommentLines(string(src)))
	if read := as.Forms.Declarations; read != nil {
		names = read(src)
	}
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
