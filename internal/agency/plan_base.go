package agency

import (
	"fmt"
	"path"
	"slices"
)

// PlanBase is what is known of the repository that a plan is made for, as the run begins
// with it: what a plan gets wrong of it no claim could make good.
type PlanBase struct {
	// Has tells whether the base has a file; nil: that is not known.
	Has func(file string) bool
	// Feature says what is wrong with a feature's id, in the words of a fault; nil: that is
	// not known.
	Feature func(FeatureID) string
	// NoTests: the run has no command that tests anything.
	NoTests bool
}

// faults are those of a contract; all are the contracts of its plan and of the run.
func (b *PlanBase) faults(c Contract, all []Contract) (out []string) {
	if b == nil {
		return nil
	}
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if b.Feature != nil && c.FeatureID != "" {
		if what := b.Feature(c.FeatureID); what != "" {
			add("%s", what)
		}
	}
	for _, f := range c.ExpectedOutputs.FilesCreated {
		if b.Has != nil && b.Has(path.Clean(f)) && !goneBefore(f, c, all) {
			add("files_created: %s is there already: say files_modified, or let it depend on the contract that deletes it", f)
		}
	}
	if !b.NoTests {
		return out
	}
	for _, cr := range c.AcceptanceCriteria {
		switch {
		case cr.Check == nil:
		case cr.Check.Test != "":
			add("criterion %s cannot be looked at: no test command is known, so the test %s never runs; leave it out, name a command as its check, or set commands.test in agency.yaml", cr.ID, cr.Check.Test)
		case cr.Check.Coverage > 0:
			add("criterion %s cannot be measured: no test command is known; leave the threshold out, or set commands.test in agency.yaml", cr.ID)
		}
	}
	return out
}

// goneBefore tells whether a file of the base may be gone when a contract begins: one that
// it depends on may delete it, or has.
func goneBefore(file string, c Contract, all []Contract) bool {
	file = path.Clean(file)
	same := func(f string) bool { return path.Clean(f) == file }
	seen := map[ContractID]bool{c.ID: true}
	for next := c.DependsOn; len(next) > 0; next = next[1:] {
		at := slices.IndexFunc(all, func(o Contract) bool { return o.ID == next[0] })
		if at < 0 || seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		o := all[at]
		next = append(slices.Clone(next), o.DependsOn...)
		keeps := slices.ContainsFunc(o.ExpectedOutputs.FilesModified, same)
		writes := o.WriteSet() // none: it may change anything
		if !keeps && (len(writes) == 0 || slices.ContainsFunc(writes, func(w string) bool { return covers(w, file) })) {
			return true
		}
	}
	return slices.ContainsFunc(all, func(o Contract) bool { return slices.ContainsFunc(o.ActualOutputs.FilesDeleted, same) })
}
