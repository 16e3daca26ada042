package app

import (
	"fmt"
	"time"

	tea "charm.land/bubbletea/v2"

	"agency/internal/agency"
	"agency/internal/api"
	"agency/internal/ui/tui"
)

// view is what fills the terminal.
type view int

const (
	viewList view = iota
	viewRun
	viewGate
	viewChange
	viewTranscript
	viewEvent
	viewHelp
)

// Model is all that the application knows. Update gives the next one.
type Model struct {
	o    Options
	work *work

	width, height int
	now           time.Time
	view          view
	under         view // below the help
	list          list
	run           runView
	link          link
	ask           ask
	note          note
	help          pager

	picture
}

// picture is the frame as it was drawn last, and what it remembers.
type picture struct {
	drawn  string
	cursor *tea.Cursor
	fits   *fits
}

// note is what is said to the person in the line above the keys.
type note struct {
	text string
	ink  tui.Ink
	at   time.Time
}

// noteTime is how long a note stands.
const noteTime = 20 * time.Second

// link is how the application hears of what happens, and when it asks again.
type link struct {
	feed   int // the number of the one that counts
	open   *feed
	live   bool      // a host is at work
	gone   string    // why it is not, as far as that is worth saying
	again  time.Time // when to try again; zero: it is tried
	heard  bool      // something happened since it was asked
	news   bool      // and it was more than a turn or a call, which are shown as they are heard
	asking bool
	asked  time.Time
	pace   time.Duration // between two questions
	costs  time.Time     // when they were asked for
	late   []late        // what came meanwhile
	held   bool          // nothing is asked while another host may take over from this one
}

// late is an event that came while all of a run was asked for: the answer may be older.
type late struct {
	event  agency.Event
	detail agency.Detail
}

// The times between questions. A question that takes long is asked less often: what asks
// and what answers are to take a fortieth of a core, as long as nothing shown gets too old by it.
const (
	leastPace  = time.Second
	paceFactor = 40
	mostPace   = 2 * time.Second // of which a person who looks on is not aware
	retryAfter = 2 * time.Second
	costsAfter = 5 * time.Second
	wholeAfter = 20 * time.Second // where all that was heard is shown
)

func (l *link) answered(now time.Time, took time.Duration, live bool, err error) {
	l.asking, l.asked = false, now
	l.pace = min(max(leastPace, paceFactor*took), mostPace)
	if err == nil && l.open == nil {
		l.live = live
	}
}

// due tells whether something is to be asked again.
func (l *link) due(now time.Time) bool {
	switch {
	case l.asking, l.held:
		return false
	case l.asked.IsZero():
		return true
	case !l.heard && l.live:
		return false
	case !l.live:
		return now.Sub(l.asked) >= max(l.pace, retryAfter)
	}
	return now.Sub(l.asked) >= l.pace && (l.news || now.Sub(l.asked) >= wholeAfter)
}

// New is the application before anything is known.
func New(o Options, w *work) Model {
	if o.Zone == nil {
		o.Zone = time.UTC
	}
	m := Model{o: o, work: w, now: o.Now(), picture: picture{fits: &fits{}}}
	if o.Run != "" {
		m.enter(o.Run)
	}
	m.link.asking = true // by Init
	return m
}

// Init asks for what is shown first.
func (m Model) Init() tea.Cmd {
	return tea.Batch(m.work.tick(), m.look())
}

// enter shows a run; whoever calls it has the feed opened with look.
func (m *Model) enter(id agency.RunID) {
	m.view = viewRun
	if m.run.id != "" && m.run.id != id { // over another run it would be read as of that
		m.note = note{}
	}
	m.run = runView{id: id, log: eventLog{zone: m.o.Zone, verbose: m.o.Verbose}}
	if id == m.o.Run {
		m.run.log.after, m.run.log.from = m.o.After, m.o.From
	}
	m.ask = ask{}
}

// look asks for what the view shows, and follows what happens to it. The list is asked
// for again and again instead: a host does not leave while somebody follows all of it.
func (m Model) look() tea.Cmd {
	if !m.inRun() {
		return m.question()
	}
	return tea.Batch(m.question(), m.work.open(m.link.feed, m.query()))
}

// follow is look for another view than before.
func (m *Model) follow() tea.Cmd {
	closing := m.drop()
	m.link = link{feed: m.link.feed + 1, asking: true}
	return tea.Batch(closing, m.look())
}

// hold ends what is asked and followed until an action is done that may have another
// hostLine take over: the old one leaves when nobody asks it any more.
func (m *Model) hold() tea.Cmd {
	cmd := m.drop()
	m.link.held, m.link.again = true, m.now
	m.link.feed++ // what the old one still brings is asked for again
	return cmd
}

// drop ends the feed.
func (m *Model) drop() tea.Cmd {
	f := m.link.open
	m.link.open = nil
	if f == nil {
		return nil
	}
	return func() tea.Msg {
		f.cancel()
		return nil
	}
}

// query is what the view follows.
func (m Model) query() api.EventQuery {
	return api.EventQuery{Run: m.run.id, After: m.run.log.last}
}

func (m Model) inRun() bool { return m.run.id != "" }

func (m Model) question() tea.Cmd {
	if !m.inRun() {
		return m.work.runs()
	}
	return m.work.run(m.run.id, m.link.costs.IsZero() || m.now.Sub(m.link.costs) >= costsAfter)
}

// refresh asks again where it is time.
func (m *Model) refresh() tea.Cmd {
	var cmds []tea.Cmd
	if !m.inRun() {
		m.link.heard, m.link.news = true, true
	}
	if m.link.due(m.now) {
		m.link.asking, m.link.heard, m.link.news, m.link.late = true, false, false, nil
		cmds = append(cmds, m.question())
	}
	if m.link.open == nil && !m.link.held && !m.link.again.IsZero() && !m.now.Before(m.link.again) {
		m.link.again = time.Time{}
		m.link.feed++
		cmds = append(cmds, m.work.open(m.link.feed, m.query()))
	}
	if c := m.run.transcript.refresh(m.now, m.work, m.run.id); c != nil && m.view == viewTranscript {
		m.run.transcript.asking, m.run.transcript.heard = true, false
		cmds = append(cmds, c)
	}
	return tea.Batch(cmds...)
}

// Update takes a message in.
func (m Model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		m.lay()
		cmd = tea.ClearScreen // what a terminal leaves where it grew is its own affair
	case tea.KeyPressMsg:
		cmd = m.press(msg)
	case tea.PasteMsg:
		if m.ask.line {
			m.ask.input.insert(msg.Content)
		}
	case tickMsg:
		at(&m, msg.now)
		if m.now.Sub(m.note.at) > noteTime {
			m.note = note{}
		}
		cmd = tea.Batch(m.work.tick(), m.refresh())
	case openedMsg:
		cmd = m.opened(msg.feed)
	case eventsMsg:
		cmd = m.events(msg)
	case runsMsg:
		at(&m, msg.now)
		m.link.answered(msg.now, msg.took, msg.live, msg.err)
		if m.inRun() {
			break
		}
		if msg.err != nil && agency.KindOf(msg.err) != agency.KindNotFound { // that is: no run was ever started
			m.lost(msg.err)
			break
		}
		m.list.set(msg.runs)
	case runMsg:
		cmd = m.knows(msg)
	case saidMsg:
		cmd = m.said(msg)
	case diffMsg:
		if msg.run == m.run.id {
			m.run.diff.doc, m.run.diff.err, m.run.diff.known = msg.doc, msg.err, true
			m.lay()
		}
	case transcriptMsg:
		m.run.transcript.answered(msg, m.width)
		m.run.transcript.say(m.o.Style, m.run.saying)
	case doneMsg:
		cmd = m.done(msg)
	}
	m.draw()
	return m, cmd
}

// at takes in how late it is. Messages overtake each other, and what is counted down must not
// go back by that.
func at(m *Model, now time.Time) {
	if now.After(m.now) {
		m.now = now
	}
}

// opened takes a feed up, unless another one counts by now.
func (m *Model) opened(f *feed) tea.Cmd {
	if f.id != m.link.feed {
		f.cancel()
		return nil
	}
	m.link.open, m.run.saying = f, tui.Saying{}
	m.run.said++
	return tea.Batch(m.work.next(f), m.work.said(f))
}

// said takes in what agents say.
func (m *Model) said(msg saidMsg) tea.Cmd {
	if msg.feed.id != m.link.feed {
		return nil
	}
	m.run.heard(m.now, msg.said...)
	m.run.transcript.say(m.o.Style, m.run.saying)
	return m.work.said(msg.feed)
}

// events takes in what a feed brought.
func (m *Model) events(msg eventsMsg) tea.Cmd {
	if msg.feed != m.link.feed {
		return nil
	}
	at(m, msg.now)
	for _, ev := range msg.events {
		d, _ := agency.DecodeDetail(ev) // none of a newer version
		if m.run.add(ev, d) {
			m.hear(ev, d)
		}
		if m.link.asking {
			m.link.late = append(m.link.late, late{ev, d})
		}
		m.link.heard, m.link.news = true, !m.run.follows(ev, d) || m.link.news
	}
	if !msg.ended {
		m.link.live, m.link.gone = true, "" // who tells more than the record is a host
		return tea.Batch(m.refresh(), m.work.next(m.link.open))
	}
	was := m.link.live
	m.link.open, m.link.live, m.link.again = nil, false, m.now.Add(retryAfter)
	switch kind := agency.KindOf(msg.err); {
	case msg.err != nil && kind != agency.KindNotFound && kind != agency.KindTransient:
		m.link.gone = msg.err.Error()
	case was:
		m.link.gone = "the host ended"
	case m.link.gone == "":
		m.link.gone = "no host is at work"
	}
	return m.refresh()
}

// lost says that something could not be asked.
func (m *Model) lost(err error) {
	if api.Unreachable(err) {
		m.link.live, m.link.gone = false, "the host ended"
		return
	}
	m.say(tui.Red, err.Error())
}

func (m *Model) say(ink tui.Ink, text string) { m.note = note{text: text, ink: ink, at: m.now} }

// knows takes in all of a run.
func (m *Model) knows(msg runMsg) tea.Cmd {
	at(m, msg.now)
	m.link.answered(msg.now, msg.took, msg.live, msg.err)
	if msg.run != m.run.id {
		return nil
	}
	if msg.err != nil {
		m.lost(msg.err)
		return nil
	}
	if msg.cost != nil {
		m.run.cost, m.link.costs = *msg.cost, msg.now
	}
	m.run.set(msg.doc, msg.gates)
	for _, l := range m.link.late {
		m.run.follows(l.event, l.detail)
	}
	m.link.late = nil
	m.elsewhere()
	m.lay()
	return nil
}

// hear does what an event alone asks for.
func (m *Model) hear(ev agency.Event, d agency.Detail) {
	m.run.transcript.hear(ev)
	switch d := d.(type) {
	case *agency.GateApproved:
		m.decided(d.Gate, d.Kind, agency.Decision{Verb: agency.Approve, By: d.By, Note: d.Note})
	case *agency.GateRejected:
		m.decided(d.Gate, d.Kind, agency.Decision{Verb: agency.Reject, By: d.By, Note: d.Reason})
	}
}

// done says what came of an action.
func (m *Model) done(msg doneMsg) tea.Cmd {
	at(m, msg.now)
	m.link.heard, m.link.news, m.link.held = true, true, false
	if msg.act.kind == actAnswer {
		m.run.answer(msg.act.answer.Gate, msg.err)
		m.lay()
	}
	if msg.err != nil {
		text := msg.err.Error()
		if mend := agency.MendOf(msg.err); mend != "" {
			text += "; " + mend
		}
		m.say(tui.Red, text)
		return m.refresh()
	}
	m.say(tui.Green, msg.text)
	if msg.act.kind == actStart && msg.run != "" && !m.inRun() {
		m.enter(msg.run)
		return m.follow()
	}
	return m.refresh()
}

// lay fits long texts to the terminal.
func (m *Model) lay() {
	width := max(leastWidth, m.width)
	m.help.set(helpText, width)
	if !m.inRun() {
		return
	}
	if t := &m.run.transcript; t.text != "" && t.pager.width != width {
		t.pager.set(t.text, width)
		t.say(m.o.Style, m.run.saying)
	}
	m.run.log.lay(m.o.Style, width)
	view := m.view
	if view == viewHelp {
		view = m.under
	}
	switch view {
	case viewGate:
		m.run.layGate(m.o.Style, m.now, width)
	case viewChange:
		m.run.page.lay(m.run.changes(m.o.Style), width)
	}
}

// elsewhere tells of gates of which the record says that they are answered.
func (m *Model) elsewhere() {
	for _, g := range m.run.gates {
		if !g.Open() && m.run.asked[g.ID] {
			m.decided(g.ID, g.Kind, g.Decision)
		}
	}
}

// decided takes in that a gate is answered: whoever looks at it and did not answer it is
// told by whom, once.
func (m *Model) decided(id agency.GateID, kind agency.GateKind, as agency.Decision) {
	own, looked := m.run.answers[id] != "", m.run.asked[id]
	m.run.settle(id, as)
	m.lay() // with the answer in the place of the keys
	if m.ask.act.kind == actAnswer && m.ask.active() && m.ask.act.answer.Gate == id {
		m.ask = ask{}
	}
	if own || !looked || id != m.run.gate {
		return
	}
	m.say(tui.Yellow, fmt.Sprintf("the %s gate was answered elsewhere: %s", kind, decisionText(kind, as)))
}
