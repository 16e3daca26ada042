package tool

import (
	"fmt"
	"strings"

	"agency/internal/agency"
)

// Stands is the contract on one line, with how it stands.
func (c TeamContract) Stands() string {
	return fmt.Sprintf("%s: %s  %s", c.ID, c.stands(), Line(c.Title))
}

// stands says in a few words where a contract stands.
func (c TeamContract) stands() string {
	switch {
	case c.Noted:
		return "noted, not started"
	case c.Stage != "" && c.Status != agency.StatusPending:
		return fmt.Sprintf("%s (%s), attempt %d, %s", c.Status, c.Stage, c.Attempts, c.Agent)
	case c.Attempts > 0:
		return fmt.Sprintf("%s, %s, %s", c.Status, agency.Things(c.Attempts, "attempt", "attempts"), c.Agent)
	default:
		return fmt.Sprintf("%s, not begun, for %s", c.Status, c.Agent)
	}
}

// Standing says at length where a contract stands.
func (c TeamContract) Standing() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", c.ID, c.stands())
	if c.Noted {
		return b.String()
	}
	fmt.Fprintf(&b, "attempts: %d of %d\n", c.Attempts, c.RetryBudget)
	if len(c.DependsOn) > 0 {
		fmt.Fprintf(&b, "depends on: %s\n", Joined(c.DependsOn, ", "))
	}
	if c.Error != "" {
		fmt.Fprintf(&b, "last reason: %s\n", Line(c.Error))
	}
	if v := c.Verdict; v != nil {
		word := "not verified"
		if v.Pass {
			word = "verified"
		}
		fmt.Fprintf(&b, "last claim: attempt %d, %s\n", v.Attempt, word)
		for _, reason := range v.Reasons {
			fmt.Fprintf(&b, "- %s\n", Line(reason))
		}
	}
	for _, r := range c.Receipts {
		fmt.Fprintf(&b, "receipt: %s `%s` on the %s: exit code %d", r.Kind, Line(r.Command), r.Stage, r.ExitCode)
		if r.Parsed {
			fmt.Fprintf(&b, ", passed %d, failed %d, skipped %d", r.Passed, r.Failed, r.Skipped)
		}
		b.WriteByte('\n')
	}
	if n := len(c.Reviews); n > 0 {
		fmt.Fprintf(&b, "reviews: %d, the last: %s\n", n, c.Reviews[n-1].Line())
	}
	return b.String()
}

// Missing is what keeps a contract from being complete, criterion by criterion.
func (c TeamContract) Missing() (missing []string) {
	switch {
	case c.Noted:
		return []string{"nobody works on it: spawn_agent starts it now, submit_plan with the rest"}
	case c.Status == agency.StatusComplete:
		for _, p := range c.Proofs {
			if p.Proof == agency.ProofOpen {
				missing = append(missing, fmt.Sprintf("nothing proves criterion %s: %s", p.ID, Line(p.Text)))
			}
		}
		return missing
	case c.Error != "":
		missing = append(missing, fmt.Sprintf("it is %s, not landed: %s", c.stands(), Line(c.Error)))
	default:
		missing = append(missing, fmt.Sprintf("it is %s, not landed", c.stands()))
	}
	proofs := map[string]agency.Proof{}
	if c.Verdict != nil {
		for _, p := range c.Verdict.Proofs {
			proofs[p.ID] = p
		}
	}
	for _, cr := range c.AcceptanceCriteria {
		what := "nothing shows it yet"
		if p, ok := proofs[cr.ID]; ok {
			what = fmt.Sprintf("%s in the last claim, which has not landed", p.State())
			if p.Note != "" {
				what += " (" + Line(p.Note) + ")"
			}
		}
		missing = append(missing, fmt.Sprintf("criterion %s: %s: %s", cr.ID, Line(cr.Text), what))
	}
	return missing
}

// Joined are ids or names in one line.
func Joined[T ~string](ids []T, sep string) string {
	parts := make([]string, len(ids))
	for i, id := range ids {
		parts[i] = string(id)
	}
	return strings.Join(parts, sep)
}

// Line is a text on one line, of a length that a list can bear.
func Line(s string) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > 300 {
		s = string(r[:299]) + "…"
	}
	return s
}
