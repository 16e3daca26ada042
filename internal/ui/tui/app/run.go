package app

import (
	"maps"
	"strings"
	"time"

	tea "charm.land/bubbletea/v2"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

// runView is one run as it is looked at.
type runView struct {
	id       agency.RunID
	known    bool
	doc      api.InspectDoc
	cost     api.CostDoc
	gates    []agency.Gate
	tree     tree
	log      eventLog
	logged   bool // the log has the keys, not the tree
	progress tui.Progress
	hearing
	gate       agency.GateID // that is shown
	page       pager         // its text, or that of the change
	diff       diff
	transcript transcript
	decisions
}

// hearing is what agents say at the moment.
type hearing struct {
	saying  tui.Saying
	awaited tui.Awaited
	said    int // how often it changed
}

// decisions are what became of the gates while they were looked at.
type decisions struct {
	asked   map[agency.GateID]bool        // they waited when they were seen
	answers map[agency.GateID]agency.Verb // that were given here
	over    map[agency.GateID]agency.Decision
}

// diff is the run's change, once it was asked for.
type diff struct {
	doc   api.DiffDoc
	err   error
	known bool
	asked bool
	back  view // from which it is looked at alone
}

// with is a map with one more entry; models that came before keep theirs.
func with[K comparable, V any](m map[K]V, k K, v V) map[K]V {
	m = maps.Clone(m)
	if m == nil {
		m = map[K]V{}
	}
	m[k] = v
	return m
}

func (d *decisions) answering(id agency.GateID, verb agency.Verb) {
	d.answers = with(d.answers, id, verb)
}

// answer takes in what came of an answer: where none was taken another may be given.
func (d *decisions) answer(id agency.GateID, err error) {
	if err != nil {
		d.answers = maps.Clone(d.answers)
		delete(d.answers, id)
	}
}

// settle takes in how a gate is answered; it is told once.
func (d *decisions) settle(id agency.GateID, as agency.Decision) {
	d.over = with(d.over, id, as)
	d.asked = maps.Clone(d.asked)
	delete(d.asked, id)
}

// set takes a document in.
func (r *runView) set(doc api.InspectDoc, gates []agency.Gate) {
	r.known, r.doc, r.gates = true, doc, gates
	for _, g := range agency.Waiting(gates) {
		if !r.ended(g.ID) && !r.asked[g.ID] {
			r.asked = with(r.asked, g.ID, true)
		}
	}
	r.tree.build(doc)
}

// add takes an event in with its details, none where this version does not know them, and
// tells whether it is a new one.
func (r *runView) add(ev agency.Event, d agency.Detail) bool {
	if !r.log.add(ev, d) {
		return false
	}
	r.progress.Take(ev, d)
	r.awaited.Take(ev, d)
	return true
}

// follows takes what an agent did and paid into the document, and tells whether that is all
// that the event changes of it: a run in which much is done is not asked for again by that.
func (r *runView) follows(ev agency.Event, d agency.Detail) bool {
	switch d := d.(type) {
	case *agency.ToolCalled:
		if i, ok := r.tree.agents[ev.AgentID]; ok && ev.Time.After(r.doc.Agents[i].LastActivityAt) {
			a := &r.doc.Agents[i]
			a.Activity, a.LastTool, a.LastActivityAt = ev.Summary, d.Tool, ev.Time
		}
		return true
	case *agency.TurnCompleted:
		if ev.ID > r.doc.LastEvent { // else the document has it
			r.doc.Tokens, r.doc.CostUSD, r.doc.Unpriced = d.Run.Tokens, d.Run.USD, r.doc.Unpriced || d.Unpriced
			r.paid(d)
		}
		return true
	}
	return false
}

// paid takes a turn into its session, and what it cost into the session's contract.
func (r *runView) paid(d *agency.TurnCompleted) {
	i, ok := r.tree.sessions[d.Session]
	if !ok {
		return
	}
	s := &r.doc.Sessions[i]
	s.Turns = max(s.Turns, d.Turn)
	s.Tokens, s.CostUSD, s.Unpriced = s.Tokens+d.In+d.Out, s.CostUSD+d.CostUSD, s.Unpriced || d.Unpriced
	if c, ok := r.tree.contracts[s.Contract]; ok {
		f := &r.tree.of[c]
		f.cost, f.unpriced = f.cost+d.CostUSD, f.unpriced || d.Unpriced
	}
}

// treeLines are what is seen of the tree. Much of what happens changes nothing of it.
func (r *runView) treeLines(st tui.Style, now time.Time, width, rows int) []string {
	t := &r.tree
	t.top = window(t.top, t.at, len(t.rows), rows)
	of := sight{st: st, built: t.built, said: r.said, second: now.Unix(), width: width, rows: rows, at: t.at, top: t.top, focused: !r.logged}
	if t.seen != of {
		t.seen, t.shown = of, t.lines(st, r.doc, r.saying, now, width, rows, !r.logged)
	}
	return t.shown
}

// heard takes in what agents say.
func (h *hearing) heard(now time.Time, said ...api.Delta) {
	h.said++
	h.saying.Add(said...)
	h.awaited.Hear(now, said...)
}

// state is the newest that is known of where the run stands.
func (r *runView) state() agency.RunState {
	if r.doc.State.Final() || r.progress.State == "" || r.doc.LastEvent >= r.log.last {
		return r.doc.State
	}
	return r.progress.State
}

// waits are the gates that wait as far as is known, the most urgent first.
func (r *runView) waits() []agency.Gate {
	var out []agency.Gate
	for _, g := range agency.Waiting(r.gates) {
		if !r.ended(g.ID) && !r.state().Final() {
			out = append(out, g)
		}
	}
	return out
}

// ended tells whether a gate is known to be answered, by its event.
func (d *decisions) ended(id agency.GateID) bool { return d.over[id].Verb != "" }

// decision is how a gate is answered as far as is known; none: it waits.
func (d *decisions) decision(g agency.Gate) agency.Decision {
	if g.Open() {
		return d.over[g.ID]
	}
	return g.Decision
}

// answerable tells whether an answer to a gate would be taken.
func (r *runView) answerable(g agency.Gate) bool {
	return r.decision(g).Verb == "" && r.answers[g.ID] == "" && !r.state().Final()
}

// shownGate is the gate that is looked at, else the first that waits.
func (r *runView) shownGate() (agency.Gate, bool) {
	for _, g := range r.gates {
		if g.ID == r.gate {
			return g, true
		}
	}
	if open := r.waits(); len(open) > 0 {
		return open[0], true
	}
	return agency.Gate{}, false
}

// nextGate shows the next gate that waits.
func (r *runView) nextGate() {
	open := r.waits()
	for i, g := range open {
		if g.ID == r.gate {
			r.gate = open[(i+1)%len(open)].ID
			r.page.top = 0
			return
		}
	}
	if len(open) > 0 {
		r.gate, r.page.top = open[0].ID, 0
	}
}

// transcript is a session's conversation.
type transcript struct {
	session agency.SessionID
	role    agency.RoleID
	text    string
	turn    int // the last one of which text has the answer
	err     error
	pager   pager
	asking  bool
	heard   bool
	asked   time.Time
	pace    time.Duration
}

func (t *transcript) show(s api.SessionDoc, width int) {
	*t = transcript{session: s.ID, role: s.Role, heard: true, pager: pager{width: width, follows: true}}
}

// hear notes that something of its run happened, after which there may be more of it.
func (t *transcript) hear(ev agency.Event) {
	t.heard = t.heard || ev.Role == t.role
}

// refresh is the question for it, where it is time to ask.
func (t *transcript) refresh(now time.Time, w *work, run agency.RunID) tea.Cmd {
	if t.session == "" || t.asking || !t.heard || !t.asked.IsZero() && now.Sub(t.asked) < t.pace {
		return nil
	}
	return w.transcript(run, t.session)
}

func (t *transcript) answered(m transcriptMsg, width int) {
	if m.session != t.session {
		return
	}
	t.asking, t.asked, t.err = false, m.now, m.err
	t.pace = max(leastPace, paceFactor*m.took)
	if m.err != nil || m.text == t.text {
		return
	}
	t.text, t.turn = m.text, m.turn
	t.pager.set(t.text, max(leastWidth, width))
}

// say puts what the session says now below its conversation, as far as that does not
// have it.
func (t *transcript) say(st tui.Style, s tui.Saying) {
	if t.text == "" {
		return
	}
	st.Width = max(0, t.pager.width-2)
	said := s.Text(st, t.session, t.turn)
	if said != "" {
		said = "\n" + st.Paint(tui.Cyan, "says now") + "\n  " + strings.ReplaceAll(strings.TrimRight(said, "\n"), "\n", "\n  ")
	}
	t.pager.ending(said)
}
