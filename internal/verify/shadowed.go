package verify

import (
	"regexp"
	"slices"

	"agency/internal/agency"
	"agency/internal/ecosystem"
)

// defined are the names that a source gives to what can be called.
func defined(p string, src []byte) map[string]bool {
	out, as := map[string]bool{}, readAs(p)
	for _, name := range as.Forms.Defines.Names(as.Style.Bare(string(src))) {
		out[name] = true
	}
	return out
}

// shadowed names what a file of tests called from elsewhere and defines itself
// now: its tests look as before, and mean something else. What only moved here
// is no such thing.
func (m *testBodies) shadowed(f source) []agency.Weakening {
	if !f.test && !f.helps() || f.before == nil || f.after == nil {
		return nil
	}
	was, before := defined(f.path, f.before), readAs(f.path).Style.Bare(string(f.before))
	var names []string
	for name := range defined(f.path, f.after) {
		if !was[name] && name != "" && !ecosystem.OpensBlock(name) && !m.used[unitPlace{f.path, name}] && callsPlainly(before, name) {
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
