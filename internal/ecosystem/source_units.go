package ecosystem

import (
	"slices"
	"strings"

	"agency/internal/code/lexical"
)

// CodeUnit is a piece of a file that can assert: a test, or a helper of tests.
type CodeUnit struct {
	Name    string
	Test    bool
	Asserts int
	Skips   int // marks that leave the test, or others, out
	Returns int // ways out before its end that fail nothing
	Text    string
	Body    string // of Text, without what follows the unit in its file
}

// WholeFile is the unit of what stands outside of all tests.
const WholeFile = "the file itself"

// UnitForms is how a language writes its tests. They are found in the text: a
// parser for each language would be a dependency of every verification, and
// what is counted stands in plain calls.
type UnitForms struct {
	Style lexical.Style
	// Unit is a test or a helper; the last group that matched is its name.
	Unit Pattern
	// Test tells of what Unit matched that it is a test and no helper.
	Test Pattern
	// Assert and Skip are what is counted.
	Assert, Skip Pattern
	// Return is a way out of a test before its end.
	Return Pattern
	// Extent is where a unit ends that begins at from with a head up to head;
	// limit where it cannot be told. The text is bare.
	Extent func(bare string, from, head, limit int) int
	// Nest: units stand within others. What they assert is asserted by the outer
	// one, and what they return is no end of it.
	Nest bool
}

// Units are the tests and helpers of a file: each reaches to the next.
func (f UnitForms) Units(text []byte) []CodeUnit {
	src := string(text)
	bare := f.Style.Bare(src)
	starts := slices.DeleteFunc(f.Unit.FindAllStringSubmatchIndex(src, -1), func(m []int) bool {
		at := strings.TrimLeft(bare[m[0]:m[1]], " \t\n")
		name := lastGroup(src, m) // a match in a comment or a string is blanked
		return name == "" || OpensBlock(name) || at == "" || strings.TrimLeft(src[m[0]:m[1]], " \t\n")[0] != at[0]
	})
	inner := map[int]string{} // functions within the one that begins here
	if f.Nest {
		starts, inner = f.outermost(bare, starts)
	}
	first := len(src)
	if len(starts) > 0 {
		first = starts[0][0]
	}
	out := []CodeUnit{{Name: WholeFile, Skips: len(f.Skip.Find(bare[:first]))}}
	for i, m := range starts {
		end := len(src)
		if i+1 < len(starts) {
			end = starts[i+1][0]
		}
		body := bare[m[0]:end]
		u := CodeUnit{
			Name: lastGroup(src, m), Test: f.Test.In(src[m[0]:m[1]]),
			Asserts: len(f.Assert.Find(body)), Skips: len(f.Skip.Find(body)),
			Text: strings.TrimSpace(src[m[0]:end]),
			Body: src[m[0]:f.Extent(bare, m[0], m[1], end)],
		}
		if u.Test {
			u.Returns = len(f.Return.Find(body)) - len(f.Return.Find(inner[m[0]]))
		}
		out = append(out, u)
	}
	return out
}

// outermost takes the units away that stand within another.
func (f UnitForms) outermost(bare string, starts [][]int) (out [][]int, inner map[int]string) {
	inner = map[int]string{}
	until, within := 0, 0
	for _, m := range starts {
		end := f.Extent(bare, m[0], m[1], len(bare))
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

// OpensBlock tells of words that look like a method's name before a block.
func OpensBlock(word string) bool {
	return slices.Contains([]string{"if", "for", "while", "switch", "catch", "synchronized", "when", "try"}, word)
}

// Braces is the extent of what ends with its braces.
func Braces(bare string, _, head, limit int) int {
	depth := 0
	if bare[head-1] == '{' {
		depth = 1
	}
	return Closed(bare, "{}", depth, head, limit)
}

// Closed is where so many open brackets, or the first ones that follow, are closed;
// limit where they are not.
func Closed(bare, brackets string, depth, from, limit int) int {
	for i := from; i < limit; i++ {
		switch bare[i] {
		case brackets[0]:
			depth++
		case brackets[1]:
			if depth--; depth <= 0 {
				return i + 1
			}
		}
	}
	return limit
}
