package ecosystem

import "agency/internal/regexp"

// Pattern is a regular expression. The zero one matches nothing.
type Pattern struct{ *regexp.Regexp }

// Compile is the pattern of an expression.
func Compile(expr string) Pattern { return Pattern{regexp.MustCompile(expr)} }

// In tells whether a text holds a match.
func (p Pattern) In(text string) bool { return p.Regexp != nil && p.MatchString(text) }

// Find gives the places of all matches in a text.
func (p Pattern) Find(text string) [][]int {
	if p.Regexp == nil {
		return nil
	}
	return p.FindAllStringIndex(text, -1)
}

// Names are the last groups of all matches that took part in them.
func (p Pattern) Names(text string) (out []string) {
	if p.Regexp == nil {
		return nil
	}
	for _, m := range p.FindAllStringSubmatchIndex(text, -1) {
		out = append(out, lastGroup(text, m))
	}
	return out
}

func lastGroup(s string, m []int) string {
	for g := len(m)/2 - 1; g >= 1; g-- {
		if m[2*g] >= 0 {
			return s[m[2*g]:m[2*g+1]]
		}
	}
	return ""
}
