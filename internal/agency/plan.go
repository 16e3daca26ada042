package agency

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"agency/internal/text"
)

// PlanRules are the configured limits that a plan is held to.
type PlanRules struct {
	MaxFiles        int             // most files of a contract's write set; 0 is no limit
	MaxLines        int             // most estimated lines of a contract; 0 is no limit
	Decompose       bool            // a contract over these comes back to be split, and the rest of its plan stays
	Alone           bool            // the plan has one contract, which cannot be split
	RequireCriteria bool            // a contract without criteria is a fault
	Holders         map[RoleID]bool // roles that may hold contracts; nil skips the check

	Resources []string // those of the configuration, which a contract may name

	// Own tells ids that a run of tiers makes itself; nil: none.
	Own func(ContractID) bool
	// Taken are the ids of contracts that the run has already.
	Taken map[ContractID]bool

	// Started are the contracts of the run that a plan may build on.
	Started []Contract
	// Noted are those that its author means to start later.
	Noted map[ContractID]bool
	// Base is what is known of the repository; nil: nothing.
	Base *PlanBase
}

// PlanFault is one thing that is wrong with a plan. Contract is empty where
// the fault is the plan's.
type PlanFault struct {
	Contract ContractID `json:"contract,omitempty"`
	What     string     `json:"what"`
	// TooLarge says that the contract is over the limits, and otherwise as it may be.
	TooLarge bool `json:"too_large,omitempty"`
}

func (f PlanFault) String() string {
	if f.Contract == "" {
		return f.What
	}
	return string(f.Contract) + ": " + f.What
}

// Ordered is a plan in which what a contract blocks depends on it (docs/design.md, Contracts).
// Ids in Blocks that the plan does not have stay where they are.
func Ordered(contracts []Contract) []Contract {
	if !slices.ContainsFunc(contracts, func(c Contract) bool { return len(c.Blocks) > 0 }) {
		return contracts
	}
	out, at := slices.Clone(contracts), make(map[ContractID]int, len(contracts))
	for i, c := range out {
		at[c.ID] = i
	}
	for i := range out {
		var unknown []ContractID
		for _, id := range out[i].Blocks {
			j, ok := at[id]
			switch {
			case !ok:
				unknown = append(unknown, id)
			case !slices.Contains(out[j].DependsOn, out[i].ID):
				out[j].DependsOn = append(slices.Clone(out[j].DependsOn), out[i].ID)
			}
		}
		out[i].Blocks = unknown
	}
	return out
}

// ValidatePlan names every fault of a plan at once (docs/design.md, Contracts); a plan without
// faults may run.
func ValidatePlan(contracts []Contract, rules PlanRules) []PlanFault {
	var faults []PlanFault
	add := func(id ContractID, format string, args ...any) {
		faults = append(faults, PlanFault{Contract: id, What: fmt.Sprintf(format, args...)})
	}
	if len(contracts) == 0 {
		add("", "the plan has no contracts")
	}
	byFold := map[string]ContractID{}
	known := map[ContractID]Status{}
	for _, c := range rules.Started {
		byFold[strings.ToLower(string(c.ID))], known[c.ID] = c.ID, c.Status
	}
	for _, c := range contracts {
		if err := CheckContractID(c.ID); err != nil {
			add(c.ID, "%v", err)
		}
		if rules.Own != nil && rules.Own(c.ID) {
			add(c.ID, "ids of this form are the run's own: choose another")
		}
		if rules.Taken[c.ID] {
			add(c.ID, "the id is taken: the run has, or makes itself, a contract of this id")
		}
		fold := strings.ToLower(string(c.ID))
		if first, ok := byFold[fold]; !ok {
			byFold[fold] = c.ID
		} else if !rules.Taken[c.ID] {
			add(c.ID, "the id is taken by %s", first)
		}
		known[c.ID] = StatusPending
	}
	all := slices.Concat(contracts, rules.Started)
	for _, c := range contracts {
		faults = append(faults, contractFaults(c, known, rules)...)
		for _, what := range rules.Base.faults(c, all) {
			add(c.ID, "%s", what)
		}
	}
	if cycle := findCycle(all); cycle != nil {
		add("", "the contracts depend on each other in a circle: %s", JoinIDs(cycle, " -> "))
	}
	return faults
}

func contractFaults(c Contract, known map[ContractID]Status, rules PlanRules) []PlanFault {
	var faults []PlanFault
	add := func(format string, args ...any) {
		faults = append(faults, PlanFault{Contract: c.ID, What: fmt.Sprintf(format, args...)})
	}
	for _, d := range c.DependsOn {
		switch status, ok := known[d]; {
		case !ok && rules.Noted[d]:
			add("depends on %s, which is only noted: start that one first", d)
		case !ok:
			add("depends on %s, which is not in the plan", d)
		case status == StatusFailed || status == StatusCancelled || status == StatusBlocked:
			add("depends on %s, which is %s: it could never start", d, status)
		}
	}
	for _, b := range c.Blocks {
		if status, ok := known[b]; !ok {
			add("blocks %s, which is not in the plan", b)
		} else if status != StatusPending {
			add("blocks %s, which is %s already", b, status)
		} else {
			add("blocks %s, which was started before: let that one depend on it", b)
		}
	}
	if _, ok := known[c.ParentID]; c.ParentID != "" && !ok {
		add("its parent %s is not in the plan", c.ParentID)
	}
	if rules.RequireCriteria && len(c.AcceptanceCriteria) == 0 {
		add("has no acceptance criteria")
	}
	seen := map[string]bool{}
	for _, cr := range c.AcceptanceCriteria {
		if seen[cr.ID] {
			add("two criteria are called %q", cr.ID)
		}
		seen[cr.ID] = true
	}
	if rules.Holders != nil && !rules.Holders[c.AssignedRole] {
		var names []string
		for _, id := range slices.Sorted(maps.Keys(rules.Holders)) {
			if rules.Holders[id] {
				names = append(names, string(id))
			}
		}
		add("role %q holds no contracts%s; those that do are %s", c.AssignedRole, text.Suggestion(string(c.AssignedRole), names), strings.Join(names, ", "))
	}
	if _, ok := c.Inputs[AgainInput]; ok { // by it the run knows whose work it does once more
		add("has an input called %q, which only the run gives: call it otherwise", AgainInput)
	}
	resourceFaults(c, rules.Resources, add)
	files := c.WriteSet()
	if c.AssignedRole == RoleSquadLead { // who splits it
		rules.MaxFiles, rules.MaxLines = 0, 0
	}
	faults = append(faults, sizeFaults(c, files, rules)...)
	for _, p := range slices.Concat(files, c.RelevantFiles) {
		if err := CheckRelPath(p); err != nil {
			add("%v", err)
		}
	}
	return faults
}

// resourceFaults are those of what a contract names as scarce; known is what is configured.
func resourceFaults(c Contract, known []string, add func(string, ...any)) {
	for i, r := range c.Resources {
		switch {
		case slices.Contains(c.Resources[:i], r):
			add("names the resource %s twice", r)
		case len(known) == 0:
			add("names the resource %.40q, and none are configured: leave resources out", r)
		case !slices.Contains(known, r):
			add("names the resource %.40q%s; there are %s", r, text.Suggestion(r, known), strings.Join(known, ", "))
		}
	}
}

// sizeFaults are those of a contract that is larger than one may be.
func sizeFaults(c Contract, files []string, rules PlanRules) (faults []PlanFault) {
	tooLarge := func(key, format string, args ...any) {
		f := PlanFault{Contract: c.ID, TooLarge: true, What: fmt.Sprintf(format, args...) + ": split it"}
		if rules.Alone {
			f.What = fmt.Sprintf(format, args...) + ": this mode has one contract and cannot split it; raise contracts." + key + ", or have it planned in mode multi_agent"
		}
		faults = append(faults, f)
	}
	if n := countFiles(files); rules.MaxFiles > 0 && n > rules.MaxFiles {
		tooLarge("max_files", "changes %d files, the most is %d", n, rules.MaxFiles)
	}
	if rules.MaxLines > 0 && c.EstimatedLines > rules.MaxLines {
		tooLarge("max_lines", "is estimated at %d lines, the most is %d", c.EstimatedLines, rules.MaxLines)
	}
	return faults
}

func countFiles(entries []string) int {
	files := map[string]bool{}
	for _, e := range entries {
		f, _, _ := strings.Cut(e, "#")
		files[f] = true
	}
	return len(files)
}

// maxPath is the longest path in bytes, as no system opens a longer one.
const maxPath = 4096

// CheckRelPath refuses a path that is not a plain path inside the repository.
func CheckRelPath(p string) error {
	file, _, _ := strings.Cut(p, "#")
	slashed := strings.ReplaceAll(file, `\`, "/")
	clean := path.Clean(slashed)
	switch {
	case file == "":
		return Errorf(KindInvalid, "path %q is empty", p)
	case len(p) > maxPath:
		return Errorf(KindInvalid, "path %.40q... is longer than %d bytes", p, maxPath)
	case strings.ContainsRune(file, 0):
		return Errorf(KindInvalid, "path %q contains a NUL", p)
	case path.IsAbs(slashed) || clean == ".." || strings.HasPrefix(clean, "../"):
		return Errorf(KindInvalid, "path %q leaves the repository", p)
	case inGitDir(clean):
		return Errorf(KindInvalid, "path %q is git's own", p)
	}
	return nil
}

func inGitDir(clean string) bool {
	return slices.ContainsFunc(strings.Split(clean, "/"), func(seg string) bool {
		return strings.EqualFold(strings.TrimRight(seg, ". "), ".git")
	})
}

// findCycle is one circle of depends_on with its first member repeated at the
// end, or nil. It walks in the plan's order, so that the answer is stable.
func findCycle(contracts []Contract) []ContractID {
	deps := map[ContractID][]ContractID{}
	for _, c := range contracts {
		deps[c.ID] = c.DependsOn
	}
	const (
		unseen = iota
		onPath
		done
	)
	mark := map[ContractID]int{}
	var trail []ContractID
	var visit func(ContractID) []ContractID
	visit = func(id ContractID) []ContractID {
		switch mark[id] {
		case done:
			return nil
		case onPath:
			return append(slices.Clone(trail[slices.Index(trail, id):]), id)
		}
		mark[id] = onPath
		trail = append(trail, id)
		for _, d := range deps[id] {
			if c := visit(d); c != nil {
				return c
			}
		}
		trail = trail[:len(trail)-1]
		mark[id] = done
		return nil
	}
	for _, c := range contracts {
		if cycle := visit(c.ID); cycle != nil {
			return cycle
		}
	}
	return nil
}

// TooLarge parts a plan whose faults are all that contracts are over the limits: those,
// and the rest, which may stay. No split: a plan has other faults, or none.
func TooLarge(plan []Contract, faults []PlanFault) (split, rest []Contract) {
	if len(faults) == 0 || slices.ContainsFunc(faults, func(f PlanFault) bool { return !f.TooLarge }) {
		return nil, plan
	}
	for _, c := range plan {
		if slices.ContainsFunc(faults, func(f PlanFault) bool { return f.Contract == c.ID }) {
			split = append(split, c)
		} else {
			rest = append(rest, c)
		}
	}
	return split, rest
}

// InPlaceOf puts the parts of contracts that were split, which name them as their
// parent, into their places: a part depends on what the whole did, and what depended on
// the whole depends on all parts. A whole that is in the plan again was made small
// enough instead; one without parts is a fault.
func InPlaceOf(plan, split []Contract) (out []Contract, faults []PlanFault) {
	out = slices.Clone(plan)
	for _, whole := range split {
		if slices.ContainsFunc(plan, func(c Contract) bool { return c.ID == whole.ID }) {
			continue
		}
		var parts []ContractID
		for i, c := range out {
			if c.ParentID == whole.ID {
				parts = append(parts, c.ID)
				out[i].ParentID = whole.ParentID
				out[i].DependsOn = union(c.DependsOn, whole.DependsOn)
			}
		}
		if len(parts) == 0 {
			faults = append(faults, PlanFault{Contract: whole.ID, TooLarge: true, What: fmt.Sprintf("is too large, and nothing takes its place: note its parts with parent_id %s, or submit a whole new plan whose new contracts change what it was to change", whole.ID)})
			parts = []ContractID{whole.ID}
		}
		for i, c := range out {
			if slices.Contains(c.DependsOn, whole.ID) {
				without := slices.DeleteFunc(slices.Clone(c.DependsOn), func(id ContractID) bool { return id == whole.ID })
				out[i].DependsOn = union(without, slices.DeleteFunc(slices.Clone(parts), func(id ContractID) bool { return id == c.ID }))
			}
		}
	}
	return out, faults
}

// Replaces tells whether a plan is a whole new one in the place of what came back: it has
// contracts of its own, and each that was noted, or is to be split, is in it, or what that
// one was to change those change. What left out one of them without that is a patch.
func Replaces(plan, noted, split []Contract) bool {
	has := func(all []Contract, id ContractID) bool {
		return slices.ContainsFunc(all, func(c Contract) bool { return strings.EqualFold(string(c.ID), string(id)) })
	}
	fresh := slices.DeleteFunc(slices.Clone(plan), func(c Contract) bool { return has(noted, c.ID) || has(split, c.ID) })
	if len(fresh) == 0 {
		return false
	}
	covered := func(old Contract) bool {
		return !slices.ContainsFunc(old.WriteSet(), func(entry string) bool {
			return !slices.ContainsFunc(fresh, func(c Contract) bool {
				writes := c.WriteSet() // none: it may change anything
				return len(writes) == 0 || slices.ContainsFunc(writes, func(w string) bool { return entriesOverlap(entry, w) })
			})
		})
	}
	for _, old := range noted {
		if !has(plan, old.ID) && (len(old.WriteSet()) == 0 || !covered(old)) {
			return false
		}
	}
	return !slices.ContainsFunc(split, func(old Contract) bool { return !has(plan, old.ID) && !covered(old) })
}

// unplaced are those of the contracts to be split of which a plan has neither parts nor
// themselves, made small enough.
func unplaced(plan, split []Contract) []Contract {
	return slices.DeleteFunc(slices.Clone(split), func(whole Contract) bool {
		return slices.ContainsFunc(plan, func(c Contract) bool { return c.ID == whole.ID || c.ParentID == whole.ID })
	})
}

// Resubmitted is what a plan comes to that was submitted after contracts of the one before
// came back to be split: a whole new plan stands by itself, all else is put to what stayed
// noted. Left are those to be split that still have nothing in their place.
func Resubmitted(plan, noted, split []Contract) (out, left []Contract, faults []PlanFault) {
	if open := unplaced(plan, split); len(open) > 0 && Replaces(plan, noted, open) {
		split = slices.DeleteFunc(slices.Clone(split), func(c Contract) bool {
			return slices.ContainsFunc(open, func(o Contract) bool { return o.ID == c.ID })
		})
	} else {
		plan = append(slices.DeleteFunc(slices.Clone(noted), func(d Contract) bool {
			return slices.ContainsFunc(plan, func(c Contract) bool { return c.ID == d.ID })
		}), plan...)
	}
	left = unplaced(plan, split)
	out, faults = InPlaceOf(Ordered(plan), split)
	return out, left, faults
}

func union(a, b []ContractID) []ContractID {
	out := slices.Clone(a)
	for _, id := range b {
		if !slices.Contains(out, id) {
			out = append(out, id)
		}
	}
	return out
}
