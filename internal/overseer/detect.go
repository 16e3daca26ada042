package overseer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
)

// findLoop looks for the same call with the same answer, for a round of calls that
// comes again and again, and for a change that is undone and made again.
func findLoop(h *history, s config.Overseer) finding {
	exact, alike := repeats(h.calls)
	window := s.LoopDetectionWindow
	last := call{}
	if n := len(h.calls); n > 0 {
		last = h.calls[n-1]
	}
	switch {
	case exact >= window+patience/2:
		return finding{Critical, 0.9, []string{fmt.Sprintf("%s was called %d times in a row with the same arguments and the same answer", last.tool, exact)}, last.seq}
	case exact >= window:
		return finding{Medium, 0.9, []string{fmt.Sprintf("%s was called %d times in a row with the same arguments and the same answer", last.tool, exact)}, last.seq}
	case alike > window:
		return finding{Medium, 0.8, []string{fmt.Sprintf("%s was called %d times in a row; calls and answers differ in numbers and spaces alone", last.tool, alike)}, last.seq}
	}
	if period, times := rounds(h.calls, window); period > 0 {
		return finding{Medium, 0.85, []string{fmt.Sprintf("the same %d calls with the same answers, %d times in a row", period, times)}, last.seq}
	}
	if at, times := redone(h.calls); times >= 2 {
		return finding{Medium, 0.85, []string{fmt.Sprintf("changes of %s were undone and made again, %d times", orFiles(at.path), times)}, at.seq}
	}
	return finding{}
}

// repeats counts the calls at the end that are the same, and those that look
// alike. What was new in between is looked at by who calls: a new answer ends a run.
func repeats(calls []call) (exact, alike int) {
	if len(calls) == 0 {
		return 0, 0
	}
	last, same := calls[len(calls)-1], true
	if last.kind == changes && !last.failed || last.kind == waits {
		return 1, 1 // what succeeds changes something; a wait may be long
	}
	for _, c := range slices.Backward(calls) {
		e, a := c.same(last)
		if !a {
			break
		}
		alike++
		same = same && e
		if same {
			exact++
		}
	}
	return exact, alike
}

// rounds looks for a round of two to four calls at the end that came at least
// three times, in more calls than the window has.
func rounds(calls []call, window int) (period, times int) {
	for period := 2; period <= 4; period++ {
		times := 1
		if slices.ContainsFunc(calls[max(0, len(calls)-period):], func(c call) bool { return c.kind == waits }) {
			continue
		}
		for at := len(calls) - period; at >= period; at -= period {
			if !slices.EqualFunc(calls[at-period:at], calls[len(calls)-period:], func(a, b call) bool {
				_, alike := a.same(b)
				return alike
			}) {
				break
			}
			times++
		}
		if times >= 3 && times*period > window {
			return period, times
		}
	}
	return 0, 0
}

// redone counts the changes that were made before, word for word, and were undone
// in between: only so can the same edit succeed again.
func redone(calls []call) (last call, times int) {
	made := map[string]bool{}
	for _, c := range calls {
		if c.kind != changes || c.failed {
			continue
		}
		key := c.path + " " + c.digests.Call
		if made[key] {
			last = c
			times++
		}
		made[key] = true
	}
	return last, times
}

func orFiles(path string) string {
	if path == "" {
		return "files"
	}
	return path
}

// findFailures looks for a check that stays red in the same way while files are
// changed, for errors that grow, and for calls that fail one after another.
func findFailures(h *history, s config.Overseer) finding {
	if f := sameRed(h.results); f.severity != "" {
		return f
	}
	if f := growing(h.results, s.FailureIncreaseThreshold); f.severity != "" {
		return f
	}
	failed := 0
	for _, c := range slices.Backward(h.calls) {
		if !c.failed {
			break
		}
		failed++
	}
	if failed > s.LoopDetectionWindow {
		return finding{Medium, 0.8, []string{fmt.Sprintf("the last %d calls all failed", failed)}, h.seq}
	}
	return finding{}
}

const (
	sameRedRuns  = 4 // how often a check may fail with the same words
	sameNameRuns = 7 // how often the same tests may fail with other words
)

// sameRed counts runs of one check at the end that failed in the same way.
func sameRed(rs []result) finding {
	if len(rs) == 0 || rs[len(rs)-1].red == "" {
		return finding{}
	}
	last, words, names := rs[len(rs)-1], 0, 0
	for _, r := range slices.Backward(rs) {
		if r.command != last.command {
			continue
		}
		if r.names != last.names || r.passed != last.passed {
			break
		}
		names++
		if r.red == last.red && words == names-1 {
			words++
		}
	}
	switch {
	case words >= 2*sameRedRuns:
		return finding{High, 0.9, []string{fmt.Sprintf("`%s` failed %d times in a row in the same way", last.name(), words)}, last.seq}
	case words >= sameRedRuns:
		return finding{Medium, 0.8, []string{fmt.Sprintf("`%s` failed %d times in a row in the same way", last.name(), words)}, last.seq}
	case names >= sameNameRuns:
		return finding{Medium, 0.7, []string{fmt.Sprintf("the same tests of `%s` failed %d times in a row", last.name(), names)}, last.seq}
	}
	return finding{}
}

// growing looks for errors of one check that rise from run to run.
func growing(rs []result, most int) finding {
	if len(rs) == 0 {
		return finding{}
	}
	var counts []int
	last := rs[len(rs)-1]
	for _, r := range slices.Backward(rs) {
		if r.command == last.command {
			counts = append(counts, r.failed)
		}
		if len(counts) == 4 {
			break
		}
	}
	slices.Reverse(counts)
	if len(counts) < 4 || counts[0] >= counts[1] || counts[1] >= counts[2] || counts[2] >= counts[3] || counts[3] <= counts[0]+most {
		return finding{}
	}
	return finding{Medium, 0.8, []string{fmt.Sprintf("failures of `%s` rose from %d to %d", last.name(), counts[0], counts[3])}, last.seq}
}

// name is the command for people.
func (r result) name() string { return cmp.Or(r.shown, r.command) }

const (
	fallowTurns  = 4  // without anything new
	readingTurns = 20 // that only look, since the last change or check: worth a note
	wandering    = 50 // and then more
	silentTurns  = 4  // in which nothing was called
)

// findStagnation looks for turns that cost and bring nothing new.
func findStagnation(h *history, s config.Overseer) finding {
	f := h.fallow
	switch {
	case f.turns >= fallowTurns && f.tokens > s.StagnationTokenThreshold:
		severity := Medium
		if f.turns >= 3*fallowTurns {
			severity = High
		}
		return finding{severity, 0.75, []string{
			fmt.Sprintf("%d turns brought nothing new: no other text of a file, no other answer, no other result of a check", f.turns),
			fmt.Sprintf("they took %d tokens", f.tokens),
		}, h.seq}
	case h.fallow.silent >= silentTurns:
		return finding{Medium, 0.8, []string{fmt.Sprintf("%d turns in a row called nothing", h.fallow.silent)}, h.seq + h.turn}
	case f.reads >= wandering:
		return finding{Medium, 0.7, []string{fmt.Sprintf("%d turns in a row only looked at files", f.reads)}, h.seq}
	case f.reads >= readingTurns:
		return finding{Low, 0.5, []string{fmt.Sprintf("%d turns in a row only looked at files", f.reads)}, h.seq}
	}
	return finding{}
}

// findInefficiency looks for calls that are refused, and for a file that is
// written over and over without a look at what it does.
func findInefficiency(h *history, s config.Overseer) finding {
	if n := s.LoopDetectionWindow; h.fallow.refused >= n {
		severity := Low
		if h.fallow.refused >= 2*n {
			severity = Medium
		}
		return finding{severity, 0.7, []string{fmt.Sprintf("%d calls were refused since it last got on", h.fallow.refused)}, h.seq}
	}
	if path, n := rewritten(h.calls); n > 2*s.LoopDetectionWindow-3 {
		return finding{Medium, 0.7, []string{fmt.Sprintf("%s was changed %d times, each time what the change before had put there", orFiles(path), n)}, h.seq}
	}
	return finding{}
}

// rewritten counts the changes at the end that each took out what the one before
// had put in.
func rewritten(calls []call) (path string, n int) {
	next := ""
	for _, c := range slices.Backward(calls) {
		if c.kind != changes || c.failed {
			continue
		}
		if n > 0 && (c.path != path || c.digests.Added == "" || c.digests.Added != next) {
			break
		}
		path, next = c.path, c.digests.Removed
		n++
	}
	return path, n
}

// findExhaustion looks at the tokens that are left.
func findExhaustion(h *history, s config.Overseer) finding {
	left := 1 - float64(h.tokens)/float64(s.MaxTokens)
	evidence := []string{fmt.Sprintf("%d of %d tokens are used", h.tokens, s.MaxTokens)}
	switch {
	case h.tokens <= s.TokenWarningThreshold:
	case left < 0.1:
		return finding{Critical, 1, evidence, 0}
	case left < 0.25:
		return finding{Medium, 1, evidence, 0}
	}
	return finding{}
}

// findTimeout looks at the time that is left, waits for others apart.
func findTimeout(h *history, s config.Overseer) finding {
	most := time.Duration(s.TimeoutSeconds) * time.Second
	took := h.clock.last.Sub(h.clock.began) - h.clock.waited
	evidence := []string{fmt.Sprintf("%s of %s are over", took.Round(time.Second), most)}
	switch {
	case took > most*9/10:
		return finding{Critical, 1, evidence, 0}
	case took > most*3/4:
		return finding{Medium, 1, evidence, 0}
	}
	return finding{}
}

// reviews are those of one contract, oldest first, each as what its blocking
// issues are about.
type reviews struct {
	places [][]string
	counts []int
}

func (r *reviews) take(e agency.Event) {
	d, err := agency.DecodeDetail(e)
	if err != nil {
		return
	}
	said := d.(*agency.ReviewSubmitted)
	if said.Verdict == string(agency.ReviewApprove) {
		*r = reviews{}
		return
	}
	places := slices.Clone(said.Places)
	slices.Sort(places)
	r.places, r.counts = append(r.places, slices.Compact(places)), append(r.counts, said.Issues)
}

// findOscillation looks for a review that finds again what one before the last found.
func findOscillation(h *history, _ config.Overseer) finding {
	if h.reviews == nil || len(h.reviews.places) < 3 {
		return finding{}
	}
	n := len(h.reviews.places) - 1
	for i := range n - 1 {
		if again(h.reviews.places[i], h.reviews.places[n]) {
			return finding{High, 0.85, []string{fmt.Sprintf("review %d finds again what review %d found", n+1, i+1)}, 0}
		}
	}
	return finding{}
}

// again tells whether most of what a review was about comes again.
func again(before, now []string) bool {
	same := 0
	for _, p := range before {
		if slices.Contains(now, p) {
			same++
		}
	}
	return same > 0 && 2*same >= max(len(before), len(now))
}

// findScopeCreep looks for reviews that each find more than the one before.
func findScopeCreep(h *history, _ config.Overseer) finding {
	if h.reviews == nil || len(h.reviews.counts) < 3 {
		return finding{}
	}
	c := h.reviews.counts[len(h.reviews.counts)-3:]
	if c[0] >= c[1] || c[1] >= c[2] {
		return finding{}
	}
	return finding{Medium, 0.75, []string{fmt.Sprintf("the last three reviews found %d, %d and %d issues", c[0], c[1], c[2])}, 0}
}

// findDanger tells of calls that can do harm. What the sandbox refused once may be
// a mistake.
func findDanger(h *history, _ config.Overseer) finding {
	rank := []struct {
		kind     agency.DangerKind
		severity Severity
		least    int
		words    string
	}{
		{agency.DangerHistory, Critical, 1, "it rewrites the repository's history"},
		{agency.DangerDeletion, Critical, 1, "it deletes a large part of the workspace"},
		{agency.DangerEscape, Critical, 3, "the sandbox refused what it tried"},
		{agency.DangerInjection, Medium, 1, "it was shown outside text that gives orders to agents"},
		{agency.DangerEscape, Medium, 1, "the sandbox refused what it tried"},
		{agency.DangerSecret, Low, 1, "a secret of the host stood in what it was shown, and was taken out"},
	}
	var out finding
	for _, r := range rank {
		if n := h.dangers[r.kind]; n >= r.least {
			if out.severity == "" {
				out.severity, out.confidence = r.severity, 0.9
			}
			out.evidence = append(out.evidence, fmt.Sprintf("%s (%s)", r.words, agency.Things(n, "time", "times")))
		}
	}
	return out
}
