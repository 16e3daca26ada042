package ecosystem

import "agency/internal/regexp"

// Mark is one way by which a text shows that code knows of its tests.
type Mark struct {
	Form *regexp.Regexp
	Word string
	// Tests: it is looked for in files of tests, too; Only: in no others.
	Tests, Only bool
	// Program: a file that is started by itself may.
	Program bool
	// Unless tells a match that is none.
	Unless *regexp.Regexp
}

// Find gives the offsets of a text at which it shows the mark.
func (m Mark) Find(text string) (out []int) {
	for _, at := range m.Form.FindAllStringIndex(text, -1) {
		if m.Unless == nil || !m.Unless.MatchString(text[at[0]:at[1]]) {
			out = append(out, at[0])
		}
	}
	return out
}
