package verify

import (
	"regexp"
	"slices"
	"sync"

	"agency/internal/agency"
)

// definitions are how a language gives a name to something that can be called.
var definitions = sync.OnceValue(func() map[language]*regexp.Regexp {
	return map[language]*regexp.Regexp{
		golang:     regexp.MustCompile(`(?m)^func\s+(\w+)\s*[(\[]|\b(\w+)\s*:?=\s*func\b|\bvar\s+(\w+)\b[^=\n]*=\s*func\b`),
		python:     regexp.MustCompile(`(?m)^[ \t]*(?:async[ \t]+)?def[ \t]+(\w+)|^[ \t]*(\w+)[ \t]*=[ \t]*(?:lambda\b|\w*Mock\()|\bimport[ \t]+\w+[ \t]+as[ \t]+(\w+)`),
		javascript: regexp.MustCompile(`\bfunction\s*\*?\s*(\w+)|\b(?:const|let|var)\s+(\w+)\s*=\s*(?:async\s*)?(?:function\b|\(|\w+\s*=>|(?:jest|vi|sinon)\.\w+)`),
		rust:       regexp.MustCompile(`\bfn\s+(\w+)|\bmacro_rules!\s*(\w+)|\blet\s+(\w+)\s*=\s*(?:move\s*)?\|`),
		java:       regexp.MustCompile(`(?m)^[ \t]*(?:(?:public|protected|private|static|final|void|fun|override)[ \t]+)+(?:[\w.<>\[\]]+[ \t]+)?(\w+)[ \t]*\(`),
	}
})

func defined(lang language, src []byte) map[string]bool {
	out := map[string]bool{}
	if form := definitions()[lang]; form != nil {
		text := bareText(lang, src)
		for _, m := range form.FindAllStringSubmatchIndex(text, -1) {
			out[lastGroup(text, m)] = true
		}
	}
	return out
}

// bareText is a source without its comments and the insides of its strings.
func bareText(lang language, src []byte) string {
	if lang == golang {
		lang = javascript // whose comments and strings look the same
	}
	return blank(lang, string(src))
}

// shadowed names what a file of tests called from elsewhere and defines itself
// now: its tests look as before, and mean something else. What only moved here
// is no such thing.
func (m *testBodies) shadowed(f source) []agency.Weakening {
	if !f.test && !f.helps() || f.before == nil || f.after == nil {
		return nil
	}
	was, before := defined(f.lang, f.before), bareText(f.lang, f.before)
	var names []string
	for name := range defined(f.lang, f.after) {
		if !was[name] && name != "" && !notNames[name] && !m.used[place{f.path, name}] && callsPlainly(before, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	var out []agency.Weakening
	for _, name := range names {
		out = append(out, agency.Weakening{Kind: agency.WeakAsserts, Name: f.path + ": " + name, Detail: "its tests called it from elsewhere, and it is defined among them now"})
	}
	return out
}

// callsPlainly tells whether a text calls something by its bare name, not as
// what belongs to a value.
func callsPlainly(text, name string) bool {
	return regexp.MustCompile(`(?:^|[^\w.])` + regexp.QuoteMeta(name) + `!?\s*\(`).MatchString(text)
}
