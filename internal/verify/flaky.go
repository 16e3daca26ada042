package verify

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
)

// maxReruns is how many newly red tests are run again: with more of them the
// change, not chance, is at work.
const maxReruns = 40

// claimReruns is how often a newly red test runs alone on the claim (DESIGN 8).
const claimReruns = 2

// chanceReruns is how often mended tests run alone whose files speak of chance:
// of one that passes half the time, two runs let every fourth by.
const chanceReruns = 8

// ofChance is how sources speak of what no two runs share.
var ofChance = regexp.MustCompile(`(?i)rand|shuffle|uuid|pid\b|nano|hrtime|monotonic|perf_counter|(?:time|date|performance|instant|clock)\w*(?:\.|::)(?:now|time)|currenttimemillis|\bhash\(|\bid\(`)

// retrial is what newly red tests did when they were run again.
type retrial struct {
	flaky  []string // seen both ways in runs of the whole suite; sorted
	notes  []string // why tests were not judged otherwise
	suites int      // how many more times the claim's whole suite ran
}

// doubtful tells whether a run that found out nothing else in passing did not
// confirm what is red.
func (r retrial) doubtful() bool { return len(r.flaky) > 0 || len(r.notes) > 0 && r.suites == 0 }

// retry runs newly red tests again. What is red each time alone is red, where
// its being alone is not the reason: that the base tells. Of the rest the whole
// suite decides, up to twice more on the claim: red in each run is red, whatever
// a test does alone, for what runs before it is the change's work too. Chance
// must be shown, it is not presumed.
func (j *job) retry(ctx context.Context, cmd check.Command, f *facts, claim, base *bench) (retrial, error) {
	red := f.claimSuite.standing(append(slices.Clone(f.tests.regressed), f.tests.newRed...))
	red = slices.DeleteFunc(red, func(n string) bool { return f.baseMixed[n] })
	t := trial{f: f, cmd: cmd, claim: claim, base: base, red: red, mixed: maps.Clone(f.baseMixed), alone: map[string]seen{}}
	if t.mixed == nil {
		t.mixed = map[string]bool{}
	}
	switch {
	case len(red) == 0:
		return t.result(), nil
	case len(red) > maxReruns:
		t.note("%d tests are newly red: too many to run each of them again, so none is taken as flaky", len(red))
		return t.result(), nil
	}
	open, err := t.unsettled(ctx)
	if err != nil || len(open) == 0 {
		return t.result(), err
	}
	err = t.suites(ctx, open)
	return t.result(), err
}

// seen is what a test did in several runs.
type seen struct{ red, green bool }

func (s *seen) add(status agency.TestStatus) {
	s.red = s.red || status == agency.TestFailed
	s.green = s.green || status == agency.TestPassed
}

// trial is a retry under way.
type trial struct {
	f           *facts
	cmd         check.Command // the whole test command
	claim, base *bench
	red         []string
	alone       map[string]seen // on the claim
	mixed       map[string]bool
	notes       []string
	ran         int // suites of the claim
}

func (t *trial) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *trial) result() retrial {
	return retrial{flaky: slices.Sorted(maps.Keys(t.mixed)), notes: t.notes, suites: t.ran}
}

// read is what a run says of the tests that are judged.
func (t *trial) read(r agency.Receipt) suite { return t.f.folding.fold(readSuite(r)) }

// unsettled runs the red tests alone and gives those of which that says nothing:
// they passed once, gave no result, or fail alone on the base too, where they
// passed with the others.
func (t *trial) unsettled(ctx context.Context) (open []string, err error) {
	cmd := t.f.scope.again(t.cmd)
	line, ok, err := t.claim.rerunLine(ctx, cmd.Line, t.red)
	if err != nil {
		return nil, err
	}
	if !ok {
		t.note("`%s` cannot run a single test: what is newly red was judged by runs of the whole suite", t.cmd.Line)
		return t.red, nil
	}
	t.claim.renew()
	for range claimReruns {
		r, err := t.claim.alone(ctx, check.Command{Kind: t.cmd.Kind, Line: line, Timeout: t.cmd.Timeout})
		if err != nil {
			return nil, err
		}
		s := t.read(r)
		for _, n := range t.red {
			was := t.alone[n]
			was.add(s.tests[n])
			t.alone[n] = was
		}
	}
	var known []string // red alone, and not on the base
	for _, n := range t.red {
		switch s := t.alone[n]; {
		case s.green || !s.red:
			open = append(open, n)
		case t.f.baseSuite.tests[n] == agency.TestPassed:
			known = append(known, n)
		}
	}
	lonely, err := t.redAloneOnBase(ctx, cmd, known)
	return append(open, lonely...), err
}

// redAloneOnBase are the tests that fail alone on the base: they need others.
func (t *trial) redAloneOnBase(ctx context.Context, cmd check.Command, tests []string) ([]string, error) {
	if len(tests) == 0 {
		return nil, nil
	}
	t.base.renew()
	line, ok, err := t.base.rerunLine(ctx, cmd.Line, tests)
	if err != nil || !ok {
		return nil, err
	}
	r, err := t.base.alone(ctx, check.Command{Kind: cmd.Kind, Line: line, Timeout: cmd.Timeout})
	if err != nil {
		return nil, err
	}
	s := t.read(r)
	return slices.DeleteFunc(tests, func(n string) bool { return s.tests[n] != agency.TestFailed }), nil
}

// suites runs the claim's whole suite up to twice more: as it is, then in
// another order where its runner can.
func (t *trial) suites(ctx context.Context, open []string) error {
	own := t.f.scope.of(t.cmd)
	s, err := t.again(ctx, t.claim, own)
	if err != nil {
		return err
	}
	chance := func(s suite, n string) bool { return s.tests[n] == agency.TestPassed }
	left := t.sort(open, s, chance)
	if len(left) < len(open) { // a baseline of chance proves nothing
		if err := t.claim.j.checker.Distrust(ctx, t.claim.subject(), own); err != nil {
			return err
		}
	}
	if len(left) == 0 {
		return nil
	}
	other, shuffled, err := t.claim.shuffled(ctx, own)
	if err != nil {
		return err
	}
	if s, err = t.again(ctx, t.claim, other); err != nil {
		return err
	}
	if !shuffled {
		t.blame(t.sort(left, s, chance))
		return nil
	}
	// Red each time in its own order and green in another: chance only where the
	// test also gives both with no other around.
	byOrder := map[string]bool{}
	left = t.sort(left, s, func(s suite, n string) bool {
		byOrder[n] = s.tests[n] == agency.TestPassed
		return byOrder[n] && t.alone[n].red && t.alone[n].green
	})
	return t.judgeOrder(ctx, left, byOrder)
}

// judgeOrder looks whether what is red in one order only, is so on the base.
func (t *trial) judgeOrder(ctx context.Context, left []string, byOrder map[string]bool) error {
	dependent := slices.DeleteFunc(slices.Clone(left), func(n string) bool { return !byOrder[n] || t.f.baseSuite.tests[n] != agency.TestPassed })
	if len(dependent) > 0 {
		other, ok, err := t.base.shuffled(ctx, t.f.scope.ofBase(t.cmd))
		if err != nil {
			return err
		}
		if ok {
			t.base.renew()
			r, err := t.base.fresh(ctx, other)
			if err != nil {
				return err
			}
			s := t.read(r)
			left = t.sort(left, s, func(s suite, n string) bool { return byOrder[n] && s.tests[n] == agency.TestFailed })
		}
	}
	t.blame(left)
	for _, n := range left {
		if byOrder[n] {
			t.note("%s fails in every run of the suite in its own order and passes in another: what the change lets run before it makes it fail", n)
		}
	}
	return nil
}

// again runs the whole suite once more on a clean checkout.
func (t *trial) again(ctx context.Context, b *bench, cmd check.Command) (suite, error) {
	b.renew()
	r, err := b.fresh(ctx, cmd)
	t.ran++
	return t.read(r), err
}

// sort takes those as flaky of which a run shows that it is chance, and gives
// the others.
func (t *trial) sort(tests []string, s suite, chance func(suite, string) bool) (left []string) {
	for _, n := range tests {
		if chance(s, n) {
			t.mixed[n] = true
		} else {
			left = append(left, n)
		}
	}
	return left
}

// blame says of tests that are red in every run of the suite what they do alone.
func (t *trial) blame(tests []string) {
	for _, n := range tests {
		switch s := t.alone[n]; {
		case s.green:
			t.note("%s passes alone and fails in every run of the whole suite: what runs with it makes it fail", n)
		case s.red:
			t.note("%s fails alone on the base too, so it was judged by more runs of the suite", n)
		}
	}
}

// byChance are those of the tests which the change mended that fail when they are
// run again as often as what it turned red is: a test that gives both proves
// nothing, whichever came first. One that fails whenever it is alone may need
// others: of that the whole suite decides.
func (w *weighing) byChance(ctx context.Context, mended []string) (map[string]bool, error) {
	if len(mended) == 0 || len(w.f.tests.regressed) > 0 || !w.f.sides.changesProduct() {
		return nil, nil // a claim that broke something proves nothing anyway
	}
	b := w.claim
	b.renew()
	cmd := w.f.scope.again(w.j.task.Commands.Command(agency.CheckTest))
	did := map[string]seen{}
	run := func(again func(context.Context, check.Command) (agency.Receipt, error), line string) error {
		one := cmd
		one.Line = line
		r, err := again(ctx, one)
		s := w.f.folding.fold(readSuite(r))
		for _, t := range mended {
			was := did[t]
			was.add(s.tests[t])
			did[t] = was
		}
		return err
	}
	times, err := w.reruns(ctx, mended)
	if err != nil {
		return nil, err
	}
	alone, ok, err := b.rerunLine(ctx, cmd.Line, mended)
	for n := 0; n < times && ok && err == nil && (n < claimReruns || slices.ContainsFunc(mended, func(t string) bool { return !did[t].red })); n++ {
		err = run(b.alone, alone)
	}
	whole := slices.ContainsFunc(mended, func(t string) bool { return !did[t].green })
	if err == nil && whole {
		maps.DeleteFunc(did, func(_ string, s seen) bool { return !s.green })
		err = run(b.fresh, cmd.Line)
	}
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for t, s := range did {
		out[t] = s.red
	}
	if whole && slices.Contains(slices.Collect(maps.Values(out)), true) {
		err = w.j.checker.Distrust(ctx, b.subject(), cmd)
	}
	return out, err
}

// reruns is how often mended tests run alone, by what their files speak of.
func (w *weighing) reruns(ctx context.Context, mended []string) (int, error) {
	const most = 20 // tests that are looked up
	read := map[string]bool{}
	for _, t := range mended[:min(most, len(mended))] {
		name := functionOf(t)
		if name == "" || strings.ContainsAny(name, "\n\x00") {
			continue
		}
		files, err := w.j.mentions(ctx, w.j.task.claim, name)
		if err != nil {
			return 0, err
		}
		for _, p := range files {
			if read[p] || len(read) == most || !isTestFile(p) {
				continue
			}
			read[p] = true
			b, err := w.j.textIn(ctx, w.j.task.claim, p)
			if err != nil {
				return 0, err
			}
			if ofChance.Match(b) {
				return chanceReruns, nil
			}
		}
	}
	return claimReruns, nil
}
