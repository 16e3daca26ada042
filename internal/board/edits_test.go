package board

import (
	"fmt"
	"strings"
	"testing"

	"agency/internal/agency"
	"agency/internal/event"
	"agency/internal/store"
)

// edits plays a script: "a:x.go,y.go@c1" is a turn of contract a, which began on
// c1 (on nothing where there is none) and changes x.go and y.go, a "#" before a
// file says that its contract declares symbols of it only; "a+c1" is a landing of
// a as c1; "a-" its end without one.
func (d *desk) edits(script string) {
	d.Helper()
	for i, s := range strings.Fields(script) {
		id, files, turn := strings.Cut(s, ":")
		landed, commit, lands := strings.Cut(s, "+")
		d.do(func(tx *store.Tx) error {
			switch {
			case lands:
				return Landed(tx, run, agency.ContractID(landed), agency.OID(commit))
			case !turn:
				return EndEdits(tx, run, agency.ContractID(strings.TrimSuffix(s, "-")))
			}
			files, base, later := strings.Cut(files, "@")
			e := Edits{
				Run: run, Agent: agency.AgentID("agent-" + id), Contract: agency.ContractID(id), Turn: fmt.Sprint(i),
				Base: agency.OID(base), First: !later,
			}
			for _, f := range strings.Split(files, ",") {
				f, part := strings.CutPrefix(f, "#")
				e.Files = append(e.Files, f)
				if part {
					e.Parts = append(e.Parts, f)
				}
			}
			return NoteEdits(tx, e)
		})
	}
}

// TestSameFileByTwoAgents: work that does not stand on the other's is a
// conflict, whoever comes first, and nothing else is.
func TestSameFileByTwoAgents(t *testing.T) {
	for name, tt := range map[string]struct{ script, want string }{
		"one agent twice":                {"a:x a:x", ""},
		"two files":                      {"a:x b:y", ""},
		"one file":                       {"a:x b:x", "x[agent-a agent-b]"},
		"of several":                     {"a:x,y,z b:w,y", "y[agent-a agent-b]"},
		"the same again":                 {"a:x b:x a:x b:x", "x[agent-a agent-b]"},
		"three":                          {"a:x b:x c:x", "x[agent-a agent-b agent-c]"},
		"one on the other":               {"a:x a+c1 b:x@c1", ""},
		"one on what came after":         {"a:x a+c1 d:y@c1 d+c2 b:x@c2", ""},
		"landed after it began":          {"a:x a+c1 b:x", "x[agent-a agent-b]"},
		"on an older landing":            {"d:y d+c1 a:x@c1 a+c2 b:x@c1", "x[agent-a agent-b]"},
		"a landing not recorded yet":     {"a:x a+c1 b:x@c9", ""},
		"at work, on one not recorded":   {"a:x b:x@c9", "x[agent-a agent-b]"},
		"the other ended without one":    {"a:x a- b:x", ""},
		"the end of what landed":         {"a:x a+c1 a- b:x", "x[agent-a agent-b]"},
		"a landing recorded twice":       {"a:x a+c1 a+c1 b:x@c1", ""},
		"symbols beside symbols":         {"a:#x b:#x", ""},
		"a file beside symbols":          {"a:#x b:x", "x[agent-a agent-b]"},
		"two files, each with its pairs": {"a:x b:y c:x,y", "x[agent-a agent-c] y[agent-b agent-c]"},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDesk(t)
			d.edits(tt.script)
			var got []string
			for _, c := range d.conflicts() {
				got = append(got, fmt.Sprintf("%s%v", c.Resource, c.Agents))
				if c.Status != ConflictOpen || c.Kind != FileWrite || c.LandingFailed || len(c.Evidence) != len(c.Agents) {
					t.Errorf("%+v", c)
				}
			}
			if strings.Join(got, " ") != tt.want {
				t.Errorf("%v, want %q", got, tt.want)
			}
		})
	}
}

func (d *desk) bodies(to agency.AgentID) string {
	d.Helper()
	var out []string
	d.do(func(tx *store.Tx) error {
		ms, err := Messages(tx, run)
		for _, m := range ms {
			if m.To == string(to) && m.Type == agency.MessageFileModified && m.From == agency.FromSystem {
				out = append(out, m.Subject+"\n"+m.Body)
			}
		}
		return err
	})
	return strings.Join(out, "---\n")
}

// TestBothOwnersAreTold: once of a file, in one note a turn; who has ended is
// not told, and the log shows it.
func TestBothOwnersAreTold(t *testing.T) {
	d := newDesk(t)
	d.join("agent-a", "agent-b")
	d.edits("a:x,y,v,w b:x,y,v,w b:x")
	want := `Also changed by agent-a: v, w, x and 1 more
Both you and ` + "`agent-a`" + ` have changed, without the other's change:

- x
- y
- v
- w

Nothing is refused for it. Whoever lands later is merged with the other, and the merged files are checked; what does not go together comes back to that agent. Keep such changes small, or agree on them by ` + "`send_message`" + `.
`
	if got := d.bodies("agent-b"); got != want {
		t.Errorf("b is told %q, want %q", got, want)
	}
	if got := d.bodies("agent-a"); got != strings.ReplaceAll(want, "agent-a", "agent-b") {
		t.Errorf("a is told %q", got)
	}
	d.do(func(tx *store.Tx) error { return Leave(tx, run, "agent-a", AgentCompleted, "landed") })
	d.edits("a+c1 a-")
	d.do(func(tx *store.Tx) error { return Join(tx, Agent{Run: run, ID: "agent-c", Role: "scaffolder"}) })
	d.edits("c:v")
	if got := d.bodies("agent-c"); !strings.Contains(got, "That change has landed; yours will be merged with it.") {
		t.Errorf("c is told %q", got)
	}
	if got := d.bodies("agent-a"); strings.Contains(got, "agent-c") {
		t.Errorf("one that has ended is told %q", got)
	}
	d.do(func(tx *store.Tx) error {
		evs, err := event.Since(tx, 0, event.Filter{Run: run, MinSeverity: agency.SeverityWarning}, 0)
		if len(evs) != 6 || evs[0].Summary != "conflict: agent-a and agent-b have changed x apart from each other" {
			t.Errorf("the log has %+v", evs)
		}
		return err
	})
}

// TestUndeclaredWrites: an event and a note to the owner; no conflict, nothing
// refused.
func TestUndeclaredWrites(t *testing.T) {
	d := newDesk(t)
	d.join("agent-a", "agent-b")
	e := Edits{
		Run: run, Agent: "agent-b", Contract: "b", Turn: "t1", First: true, Files: []string{"x", "y"},
		Stray: []Stray{{File: "x", Owner: "agent-a"}, {File: "y"}},
	}
	for _, e.Turn = range []string{"t1", "t2"} { // told once, by whichever process
		d.do(func(tx *store.Tx) error { return NoteEdits(tx, e) })
	}
	if got := d.bodies("agent-a"); !strings.Contains(got, "`agent-b` has changed files that your contract declares:\n\n- x\n") {
		t.Errorf("the owner is told %q", got)
	}
	if got := d.bodies("agent-b"); !strings.Contains(got, "You have changed files that your contract does not declare and that of `agent-a` does:\n\n- x\n") {
		t.Errorf("the writer is told %q", got)
	}
	if cs := d.conflicts(); len(cs) != 0 {
		t.Errorf("%+v", cs)
	}
	d.do(func(tx *store.Tx) error {
		evs, err := event.Since(tx, 0, event.Filter{Run: run, MinSeverity: agency.SeverityWarning}, 0)
		if len(evs) != 1 || evs[0].Summary != "undeclared write: agent-b changed x, y" || evs[0].ContractID != "b" || evs[0].AgentID != "agent-b" {
			t.Errorf("the log has %+v", evs)
		}
		return err
	})
}
