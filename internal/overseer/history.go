package overseer

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"agency/internal/agency"
)

// kind is what a call is for, as far as progress goes.
type kind uint8

const (
	runs    kind = iota // a command, or a tool that is not known here
	reads               // looks at files
	changes             // changes files
	checks              // the repository's own commands, whose results are events of their own
	talks               // messages and notes
	waits               // for others, or for a command
	plans               // contracts, claims, reviews: what others build on
)

// kinds are those of the tools, by name.
var kinds = byKind(map[kind][]string{
	reads: {
		"read_file", "list_directory", "search_files", "query_codebase", "symbol_search", "get_symbol_references", "outline",
		"get_git_diff", "get_git_log", "get_coverage_report", "list_uncovered_lines", "check_file_sizes", "read_artifact", "read_decisions",
		"get_feature_status",
	},
	changes: {
		"write_file", "edit_file", "delete_file", "smart_edit", "rename_symbol", "extract_function", "apply_patch", "rollback_checkpoint",
	},
	checks: {"run_tests", "run_tests_with_coverage", "run_lint", "run_type_check"},
	talks:  {"send_message", "team_broadcast", "note_decision", "todo", "reserve", "release", "create_checkpoint", "propose_improvement"},
	waits: {
		"wait_for_agents", "collect_results", "get_subcontract_status", "command_output", "request_human_input", "request_clarification", "request_handoff",
		"request_implementation_change", "ask_clarification",
	},
	plans: {
		"create_subcontract", "update_subcontract", "mark_subcontract_complete", "mark_feature_complete", "spawn_agent", "submit_plan",
		"submit_tasks", "submit_verdict", "submit_review", "signal_complete", "signal_blocked", "final_report", "publish_artifact",
		"propose_path_amendment", "accept_run", "reject_run", "handoff_to",
	},
})

func byKind(names map[kind][]string) map[string]kind {
	out := map[string]kind{}
	for k, tools := range names {
		for _, t := range tools {
			out[t] = k
		}
	}
	return out
}

// call is one call of a tool.
type call struct {
	turn    int
	tool    string
	kind    kind
	digests agency.CallDigests
	path    string
	failed  bool
	novel   bool // it brought something that was not there
	seq     int
}

// same tells whether two calls and their answers are the same, and whether they
// only look alike.
func (c call) same(o call) (exact, alike bool) {
	a, b := c.digests, o.digests
	exact = c.tool == o.tool && a.Call == b.Call && a.Answer == b.Answer
	if c.kind == reads { // other lines of a file may have the shape of these
		return exact, exact || c.tool == o.tool && a.CallShape == b.CallShape && a.Answer == b.Answer
	}
	return exact, exact || c.tool == o.tool && a.CallShape == b.CallShape && a.AnswerShape == b.AnswerShape
}

// result is one run of the tests or of another check on the agent's work.
type result struct {
	command string
	shown   string // the command for people; empty: as it is
	passed  int
	failed  int    // tests or findings; 1 where a red check counts none
	red     string // what failed, and how; empty where it passed
	names   string // what failed
	seq     int
}

// fallow is what was seen since the agent last got on.
type fallow struct {
	turns   int // without anything new, those spent waiting apart
	tokens  int64
	reads   int // turns that only looked, since the last change or check
	refused int // calls
	silent  int // turns without a call, since the last with one
}

// clock is the time that a session was at work.
type clock struct {
	began  time.Time
	last   time.Time     // of what it did last
	waited time.Duration // for others, or while nobody carried it out
	parked bool
	waits  string // for what it is parked
	ended  bool
}

// longest is the most that one step of work takes: in a longer silence the machine
// slept.
const longest = 30 * time.Minute

// pass lets the clock go on, and gives by how much. A clock that jumps back changes
// nothing; what passes while the session waits is no time at work.
func (c *clock) pass(now time.Time) time.Duration {
	took := max(0, now.Sub(c.last))
	c.last = c.last.Add(took)
	if c.parked || c.ended {
		c.waited += took
	} else if took > longest {
		c.waited += took - longest
	}
	return took
}

// memory is what is not new any more.
type memory struct {
	seen map[string]int // how often it came, by what it is
	best map[string]int // the most passed, by command
}

// who is the agent, in its latest session.
type who struct {
	agent    agency.AgentID
	role     agency.RoleID
	session  agency.SessionID
	contract agency.ContractID
}

// history is what is remembered of one agent, bounded by its most calls.
type history struct {
	most     int
	who      who
	event    int64 // the last one
	seq      int   // of calls and results
	clock    clock
	turn     int
	tokens   int64 // as limits count them
	fallow   fallow
	calls    []call
	results  []result
	memory   memory
	dangers  map[agency.DangerKind]int
	now      turnSoFar
	reviews  *reviews // of its contract, where it gave one
	standing standing
}

// turnSoFar is the turn whose calls are coming in.
type turnSoFar struct {
	calls, reads, waits int
	novel               bool
	took                time.Duration
}

func newHistory(e agency.Event, most int) *history {
	h := &history{most: most}
	h.restart(e)
	return h
}

// restart begins another session of the agent: another conversation, which may
// read again what the one before has read.
func (h *history) restart(e agency.Event) {
	*h = history{
		most: h.most, who: who{agent: e.AgentID, role: e.Role, contract: e.ContractID}, clock: clock{began: e.Time, last: e.Time},
		memory: memory{map[string]int{}, map[string]int{}}, dangers: map[agency.DangerKind]int{},
		standing: standing{raised: map[Behaviour]told{}, nudged: h.standing.nudged},
	}
}

// mostSeen bounds what is remembered as not new. A session that has seen more is
// far from a loop.
const mostSeen = 4096

// news tells whether something comes for the first time, and remembers it.
func (h *history) news(what string) bool {
	if len(h.memory.seen) >= mostSeen {
		clear(h.memory.seen)
	}
	h.memory.seen[what]++
	return h.memory.seen[what] == 1
}

// take folds an event in, and tells whether there is something to look at.
func (h *history) take(e agency.Event) bool {
	d, err := agency.DecodeDetail(e)
	if err != nil {
		return false // of a newer version
	}
	took := h.clock.pass(e.Time)
	if e.ContractID != "" {
		h.who.contract = e.ContractID
	}
	switch d := d.(type) {
	case *agency.Spawned:
		h.restart(e)
		h.who.session = d.Session
		return false
	case *agency.ToolCalled:
		h.clock.parked, h.clock.ended = false, false
		h.now.took += took
		return h.called(e, d)
	case *agency.ToolRefused:
		h.clock.parked, h.clock.ended = false, false
		h.refuse(e, d)
	case *agency.TurnCompleted:
		h.clock.parked, h.clock.ended = false, false
		h.settle(d)
	case *agency.EpochBegun:
		if d.Folded > 0 { // what it read is not before it any more
			h.calls, h.fallow = nil, fallow{}
			clear(h.memory.seen)
		}
		return false
	case *agency.TestsRun:
		return h.checked(d.Stage, d.Command, d.Passed, d.Failed, d.ExitCode, d.Red)
	case *agency.LintRun:
		failed := 0
		if d.Red != nil {
			failed = len(d.Red.Findings)
		}
		return h.checked(d.Stage, d.Command, 0, failed, d.ExitCode, d.Red)
	case *agency.SessionParked:
		h.clock.parked, h.clock.waits = true, d.For
		return false
	case *agency.Claimed:
		h.clock.ended = true
		return false
	case *agency.Completed, *agency.Failed: // a run may have thousands of agents that were
		h.clock.ended = true
		h.calls, h.results = nil, nil
		h.memory = memory{map[string]int{}, map[string]int{}}
		return false
	case *agency.ReviewSubmitted:
	case *agency.Merged, *agency.PlanSubmitted:
		h.progress()
		return false
	default:
		return false
	}
	return true
}

// poll is how long a turn takes that waits for something outside.
const poll = time.Minute

// called notes a call that ran.
func (h *history) called(e agency.Event, d *agency.ToolCalled) bool {
	c := call{
		turn: d.Turn, tool: d.Tool, kind: kinds[d.Tool], digests: d.CallDigests, path: d.Path, failed: d.Error != "" || d.Ended != "",
	}
	if c.digests.Call == "" { // a history without digests: the words that are shown
		c.digests.Call, c.digests.CallShape = Digest([]byte(e.Summary)), Shape([]byte(e.Summary))
		c.digests.Answer, c.digests.AnswerShape = Digest([]byte(d.Error)), Shape([]byte(d.Error))
	}
	if c.kind == runs && (d.Waits || h.now.took >= poll) {
		c.kind = waits
	}
	h.note(&c)
	if c.kind == runs && d.Ended != "" {
		h.keep(result{command: d.Tool + " " + c.digests.CallShape, shown: e.Summary, failed: 1, red: c.digests.AnswerShape, names: c.digests.AnswerShape})
	}
	h.dangerous(d.Danger)
	return true
}

// refuse notes a call that did not run.
func (h *history) refuse(e agency.Event, d *agency.ToolRefused) {
	c := call{turn: d.Turn, tool: d.Tool, kind: kinds[d.Tool], digests: d.CallDigests, failed: true}
	if c.digests.Call == "" {
		c.digests.Call, c.digests.CallShape = Digest([]byte(e.Summary)), Shape([]byte(e.Summary))
		c.digests.Answer, c.digests.AnswerShape = Digest([]byte(d.Reason)), Shape([]byte(d.Reason))
	}
	h.fallow.refused++
	h.note(&c)
	h.dangerous(d.Danger)
}

func (h *history) dangerous(kinds []agency.DangerKind) {
	for _, k := range kinds {
		h.dangers[k]++
	}
}

// note decides whether a call brought something new, and keeps it.
func (h *history) note(c *call) {
	ds, t := c.digests, &h.now
	h.turn, h.fallow.silent = max(h.turn, c.turn), 0
	t.calls++
	switch c.kind {
	case changes:
		// The same change of the same file can only be made again after it was undone.
		c.novel = !c.failed && h.news("change "+c.path+" "+ds.Call)
		if c.novel {
			h.fallow.reads = 0
		}
	case waits, plans:
		t.waits++
		c.novel = c.kind == plans && !c.failed && h.news("plan "+c.tool+" "+ds.CallShape)
	case talks, checks: // what checks bring, their own events say
	case reads: // what is not found where it was not sought yet is news, too
		t.reads++
		c.novel = !c.failed && h.news("answer "+c.tool+" "+ds.CallShape+" "+ds.Answer)
	default:
		c.novel = h.news("answer " + c.tool + " " + ds.AnswerShape)
	}
	h.seq++
	c.seq = h.seq
	t.novel = t.novel || c.novel
	if len(h.calls) >= h.most {
		h.calls = slices.Delete(h.calls, 0, len(h.calls)-h.most+1)
	}
	h.calls = append(h.calls, *c)
}

// checked notes a run of a check on the work. It tells whether there is something
// to look at.
func (h *history) checked(stage, command string, passed, failed, exit int, red *agency.Red) bool {
	if stage != "" && stage != agency.StageWork {
		return false
	}
	r := result{command: command, passed: passed, failed: failed}
	if exit != 0 {
		r.failed = max(r.failed, 1)
		r.red, r.names = redDigests(red)
	}
	h.fallow.reads = 0
	most, known := h.memory.best[command]
	switch {
	case passed > most, exit == 0 && h.news("green "+command), !known:
		h.memory.best[command] = max(passed, most)
		if known {
			h.progress()
		}
		h.now.novel = true
	case exit != 0 && h.news("red "+command+" "+r.red):
		h.now.novel = true
	}
	h.keep(r)
	return true
}

// keep adds a result.
func (h *history) keep(r result) {
	if len(h.results) >= h.most {
		h.results = slices.Delete(h.results, 0, len(h.results)-h.most+1)
	}
	h.seq++
	r.seq = h.seq
	h.results = append(h.results, r)
}

// passing is what differs between two runs that fail in the same way: times,
// addresses and lines.
var passing = regexp.MustCompile(`\d+(\.\d+)?\s?(ns|µs|us|ms|s|sec|seconds|min)\b|0x[0-9a-f]+|\d+:\d+(:\d+)?(\.\d+)?|:\d+|\b[0-9a-f]{7,}\b`)

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
	return names + " " + Digest(passing.ReplaceAll([]byte(strings.Join(r.Last, "\n")), nil)), names
}

// progress notes that the agent has got on: what was told of it is over.
func (h *history) progress() {
	h.now.novel = true
	h.fallow = fallow{}
	h.results = h.results[:0]
	for _, b := range []Behaviour{InfiniteLoop, RepeatedFailures, Stagnation, Inefficiency} {
		delete(h.standing.raised, b)
	}
}

// settle closes the turn whose calls have come in.
func (h *history) settle(d *agency.TurnCompleted) {
	t := h.now
	h.now = turnSoFar{}
	h.turn = d.Turn
	spent := d.In + d.Out
	h.tokens += agency.Usage{In: d.In, Cached: d.Cached, Out: d.Out}.Billed()
	switch {
	case t.novel:
		h.fallow.turns, h.fallow.tokens = 0, 0
		if h.fallow.reads < readingTurns {
			delete(h.standing.raised, Stagnation)
		}
	case t.calls > 0 && t.waits == t.calls: // a turn that waits is not one that stands still
	default:
		h.fallow.turns++
		h.fallow.tokens += spent
	}
	if t.calls == 0 {
		h.fallow.silent++
	}
	if t.reads > 0 && t.reads == t.calls {
		h.fallow.reads++
	}
}
