package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/check"
	"agency/internal/checkout"
	"agency/internal/regexp"
	"agency/internal/suite"
)

// maxReruns is how many newly red tests are run again: with more of them the
// change, not chance, is at work.
const maxReruns = 40

// claimReruns is how often a newly red test runs alone on the claim (docs/design.md, Verification).
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
func (t *testRun) retry(ctx context.Context) (retrial, error) {
	f := t.f
	red := slices.DeleteFunc(slices.Concat(f.tests.Regressed, f.tests.NewRed), func(n string) bool { return f.claimSuite.Down(n) || f.baseMixed[n] })
	again := reruns{testRun: t, red: red, mixed: map[string]bool{}, alone: map[string]suite.Seen{}}
	maps.Copy(again.mixed, f.baseMixed)
	switch {
	case len(red) == 0:
		return again.result(), nil
	case len(red) > maxReruns:
		again.note("%d tests are newly red: too many to run each of them again, so none is taken as flaky", len(red))
		return again.result(), nil
	}
	open, err := again.unsettled(ctx)
	if err != nil || len(open) == 0 {
		return again.result(), err
	}
	err = again.wholeSuites(ctx, open)
	return again.result(), err
}

// reruns are a retry under way.
type reruns struct {
	*testRun
	red   []string
	alone map[string]suite.Seen // on the claim
	mixed map[string]bool
	notes []string
	ran   int // suites of the claim
}

func (t *reruns) note(format string, args ...any) {
	t.notes = append(t.notes, fmt.Sprintf(format, args...))
}

func (t *reruns) result() retrial {
	return retrial{flaky: slices.Sorted(maps.Keys(t.mixed)), notes: t.notes, suites: t.ran}
}

// results are what a run says of the tests that are judged.
func (t *reruns) results(r agency.Receipt) suite.Results { return t.f.folding.Fold(suite.Read(r)) }

// unsettled runs the red tests alone and gives those of which that says nothing:
// they passed once, gave no result, or fail alone on the base too, where they
// passed with the others.
func (t *reruns) unsettled(ctx context.Context) (open []string, err error) {
	cmd := t.f.scope.again(t.cmd)
	line, ok, err := t.claim.RerunLine(ctx, cmd.Line, t.red)
	if err != nil {
		return nil, err
	}
	if !ok {
		t.note("`%s` cannot run a single test: what is newly red was judged by runs of the whole suite", t.cmd.Line)
		return t.red, nil
	}
	t.claim.Renew()
	for range claimReruns {
		r, err := t.claim.Alone(ctx, check.Command{Kind: t.cmd.Kind, Line: line, Timeout: t.cmd.Timeout})
		if err != nil {
			return nil, err
		}
		s := t.results(r)
		for _, n := range t.red {
			t.alone[n] = t.alone[n].And(s.Tests[n])
		}
	}
	var known []string // red alone, and not on the base
	for _, n := range t.red {
		switch s := t.alone[n]; {
		case s.Green || !s.Red:
			open = append(open, n)
		case t.f.baseSuite.Tests[n] == agency.TestPassed:
			known = append(known, n)
		}
	}
	lonely, err := t.redAloneOnBase(ctx, cmd, known)
	return append(open, lonely...), err
}

// redAloneOnBase are the tests that fail alone on the base: they need others.
func (t *reruns) redAloneOnBase(ctx context.Context, cmd check.Command, tests []string) ([]string, error) {
	if len(tests) == 0 {
		return nil, nil
	}
	t.base.Renew()
	line, ok, err := t.base.RerunLine(ctx, cmd.Line, tests)
	if err != nil || !ok {
		return nil, err
	}
	r, err := t.base.Alone(ctx, check.Command{Kind: cmd.Kind, Line: line, Timeout: cmd.Timeout})
	if err != nil {
		return nil, err
	}
	s := t.results(r)
	return slices.DeleteFunc(tests, func(n string) bool { return s.Tests[n] != agency.TestFailed }), nil
}

// wholeSuites runs the claim's whole suite up to twice more: as it is, then in
// another order where its runner can.
func (t *reruns) wholeSuites(ctx context.Context, open []string) error {
	own := t.f.scope.of(t.cmd)
	s, err := t.again(ctx, t.claim, own)
	if err != nil {
		return err
	}
	chance := func(s suite.Results, n string) bool { return s.Tests[n] == agency.TestPassed }
	left := t.sort(open, s, chance)
	if len(left) < len(open) { // a baseline of chance proves nothing
		if err := t.checker.Distrust(ctx, t.claim.Subject(), own); err != nil {
			return err
		}
	}
	if len(left) == 0 {
		return nil
	}
	other, shuffled, err := t.claim.Shuffled(ctx, own)
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
	left = t.sort(left, s, func(s suite.Results, n string) bool {
		byOrder[n] = s.Tests[n] == agency.TestPassed
		return byOrder[n] && t.alone[n].Red && t.alone[n].Green
	})
	return t.judgeOrder(ctx, left, byOrder)
}

// judgeOrder looks whether what is red in one order only, is so on the base.
func (t *reruns) judgeOrder(ctx context.Context, left []string, byOrder map[string]bool) error {
	dependent := slices.DeleteFunc(slices.Clone(left), func(n string) bool { return !byOrder[n] || t.f.baseSuite.Tests[n] != agency.TestPassed })
	if len(dependent) > 0 {
		other, ok, err := t.base.Shuffled(ctx, t.f.scope.ofBase(t.cmd))
		if err != nil {
			return err
		}
		if ok {
			t.base.Renew()
			r, err := t.base.Fresh(ctx, other)
			if err != nil {
				return err
			}
			s := t.results(r)
			left = t.sort(left, s, func(s suite.Results, n string) bool { return byOrder[n] && s.Tests[n] == agency.TestFailed })
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
func (t *reruns) again(ctx context.Context, b *checkout.Checkout, cmd check.Command) (suite.Results, error) {
	b.Renew()
	r, err := b.Fresh(ctx, cmd)
	t.ran++
	return t.results(r), err
}

// sort takes those as flaky of which a run shows that it is chance, and gives
// the others.
func (t *reruns) sort(tests []string, s suite.Results, chance func(suite.Results, string) bool) (left []string) {
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
func (t *reruns) blame(tests []string) {
	for _, n := range tests {
		switch s := t.alone[n]; {
		case s.Green:
			t.note("%s passes alone and fails in every run of the whole suite: what runs with it makes it fail", n)
		case s.Red:
			t.note("%s fails alone on the base too, so it was judged by more runs of the suite", n)
		}
	}
}

// byChance are those of the tests which the change mended that fail when they are
// run again as often as what it turned red is: a test that gives both proves
// nothing, whichever came first. One that fails whenever it is alone may need
// others: of that the whole suite decides.
func (w *weighing) byChance(ctx context.Context, mended []string) (map[string]bool, error) {
	if len(mended) == 0 || len(w.f.tests.Regressed) > 0 || !w.f.sides.changesProduct() {
		return nil, nil // a claim that broke something proves nothing anyway
	}
	b := w.claim
	b.Renew()
	cmd := w.f.scope.again(w.cmd)
	did := map[string]suite.Seen{}
	run := func(again func(context.Context, check.Command) (agency.Receipt, error), line string) error {
		one := cmd
		one.Line = line
		r, err := again(ctx, one)
		s := w.f.folding.Fold(suite.Read(r))
		for _, t := range mended {
			did[t] = did[t].And(s.Tests[t])
		}
		return err
	}
	times := w.reruns(ctx, mended)
	alone, ok, err := b.RerunLine(ctx, cmd.Line, mended)
	for n := 0; n < times && ok && err == nil && (n < claimReruns || slices.ContainsFunc(mended, func(t string) bool { return !did[t].Red })); n++ {
		err = run(b.Alone, alone)
	}
	whole := slices.ContainsFunc(mended, func(t string) bool { return !did[t].Green })
	if err == nil && whole {
		maps.DeleteFunc(did, func(_ string, s suite.Seen) bool { return !s.Green })
		err = run(b.Fresh, cmd.Line)
	}
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for t, s := range did {
		out[t] = s.Red
	}
	if whole && slices.Contains(slices.Collect(maps.Values(out)), true) {
		err = w.checker.Distrust(ctx, b.Subject(), cmd)
	}
	return out, err
}

// reruns is how often mended tests run alone, by what their files speak of.
func (w *weighing) reruns(ctx context.Context, mended []string) int {
	const most = 20 // tests that are looked up
	read := map[string]bool{}
	for _, t := range mended[:min(most, len(mended))] {
		name := suite.FunctionOf(t)
		if name == "" || strings.ContainsAny(name, "\n\x00") {
			continue
		}
		for _, p := range w.trees.Mentions(ctx, w.task.claim, name) {
			if read[p] || len(read) == most || !isTestFile(p) {
				continue
			}
			read[p] = true
			if ofChance.Match(w.trees.Text(ctx, w.task.claim, p)) {
				return chanceReruns
			}
		}
	}
	return claimReruns
}
