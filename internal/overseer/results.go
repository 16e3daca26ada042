package overseer

import (
	"fmt"
	"slices"
	"strings"

	"agency/internal/agency"
	"agency/internal/regexp"
)

// result is one run of the tests or of another check on the agent's work.
type result struct {
	command string
	kin     string // of whose failures it may be one again
	shown   string // the command for people; empty: as it is
	passed  int
	failed  int    // tests or findings; 1 where a red check counts none
	red     string // what failed, and how; empty where it passed
	names   string // what failed
	tests   []string
	again   bool // it failed before with these words
	anew    bool // it failed before with these names, and none more passed since
	seq     int
}

// shell is the tool that runs commands.
const shell = "run_command"

// checked notes a run of a check on the work.
func (h *history) checked(command string, passed, failed, exit int, red *agency.Red) bool {
	r := result{command: command, passed: passed, failed: failed}
	if exit != 0 {
		if red != nil && failed == 0 {
			r.failed = len(red.Findings)
		}
		r.failed = max(r.failed, 1)
		r.red, r.names = redDigests(red)
		r.tests = redTests(red)
	}
	if h.memory.fewer(command, r.failed) {
		h.progress()
	}
	h.fallow.reads, h.made = 0, true
	h.tried++
	h.now.results++
	most, known := h.memory.best[command]
	switch {
	case passed > most, exit == 0 && h.news("green "+command), !known:
		h.memory.best[command] = max(passed, most)
		if known {
			h.progress()
		}
		h.now.novel = true
	}
	h.keep(r, command)
	return true
}

// fewer notes how much failed in a check, and tells whether it was less than ever.
func (m *memory) fewer(command string, failed int) bool {
	key := "failed " + command
	least, known := m.best[key]
	if !known || failed < least {
		m.best[key] = failed
	}
	return known && failed < least
}

// ran notes how a command ended, or a check of which no other event tells. One that ends
// well is a result only after it failed.
func (h *history) ran(c call, shown string) {
	r := result{command: c.tool + " " + c.digests.CallShape, shown: shown}
	switch {
	case c.failed && c.blind: // nobody told in what way
		r.failed, r.red = 1, fmt.Sprint("untold ", h.seq)
		r.names = r.red
	case c.failed:
		r.failed, r.red, r.names = max(1, c.digests.Errors), c.digests.AnswerShape, c.digests.AnswerShape
		if c.digests.Errors > 0 && h.memory.fewer(r.command, r.failed) {
			h.progress()
		}
	case !slices.ContainsFunc(h.results, func(o result) bool { return o.command == r.command }):
		return
	}
	if c.kind == checks {
		h.fallow.reads, h.made = 0, true
	}
	h.keep(r, c.tool)
}

// keep adds a result, and notes whether it failed so before: kin are those whose
// failures are compared. A command that is put in other words fails in the same.
func (h *history) keep(r result, kin string) {
	r.kin = kin
	if r.red != "" {
		r.again = !h.news("red " + kin + " " + r.red)
		r.anew = !h.news(fmt.Sprint("red names ", kin, " ", r.names, " ", r.passed))
		if !r.again {
			h.now.novel, h.fallow.since = true, h.seq
		}
	}
	if len(h.results) >= h.most {
		h.results = slices.Delete(h.results, 0, len(h.results)-h.most+1)
	}
	h.seq++
	r.seq = h.seq
	h.results = append(h.results, r)
}

// asked is what tells a look from others: where nobody tells its answer, its words.
func (c *call) asked() string {
	if c.blind {
		return c.digests.Call
	}
	return c.digests.CallShape
}

// newAnswer tells whether a command answers as none did. What ends well may tell by
// numbers alone, where nobody asked it so before.
func (h *history) newAnswer(c *call) bool {
	ds := c.digests
	switch {
	case c.blind && c.failed:
		return h.news("answer " + c.tool + " " + ds.CallShape + " " + ds.Answer)
	case c.blind:
		return h.news("answer " + c.tool + " " + ds.Call + " " + ds.Answer)
	}
	failed, ran := h.memory.ended[hash(c.tool+" "+ds.CallShape)]
	if len(h.memory.ended) < mostSeen {
		h.memory.ended[hash(c.tool+" "+ds.CallShape)] = c.failed
	}
	shape := h.news("answer " + c.tool + " " + ds.AnswerShape)
	asked, answer := h.news("asked "+c.tool+" "+ds.Call), h.news("said "+c.tool+" "+ds.Answer)
	tried := h.news(fmt.Sprint("tried ", c.tool, " ", ds.Call, " ", h.changes)) // after another change
	return shape || !c.failed && answer && (asked || tried || c.kind == checks) || asked && ran && failed != c.failed
}

// mostCounted and mostChanged are how often what differs in numbers alone is something
// new: a command, and a change of one file.
const (
	mostCounted = 3
	mostChanged = 2
)

// did counts how often something was done.
func (m *memory) did(what string) int {
	if len(m.times) >= mostSeen {
		clear(m.times)
	}
	at := hash(what)
	m.times[at]++
	return m.times[at]
}

// comesOn tells whether a call that was made before is shown that what it asks for has
// come further than ever.
func (m *memory) comesOn(c call) bool {
	key := hash(c.tool + " " + c.digests.Call)
	before, known := m.share[key]
	if c.digests.Share <= before || len(m.share) >= mostSeen {
		return false
	}
	m.share[key] = c.digests.Share
	return known
}

// growing looks for errors of one check that rise over its last runs, to more than
// there were. Whoever writes tests first has failures that rise: there it counts only
// what passed before.
func growing(h *history, most int) finding {
	rs := h.results
	if len(rs) == 0 {
		return finding{}
	}
	last := rs[len(rs)-1]
	after, rose, fell := last, 0, 0
	for _, r := range slices.Backward(rs[:len(rs)-1]) {
		if r.command != last.command {
			continue
		}
		if r.failed < after.failed {
			rose++
		} else {
			fell++
		}
		if after = r; r.failed > last.failed || rose+fell > 5 || fell > 1 {
			break
		}
		if rose >= 3 && last.failed-r.failed >= most && (r.passed > last.passed || h.who.role != agency.RoleTestEngineer && !wroteTests(h.calls, r.seq)) {
			return finding{Medium, 0.8, []string{fmt.Sprintf("failures of `%s` rose from %d to %d", last.name(), r.failed, last.failed)}, last.seq}
		}
	}
	return finding{}
}

// ofTests are the names of files that hold tests, in the languages' usual ways.
var ofTests = regexp.MustCompile(`(?i)(^|/)(tests?|specs?|__tests__)/|(^|/)(test|spec)_|[._-](test|spec)s?\.|Tests?\.(java|kt|cs)$`)

// wroteTests tells whether a file of tests was changed since a result.
func wroteTests(calls []call, since int) bool {
	return slices.ContainsFunc(calls, func(c call) bool {
		return c.seq > since && c.kind == changes && !c.failed && ofTests.MatchString(c.path)
	})
}

// passing is what differs between two runs that fail in the same way: times,
// addresses and lines.
var passing = regexp.MustCompile(`\d+(\.\d+)?\s?(ns|µs|us|ms|s|sec|seconds|min)\b|0x[0-9a-f]+|\d+:\d+(:\d+)?(\.\d+)?|:\d+|\b[0-9a-f]{7,}\b`)

// mostTests bounds the failed tests of a run that are remembered.
const mostTests = 32

func redTests(r *agency.Red) (out []string) {
	if r == nil {
		return nil
	}
	for _, t := range r.Tests[:min(len(r.Tests), mostTests)] {
		out = append(out, t.Name)
	}
	return out
}

// drawn is a word that is made up anew for each run, such as the name of a folder for a
// while.
var drawn = regexp.MustCompile(`\S*/(tmp|temp|T|folders)/\S*|\b[A-Za-z_]\w*\d\w*\d\w*\b|\b\d+[A-Za-z_]\w*\d\w*\b`)

// gist are the words of a failure in no order, without what differs between runs.
func gist(lines []string) []byte {
	words := strings.Fields(drawn.ReplaceAllString(passing.ReplaceAllString(strings.Join(lines, "\n"), ""), ""))
	slices.Sort(words)
	return []byte(strings.Join(words, " "))
}

// redDigests tell two failures of a check apart: by what failed and its last
// words, and by what failed alone.
func redDigests(r *agency.Red) (all, names string) {
	if r == nil {
		return "red", "red"
	}
	var b []byte
	for _, t := range r.Tests {
		b = append(b, t.Name+"\n"...)
	}
	for _, f := range r.Findings {
		b = append(b, f+"\n"...)
	}
	names = "red " + Digest(b)
	all = names + " " + Digest(gist(r.Last))
	if len(b) == 0 { // its last words are all that tells what failed
		names = all
	}
	return all, names
}
