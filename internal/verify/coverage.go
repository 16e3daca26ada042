package verify

import (
	"context"
	"io/fs"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"agency/internal/agency"
	"agency/internal/changeset"
	"agency/internal/check"
	"agency/internal/check/detect"
	"agency/internal/checkout"
	"agency/internal/ecosystem"
	"agency/internal/git"
	"agency/internal/languages"
	"agency/internal/store"
)

// coverage is how much of the change the tests reach, where a test run of this
// contract on this very tree has measured it: the verification's own, in passing,
// or the agent's, and of which files. Nothing is run to find out.
func (j *job) coverage(ctx context.Context) (*agency.Coverage, []check.FileCoverage, error) {
	files, id, err := j.checker.LastCoverage(ctx, j.task.Run, j.task.Contract)
	if agency.KindOf(err) == agency.KindNotFound {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, err
	}
	var of agency.Receipt
	err = j.v.o.DB.Read(ctx, func(s *store.Snapshot) error {
		of, err = check.Receipt(s, id)
		return err
	})
	if err != nil || of.Tree != j.task.claim {
		return nil, nil, err
	}
	lines, err := changeset.LinesBetween(ctx, j.run.Dir(), j.task.base, j.task.claim)
	if err != nil {
		return nil, nil, err
	}
	c := check.OfChange(files, lines.Added)
	if c.Lines > 0 || j.task.wanted() == 0 {
		return &c, files, nil
	}
	// Who writes tests alone reaches what others changed before.
	if lines, err = changeset.LinesBetween(ctx, j.run.Dir(), j.run.BaseTree(), j.task.claim); err != nil {
		return nil, nil, err
	}
	c = check.OfChange(files, lines.Added)
	return &c, files, nil
}

// unmeasured are the changed files of which a run that measured says nothing,
// for they run otherwise than they are written. Of languages other than
// JavaScript that are files with nothing to run.
func (j *job) unmeasured(ctx context.Context, changes []git.Change, known *agency.Coverage) (out []string, err error) {
	files, err := j.measurable(ctx, changes)
	if err != nil || known == nil {
		return files, err
	}
	measured, _, err := j.checker.LastCoverage(ctx, j.task.Run, j.task.Contract)
	for _, f := range files {
		if languageOf(f) == ecosystem.Node && !strings.HasSuffix(f, ".d.ts") && !slices.ContainsFunc(measured, func(m check.FileCoverage) bool { return m.Path == f }) {
			out = append(out, f)
		}
	}
	return out, err
}

// foreign are the changed files of code in languages of which the tests measured nothing,
// where a contract asks for coverage: what they hold is not covered, whatever the rest is.
func (j *job) foreign(changes []git.Change, measured []check.FileCoverage) (out []string) {
	if j.task.wanted() == 0 {
		return nil
	}
	known := map[string]bool{}
	for _, m := range measured {
		known[writtenIn(m.Path)] = true
	}
	for _, c := range changes {
		in := writtenIn(c.Path)
		if in != "" && !known[in] && c.Status != 'D' && c.New.Mode != 0o120000 && !isTestFile(c.Path) && len(out) < maxMeasured {
			out = append(out, c.Path)
		}
	}
	return out
}

// writtenIn is the language of a file of code; "" of any other.
func writtenIn(name string) string {
	if in := languageOf(name); in != "" {
		return string(in)
	}
	if ext := strings.ToLower(path.Ext(name)); slices.Contains(otherCode, ext) {
		return ext
	}
	return ""
}

// otherCode are the endings of files of code in languages that nothing here measures.
var otherCode = strings.Fields(".sh .bash .zsh .rb .php .pl .pm .lua .c .h .cc .hh .cpp .hpp .cxx .cs .fs .kt .kts .scala .swift .m .ex .exs .erl .hs .ml .clj .dart .r .jl .ps1 .vue .svelte .zig .nim")

// whole is how much the tests reach of what a contract of tests is about, where it changed
// no line that they could reach: of the files that it names, or of all.
func (j *job) whole(files []check.FileCoverage) *agency.Coverage {
	var c agency.Coverage
	for _, f := range files {
		if _, _, about := agency.Overlap([]string{f.Path}, j.task.About, nil); len(j.task.About) > 0 && !about {
			continue
		}
		ran, all := f.Counts()
		c.Covered, c.Lines = c.Covered+ran, c.Lines+all
		for _, l := range f.Missed {
			if len(c.Missed) < maxLines {
				c.Missed = append(c.Missed, f.Path+":"+l.String())
			}
		}
	}
	if c.Lines == 0 {
		return nil
	}
	return &c
}

// measurable are the changed files whose lines the tests of a claim find out in
// passing.
func (j *job) measurable(ctx context.Context, changes []git.Change) ([]string, error) {
	cheap, err := j.linksInPassing(ctx)
	var out []string
	for _, c := range changes {
		if (cheap || path.Ext(c.Path) != ".go") && c.Status != 'D' && c.New.Mode != 0o120000 && languageOf(c.Path) != "" && !isTestFile(c.Path) && len(out) < maxMeasured {
			out = append(out, c.Path)
		}
	}
	return out, err
}

// What may be spent on lines that nobody asked for: a part of what the suite
// takes by itself. Go links what is measured into the tests of every package.
const (
	inPassing = 0.15
	perLink   = 100 * time.Millisecond
	fewLinks  = 5 // cost nothing that anyone waits for
)

// linksInPassing tells whether measuring tests of Go costs little enough, or was
// asked for.
func (j *job) linksInPassing(ctx context.Context) (bool, error) {
	if j.task.wanted() > 0 {
		return true, nil
	}
	packages := map[string]bool{}
	for _, e := range j.trees.List(ctx, j.task.claim) {
		if strings.HasSuffix(e.Path, "_test.go") {
			packages[path.Dir(e.Path)] = true
		}
	}
	took, err := j.checker.TookPlain(ctx, j.task.Commands.Command(agency.CheckTest))
	return worthLinking(len(packages), took), err
}

// worthLinking tells whether that many test programs may be linked with what is
// measured, beside a suite that takes so long; zero: nobody knows.
func worthLinking(programs int, suite time.Duration) bool {
	return programs <= fewLinks || time.Duration(programs)*perLink <= time.Duration(float64(suite)*inPassing)
}

// maxMeasured bounds the files that are measured in passing.
const maxMeasured = 200

// measuredOfRun are the files whose lines a suite finds out in passing: all that the run
// has changed, so that what lands last tells how much of the whole change its
// tests reach. A target that moved is not the run's to measure.
func (j *job) measuredOfRun(ctx context.Context, own []git.Change) ([]string, error) {
	switch {
	case j.task.stage == check.StageTarget:
		return nil, nil
	case j.task.Type == agency.TypeTest && j.task.wanted() > 0: // what was there before, too
		for _, e := range j.trees.List(ctx, j.task.claim) {
			own = append(own, git.Change{Path: e.Path, Status: 'M', New: e})
		}
		return j.measurable(ctx, own)
	case j.task.base == j.run.BaseTree():
		return j.measurable(ctx, own)
	}
	all, err := j.run.Changes(ctx, j.run.BaseTree(), j.task.claim)
	if err != nil {
		return nil, err
	}
	return j.measurable(ctx, all)
}

// wanted is the coverage that the contract asks for, in percent of the changed lines.
func (t task) wanted() float64 {
	for _, cr := range t.Criteria {
		if cr.Check != nil && cr.Check.Coverage > 0 {
			return cr.Check.Coverage
		}
	}
	return 0
}

// judgeCoverage tells what of the change was not measured; what the contract asks for
// is a criterion.
func (j judgement) judgeCoverage() {
	if j.v.Coverage = j.coverage; j.coverage != nil && len(j.unmeasured) > 0 {
		j.r.note("coverage: the tests do not measure %s", strings.Join(j.unmeasured[:min(len(j.unmeasured), maxLines)], ", "))
	}
}

// aside are the folders of the parts that a change touches and no command of
// the run enters: nothing of what it does there was checked.
func (j *job) aside(ctx context.Context, changes []git.Change, claim *checkout.Checkout) (out []string, err error) {
	if !hasNestedPart(j.trees.List(ctx, j.task.claim), changes) {
		return nil, nil
	}
	err = claim.Files(ctx, func(files fs.FS) {
		for _, a := range detect.NotEntered(files, j.task.Commands) {
			if slices.ContainsFunc(changes, func(c git.Change) bool { return strings.HasPrefix(c.Path, a.Dir+"/") }) {
				out = append(out, a.Dir)
			}
		}
	})
	return out, err
}

// hasNestedPart tells whether a changed file lies in a folder below the root, or
// in one below such a folder, that has a manifest.
func hasNestedPart(entries []git.Entry, changes []git.Change) bool {
	parts := map[string]bool{}
	for _, e := range entries {
		if dir := path.Dir(e.Path); dir != "." && manifests()[path.Base(e.Path)] {
			parts[dir] = true
		}
	}
	for _, c := range changes {
		for at := path.Dir(c.Path); at != "."; at = path.Dir(at) {
			if parts[at] {
				return true
			}
		}
	}
	return false
}

// manifests are the files that make a folder a part of its own.
var manifests = sync.OnceValue(func() map[string]bool {
	out := map[string]bool{}
	for _, l := range languages.All() {
		for _, m := range l.Project.Parts.Manifests {
			out[m] = true
		}
	}
	return out
})

// judgeAside names what nothing has checked; it decides nothing.
func (j judgement) judgeAside() {
	for _, dir := range j.aside {
		j.v.Unchecked = append(j.v.Unchecked, dir)
		j.r.note("not checked: the change touches %s, which no command of the run enters: the merge gate names it", dir)
	}
}
