package overseer

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
)

// few and many are the turns or calls after which weak and weaker evidence of one kind
// is enough; the window is that of strong evidence.
func few(s config.Overseer) int  { return max(2, s.LoopDetectionWindow-1) }
func many(s config.Overseer) int { return max(s.LoopDetectionWindow+1, 2*s.LoopDetectionWindow-2) }

// findLoop looks for the same call with the same answer, for a round of calls that
// comes again and again, and for a change that is undone and made again.
func findLoop(h *history, s config.Overseer) finding {
	exact, alike := repeats(h.calls, h.fallow.since)
	window := s.LoopDetectionWindow
	last := call{}
	if n := len(h.calls); n > 0 {
		last = h.calls[n-1]
	}
	in := func(severity Severity, confidence float64, seq int, form string, args ...any) finding {
		return finding{severity, confidence, []string{fmt.Sprintf(form, args...)}, seq}
	}
	switch {
	case exact >= many(s) && !last.blind && !last.asks:
		return in(Critical, 0.9, last.seq, "%s was called %d times in a row with the same arguments and the same answer", last.tool, exact)
	case exact >= window:
		return in(Medium, 0.9, last.seq, "%s was called %d times in a row with the same arguments and the same answer", last.tool, exact)
	case alike > window:
		return in(Medium, 0.8, last.seq, "%s was called %d times in a row; calls and answers differ in numbers and spaces alone", last.tool, alike)
	}
	if period, n := rounds(h.calls, h.fallow.since, window); period > 0 {
		return in(Medium, 0.85, last.seq, "the same %d calls with the same answers come again, %d calls long", period, n)
	}
	if c, n := frequent(h.calls, h.fallow.since); n > window {
		return in(Medium, 0.8, c.seq, "%s was called %d times with the same arguments and the same answer, and nothing was changed in between", c.tool, n)
	}
	if n := answered(h.calls, h.fallow.since); n >= many(s) {
		return in(Medium, 0.75, last.seq, "%d calls of %s in a row had the same answer", n, last.tool)
	}
	if n := pieces(h.calls, h.fallow.since); n >= many(s) {
		return in(Medium, 0.7, last.seq, "the last %d calls run one command with other numbers, and nothing was changed", n)
	}
	if at, n, tried := redone(h.calls); n >= 3 || n == 2 && !tried {
		return in(Medium, 0.85, at.seq, "changes of %s were undone and made again, %d times", orFiles(at.path), n)
	}
	if n := h.fallow.back; n >= few(s)-1 {
		return in(Medium, 0.8, last.seq, "the files came back %d times to what they had been, and nothing new was tried", n)
	}
	if n := h.fallow.returned; n >= few(s) {
		return in(Medium, 0.85, last.seq, "the files came back %d times in a row to what they had been before", n)
	}
	return finding{}
}

// repeats counts the calls at the end that are the same, and those that look alike and
// brought nothing new, since a call or result of the session.
func repeats(calls []call, since int) (exact, alike int) {
	if len(calls) == 0 {
		return 0, 0
	}
	last, same := calls[len(calls)-1], true
	if last.kind == changes && !last.failed || last.kind == waits || last.kind == plans && !last.failed {
		return 1, 1 // what succeeds changes something; a wait may be long
	}
	for _, c := range slices.Backward(calls) {
		e, a := c.same(last)
		if !a || c.seq < since {
			break
		}
		alike++
		same = same && e
		if same {
			exact++
		} else if c.novel {
			break
		}
	}
	return exact, alike
}

// longestRound is the most calls of a round.
const longestRound = 8

// rounds looks for a round of calls at the end that came again: at least three
// times, in more calls than the window has, or over four turns. It gives how many
// calls repeat the ones before them.
func rounds(calls []call, since, window int) (period, again int) {
	for period := 2; period <= min(longestRound, len(calls)/2+1); period++ {
		again, turns := 0, 0
		for i := len(calls) - 1; i >= period; i-- {
			c := calls[i]
			if exact, alike := c.same(calls[i-period]); !alike || !exact && c.novel || c.kind == waits || calls[i-period].seq <= since {
				break
			}
			if again == 0 || calls[i+1].turn != c.turn {
				turns++
			}
			again++
		}
		if again+period > window && (again >= 2*period || turns >= 4 && again >= 4) {
			return period, again
		}
	}
	return 0, 0
}

// frequent is the call with the same answer that came most often since a call or
// result of the session.
func frequent(calls []call, since int) (most call, n int) {
	times := map[string]int{}
	for _, c := range calls {
		if c.seq <= since || c.kind == waits || c.kind == plans || c.kind == changes && !c.failed {
			continue
		}
		k := c.tool + " " + c.digests.Call + " " + c.digests.Answer
		if times[k]++; times[k] > n {
			most, n = c, times[k]
		}
	}
	return most, n
}

// answered counts the calls at the end that asked different things and got the
// same answer.
func answered(calls []call, since int) int {
	n := 0
	for _, c := range slices.Backward(calls) {
		last := calls[len(calls)-1]
		if c.seq <= since || c.blind || c.tool != last.tool || c.digests.Answer != last.digests.Answer || c.kind != reads && (c.kind != runs || !c.failed) {
			break
		}
		n++
	}
	return n
}

// pieces counts the commands at the end that differ in numbers alone, none of whose
// answers is known to show something new.
func pieces(calls []call, since int) int {
	n := 0
	for _, c := range slices.Backward(calls) {
		last := calls[len(calls)-1]
		if c.seq <= since || c.tool != shell || c.kind == waits || c.digests.CallShape != last.digests.CallShape || c.novel && !c.known {
			break
		}
		n++
	}
	return n
}

// redone counts the changes that were made before, word for word, and were undone
// in between: only so can the same edit succeed again. Tried tells whether a command
// ran meanwhile: who looks at what a change does may have to take it back.
func redone(calls []call) (last call, times int, tried bool) {
	made := map[string]int{}
	ran := 0
	for i, c := range calls {
		switch {
		case c.kind == runs:
			ran = i
		case c.kind == changes && !c.failed:
			key := c.path + " " + c.digests.Call
			if first, before := made[key]; before {
				last, tried = c, ran > first
				times++
				continue
			}
			made[key] = i
		}
	}
	return last, times, tried
}

func orFiles(path string) string {
	if path == "" {
		return "files"
	}
	return path
}

// findStagnation looks for turns that cost and bring nothing new.
func findStagnation(h *history, s config.Overseer) finding {
	f := h.fallow
	switch {
	case f.turns >= few(s) && (f.tokens > s.StagnationTokenThreshold || f.untold >= few(s)):
		severity, cost := Medium, fmt.Sprintf("they took %d tokens", f.tokens)
		if f.turns >= 3*few(s) {
			severity = High
		}
		if f.untold > 0 {
			cost = fmt.Sprintf("of %d of them nobody told the tokens", f.untold)
		} else if h.guessed {
			cost += ", estimated"
		}
		return finding{severity, 0.75, []string{
			fmt.Sprintf("%d turns brought nothing new: no other text of a file, no other answer, no other result of a check", f.turns), cost,
		}, h.seq}
	case f.silent >= few(s):
		return finding{Medium, 0.8, []string{fmt.Sprintf("%d turns in a row called nothing", f.silent)}, h.seq + h.turn}
	case f.reads >= h.mayRead(s):
		severity := Low
		if h.made || f.reads >= 3*h.mayRead(s) {
			severity = Medium
		}
		return finding{severity, 0.6, []string{fmt.Sprintf("%d turns only looked at files, since the last change or try that told something new", f.reads)}, 0}
	}
	return finding{}
}

// findInefficiency looks for calls that are refused, and for a file that is
// written over and over without a look at what it does.
func findInefficiency(h *history, s config.Overseer) finding {
	if n := s.LoopDetectionWindow; h.fallow.refused >= n {
		severity := Low
		if h.fallow.refused > n {
			severity = Medium
		}
		return finding{severity, 0.7, []string{fmt.Sprintf("%d calls were refused since it last got on", h.fallow.refused)}, h.seq}
	}
	if path, n := rewritten(h.calls, h.proven); n >= many(s) {
		return finding{Medium, 0.7, []string{fmt.Sprintf("%s was changed %d times, each time what the change before had put there, and nothing new came of it", orFiles(path), n)}, h.seq}
	}
	if path, n := replaced(h.calls); n >= many(s) {
		return finding{Medium, 0.7, []string{fmt.Sprintf("%s was written whole %d times in a row, without a look at what it does", orFiles(path), n)}, h.seq}
	}
	if path, n := untried(h.calls); n >= many(s) { // an agent may know well what it does
		return finding{Low, 0.6, []string{fmt.Sprintf("%s was changed %d times in a row, and nothing was run", path, n)}, 0}
	}
	return finding{}
}

// untried counts the changes at the end of one file with nothing but looks between.
func untried(calls []call) (path string, n int) {
	for _, c := range slices.Backward(calls) {
		switch {
		case c.kind == reads || c.kind == talks || c.kind == changes && c.failed:
		case c.kind != changes || c.path == "" || n > 0 && c.path != path:
			return path, n
		default:
			path = c.path
			n++
		}
	}
	return path, n
}

// replaced counts the calls at the end that wrote one file whole, each time with
// another text; one that keeps most of what was there is a text that grows.
func replaced(calls []call) (path string, n int) {
	var next []string
	for _, c := range slices.Backward(calls) {
		if c.tool != "write_file" || c.failed || n > 0 && c.path != path {
			break
		}
		kept := 0
		for _, l := range c.digests.Lines {
			if slices.Contains(next, l) {
				kept++
			}
		}
		if n > 0 && kept > 0 && 2*kept >= len(c.digests.Lines) {
			break
		}
		path, next = c.path, c.digests.Lines
		n++
	}
	return path, n
}

// rewritten counts the changes at the end, of one file or of two, that each took out what
// the one before in that file had put in, since a call or result of the session.
func rewritten(calls []call, since int) (path string, n int) {
	next := map[string]string{}
	for _, c := range slices.Backward(calls) {
		if c.kind != changes || c.failed {
			continue
		}
		removed, known := next[c.path]
		if c.seq <= since || known && (c.digests.Added == "" || c.digests.Added != removed) || !known && len(next) == 2 {
			break
		}
		path, next[c.path] = c.path, c.digests.Removed
		n++
	}
	if len(next) == 2 {
		path = strings.Join(slices.Sorted(maps.Keys(next)), " and ")
	}
	return path, n
}

// getsOn tells whether the last turn brought something new, and is not long ago: who gets
// on has until the end of its limits.
func getsOn(h *history, s config.Overseer) bool {
	return h.fallow.turns == 0 && h.clock.silent < time.Duration(s.TimeoutSeconds)*time.Second/10
}

// findExhaustion looks at the tokens that are left.
func findExhaustion(h *history, s config.Overseer) finding {
	left := 1 - float64(h.tokens)/float64(s.MaxTokens)
	evidence := []string{fmt.Sprintf("%d of %d tokens are used", h.tokens, s.MaxTokens)}
	switch {
	case h.tokens <= s.TokenWarningThreshold:
	case left < 0.1 && !getsOn(h, s):
		return finding{Critical, 1, evidence, 0}
	case left < 0.25:
		return finding{Medium, 1, evidence, 0}
	}
	return finding{}
}

// findSilence looks for a session at work of which nothing was heard for a quarter of the
// time that it has: its model hangs, or a command, or what carries it out.
func findSilence(h *history, s config.Overseer) finding {
	if most := time.Duration(s.TimeoutSeconds) * time.Second / 4; h.clock.silent > most {
		return finding{Low, 0.6, []string{"no sign since " + h.clock.signed.UTC().Format(time.RFC3339)}, 0}
	}
	return finding{}
}

// findTimeout looks at the time that is left, waits for others apart.
func findTimeout(h *history, s config.Overseer) finding {
	most := time.Duration(s.TimeoutSeconds) * time.Second
	took := h.clock.last.Sub(h.clock.began) - h.clock.waited
	evidence := []string{fmt.Sprintf("%s of %s are over", took.Round(time.Second), most)}
	switch {
	case took > most*9/10 && !getsOn(h, s):
		return finding{Critical, 1, evidence, 0}
	case took > most*3/4:
		return finding{Medium, 1, evidence, 0}
	}
	return finding{}
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
		{agency.DangerSecret, Medium, 1, "a secret of the host stood in what it was shown, and was taken out"},
	}
	var out finding
	for _, r := range rank {
		if n := h.memory.harm[r.kind]; n >= r.least {
			if out.severity == "" {
				out.severity, out.confidence = r.severity, 0.9
			}
			out.evidence = append(out.evidence, fmt.Sprintf("%s (%s)", r.words, agency.Things(n, "time", "times")))
		}
	}
	return out
}
