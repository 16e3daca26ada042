package agency

// WeakeningKind says how the checks got weaker.
type WeakeningKind string

// The kinds of weakening (docs/design.md, Verification).
const (
	WeakDeleted WeakeningKind = "deleted"    // a test of the base is gone
	WeakSkipped WeakeningKind = "skipped"    // a test that ran is now skipped
	WeakZero    WeakeningKind = "zero"       // no tests where there were some
	WeakAsserts WeakeningKind = "assertions" // a test asserts less than it did
	WeakEdited  WeakeningKind = "edited"     // a test outside of the contract's declared writes was edited
	WeakControl WeakeningKind = "control"    // a file that decides how tests run was edited
	WeakForging WeakeningKind = "forging"    // code that can tell that it is tested, or end its own test run
	// WeakUntested is that nothing tested the work.
	WeakUntested WeakeningKind = "untested"
	// WeakUnentered is a folder that the change touches and no command of the run
	// enters.
	WeakUnentered WeakeningKind = "unentered"
	// WeakExpectation is a test that was red and is green only in an edited form.
	WeakExpectation WeakeningKind = "expectation"
	// WeakShadowed is a file that takes the place of one that is delivered.
	WeakShadowed WeakeningKind = "shadowed"
	// WeakSilenced is a comment by which a check keeps quiet about a finding.
	WeakSilenced WeakeningKind = "silenced"
	// WeakActs is a file that runs or configures something on the machine of
	// whoever pulls it, and that no person declared.
	WeakActs WeakeningKind = "acts_elsewhere"
	// WeakUndone is a file that one contract promised and another, which landed after it,
	// took away.
	WeakUndone WeakeningKind = "undone"
	// WeakQuality is a quality score that stays below what blocks.
	WeakQuality WeakeningKind = "quality"
)

// Weakening is one way in which a claim made the checks weaker. It goes back
// once as feedback; if it stays, a person accepts it by name.
type Weakening struct {
	Kind WeakeningKind `json:"kind"`
	Name string        `json:"name"` // test or file
	// Detail says more for people; two weakenings that differ only in it are
	// one.
	Detail string `json:"detail,omitempty"`
}

// Same tells whether both are of one kind and name.
func (w Weakening) Same(o Weakening) bool { return w.Kind == o.Kind && w.Name == o.Name }

// String is the line that people and agents read.
func (w Weakening) String() string {
	s := weakWords[w.Kind] + ": " + w.Name
	if weakWords[w.Kind] == "" {
		s = string(w.Kind) + s
	}
	if w.Detail != "" {
		s += " (" + w.Detail + ")"
	}
	return s
}

var weakWords = map[WeakeningKind]string{
	WeakDeleted: "test deleted", WeakSkipped: "test newly skipped", WeakZero: "no tests found any more",
	WeakAsserts: "fewer assertions", WeakEdited: "test edited outside of the declared writes",
	WeakControl: "control file edited", WeakForging: "code that knows of its tests",
	WeakUntested: "nothing tested the work", WeakExpectation: "green only in an edited form",
	WeakUnentered: "nothing tested what changed in",
	WeakShadowed:  "takes the place of what is delivered", WeakSilenced: "finding silenced",
	WeakActs: "acts on others' machines", WeakUndone: "promised, and taken away again",
	WeakQuality: "quality score",
}
