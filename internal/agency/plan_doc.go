package agency

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
	"unicode"

	"agency/internal/regexp"
)

// Plan is what a manager submits, or a person in its place.
type Plan struct {
	// GoalAnchor is the goal that it was made for, where it says so.
	GoalAnchor string
	// RetryBudgetMultiplier is by how much it raises the attempts of its
	// contracts: 1 or 2; 0 is 1 (docs/design.md, Contracts).
	RetryBudgetMultiplier int
	Contracts             []Contract
}

// maxMultiplier is the most that a plan may raise a run's attempts by.
const maxMultiplier = 2

// Attempts are those that each contract of the plan has, of a run that allows
// so many.
func (p Plan) Attempts(budget int) int { return budget * max(1, p.RetryBudgetMultiplier) }

// CheckMultiplier refuses a retry_budget_multiplier that no plan may have.
func CheckMultiplier(n int) error {
	if n < 1 || n > maxMultiplier {
		return Errorf(KindInvalid, "retry_budget_multiplier is %d, want 1 or %d", n, maxMultiplier)
	}
	return nil
}

// planDoc is the form that submit_plan takes.
type planDoc struct {
	GoalAnchor            string            `json:"goal_anchor,omitempty"`
	RetryBudgetMultiplier int               `json:"retry_budget_multiplier"`
	Contracts             []json.RawMessage `json:"contracts"`
}

// MarshalJSON writes the form that submit_plan takes: what a contract's author
// says of it, and nothing of what became of it.
func (p Plan) MarshalJSON() ([]byte, error) {
	doc := planDoc{GoalAnchor: p.GoalAnchor, RetryBudgetMultiplier: max(1, p.RetryBudgetMultiplier), Contracts: make([]json.RawMessage, len(p.Contracts))}
	for i, c := range p.Contracts {
		raw, err := json.Marshal(drafted(c))
		if err != nil {
			return nil, err
		}
		doc.Contracts[i] = raw
	}
	return json.Marshal(doc)
}

// UnmarshalJSON reads what MarshalJSON wrote; what people and models write is
// read more strictly elsewhere.
func (p *Plan) UnmarshalJSON(raw []byte) error {
	var doc planDoc
	if err := json.Unmarshal(raw, &doc); err != nil {
		return err
	}
	*p = Plan{GoalAnchor: doc.GoalAnchor, RetryBudgetMultiplier: doc.RetryBudgetMultiplier, Contracts: make([]Contract, len(doc.Contracts))}
	for i, one := range doc.Contracts {
		if err := json.Unmarshal(one, &p.Contracts[i]); err != nil {
			return err
		}
		p.Contracts[i] = Promised(p.Contracts[i])
	}
	return nil
}

// drafted leaves out what the harness decides and counts, and criteria that other
// fields promise.
func drafted(c Contract) any {
	c.AcceptanceCriteria = slices.DeleteFunc(slices.Clone(c.AcceptanceCriteria), func(cr Criterion) bool { return cr.From != "" })
	type view struct {
		contractView
		RunID       *RunID   `json:"run_id,omitempty"`
		RetryBudget *int     `json:"retry_budget,omitempty"`
		Attempts    *int     `json:"attempts,omitempty"`
		Status      *Status  `json:"status,omitempty"`
		TokensUsed  *int64   `json:"tokens_used,omitempty"`
		CostUSD     *float64 `json:"cost_usd,omitempty"`
	}
	c.Phase, c.AssignedAgentID, c.Tier, c.Domain, c.GoalAnchor = "", "", "", "", ""
	c.ActualOutputs, c.Stage, c.Iterations, c.Error = Results{}, "", 0, ""
	c.CreatedAt, c.StartedAt, c.CompletedAt = time.Time{}, time.Time{}, time.Time{}
	return view{contractView: contractView(c)}
}

// CoverageThreshold is the key of a contract's quality thresholds for the
// percentage of the changed lines that tests have to reach: the one that is measured.
const CoverageThreshold = "coverage"

// testName is what a test's name looks like, in any language: one word that is none of
// plain prose.
var testName = regexp.MustCompile(`^\S*[A-Z_:.#]\S*$`)

// Promised gives a contract with a criterion for each thing that its other fields say
// shall be true: what nobody looks at is not promised. The criteria are named by their
// field and place in it; those that stand there are made anew.
func Promised(c Contract) Contract {
	all := slices.DeleteFunc(slices.Clone(c.AcceptanceCriteria), func(cr Criterion) bool { return cr.From != "" })
	asked := map[Check]bool{}
	for _, cr := range all {
		if cr.Check != nil {
			asked[*cr.Check] = true
		}
	}
	promise := func(field string, n int, text string, check *Check) {
		if check != nil && asked[*check] {
			return
		}
		if check != nil {
			asked[*check] = true
		}
		all = append(all, Criterion{ID: fmt.Sprintf("%s.%d", field, n+1), Text: text, Check: check, From: field})
	}
	for i, t := range c.ExpectedOutputs.TestsPassing {
		if testFile.MatchString(t) { // some runners name packages and titles, and no files
			promise("tests_passing", i, "the tests of "+t+" pass", &Check{Test: t})
			promise("tests_passing.file", i, t+" is there", &Check{File: t})
			continue
		}
		promise("tests_passing", i, "the test "+t+" passes", &Check{Test: t})
	}
	for i, t := range c.TestRequirements {
		if t = strings.TrimSpace(t); testName.MatchString(t) {
			promise("test_requirements", i, "the test "+t+" passes", &Check{Test: t})
		} else {
			promise("test_requirements", i, t, nil)
		}
	}
	for i, f := range c.ExpectedOutputs.FilesCreated {
		promise("files_created", i, f+" is made", &Check{Created: f})
	}
	for i, f := range c.ExpectedOutputs.FilesModified {
		promise("files_modified", i, f+" is changed", &Check{Modified: f})
	}
	for i, s := range c.Constraints {
		promise("constraints", i, s, nil)
	}
	if !c.ofTests() { // there they name what is tested
		for i, s := range c.APIDefinitions {
			promise("api_definitions", i, "it is there as defined: "+s, nil)
		}
	}
	if want := c.QualityThresholds[CoverageThreshold]; want > 0 {
		all = append(all, Criterion{
			ID: "quality_thresholds." + CoverageThreshold, From: "quality_thresholds",
			Text: fmt.Sprintf("tests reach %g percent of the changed lines", want), Check: &Check{Coverage: want},
		})
	}
	c.AcceptanceCriteria = all
	return c
}

// written counts the criteria that were written as such.
func written(criteria []Criterion) (n int) {
	for _, cr := range criteria {
		if cr.From == "" {
			n++
		}
	}
	return n
}

// Changes tells whether what the contract promises can only come true by a change of
// the repository.
func (c Contract) Changes() bool {
	e := c.ExpectedOutputs
	return len(e.FilesCreated)+len(e.FilesModified)+len(e.TestsPassing)+len(c.TestRequirements)+len(c.QualityThresholds) > 0
}

// OnLanding are the criteria that have to hold as well on what a contract's work is
// merged into: those that the tests, which run there anyway, and the files tell.
func OnLanding(c Contract) (out []Criterion) {
	for _, cr := range c.AcceptanceCriteria {
		if k := cr.Check; k != nil && k.onLanding() {
			out = append(out, cr)
		}
	}
	return out
}

func (c Check) onLanding() bool { return c.Test+c.File+c.Created+c.Modified != "" }

// GoneOn is the work that a contract's holder goes on with after its changes have
// landed: what was to be made and changed has been.
func GoneOn(c Contract) Contract {
	c.ExpectedOutputs.FilesCreated, c.ExpectedOutputs.FilesModified = nil, nil
	return Promised(c)
}

// PromiseFaults are the faults of what a contract promises that show before anybody
// works on it.
func PromiseFaults(c Contract) (out []string) {
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	promised := map[string]string{}
	for _, w := range c.Writes {
		if strings.ContainsFunc(w, unicode.IsControl) {
			add("writes holds %q, which is no path: it has a line break or another control character", w)
		}
	}
	for _, l := range []struct {
		field string
		files []string
	}{{"files_created", c.ExpectedOutputs.FilesCreated}, {"files_modified", c.ExpectedOutputs.FilesModified}} {
		for _, f := range l.files {
			switch before, twice := promised[path.Clean(f)]; {
			case f == "" || strings.HasSuffix(f, "/") || strings.ContainsAny(f, "#*?["):
				add("%s holds %q, and names files: folders, patterns and symbols belong in writes", l.field, f)
			case twice && before != l.field:
				add("%s is to be made and to be changed: name it once", f)
			case CheckRelPath(f) != nil:
				add("%s: %v", l.field, CheckRelPath(f))
			case len(c.Writes) > 0 && !slices.ContainsFunc(c.Writes, func(w string) bool { return covers(w, f) }):
				add("%s promises %s, which its writes do not hold", l.field, f)
			}
			promised[path.Clean(f)] = l.field
		}
	}
	for _, l := range []struct {
		field string
		texts []string
	}{{"tests_passing", c.ExpectedOutputs.TestsPassing}, {"test_requirements", c.TestRequirements}, {"constraints", c.Constraints}, {"api_definitions", c.APIDefinitions}} {
		if slices.ContainsFunc(l.texts, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			add("%s holds an empty text", l.field)
		}
	}
	if c.ofTests() && !saysWhatItTests(c) {
		add("a contract of tests names what it tests (relevant_files, api_definitions, test_requirements, tests_passing, a criterion's test, " +
			"the contracts that it depends on), or quality_thresholds.coverage")
	}
	return out
}

// covers tells whether an entry of a write set holds a file.
func covers(entry, file string) bool {
	in, _, _ := strings.Cut(entry, "#")
	return MatchPath(in, file) || MatchPath(strings.TrimSuffix(in, "/")+"/**", file)
}

func (c Contract) ofTests() bool {
	return c.Type == TypeTest || c.Type == "" && c.AssignedRole == RoleTestEngineer
}

func saysWhatItTests(c Contract) bool {
	return len(c.RelevantFiles)+len(c.APIDefinitions)+len(c.TestRequirements)+len(c.ExpectedOutputs.TestsPassing)+len(c.DependsOn) > 0 ||
		c.QualityThresholds[CoverageThreshold] > 0 ||
		slices.ContainsFunc(c.AcceptanceCriteria, func(cr Criterion) bool { return cr.Check != nil && cr.Check.Test != "" })
}

// PlanBase is what is known of the repository that a plan is made for, as the run begins
// with it: what a plan gets wrong of it no claim could make good.
type PlanBase struct {
	// Has tells whether the base has a file, where that is known; nil: it is not.
	Has func(file string) (has, known bool)
	// Feature says what is wrong with a feature's id, in the words of a fault; nil: that is
	// not known.
	Feature func(FeatureID) string
	// Talent says likewise what is wrong with a talent's name; nil: that is not known.
	Talent func(name string) string
	// NoTests: the run has no command that tests anything.
	NoTests bool
	// Nameless is its test command where no criterion can be held to a test of it: it last
	// passed here without naming one, or runs nothing that could; nil: that is not known.
	Nameless func() string
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
	if b.Talent != nil && c.Talent != "" {
		if what := b.Talent(c.Talent); what != "" {
			add("%s", what)
		}
	}
	if b.Has == nil {
		return append(out, b.unmeasured(c)...)
	}
	for _, f := range c.ExpectedOutputs.FilesCreated {
		if has, _ := b.Has(path.Clean(f)); has && !goneBefore(f, c, all) {
			add("files_created: %s is there already: say files_modified, or let it depend on the contract that deletes it", f)
		}
	}
	for _, f := range c.ExpectedOutputs.FilesModified {
		if has, known := b.Has(path.Clean(f)); known && !has && !madeBefore(f, c, all) {
			add("files_modified: %s is not there: say files_created, or let it depend on the contract that makes it", f)
		}
	}
	return append(out, b.unmeasured(c)...)
}

// unmeasured are the criteria that the run's test command cannot show.
func (b *PlanBase) unmeasured(c Contract) (out []string) {
	why, never := "", ""
	for _, cr := range c.AcceptanceCriteria {
		if cr.Check == nil || cr.Check.Test == "" && cr.Check.Coverage <= 0 {
			continue
		}
		if why == "" {
			switch {
			case b.NoTests:
				why, never = "no test command is known", "never runs"
			case b.Nameless == nil:
				return nil
			default:
				command := b.Nameless()
				if command == "" {
					return nil
				}
				why, never = fmt.Sprintf("`%s` names no tests", command), "is never seen"
			}
		}
		if cr.Check.Test != "" {
			out = append(out, fmt.Sprintf("criterion %s cannot be looked at: %s, so the test %s %s; leave it out, name a command as its check, or set commands.test in agency.yaml", cr.ID, why, cr.Check.Test, never))
		} else {
			out = append(out, fmt.Sprintf("criterion %s cannot be measured: %s; leave the threshold out, or set commands.test in agency.yaml", cr.ID, why))
		}
	}
	return out
}

// goneBefore tells whether a file of the base may be gone when a contract begins: one that
// it depends on may delete it, or has.
func goneBefore(file string, c Contract, all []Contract) bool {
	return mayTouch(file, c, all) || hasTouched(file, all, func(r Results) []string { return r.FilesDeleted })
}

// madeBefore tells whether a file that the base does not have may be there when a contract
// begins: it makes it itself, or one that it depends on may make it, or one has.
func madeBefore(file string, c Contract, all []Contract) bool {
	if slices.ContainsFunc(c.ExpectedOutputs.FilesCreated, isFile(file)) || mayTouch(file, c, all) {
		return true
	}
	return hasTouched(file, all, func(r Results) []string { return append(slices.Clone(r.FilesCreated), r.FilesModified...) })
}

func isFile(file string) func(string) bool {
	file = path.Clean(file)
	return func(other string) bool { return path.Clean(other) == file }
}

// mayTouch tells whether a contract that another depends on may make or delete a file: its
// write set holds it, and it does not promise a change of it, before and after which it is
// there.
func mayTouch(file string, c Contract, all []Contract) bool {
	file = path.Clean(file)
	seen := map[ContractID]bool{c.ID: true}
	for next := c.DependsOn; len(next) > 0; next = next[1:] {
		at := slices.IndexFunc(all, func(o Contract) bool { return o.ID == next[0] })
		if at < 0 || seen[next[0]] {
			continue
		}
		seen[next[0]] = true
		o := all[at]
		next = append(slices.Clone(next), o.DependsOn...)
		changes := slices.ContainsFunc(o.ExpectedOutputs.FilesModified, isFile(file))
		writes := o.WriteSet() // none: it may change anything
		if !changes && (len(writes) == 0 || slices.ContainsFunc(writes, func(w string) bool { return covers(w, file) })) {
			return true
		}
	}
	return false
}

// hasTouched tells whether what landed in the run did something to a file; also where the
// list of what it did was cut.
func hasTouched(file string, all []Contract, did func(Results) []string) bool {
	return slices.ContainsFunc(all, func(o Contract) bool {
		return o.ActualOutputs.LeftOut > 0 || slices.ContainsFunc(did(o.ActualOutputs), isFile(file))
	})
}
