package verify

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"sync"
	"text/scanner"

	"agency/internal/agency"
)

// Where the product calls something otherwise, a test that speaks of it has to
// be edited. Its expectation is what it was when nothing else of it is another:
// its old form cannot be run on the claim's product, and says the same.

// declares are the forms by which languages give a name to what they declare.
var declares = sync.OnceValue(func() map[language]*regexp.Regexp {
	return map[language]*regexp.Regexp{
		python:     regexp.MustCompile(`(?m)\b(?:def|class)\s+(\w+)|\bself\.(\w+)\s*(?::[^=\n]+)?=[^=]|^\s*(\w+)\s*:\s*[A-Za-z_"']`),
		javascript: regexp.MustCompile(`(?m)\b(?:function\*?|class|const|let|var)\s+(\w+)|\bthis\.(\w+)\s*=[^=]|^\s*(?:async\s+|static\s+|get\s+|set\s+)*(\w+)\s*\([^)\n]*\)\s*\{`),
		rust:       regexp.MustCompile(`(?m)\b(?:fn|struct|enum|trait|type|const|static|mod)\s+(\w+)|^\s*(?:pub(?:\([^)]*\))?\s+)?([a-z_]\w*)\s*:\s*[&\w(\[]`),
		java:       regexp.MustCompile(`(?m)\b(?:class|interface|enum|record)\s+(\w+)|^\s*(?:(?:public|protected|private|static|final|abstract)\s+)+[\w<>\[\],.? ]+\s+(\w+)\s*[(;=]`),
	}
})

// declared are the names that a source declares for others to use.
func declared(lang language, src []byte) map[string]bool {
	out := map[string]bool{}
	if lang != golang {
		for _, n := range namesIn(declares()[lang], []byte(uncommented(lang, string(src)))) {
			out[n] = true
		}
		return out
	}
	file, _ := parser.ParseFile(token.NewFileSet(), "", src, parser.SkipObjectResolution)
	if file == nil {
		return out
	}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			out[d.Name.Name] = true
		case *ast.GenDecl:
			ast.Inspect(d, func(n ast.Node) bool {
				switch n := n.(type) {
				case *ast.TypeSpec:
					out[n.Name.Name] = true
				case *ast.ValueSpec:
					for _, name := range n.Names {
						out[name.Name] = true
					}
				case *ast.Field:
					for _, name := range n.Names {
						out[name.Name] = true
					}
				case *ast.FuncLit:
					return false
				}
				return true
			})
		}
	}
	return out
}

// asserting words are not taken for names of the product, whoever declares them.
var assertingWord = regexp.MustCompile(`(?i)^(?:errorf?|fail\w*|fatalf?|logf?|skip\w*|assert\w*|expect\w*|require\w*|\w*equals?|true|false|nil|not\w*|is\w*|to[A-Z]\w*|contains|len|cap|run|ok|rejects|throws|does\w*|match\w*|panics?|raises\w*|patch|mock\w*)$`)

// renames are the names of the product that are gone with the change, and those
// that came with it.
func (f *facts) renames() (gone, came map[string]bool) {
	gone, came = map[string]bool{}, map[string]bool{}
	was, is := map[string]bool{}, map[string]bool{}
	text := map[bool]string{}
	for _, s := range f.sources {
		if s.lang == "" || s.test || s.helps() || matterOf(s.path) != ofProduct {
			continue
		}
		for n := range declared(s.lang, s.before) {
			was[n] = true
		}
		for n := range declared(s.lang, s.after) {
			is[n] = true
		}
		text[false] += "\n" + string(s.before)
		text[true] += "\n" + string(s.after)
	}
	words := func(s string) map[string]bool {
		out := map[string]bool{}
		for _, w := range nameWord.FindAllString(s, -1) {
			out[w] = true
		}
		return out
	}
	before, after := words(text[false]), words(text[true])
	for n := range was {
		if !after[n] && !assertingWord.MatchString(n) {
			gone[n] = true
		}
	}
	for n := range is {
		if !before[n] && !assertingWord.MatchString(n) {
			came[n] = true
		}
	}
	return gone, came
}

// onlyRenamed tells whether all that the change edits of the tests that were there
// are names which the product gave up for others. In Go, where no name stands twice,
// more tests may stand behind them.
func (f *facts) onlyRenamed() bool {
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
		if at < 0 || c.Status != 'M' || f.sources[at].lang == "" || f.sources[at].lang == rust && !f.sources[at].test {
			return false
		}
		s := f.sources[at]
		was, is := tokensOf(s.lang, s.before), tokensOf(s.lang, s.after)
		if s.lang != golang && len(was) != len(is) || !sameButNames(was, is, gone, came, to) {
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
func tokensOf(lang language, src []byte) (out []string) {
	var s scanner.Scanner
	s.Init(bytes.NewReader(src))
	s.Mode = scanner.ScanIdents | scanner.ScanFloats | scanner.ScanChars | scanner.ScanStrings | scanner.ScanRawStrings | scanner.ScanComments
	s.Whitespace = 1<<'\t' | 1<<' ' | 1<<'\r'
	s.Error = func(*scanner.Scanner, string) {}
	line := 0
	for t := s.Scan(); t != scanner.EOF; t = s.Scan() {
		if lang == python && s.Line != line && t != '\n' {
			out = append(out, fmt.Sprint("column ", s.Column))
		}
		line = s.Line
		out = append(out, s.TokenText())
	}
	return out
}

// isUnchanged tells of a test that failed in its old form, or could not be run so,
// for nothing but a name.
func (f *facts) isUnchanged(e agency.Expectation, old suite) bool {
	return e.Before == agency.TestPassed && (e.Now == "unbuilt" || lacksName(old.receipt, e.Test)) && f.onlyRenamed()
}
