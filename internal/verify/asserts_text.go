package verify

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// forms is how a language writes its tests. They are found in the text: a
// parser for each language would be a dependency of every verification, and
// what is counted stands in plain calls.
type forms struct {
	unit   *regexp.Regexp // a test or a helper; the last group that matched is its name
	test   *regexp.Regexp // of the match, that it is a test and no helper
	assert *regexp.Regexp
	skip   *regexp.Regexp
}

var textForms = sync.OnceValue(func() map[language]forms {
	return map[language]forms{
		python: {
			unit:   regexp.MustCompile(`(?m)^([ \t]*)(?:async[ \t]+)?def[ \t]+(\w+)`),
			test:   regexp.MustCompile(`def[ \t]+test`),
			assert: regexp.MustCompile(`(?m)^[ \t]*assert\b|;[ \t]*assert\b|\bself\.(?:assert\w*|fail\w*)\(|\bpytest\.(?:raises|warns|fail|deprecated_call)\(|\.assert_\w+\(|\bassert_\w+\(|\bexpect\(`),
			skip:   regexp.MustCompile(`\bpytest\.(?:skip|xfail|importorskip)\b|\bmark\.(?:skip|skipif|xfail)\b|\bunittest\.skip|@skip|\bself\.skipTest\b|@expectedFailure|\bunittest\.expectedFailure\b|collect_ignore|__test__\s*=\s*False`),
		},
		javascript: {
			unit: regexp.MustCompile("\\b(?:it|test|specify|bench)(?:\\.\\w+)*(?:\\([^()\\n]*\\))?\\s*\\(\\s*(?:'([^'\\n]*)'|\"([^\"\\n]*)\"|`([^`]*)`)" +
				`|(?m)^(?:export\s+(?:default\s+)?)?(?:async\s+)?function\s*\*?\s*(\w+)\s*\(` +
				`|(?m)^(?:export\s+)?(?:(?:const|let|var)\s+|(?:module\.)?exports\.)(\w+)\s*=\s*(?:async\s*)?(?:function\b|\([^()\n]*\)\s*(?::[^=\n]+)?=>|\w+\s*=>)`),
			test:   regexp.MustCompile(`^(?:it|test|specify|bench)\b`),
			assert: regexp.MustCompile(`\bexpect(?:\.\w+)*\s*\(|\bassert(?:\.\w+)*\s*\(|\bt\.(?:is|not|deepEqual|true|false|truthy|falsy|throws\w*|equal|same|ok|match|snapshot|assert)\w*\s*\(|\.should\b|\bsinon\.assert\b`),
			skip:   regexp.MustCompile(`\b(?:it|test|describe|context|suite)\.(?:skip|only|todo|fails|failing|fixme|skipIf|runIf)\b|\bx(?:it|test|describe|context)\b|\bf(?:it|describe)\s*\(|\bskip\s*:\s*(?:true|['"])|\b(?:t|this)\.skip\(|\bonly\s*:\s*true|\btodo\s*:\s*true`),
		},
		rust: {
			unit: regexp.MustCompile(`#\[(?:\w+::)*(?:test|rstest|test_case|quickcheck|proptest)\b[^\]]*\](?:\s*(?:#\[[^\]]*\]|//[^\n]*))*\s*(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(\w+)` +
				`|(?m)^(?:[ ]{0,4}|\t)(?:pub(?:\([^)]*\))?\s+)?(?:async\s+)?fn\s+(\w+)`),
			test:   regexp.MustCompile(`^#\[`),
			assert: regexp.MustCompile(`\b(?:debug_)?assert\w*!|\bpanic!|\bprop_assert\w*!|\bunreachable!|should_panic`),
			skip:   regexp.MustCompile(`#\[ignore\b|cfg_attr\([^)]*ignore`),
		},
		java: {
			unit:   regexp.MustCompile(`(?m)^[ \t]*(?:@\w+(?:\([^)\n]*\))?\s*)*(?:(?:public|protected|private|internal|open|override|static|final|suspend|fun)\s+)*(?:<[^>\n]*>\s*)?(?:[\w.<>\[\], ?]+\s+)?(?:(\w+)|` + "`([^`\\n]+)`" + `)\s*\([^;{}]*\)\s*(?:throws [\w., ]+|:\s*[\w.<>?]+)?\s*[{=]`),
			test:   regexp.MustCompile(`@(?:\w*Test\w*|Property|Example|Fuzz\w*)\b|\btest\w*\s*\(`),
			assert: regexp.MustCompile(`\b(?:\w+\.)*(?:assert\w*|fail|verify\w*|expect\w*|check\w*|should\w*)\s*[({]|\bshould\w+\b|expected\s*=`),
			skip:   regexp.MustCompile(`@(?:Disabled\w*|Ignore)\b|\bassume\w+\(|enabled\s*=\s*false|\bxit\(|\bxtest\(`),
		},
	}
})

// wholeFile is the unit of what stands outside of all tests.
const wholeFile = "the file itself"

// textUnits are the tests and helpers of a file: each reaches to the next.
func textUnits(lang language, src string) []unit {
	f, ok := textForms()[lang]
	if !ok {
		return nil
	}
	bare := blank(lang, src)
	starts := slices.DeleteFunc(f.unit.FindAllStringSubmatchIndex(src, -1), func(m []int) bool {
		at := strings.TrimLeft(bare[m[0]:m[1]], " \t\n")
		name := lastGroup(src, m) // a match in a comment or a string is blanked
		return name == "" || notNames[name] || at == "" || strings.TrimLeft(src[m[0]:m[1]], " \t\n")[0] != at[0]
	})
	inner := map[int]string{} // functions within the one that begins here
	if lang == python {
		starts, inner = withinOthers(bare, starts)
	}
	first := len(src)
	if len(starts) > 0 {
		first = starts[0][0]
	}
	out := []unit{{name: wholeFile, skips: len(f.skip.FindAllStringIndex(bare[:first], -1))}}
	for i, m := range starts {
		end := len(src)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		body := bare[m[0]:end]
		u := unit{
			name: lastGroup(src, m), test: f.test.MatchString(src[m[0]:m[1]]),
			asserts: len(f.assert.FindAllStringIndex(body, -1)), skips: len(f.skip.FindAllStringIndex(body, -1)),
			text: strings.TrimSpace(src[m[0]:end]),
			body: src[m[0]:extent(lang, bare, m[0], m[1], end)],
		}
		if lang == python && u.test {
			u.returns = len(pythonReturn.FindAllStringIndex(body, -1)) - len(pythonReturn.FindAllStringIndex(inner[m[0]], -1))
		}
		out = append(out, u)
	}
	return out
}

// withinOthers takes the functions away that stand within another: what they assert is
// asserted by that one, and what they return is no end of it.
func withinOthers(bare string, starts [][]int) (out [][]int, inner map[int]string) {
	inner = map[int]string{}
	until, within := 0, 0
	for _, m := range starts {
		end := extent(python, bare, m[0], m[1], len(bare))
		if m[0] < until {
			if m[0] >= within {
				at := out[len(out)-1][0]
				inner[at] += bare[m[0]:end]
				within = end
			}
			continue
		}
		out, until, within = append(out, m), end, m[0]
	}
	return out, inner
}

var pythonReturn = regexp.MustCompile(`(?m)^[ \t]+return\b|:[ \t]*return\b`)

// notNames are words of Java that look like a method's name before a block.
var notNames = map[string]bool{"if": true, "for": true, "while": true, "switch": true, "catch": true, "synchronized": true, "when": true, "try": true}

func lastGroup(s string, m []int) string {
	for g := len(m)/2 - 1; g >= 1; g-- {
		if m[2*g] >= 0 {
			return s[m[2*g]:m[2*g+1]]
		}
	}
	return ""
}

// extent is where a unit that begins at from ends by its brackets, of Python by
// its indentation; limit where it cannot be told. head is the end of its head.
func extent(lang language, bare string, from, head, limit int) int {
	if lang == python {
		margin := len(bare[from:]) - len(strings.TrimLeft(bare[from:], " \t"))
		end := head
		for at, n := head, 0; at < limit; n++ {
			next := min(endOf(bare, at, "\n")+1, limit)
			line := strings.TrimRight(bare[at:next], " \t\r\n")
			if n > 0 && line != "" && len(line)-len(strings.TrimLeft(line, " \t")) <= margin && !strings.HasPrefix(strings.TrimSpace(line), ")") {
				break
			}
			if at = next; line != "" {
				end = at
			}
		}
		return end
	}
	open, closed, depth := byte('{'), byte('}'), 0
	switch last := bare[head-1]; {
	case last == open:
		depth = 1
	case lang == javascript && strings.IndexByte("'\"`", last) >= 0: // behind a title, within its call
		open, closed, depth = '(', ')', 1
	}
	for i := head; i < limit; i++ {
		switch bare[i] {
		case open:
			depth++
		case closed:
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return limit
}

// blank puts spaces in place of comments and the insides of strings, so that
// nothing in them counts; every offset stays what it was.
func blank(lang language, src string) string { return scrub(lang, src, true) }

// scrub puts spaces in place of comments, and of the insides of strings where
// these are to go too.
func scrub(lang language, src string, strs bool) string {
	b := []byte(src)
	inside := func(from, to int) int {
		if strs {
			return wipe(b, from, to)
		}
		return max(from, min(to, len(b)))
	}
	line, quotes := "//", "\"'`"
	switch lang {
	case python:
		line, quotes = "#", "\"'"
	case rust:
		quotes = "\"" // ' begins lifetimes too
	case java:
		quotes = "\"'"
	}
	for i := 0; i < len(b); {
		switch {
		case strings.HasPrefix(src[i:], line):
			i = wipe(b, i, endOf(src, i, "\n"))
		case lang != python && strings.HasPrefix(src[i:], "/*"):
			i = wipe(b, i, endOf(src, i+2, "*/")+2)
		case lang != rust && (strings.HasPrefix(src[i:], `"""`) || lang == python && strings.HasPrefix(src[i:], "'''")):
			i = inside(i+3, endOf(src, i+3, src[i:i+3])) + 3
		case strings.IndexByte(quotes, b[i]) >= 0:
			i = inside(i+1, closing(src, i, lang == rust || b[i] == '`')) + 1
		default:
			i++
		}
	}
	return string(b)
}

// wipe blanks a stretch but for its line ends, and tells where it ends.
func wipe(b []byte, from, to int) int {
	to = min(to, len(b))
	for i := from; i < to; i++ {
		if b[i] != '\n' {
			b[i] = ' '
		}
	}
	return max(from, to)
}

func endOf(src string, from int, mark string) int {
	if from >= len(src) {
		return len(src)
	}
	if n := strings.Index(src[from:], mark); n >= 0 {
		return from + n
	}
	return len(src)
}

// closing is where the string that begins at i ends. A quote that is not closed
// on its line ends there, so that a lone one swallows nothing, unless its
// strings may hold lines.
func closing(src string, i int, lines bool) int {
	for k := i + 1; k < len(src); k++ {
		switch {
		case src[k] == '\\':
			k++
		case src[k] == src[i]:
			return k
		case src[k] == '\n' && !lines:
			return k
		}
	}
	return len(src)
}
