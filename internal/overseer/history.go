package overseer

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"agency/internal/agency"
	"agency/internal/config"
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
	known   bool // each line of its answer that is told apart was shown before
	novel   bool // it brought something new
	blind   bool // nobody told its answer
	vague   bool // nor what it changed
	asks    bool // something that changes by itself
	seq     int
}

// same tells whether two calls and their answers are the same, and whether they
// only look alike.
func (c call) same(o call) (exact, alike bool) {
	a, b := c.digests, o.digests
	exact = c.tool == o.tool && a.Call == b.Call && a.Answer == b.Answer
	if c.kind == reads { // other lines of a file may have the shape of these
		return exact, exact || !c.blind && c.tool == o.tool && a.CallShape == b.CallShape && a.Answer == b.Answer
	}
	return exact, exact || c.tool == o.tool && a.CallShape == b.CallShape && a.AnswerShape == b.AnswerShape
}

// fallow is what was seen since the agent last got on.
type fallow struct {
	turns    int // without anything new, those spent waiting apart
	tokens   int64
	untold   int // of these turns, those whose tokens nobody told
	reads    int // turns that only looked, since the last change or check
	refused  int // calls
	silent   int // turns without a call, since the last with one
	returned int // times in a row that the files came back to what they were before
	since    int // the call or result after which it did
	to       agency.OID
	back     int // times that the files came back to it, and nothing new was tried since
}

// clock is the time that a session was at work.
type clock struct {
	began  time.Time
	heard  time.Time     // of the last event, as it says
	last   time.Time     // the same by a clock that never goes back
	signed time.Time     // when it gave a sign last
	sign   time.Duration // the same, by the time that the watch was awake
	silent time.Duration // since then, when somebody looked
	waited time.Duration // for others, or while nobody carried it out
	until  time.Time     // when its model's provider, which it waits for, is asked again
	parked bool
	waits  string // for what it is parked
	ended  bool
}

// memory is what is not new any more.
type memory struct {
	seen map[uint64]bool // by the hash of what it is
	best map[string]int  // the most passed, by command
	harm map[agency.DangerKind]int
	// times is how often something was done, by the hash of what it is without its numbers.
	times map[uint64]int
	// ended tells whether a command failed last, by the hash of its shape.
	ended map[uint64]bool
	// share is how far what a call asked for had come, by the call.
	share map[uint64]float64
}

// who is what the agent is, and what became of its contract.
type who struct {
	role     agency.RoleID
	contract agency.ContractID
	reviews  *reviews // where it gave one
	claims   *claims  // where it made one
}

// history is what is remembered of one session, bounded by its most calls.
type history struct {
	most  int
	key   key
	who   who
	event int64 // the last one
	clock clock
	progressed
	spending
	fallow   fallow
	calls    []call
	results  []result
	memory   memory
	now      turnSoFar
	tree     agency.OID
	standing standing
	sights
}

// turnSoFar is the turn whose calls are coming in.
type turnSoFar struct {
	calls, reads, waits int
	novel               bool // something was shown that was not known
	changed             bool // a file got a text that no change before gave it
	counted             bool // what it did differed in numbers alone from what was done before
	acted               bool // and something else did not
	results             int  // of checks, whose calls are to come
	took                time.Duration
}

func newHistory(e agency.Event, k key, most int, n *nudges) *history {
	return &history{
		most: most, key: k, who: who{role: e.Role, contract: e.ContractID}, event: e.ID, clock: clock{began: e.Time, heard: e.Time, last: e.Time, signed: e.Time},
		memory: memory{map[uint64]bool{}, map[string]int{}, map[agency.DangerKind]int{}, map[uint64]int{}, map[uint64]bool{}, map[uint64]float64{}}, standing: standing{raised: map[Behaviour]told{}, nudged: n},
	}
}

// mostSeen bounds what is remembered as not new. A session that has seen more is
// far from a loop.
const mostSeen = 2048

// news tells whether something comes for the first time, and remembers it.
func (h *history) news(what string) bool {
	if len(h.memory.seen) >= mostSeen {
		clear(h.memory.seen)
	}
	at := hash(what)
	known := h.memory.seen[at]
	h.memory.seen[at] = true
	return !known
}

// shows tells whether an answer shows lines that were not shown before, and
// remembers them; ok is false where its lines do not tell.
func (h *history) shows(lines []string) (fresh, ok bool) {
	for _, l := range lines {
		if h.news("line " + l) {
			fresh = true
		}
	}
	return fresh, len(lines) > 0
}

// take folds an event in, and tells whether there is something to look at.
func (h *history) take(e agency.Event, d agency.Detail, s config.Overseer) bool {
	took := h.clock.pass(e.Time)
	if e.ContractID != "" {
		h.who.contract = e.ContractID
	}
	switch d := d.(type) {
	case *agency.ToolCalled:
		h.clock.goesOn()
		h.now.took += took
		h.called(e, d)
	case *agency.ToolRefused:
		h.clock.goesOn()
		h.refuse(e, d)
	case *agency.TurnCompleted:
		h.clock.goesOn()
		h.settle(d, s)
	case *agency.TestsRun:
		return onWork(d.Stage) && h.checked(d.Command, d.Passed, d.Failed, d.ExitCode, d.Red)
	case *agency.LintRun:
		return onWork(d.Stage) && h.checked(d.Command, 0, 0, d.ExitCode, d.Red)
	case *agency.ReviewSubmitted:
	default:
		h.passes(d)
		return false
	}
	return true
}

// passes takes in what says how the session goes on.
func (h *history) passes(d agency.Detail) {
	switch d := d.(type) {
	case *agency.EpochBegun:
		if d.Folded > 0 { // what it read is not before it any more
			h.calls = nil
			clear(h.memory.seen)
			if h.fallow = (fallow{reads: h.fallow.reads}); h.changes+h.tried != h.folded {
				h.fallow.reads, h.folded = 0, h.changes+h.tried
			}
		}
	case *agency.Retried:
		h.clock.until = d.Until
	case *agency.SessionParked:
		h.clock.parked, h.clock.waits = true, d.For
	case *agency.ResourceWaited:
		h.clock.parked, h.clock.waits = true, d.String()
	case *agency.ResourceTaken:
		h.clock.goesOn()
	case *agency.Claimed:
		h.clock.ended = true
	case *agency.PlanSubmitted:
		h.progress()
	case *agency.Nudged:
		h.standing.recall(*d, h)
	case *agency.Halted:
		h.standing.ordered(&d.Overseen)
	case *agency.Escalated:
		h.standing.ordered(d.Overseen)
	}
}

// poll is how long a turn takes that waits for something outside; one that asks how far
// it is, at least asking.
const (
	poll   = time.Minute
	asking = 15 * time.Second
)

// called notes a call that ran.
func (h *history) called(e agency.Event, d *agency.ToolCalled) {
	failed := d.Error != "" || d.Ended != ""
	c, said := h.call(d.Turn, d.Tool, d.CallDigests, e.Summary, d.Error)
	c.failed = failed
	if d.CallShape == "" && d.Use == "" && d.Tool == shell {
		line := lineOf(said)
		d.Use, d.Waits = UseOf(shell, line), d.Waits || Waits(shell, line)
		d.Danger = append(d.Danger, Dangers(shell, line, "", failed)...)
	}
	c.path, c.asks = cmp.Or(d.Path, c.path), d.Use == agency.UseAsk
	switch {
	case c.kind == runs && (d.Waits || h.now.took >= poll || c.asks && h.now.took >= asking), !failed && h.memory.comesOn(c):
		c.kind = waits
	case d.Use == agency.UseLook:
		c.kind = reads
	case d.Use == agency.UseSay:
		c.kind = talks
	}
	own := c.kind == runs
	if c.kind == checks {
		if own = h.now.results == 0; !own {
			h.now.results--
		}
	}
	h.note(&c, own)
	if own {
		h.ran(c, e.Summary)
	}
	if c.tool == publishes && !c.failed {
		h.progress()
	}
	h.dangerous(d.Danger)
}

// call is a call as it is compared, and the words that a history by hand has for it.
func (h *history) call(turn int, tool string, d agency.CallDigests, summary, failed string) (call, string) {
	c := call{turn: cmp.Or(turn, h.settled+1), tool: tool, kind: kinds[tool]}
	var said string
	c.digests, said, c.vague, c.blind = words(d, tool, summary, failed)
	if c.blind {
		c.digests.Answer, c.digests.AnswerShape = supposed(h.changes)
	}
	if c.vague && c.kind == changes {
		c.path = said
		c.digests.Call = fmt.Sprint(c.digests.Call, h.seq) // nobody told what it changed
	}
	return c, said
}

// publishes is the tool by which an agent hands over what it made.
const publishes = "publish_artifact"

// refuse notes a call that did not run.
func (h *history) refuse(e agency.Event, d *agency.ToolRefused) {
	h.fallow.refused++
	c, _ := h.call(d.Turn, d.Tool, d.CallDigests, e.Summary, d.Reason)
	c.failed = true
	h.note(&c, true)
	h.dangerous(d.Danger)
}

func (h *history) dangerous(kinds []agency.DangerKind) {
	for _, k := range kinds {
		h.memory.harm[k]++
	}
}

// note decides whether a call brought something new, and keeps it. Of a check that is
// not the call's own, another event tells what it brought.
func (h *history) note(c *call, own bool) {
	ds, t := c.digests, &h.now
	h.turn, h.fallow.silent = max(h.turn, c.turn), 0
	h.seq++
	c.seq = h.seq
	t.calls++
	fresh, told := h.shows(ds.Lines)
	c.known = told && !fresh
	switch c.kind {
	case changes:
		// The same change of the same file can only be made again after it was undone.
		if !c.failed {
			h.changes++
			switch fresh := h.news("change " + c.path + " " + ds.Call); {
			case !c.vague && h.memory.did("change "+c.path+" "+c.tool+" "+ds.CallShape) > mostChanged:
				t.counted = true
			case fresh:
				t.changed, h.fallow.since = true, h.seq
			}
		}
	case waits, plans:
		t.waits++
		c.novel = c.kind == plans && !c.failed && h.news("plan "+c.tool+" "+ds.CallShape)
	case talks:
	case reads: // what is not found where it was not sought yet is news, too
		t.reads++
		c.novel = (!c.failed || c.tool == shell) && h.news("answer "+c.tool+" "+c.asked()+" "+ds.Answer) && !c.known
	default:
		if c.kind == checks && !own {
			break
		}
		c.novel = h.newAnswer(c) && !c.known
		// One command again and again may go on from tree to tree.
		if other := h.news("run " + c.tool + " " + ds.Call); h.memory.did("run "+c.tool+" "+ds.CallShape) > mostCounted && other {
			t.counted = true
		} else {
			t.acted = true
		}
	}
	t.novel = t.novel || c.novel
	if c.novel && (c.kind == runs || c.kind == checks) {
		h.proven, h.fallow.back, h.fallow.reads = h.seq, 0, 0
	}
	if len(h.calls) >= h.most {
		h.calls = slices.Delete(h.calls, 0, len(h.calls)-h.most+1)
	}
	h.calls = append(h.calls, *c)
}

// progress notes that the agent has got on: what was told of it is over.
func (h *history) progress() {
	h.now.novel = true
	h.fallow, h.proven = fallow{since: h.seq}, h.seq
	h.results = h.results[:0]
	for _, b := range []Behaviour{InfiniteLoop, RepeatedFailures, Stagnation, Inefficiency} {
		delete(h.standing.raised, b)
	}
}

// leastGone is how many files a turn has to take away to be more than tidying up.
const leastGone = 10

// mostTokens bounds what one turn is believed to have taken.
const mostTokens = 1 << 40

// settle closes the turn whose calls have come in.
func (h *history) settle(d *agency.TurnCompleted, s config.Overseer) {
	t := h.now
	h.now = turnSoFar{}
	h.settled = max(d.Turn, h.settled+1)
	h.turn = h.settled
	if f := d.Files; f.Gone >= leastGone && 2*f.Gone >= f.Before {
		h.dangerous([]agency.DangerKind{agency.DangerDeletion})
	}
	in, cached, out := min(max(d.In, 0), mostTokens), min(max(d.Cached, 0), mostTokens), min(max(d.Out, 0), mostTokens)
	h.bill(in, cached, out, s.MaxTokens)
	h.guessed = h.guessed || d.Estimated
	moved := h.moved(d.Tree, t)
	switch {
	case t.novel || moved:
		h.fallow.turns, h.fallow.tokens, h.fallow.untold = 0, 0, 0
		if h.fallow.reads < h.mayRead(s) {
			delete(h.standing.raised, Stagnation)
		}
	case t.calls > 0 && t.waits == t.calls: // a turn that waits is not one that stands still
	default:
		h.fallow.turns++
		h.fallow.tokens += in + out
		if in+out == 0 {
			h.fallow.untold++
		}
	}
	if t.calls == 0 {
		h.fallow.silent++
	}
	if t.reads > 0 && t.reads == t.calls {
		h.fallow.reads++
	}
	if moved {
		h.fallow.reads, h.made = 0, true
	}
}

// mayRead is in how many turns the agent may only look: who has made something knows its
// way, who begins may read as much as is remembered.
func (h *history) mayRead(s config.Overseer) int {
	if h.made {
		return many(s)
	}
	return s.SnapshotHistorySize
}

// bill counts what a turn takes of the limit. Where nobody tells what was cached, it is
// what the prompt grew by, unless so much was sent that no cache can be meant.
func (h *history) bill(in, cached, out, most int64) {
	if cached == 0 && in <= most/2 {
		cached = min(in, h.prompt)
	}
	h.prompt = in
	h.tokens += agency.Usage{In: in, Cached: cached, Out: out}.Billed()
}

// moved tells whether a turn left files as they never were. Where the event does
// not name them, the calls say so.
func (h *history) moved(tree agency.OID, t turnSoFar) bool {
	if tree == "" {
		return t.changed
	}
	before := h.tree
	h.tree = tree
	switch fresh := h.news("tree " + string(tree)); {
	case before == tree:
		return false
	case before == "":
		return t.changed
	case t.counted && !t.changed && !t.acted:
		return false
	case fresh:
		h.fallow.returned, h.fallow.since = 0, h.seq
		return true
	}
	h.fallow.returned++
	if tree != h.fallow.to {
		h.fallow.to, h.fallow.back = tree, 0
	}
	h.fallow.back++
	return false
}
